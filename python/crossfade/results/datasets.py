"""Results files as labelled arrays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING

from crossfade.errors import ResultsError
from crossfade.results.description import TOLD, check_has
from crossfade.results.file import ResultsFile

if TYPE_CHECKING:
    import xarray as xr

    from crossfade.results.planrows import PlanRows


def open_results(
    path: str | PathLike[str], *, plan: int | str | None = None, per_run: bool = False
) -> xr.Dataset:
    """A results file as a dataset with labelled dimensions.

    The axes of the sweep are dimensions, called by their dotted keys; of keys that vary together (zipped)
    the first names the dimension and the others are coordinates along it. ``method`` is a dimension where
    there are several methods, else an attribute. An axis of numbers has numbers for its coordinate, one of
    quantities (``"20 ms"``) numbers with the attribute ``units``; any other has labels, as in tables.

    Each metric is a variable with the attributes ``units`` and ``long_name``, beside it ``NAME_ci95``, the
    half-width of its two-sided 95 % Student interval, and ``NAME_ci95_low`` and ``NAME_ci95_high``, the ends
    of one that also covers rare events and skewed runs; those of flows and links are ``cubic.goodput_bps``,
    ``reverse.queue_drops``. What is undefined, or not computed yet, is NaN. ``runs`` is the number of runs of
    a point, 0 where it is solved or nothing is finished. Where the plan asks for a precision, ``precise``
    says which points reach it; where a method fails at some points, ``failure`` says why.

    With ``per_run`` metrics have the dimension ``run`` as well, and no intervals; what is solved has run 0
    alone. Run r of every point draws the same random numbers: compare points run by run.

    Attributes: title, scenario (the text of the file), overrides and stop (JSON), seed, version,
    results_version; warnings, a line each.

    ``plan`` chooses among several plans in the file, by number (the oldest is 1) or id; None is the one that
    was asked for last. Raises :class:`ResultsError` where the file cannot be read.
    """
    from crossfade.results import arrays  # here, and below: numpy and xarray take a while to start

    rows = read_plan(path, plan)
    return arrays.per_run(rows) if per_run else arrays.of_estimates(rows)


def read_plan(path: str | PathLike[str], plan: int | str | None, *, with_rows: bool = False) -> PlanRows:
    """The rows of a plan in a results file, as arrays."""
    from crossfade.results.planrows import read_rows

    with ResultsFile.open(path) as file:
        stored = file.plan(plan)
        try:
            check_has(stored.description, TOLD)
        except ValueError as error:
            raise ResultsError(f"{path}: plan {stored.id[:8]} is damaged ({error})") from None
        return read_rows(file, stored, with_rows=with_rows)


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector, which would go through a million rows that live on again and again."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
