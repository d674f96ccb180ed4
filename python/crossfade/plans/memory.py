"""Memory that a plan takes, and its limit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from crossfade import errors
from crossfade.plans import Plan

# What a row takes in memory that is held, and besides while it is summed up; about, in bytes.
ROW_HELD = 1200
ROW_SUMMED_UP = 1200


def memory_of_rows(plan: Plan, held: bool = False) -> int:
    """Bytes that rows may take: those of a point while they are summed up, and all where they are ``held``.

    How many a stop rule will ask for is not known: then it says 0.
    """
    if "runs" not in plan.description["stop"]:
        return 0
    rows = plan.core.rows()
    return rows // len(plan.description["points"]) * ROW_SUMMED_UP + rows * ROW_HELD * held


def check_memory(plan: Plan, at_once: int = 1, held: bool = False) -> None:
    """:class:`ScenarioError` where runs, so many at once, may take more memory than ``run.memory`` allows.

    ``held`` says whether all rows are kept in memory until the end.
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
    """Bytes of memory that this process may come to have, None where nobody tells."""
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # a container's own limit; "max" is none
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(ImportError):  # not on Windows
        import resource

        limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        found += [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(found, default=None)
