"""Samples and events folded over the phase of a period, as a table and as a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from crossfade.errors import CrossfadeWarning, ResultsError
from crossfade.figures import folded, phases, timelines
from crossfade.figures.choice import column_list, number, where_lines
from crossfade.figures.choice import where as rows_where
from crossfade.figures.phases import Measured
from crossfade.figures.style import Page, check_plot_file
from crossfade.files import text_lines
from crossfade.pictures.sources import given
from crossfade.plans.options import Values
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.tables import Table, csv_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from crossfade.pictures.sources import Drawable


def draw_folded(
    source: Results | Drawable | Measured,
    path: str | PathLike[str] | None,
    fold: str,
    *,
    y: Sequence[str] | None,
    where: Values | None,
    title: str | None,
    width: Page,
) -> Figure:
    """Draw samples over their phase in the period ``fold``."""
    if path is not None:
        check_plot_file(Path(path), *([source] if isinstance(source, str | PathLike) else []))
    period, shown = phases.Period.read(fold), folded.quantities(y)
    file = None if path is None else fspath(path)
    return folded.plot(measured(source, where, shown), file, period, y=shown, title=title or "", width=width)


def measured(
    source: Results | Drawable | Measured, where: Values | None, y: str | Sequence[str] | None
) -> Measured:
    """Samples over time, to be folded over a period, from any source of samples or events.

    CSV files are read row by row, so they may be larger than memory.
    """
    if isinstance(source, Measured):
        return source
    wanted = column_list(y)
    path = Path(source) if isinstance(source, str | PathLike) else None
    if path is not None and path.suffix != ".cfj" and path.exists() and not is_results_file(path):

        def read() -> tuple[list[str], Iterator[list[str]]]:
            columns, lines = csv_lines(text_lines(path, ResultsError), str(path))
            _check_has_times(Table(columns))
            return columns, lines

        return Measured.of_lines(*where_lines(read, where or {}), wanted)
    table = given(source, None, None, whole=False)
    if isinstance(table, Results):
        table = table.table()
    _check_has_times(table)
    return Measured.of_table(rows_where(table, where or {}), wanted)


def _check_has_times(table: Table) -> None:
    if not timelines.is_events(table):
        raise ResultsError("fold: only samples and events have times (crossfade run --samples writes them)")


def fold(
    samples: Drawable | Measured,
    period: str,
    *,
    y: str | Sequence[str] | None = None,
    where: Values | None = None,
    slots: bool = False,
) -> pd.DataFrame:
    """Summarise samples of a run by their phase in a period, or over whole periods.

    Parameters
    ----------
    samples : DataFrame, Table, or path
        Result of :func:`crossfade.runs.samples`, or of :func:`crossfade.events` with ``run.sample``, or a CSV
        file of one.
    period : str
        Length of the period, such as ``"15 s"``, perhaps with the start of one: ``"15 s from 8.76 s"``.
    y : str or sequence of str, optional
        Quantities (``"goodput_bps"``; default: all).
    where : mapping, optional
        Conditions for rows to fold (``{"flow": 0}``).
    slots : bool
        True for statistics over whole periods, in place of bins of the phase.

    Returns
    -------
    pandas.DataFrame
        For each quantity of a flow or link, one row per bin of the phase: mean, 5th and 95th percentile over
        the periods, in the unit of the quantity; times are in seconds. With ``slots``, one row per quantity:
        mean over whole periods, its 95 % bootstrap interval over periods, and for goodput the median time
        until a period is back at 90 % of its goodput (``recovery_s``). A warning is given for fewer than ten
        whole periods.

    Raises
    ------
    ResultsError
        If ``samples`` has no samples, or a column does not exist.
    ScenarioError
        If ``period`` is not a period.

    Examples
    --------
    >>> import crossfade as cf
    >>> samples = cf.runs.samples("classics/slow-start", "100 ms", set={"run.duration": "4 s"})
    >>> folded = cf.pictures.fold(samples, "1 s", y="goodput_bps")
    >>> sorted(set(folded["quantity"]))
    ['goodput_bps']
    """
    found = folded_table(samples, period, y=y, where=where, slots=slots)
    if slots:
        warn_of_few(found, period)
    return found.to_pandas()


def warn_of_few(folded: Table, period: str) -> None:
    """Warn if an interval covers few whole periods."""
    fewest = min((number(cell) for cell in folded.cells("periods")), default=0.0)
    if fewest < phases.FEW_SLOTS:
        warnings.warn(
            f"{fewest:g} whole periods of {phases.Period.read(period).seconds:g} s: an interval of fewer "
            f"than {phases.FEW_SLOTS} says little",
            CrossfadeWarning,
            stacklevel=3,
        )


def folded_table(
    samples: Drawable | Measured,
    period: str,
    *,
    y: str | Sequence[str] | None = None,
    where: Values | None = None,
    slots: bool = False,
) -> Table:
    """Statistics of folded samples, as :func:`fold` returns them, as a table."""
    of = phases.Period.read(period)
    return (phases.by_slots if slots else phases.fold)(measured(samples, where, y), of)
