"""Estimate of a sweep's duration from a few of its runs, which are made first and kept like all others."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from crossfade.plans import Plan
from crossfade.results.rows import Row
from crossfade.sweeps.progress import ProgressBar
from crossfade.sweeps.times import Times

if TYPE_CHECKING:
    from crossfade._crossfade import Task

# Number of pilot runs by each method, spread over the plan; and time in seconds after which no other run
# begins, except the first of a method.
PILOT_RUNS = 8
PILOT_S = 2.0


class Missing(NamedTuple):
    """Missing runs of a point by a method: numbers of the first and last of them, and how many there are."""

    point: int
    method: str
    first: int
    last: int
    number: int


def make_pilot(
    plan: Plan,
    times: Times,
    missing: Sequence[Missing],
    keep: Callable[[Sequence[Row]], object],
    *,
    progress: bool = False,
) -> list[Task]:
    """Make some of the missing runs whose duration ``times`` cannot tell; returns the tasks made.

    ``keep`` gets their rows. With ``progress`` a bar shows how far a long run is.
    """
    made: list[Task] = []
    began = time.monotonic()
    for task in _spread(plan, times, missing):
        first_of_method = all(method != task[1] for _, method, _ in made)
        if first_of_method or time.monotonic() - began < PILOT_S:
            with ProgressBar(enabled=progress) as bar:
                keep([Row(*row) for row in plan.core.make([task], partial(_tell, bar))])
            made.append(task)
    return made


def _tell(bar: ProgressBar, done: float) -> None:
    bar.update(done, 1)


def _spread(plan: Plan, times: Times, missing: Sequence[Missing]) -> list[Task]:
    """Pilot runs by each method, far apart in the plan and in an irregular order; methods alternate."""
    reach = len(plan.description["points"]) / PILOT_RUNS
    by_method: defaultdict[str, list[Missing]] = defaultdict(list)
    for of in missing:
        by_method[of.method].append(of)
    chosen = []
    for method, runs in by_method.items():
        timed = list(times.points(method))
        # Order of the plan's eight equal parts, of each the middle: whenever time is up, the runs made cover
        # the whole plan.
        parts = (4, 0, 6, 2, 5, 1, 7, 3)
        ends = list(accumulate(of.number for of in runs))
        picked = _firsts(_nth(runs, ends, (2 * part + 1) * ends[-1] // (2 * PILOT_RUNS)) for part in parts)
        chosen.append(
            [
                task
                for task in dict.fromkeys(picked)
                if not timed or abs(_nearest(timed, task[0]) - task[0]) > reach
            ]
        )
    return [task for turn in zip_longest(*chosen) for task in turn if task is not None]


def _nth(runs: Sequence[Missing], ends: Sequence[int], number: int) -> Missing:
    """Point of the missing run with index ``number`` in the whole plan; ``ends`` are the cumulative counts of
    missing runs by point.
    """
    return runs[bisect_right(ends, number)]


def _firsts(points: Iterable[Missing]) -> Iterator[Task]:
    """First missing run of each point, or the next one if the point occurs again."""
    taken: Counter[Missing] = Counter()
    for of in points:
        # With gaps among the missing runs, only the first is certain to be missing.
        runs = of.number if of.last - of.first + 1 == of.number else 1
        if taken[of] < runs:
            yield of.point, of.method, of.first + taken[of]
        taken[of] += 1


def without(runs: Sequence[Missing], made: Sequence[Task]) -> list[Missing]:
    """Missing runs that are left at each point after some were made; only their number is updated."""
    fewer = Counter(task[:2] for task in made)
    left = [of._replace(number=of.number - fewer[of.point, of.method]) for of in runs]
    return [of for of in left if of.number]


def cpu_seconds(times: Times, runs: Sequence[Missing]) -> float:
    """Expected CPU time of runs in seconds, each estimated by the nearest point with finished runs.

    ``times`` must have finished runs of each method of ``runs``.
    """
    timed = {method: list(times.points(method)) for method in {of.method for of in runs}}
    return sum(of.number * times.mean_s(of.method, _nearest(timed[of.method], of.point)) for of in runs)


def _nearest(ordered: Sequence[int], number: int) -> int:
    at = bisect_left(ordered, number)
    return min(ordered[max(0, at - 1) : at + 1], key=lambda known: abs(known - number))


def duration(seconds: float) -> str:
    """A duration in words, such as "1.5 h"."""
    for unit, length, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * length:
            number = max(0.1, seconds / length)
            return f"{number:.{1 if number < 9.95 else 0}f} {unit}"
    return f"{seconds / 86400:.1f} days"
