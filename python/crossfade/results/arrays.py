"""Datasets of the rows of a plan: means with their intervals, or the value of every run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from crossfade.results.labelled import Frame
from crossfade.results.planresults import attributes_of, numbered, published
from crossfade.results.planrows import Estimates, PlanRows


def of_estimates(rows: PlanRows, wide: bool = False) -> xr.Dataset:
    """Dataset of means with their intervals, as :func:`crossfade.open_results` describes it."""
    frame, found = _frame(rows), rows.estimates()
    for metric in [*published(rows), *numbered(rows)]:
        for end, array in {"": found.means, **found.beside(metric.column)}.items():
            frame.add_metric(metric.name, end, array[:, metric.column], metric.unit)
    return _dataset(rows, frame, found, wide=wide)


def per_run(rows: PlanRows, wide: bool = False) -> xr.Dataset:
    """Dataset of the value of every run that counts, as :func:`crossfade.open_results` describes it."""
    frame, found = _frame(rows), rows.estimates([rows.stop_metric])
    counts = rows.place < found.rows[rows.group]
    runs = int(rows.run[counts].max(initial=-1)) + 1
    cell = (rows.group * runs + rows.run)[counts]
    for metric in [*published(rows), *numbered(rows)]:
        values = np.full(rows.groups * runs, np.nan)
        values[cell] = rows.values[counts, metric.column]
        frame.add_metric(metric.name, "", values.reshape(rows.groups, runs), metric.unit)
    return _dataset(rows, frame, found, runs, wide=wide)


def _frame(rows: PlanRows) -> Frame:
    return Frame(rows.plan.description["axes"], rows.plan.description["points"], rows.methods)


def _dataset(
    rows: PlanRows, frame: Frame, found: Estimates, runs: int | None = None, *, wide: bool
) -> xr.Dataset:
    """Build the dataset from values by group, with the counts and failures of each group."""
    frame.add("runs", np.where(rows.solved, 0, found.rows), "1", "number of runs")
    if rows.is_adaptive:
        frame.add("precise", found.precise, "", "whether the precision is reached")
    if rows.failures:
        texts = [rows.failures.get(group, "") for group in range(rows.groups)]
        frame.add("failure", np.array(texts), "", "why there are no values")
    make = frame.wide if wide else frame.dataset
    return make(attributes_of(rows, found), runs)
