"""Memory that a plan takes, and its limit (``run.memory``)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from crossfade import errors
from crossfade.plans import Plan

# Approximate memory of a row in bytes: while it is kept, and in addition while its point is summarised.
ROW_HELD = 1200
ROW_SUMMED_UP = 1200


def memory_of_rows(plan: Plan, held: bool = False) -> int:
    """Memory for rows in bytes: those of one point while it is summarised, and with ``held`` all rows of the
    plan.

    0 if a precision sets the number of runs, which is then unknown.
    """
    if "runs" not in plan.description["stop"]:
        return 0
    rows = plan.core.rows()
    return rows // len(plan.description["points"]) * ROW_SUMMED_UP + rows * ROW_HELD * held


def check_memory(plan: Plan, at_once: int = 1, held: bool = False) -> None:
    """Raise :class:`ScenarioError` if ``at_once`` simultaneous runs may take more memory than ``run.memory``
    allows.

    ``held`` tells whether all rows stay in memory until the end.
    """
    run, allowed = plan.core.memory()
    machine = _memory_of_machine()
    most = allowed if allowed is not None else machine // 2 if machine else None
    if most is None:
        return
    whose = f"{most:,} B are allowed" + ("" if allowed else " (half of this machine's)")
    if (rows := memory_of_rows(plan, held)) > most:
        file = "; crossfade sweep keeps them in a file" if held else "; fewer runs a point take less"
        raise errors.ScenarioError(f"run.memory: the rows may take {rows:,} B of memory, and {whose}{file}")
    if "simulation" not in plan.description["methods"] or run * at_once <= most:
        return
    what = "a run" if at_once == 1 else f"{at_once} runs at once"
    fewer = f"jobs = {int(most // run)}, " if most >= run else ""
    raise errors.ScenarioError(
        f"run.memory: {what} may take {int(run * at_once):,} B of memory, and {whose}; {fewer}shorter queues "
        "(link.queue.limit), fewer flows or a shorter run take less"
    )


def _memory_of_machine() -> int | None:
    """Memory that this process can get, in bytes: the least of machine, container and process limits; None if
    unknown.
    """
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # limit of a container; "max" means none
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(ImportError):  # not on Windows
        import resource

        limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        found += [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(found, default=None)
