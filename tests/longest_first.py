"""Which parallel worker gets which tests when (``pytest -n auto --dist loadgroup``)."""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

# The groups that decide how long all take, with rough seconds on two cores. Of others a test counts a tenth.
SECONDS = {
    "live": 300,
}


class LongestFirst(LoadGroupScheduling):  # type: ignore[misc]
    """Hands groups to workers one at a time, the longest first, so that all workers end together.

    xdist itself orders groups by their number of tests, and gives a worker the next one while two tests are
    left: a long group may wait behind long tests while another worker has nothing to do.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = max(self.workqueue, key=lambda group: SECONDS.get(group, 0.1 * len(self.workqueue[group])))
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A worker begins a test once it knows the next one, so that one has to be left.
        if not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)
