"""Assignment of tests to parallel workers (``pytest -n auto --dist loadfile``): longest groups first."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# Name of the group of all live tests.
LIVE = "live"
# Assumed elapsed time of the live group on two cores, in seconds; it mostly waits for its links.
LIVE_SECONDS = 300.0
# Assumed time of a test without a recorded duration, in seconds.
USUAL_SECONDS = 0.1
# Key of pytest's cache for durations of tests: CPU and elapsed seconds (tests/quick.py).
KEPT = "crossfade/seconds"


def kept(config: pytest.Config) -> dict[str, list[tuple[float, float]]]:
    """Durations of each test in its last two runs; empty if pytest keeps no cache between runs."""
    cache = getattr(config, "cache", None)
    return cache.get(KEPT, {}) if cache else {}


@cache
def group_of(file: str) -> str:
    """Group of the tests in ``file``: tests of a file stay with one worker, since they share fixtures.

    All live tests, and all tests that create namespaces (browsers do), are one group, because they measure
    the kernel's timing and count leftovers.
    """
    path = Path(__file__).parents[1] / file
    is_live = path.name.startswith("test_live") or path.parent.name == "trials"
    needs = r"^from tests\.\S+ import .*\b(need_live|visit)\b"
    is_live |= re.search(needs, path.read_text(), re.M) is not None
    return LIVE if is_live else file


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]
    """Scheduler that hands groups to workers one at a time, longest first, so that all workers end together.

    xdist itself orders groups by their number of tests, and gives a worker the next group while two tests are
    left: a long group could wait behind long tests while another worker is idle.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self.known = {test: last[-1][0] for test, last in kept(config).items() if last}

    def _seconds(self, group: str) -> float:
        """Recorded duration of the tests of a group, in seconds."""
        if group == LIVE:
            return LIVE_SECONDS
        return sum(self.known.get(test, USUAL_SECONDS) for test in self.workqueue[group])

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.split("::")[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=self._seconds), last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # A worker starts a test only once it knows the next one, so one test must remain.
        if not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)
