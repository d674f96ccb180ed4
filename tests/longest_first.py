"""Which parallel worker gets which tests when (``pytest -n auto --dist loadfile``)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# The group of all live tests.
LIVE = "live"
# What it takes on two cores, in rough seconds of the clock: it waits for its links most of the time.
LIVE_SECONDS = 300.0
# What a test takes that has not run here.
USUAL_SECONDS = 0.1
# Where pytest keeps what tests took, in seconds of the processor and of the clock (tests/quick.py).
KEPT = "crossfade/seconds"


def kept(config: pytest.Config) -> dict[str, list[tuple[float, float]]]:
    """Durations of each test in its last two runs; empty if pytest keeps nothing between runs."""
    cache = getattr(config, "cache", None)
    return cache.get(KEPT, {}) if cache else {}


@cache
def group_of(file: str) -> str:
    """The group of the tests of ``file``: those of a file stay with one worker, for what they share.

    All live tests are one group, with all that makes namespaces (browsers do): they measure the kernel
    against the clock, and count what is left of them.
    """
    path = Path(__file__).parents[1] / file
    is_live = path.name.startswith("test_live") or path.parent.name == "trials"
    needs = r"^from tests\.\S+ import .*\b(need_live|visit)\b"
    is_live |= re.search(needs, path.read_text(), re.M) is not None
    return LIVE if is_live else file


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]
    """Hands groups to workers one at a time, the longest first, so that all workers end together.

    xdist itself orders groups by their number of tests, and gives a worker the next one while two tests are
    left: a long group may wait behind long tests while another worker has nothing to do.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self.known = {test: last[-1][0] for test, last in kept(config).items() if last}

    def _seconds(self, group: str) -> float:
        """Duration of the tests of a group in the last run."""
        if group == LIVE:
            return LIVE_SECONDS
        return sum(self.known.get(test, USUAL_SECONDS) for test in self.workqueue[group])

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.split("::")[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=self._seconds), last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A worker begins a test once it knows the next one, so that one has to be left.
        if not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)
