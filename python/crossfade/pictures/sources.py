"""Sources of figures: files, results and tables, recognised and read."""

from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from crossfade import api, plans
from crossfade.errors import ResultsError
from crossfade.figures import distributions, linkevents, timelines
from crossfade.figures.style import check_plot_file
from crossfade.files import shipped_scenarios
from crossfade.results import datasets
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.tables import ENOUGH_RUNS, Table

if TYPE_CHECKING:
    import pandas as pd

    Drawable: TypeAlias = Table | pd.DataFrame | str | PathLike[str]


def given(
    source: Results | Drawable, path: str | PathLike[str] | None, plan: int | str | None, *, whole: bool
) -> Results | Table:
    """Source of a figure, read if it is a file; :class:`OutputError` if the figure would overwrite it."""
    if isinstance(source, Results | Table):
        return source
    if isinstance(source, str | PathLike):
        if path is not None:
            check_plot_file(Path(path), source)
        return _read(source, plan, whole)
    return Table.of_frame(source)


def is_distribution(found: Results | Table) -> bool:
    """True if ``found`` is a table of transfers or delays."""
    return isinstance(found, Table) and (distributions.is_transfers(found) or distributions.is_delays(found))


def is_of_results(found: Results | Table) -> bool:
    """True if ``found`` is results or their table, not a table over time or of a distribution."""
    if isinstance(found, Results):
        return True
    over_time = timelines.is_events(found) or linkevents.is_link_events(found)
    return not over_time and not is_distribution(found)


def _read(path: str | PathLike[str], plan: int | str | None, whole: bool) -> Results | Table:
    """Content of a file: results (with ``whole``, including the scenarios of points), or the table of a CSV
    file or journal.
    """
    if whole and is_results_file(path):
        return plans.load_results(path, plan)
    if is_results_file(path):
        from crossfade.results.planresults import results_of  # here: it imports numpy, which is slow

        found = results_of(datasets.read_plan(path, plan))
        ends = [found.points[place] for place in (0, -1)] if len(found.points) else []
        if not any(1 < point.runs < ENOUGH_RUNS for point in ends):
            return found
        return plans.load_results(path, plan)  # with few runs, each one is drawn
    if Path(path).suffix == ".cfj":
        return api.journal_table(path)
    if not os.path.exists(path) and fspath(path).removesuffix(".toml") in shipped_scenarios():
        name = fspath(path).removesuffix(".toml")
        raise ResultsError(
            f"{name}: a scenario has no results yet; crossfade run {name} --plot FILE draws it"
        )
    if plan is not None:
        raise ResultsError(f"{path}: not a results file; a CSV file holds no plans (plan = {plan})")
    return Table.read(path)
