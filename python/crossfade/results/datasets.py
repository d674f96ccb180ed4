"""Results files as labelled arrays (xarray)."""

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
    path: str | PathLike[str],
    *,
    plan: int | str | None = None,
    per_run: bool = False,
    layout: str = "metrics",
) -> xr.Dataset:
    """Open a results file as a dataset with labelled dimensions.

    Parameters
    ----------
    path
        The results file.
    plan
        Number (the oldest is 1) or id of one of several plans in the file (default: the plan that was
        requested last).
    per_run
        True for metrics with the dimension ``run`` in place of intervals. Run r of every point has the same
        random numbers, so that points can be compared run by run. A solved point has only run 0.
    layout
        ``"metrics"``. The layout ``"wide"``, with a variable for each column of a table and dotted keys as
        dimensions, is deprecated and will be removed in the next release.

    Returns
    -------
    xarray.Dataset
        The axes of the sweep are dimensions. An axis has the last part of its key as name (``variant`` for
        ``tcp.variant``), or all parts if two names would be equal; the attribute ``key`` of its coordinate is
        the whole key. The first of keys that vary together (zipped) names the dimension. An axis of numbers
        has numbers, an axis of quantities (``"20 ms"``) numbers with the attribute ``units``, any other axis
        labels, as in tables. Several methods are along the dimension ``methods``; the name of a single method
        is the attribute ``method``.

        Each metric is a variable with the attributes ``units`` and ``long_name``. Metrics of flows, links,
        nodes and users are ``NAME_by_flow`` and so on, with the dimension ``flow``, ``link``, ``node`` or
        ``user``. A value that is undefined, or not computed yet, is NaN. ``interval`` has the dimensions
        ``metric`` and ``bound``: ``low`` and ``high``, the ends of a 95 % interval that also covers rare
        events and skewed runs, and ``ci95``, the half-width of Student's interval; ``defined`` is the number
        of runs that define a metric, and ``at_least`` is true for lower bounds. ``interval_by_flow`` and the
        like are the intervals of metrics of flows, links, nodes and users.

        ``runs`` is the number of runs of a point, 0 if it is solved or no run is finished. For a plan with a
        precision, ``precise`` is true for the points that reach it; if a method fails at some points,
        ``failure`` has the reason. Attributes: title, scenario (the text of the file), overrides and stop
        (JSON), seed, version, results_version, and warnings (a line each).

    Raises
    ------
    ResultsError
        If the file cannot be read.

    Examples
    --------
    >>> import crossfade as cf
    >>> _ = cf.sweep("quickstart", methods=["formula"], out="quick.sqlite")
    >>> data = cf.open_results("quick.sqlite")
    >>> data["throughput_per_slot"].sel(variant="reno", p_e=0.001).dims
    ()
    >>> data["p_e"].attrs["key"]
    'channel.p_e'
    """
    from crossfade.results import arrays, labelled  # here, and below: numpy and xarray take a while to start

    wide = labelled.is_wide(layout)
    rows = read_plan(path, plan)
    return arrays.per_run(rows, wide) if per_run else arrays.of_estimates(rows, wide)


def read_plan(path: str | PathLike[str], plan: int | str | None, *, with_rows: bool = False) -> PlanRows:
    """Rows of a plan in a results file, as arrays; ``which`` is the plan's number or id, None the latest."""
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
    """Pause the garbage collector, which would traverse a million long-lived rows again and again."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
