"""What is drawn of results, of runs over time, and of a scenario as it says itself."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from crossfade import api, plans
from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError, shortened
from crossfade.figures import distributions, folded, linkevents, phases, timelines
from crossfade.figures.choice import column_list, number, where_lines
from crossfade.figures.choice import where as rows_where
from crossfade.figures.phases import Measured
from crossfade.figures.plot import plot_wanted
from crossfade.figures.style import Page, check_plot_file
from crossfade.figures.wanted import Wanted
from crossfade.files import shipped_scenarios, text_lines
from crossfade.plans.options import Options, ScenarioLike, Values, check_names
from crossfade.results import datasets
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.results.rows import PREFIXES
from crossfade.tables import ENOUGH_RUNS, Table, csv_lines, label

__all__ = ["draw", "fold", "plot", "plot_cdf", "plot_events"]

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Drawable: TypeAlias = Table | pd.DataFrame | str | PathLike[str]

# What pictures of single runs do not leave to choose.
OVER_TIME = "over time, axes are linear, and all but the curves' axis have panels; where chooses"
FOLDED = "over the phase, axes are linear; y and where choose"
BY_LINK = "each link and point has a panel of its own; where chooses"


class Look(TypedDict, total=False):
    """The keyword arguments of :func:`draw` that are those of :func:`plot`, and say what it looks like."""

    log_x: bool | None
    log_y: bool | None
    intervals: str
    markers: bool
    width: str | float | None
    font_size: float | None
    labels: Mapping[str, str] | None
    cdf: str | None
    ax: Axes | None


def plot(
    results: Results | Drawable,
    path: str | PathLike[str] | None = None,
    *,
    plan: int | str | None = None,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    where: Values | None = None,
    title: str | None = None,
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    markers: bool = True,
    width: str | float | None = None,
    font_size: float | None = None,
    labels: Mapping[str, str] | None = None,
    cdf: str | None = None,
    fold: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw metrics of results over an axis of their sweep.

    Simulation is drawn as marks with 95 % intervals, exact analysis as lines, bounds as bands, a formula as
    dashes. What a scenario says in its table ``figure`` stands before the defaults below.

    Parameters
    ----------
    results : Results, Table, DataFrame, or path
        Results of :func:`run`, their table, a results file or a CSV file.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    plan : int or str, optional
        Plan of a results file that holds several (default: the one added last).
    x : str, optional
        Column across. Default: SNR, fading margin or packet error probability where that is swept, else the
        numeric axis with most values.
    y : str or sequence of str, optional
        Metric, or the ratio of two (``"a.goodput_bps/b.goodput_bps"``); several have a row of panels each.
        Default: throughput or goodput.
    by : str or sequence of str, optional
        Columns that tell curves apart. Default: the other axes, as far as that makes at most a dozen curves.
    panels : str or sequence of str, optional
        Axis with a panel for each value; of two axes the first runs across, the second down.
    where : mapping, optional
        Rows that are drawn (``{"tcp.variant": "reno"}``); a key may end in ``<``, ``<=``, ``>`` or ``>=``. An
        axis that is nowhere is held at its first value, and a :class:`CrossfadeWarning` says so.
    title : str, optional
        Title (default: that of the scenario; ``""`` for none).
    log_x, log_y : bool, optional
        Logarithmic axes. Default: x as its values are spaced, y for error rates over decades.
    intervals : {"bars", "bands", "none"}
        How the 95 % intervals are drawn.
    markers : bool
        Whether values are marks; without them, and beyond 25 values, a curve is a line.
    width : {"single", "double"} or float, optional
        Width of one (3.5 in) or two (7.16 in) columns of a journal, or in millimetres.
    font_size : float, optional
        Size of the words in points (default 7.5).
    labels : mapping, optional
        Names of values (``{"sack": "Reno with SACK"}``).
    ax : matplotlib.axes.Axes, optional
        Axes of a figure of your own, for a figure of one panel.
    cdf, fold : str, optional
        Deprecated: :func:`plot_cdf`, and :func:`plot_events` with ``fold``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    ResultsError
        If there is nothing to draw, or a column does not exist.
    ScenarioError
        If an option has a value that is not allowed.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> results = cf.run("quickstart", over={"channel.p_e": [0.01, 0.1]}, methods=["analysis"])
    >>> figure = cf.plot(results, y="throughput_per_slot")
    >>> figure.axes[0].get_xlabel()
    'Packet error probability $P_E$'
    """
    results = _given(results, path, plan, whole=cdf is not None)
    if cdf is not None or fold is not None or not _is_of_results(results):
        other = "plot_cdf" if cdf is not None or _is_distribution(results) else "plot_events"
        _deprecated(f"plot draws results; crossfade.{other} draws this")
    return draw_any(
        results,
        path,
        x=x,
        y=y,
        by=by,
        panels=panels,
        where=where,
        title=title,
        log_x=log_x,
        log_y=log_y,
        intervals=intervals,
        markers=markers,
        width=width,
        font_size=font_size,
        labels=labels,
        cdf=cdf,
        fold=fold,
        ax=ax,
    )


def plot_events(
    events: Drawable,
    path: str | PathLike[str] | None = None,
    *,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    where: Values | None = None,
    title: str = "",
    width: str | float = "single",
    font_size: float | None = None,
    labels: Mapping[str, str] | None = None,
    fold: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw events, samples or link events of a run over time.

    Parameters
    ----------
    events : DataFrame, Table, or path
        What :func:`events`, :func:`samples` or :func:`link_events` gives, a CSV file of it, or a journal
        (``.cfj``) of a live run.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    y : str or sequence of str, optional
        Of a sender: ``"cwnd"`` (default, with ``ssthresh`` as thin dashes and marks for fast retransmits and
        timeouts), another of its variables, or ``"seq"``, the time-sequence plot. Of a link: ``"attempt"``,
        ``"snr_db"``, ``"packets"``, ``"bytes"``, ``"bin"``, ``"node"`` or ``"delay"``, the parts of the
        delay of packets; by default a panel for each kind.
    by : str or sequence of str, optional
        Axis that tells curves apart (default: the last of a sweep); the others have a panel each value.
    where : mapping, optional
        Rows that are drawn; ``{"time_s>=": 1, "time_s<": 2}`` is a part of the time.
    title : str
        Title.
    width : {"single", "double"} or float
        As in :func:`plot`.
    font_size : float, optional
        Size of the words in points (default 7.5).
    labels : mapping, optional
        Names of values.
    fold : str, optional
        Period (``"15 s"``): samples are drawn over their phase in it, see :func:`fold`.
    ax : matplotlib.axes.Axes, optional
        Axes of a figure of your own, for a figure of one panel.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    ResultsError
        If there is nothing to draw, or a column does not exist.

    Examples
    --------
    >>> import crossfade as cf
    >>> events = cf.events("classics/slow-start", set={"run.duration": "1 s"})
    >>> cf.pictures.plot_events(events).axes[0].get_xlabel()
    'Time (s)'
    """
    table = _given(events, path, None, whole=False)
    if isinstance(table, Results) or _is_of_results(table) or _is_distribution(table):
        raise ResultsError("events: neither events, samples nor link events (crossfade.plot draws results)")
    options: dict[str, Any] = {"y": y, "by": by, "where": where, "title": title, "labels": labels}
    return draw_any(table, path, width=width, font_size=font_size, fold=fold, ax=ax, **options)


def plot_cdf(
    values: Results | Drawable,
    path: str | PathLike[str] | None = None,
    *,
    of: str | None = None,
    plan: int | str | None = None,
    by: str | Sequence[str] | None = None,
    where: Values | None = None,
    title: str | None = None,
    log_x: bool | None = None,
    log_y: bool | None = None,
    width: str | float = "single",
    font_size: float | None = None,
    labels: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw how values are distributed: the share that is no larger, as the mean over runs with its 95 % band.

    Parameters
    ----------
    values : DataFrame, Table, Results, or path
        What :func:`transfers` or :func:`delays` gives, a CSV file of it, or results of a cell.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    of : str, optional
        Column: ``"completion_time_s"`` of transfers (default), ``"rtt_s"`` or ``"one_way_delay_s"`` of
        delays, a metric of users (``"user_goodput_bps"``) of results of a cell.
    plan : int or str, optional
        Plan of a results file that holds several.
    by : str or sequence of str, optional
        Columns that tell curves apart (``"flow"`` those of each flow).
    where : mapping, optional
        Rows that are drawn.
    title : str, optional
        Title.
    log_x, log_y : bool, optional
        Logarithmic axes; with ``log_y`` the share above is drawn, where tails are seen.
    width : {"single", "double"} or float
        As in :func:`plot`.
    font_size : float, optional
        Size of the words in points (default 7.5).
    labels : mapping, optional
        Names of values.
    ax : matplotlib.axes.Axes, optional
        Axes of a figure of your own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    ResultsError
        If there is nothing to draw, or a column does not exist.

    Examples
    --------
    >>> import crossfade as cf
    >>> delays = cf.runs.delays("classics/slow-start", runs=2, set={"run.duration": "1 s"})
    >>> cf.pictures.plot_cdf(delays, of="rtt_s").axes[0].get_xlabel()
    'Round-trip time (ms)'
    """
    found = _given(values, path, plan, whole=True)
    options: dict[str, Any] = {"by": by, "where": where, "title": title, "labels": labels}
    if of is None and not _is_distribution(found):
        raise ResultsError("of: which column is drawn? (of results of a cell, of='user_goodput_bps')")
    return draw_any(
        found, path, cdf=of, log_x=log_x, log_y=log_y, width=width, font_size=font_size, ax=ax, **options
    )


def _deprecated(text: str) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _given(
    source: Results | Drawable, path: str | PathLike[str] | None, plan: int | str | None, *, whole: bool
) -> Results | Table:
    """What is to be drawn, read where it is a file; :class:`OutputError` before where it is the figure's."""
    if isinstance(source, Results | Table):
        return source
    if isinstance(source, str | PathLike):
        if path is not None:
            check_plot_file(Path(path), source)
        return _read_results(source, plan, whole)
    return Table.of_frame(source)


def _is_distribution(found: Results | Table) -> bool:
    return isinstance(found, Table) and (distributions.is_transfers(found) or distributions.is_delays(found))


def _is_of_results(found: Results | Table) -> bool:
    if isinstance(found, Results):
        return True
    over_time = timelines.is_events(found) or linkevents.is_link_events(found)
    return not over_time and not _is_distribution(found)


def draw_any(
    results: Results | Table | Measured | str | PathLike[str],
    path: str | PathLike[str] | None,
    *,
    plan: int | str | None = None,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    where: Values | None = None,
    title: str | None = None,
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    markers: bool = True,
    width: str | float | None = None,
    font_size: float | None = None,
    labels: Mapping[str, str] | None = None,
    cdf: str | None = None,
    fold: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw what it is: results, events, distributions; what :func:`plot` and its siblings share."""
    page = Page(width or "single", font_size, ax)
    if fold is not None:
        if not markers:
            _refuse("only figures of results have marks to leave out", markers=markers)
        _refuse(FOLDED, x=x, by=by, panels=panels, log_x=log_x, log_y=log_y, cdf=cdf)
        return _draw_folded(results, path, fold, y=column_list(y), where=where, title=title, width=page)
    results = _given(results, path, plan, whole=cdf is not None)
    wanted = Wanted()
    if isinstance(results, Results):
        table, title = results.drawn(column_list(y)), results.title if title is None else title
        wanted = results.figure
    else:
        table = results
    if cdf is not None and isinstance(results, Results):
        table = _users(results, cdf)
    file = None if path is None else fspath(path)
    of_results = cdf is None and _is_of_results(table)
    if not (markers or of_results):
        _refuse("only figures of results have marks to leave out", markers=markers)
    common: dict[str, Any] = {"by": by, "where": where, "title": title or "", "labels": labels}
    if cdf is not None or _is_distribution(table):
        _refuse("a distribution has one panel", x=x, y=y, panels=panels)
        common |= {"log_x": log_x, "log_y": log_y, "width": page}
        return distributions.plot(table, file, of=cdf, **common)
    if not of_results:
        _refuse(OVER_TIME, log_x=log_x, log_y=log_y, panels=panels)
        if linkevents.is_link_events(table):
            _refuse(BY_LINK, by=by, labels=labels)
        return _plot_over_time(table, file, x=x, y=y, width=page, **common)
    common |= {"panels": panels, "log_x": log_x, "log_y": log_y, "intervals": intervals, "markers": markers}
    return plot_wanted(table, file, wanted, x=x, y=y, width=replace(page, width=width or ""), **common)


def _draw_folded(
    source: Results | Drawable | Measured,
    path: str | PathLike[str] | None,
    fold: str,
    *,
    y: Sequence[str] | None,
    where: Values | None,
    title: str | None,
    width: Page,
) -> Figure:
    """Draw samples over their phase in a period."""
    if path is not None:
        check_plot_file(Path(path), *([source] if isinstance(source, str | PathLike) else []))
    period, shown = phases.Period.read(fold), folded.quantities(y)
    file = None if path is None else fspath(path)
    return folded.plot(measured(source, where, shown), file, period, y=shown, title=title or "", width=width)


def measured(
    source: Results | Drawable | Measured, where: Values | None, y: str | Sequence[str] | None
) -> Measured:
    """What samples and events say that can be folded; a CSV file is read row by row, so it may be large."""
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
    table = _given(source, None, None, whole=False)
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
    """Samples by their phase in a period, or by whole periods.

    Parameters
    ----------
    samples : DataFrame, Table, or path
        What :func:`crossfade.runs.samples` gives, or :func:`crossfade.events` with ``run.sample``, or a CSV
        file of it.
    period : str
        A time, such as ``"15 s"``, or ``"15 s from 8.76 s"``.
    y : str or sequence of str, optional
        Quantities (``"goodput_bps"``; default: all).
    where : mapping, optional
        Rows that are folded (``{"flow": 0}``).
    slots : bool
        Whether whole periods are summed up, in place of bins of the phase.

    Returns
    -------
    pandas.DataFrame
        Of each quantity of a flow or link a row for each bin of the phase: mean, 5th and 95th percentile over
        the periods, in the unit of the quantity, times in seconds. With ``slots`` there is one row: its mean
        over whole periods, the 95 % interval by a bootstrap of these, and for goodput the median time after
        which a period is back at 90 % of its goodput (``recovery_s``). Fewer than ten whole periods are
        warned of.

    Raises
    ------
    ResultsError
        If these are no samples, or a column does not exist.
    ScenarioError
        If the period is none.

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
    """Warn of an interval over few whole periods."""
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
    """What :func:`fold` gives, as a table."""
    of = phases.Period.read(period)
    return (phases.by_slots if slots else phases.fold)(measured(samples, where, y), of)


def _refuse(why: str, **options: object) -> None:
    """Raise :class:`ScenarioError` for what is asked for and not done in this picture."""
    for name, value in options.items():
        if value is not None:
            said = ",".join(column_list(value) or []) if isinstance(value, str | Sequence) else value
            raise ScenarioError(f"{name} = {shortened(said)}: not for this picture ({why})")


def _users(results: Results, metric: str) -> Table:
    """A row a user of a cell and run, with its flow and a metric of it, behind the axes."""
    rows: list[list[Any]] = []
    for point in results.points:
        flows = {name: flow.get("count", 1) for name, flow in (point.scenario.get("flows") or {}).items()}
        whose = [name for name, count in flows.items() for _ in range(count)] or [""] * len(point.users)
        axes = [label(point.axes[name]) for name in results.axes]
        for user, flow in enumerate(whose):
            values = point.samples(f"{PREFIXES['user']}{user}.{metric}")
            rows += [[*axes, run, flow, user, value] for run, value in enumerate(values) if value == value]
    if not rows:
        raise ResultsError(
            f"cdf = {metric}: no metric of the users of a cell; of other results there are means alone "
            "(crossfade run --transfers and --delays write the rest)"
        )
    return Table([*results.axes, "run", "flow", "user", metric], rows)


def draw(
    scenario: ScenarioLike,
    path: str | PathLike[str] | None = None,
    *,
    results: Results | None = None,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
    point: int | None = None,
    at: Values | None = None,
    run: int = 0,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    where: Values | None = None,
    title: str | None = None,
    **options: Unpack[Look],
) -> Figure:
    """Draw the figure of a scenario, as its table ``figure`` says: of results, or of single runs over time.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    results : Results, optional
        Those of :func:`crossfade.run` (default: it is run, with ``set``, ``over``, ``seed``, ``point`` and
        ``at``). Where windows, sequence numbers or links are drawn over time, one run of each point is
        repeated for it (at most 20 points).
    set, over : mapping, optional
        As in :func:`crossfade.run`.
    seed : int, optional
        Seed of all random numbers.
    point : int, optional
        Number of a point of the sweep.
    at : mapping, optional
        Values of axes (``{"tcp.variant": "reno"}``).
    run : int
        Number of the run that is drawn over time, counted from 0.
    x, y, by, panels, where, title
        As in :func:`crossfade.plot`; they stand above what the scenario says.
    **options
        What a figure looks like, as in :func:`crossfade.plot`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.
    ResultsError
        If there is nothing to draw.

    Examples
    --------
    >>> import crossfade as cf
    >>> figure = cf.pictures.draw("classics/slow-start", set={"run.duration": "1 s"})
    >>> figure.axes[0].get_xlabel()
    'Time (s)'
    """
    check_names(Look, options)
    if path is not None:
        check_plot_file(Path(path))
    plan = plans.load(scenario, Options(set, over, seed=seed, point=point, at=at, run=run))
    wanted = plan.figure
    kind = _kind(wanted, column_list(y))
    chosen: dict[str, Any] = {"x": x, "y": y, "by": by, "panels": panels, "where": where, "title": title}
    if kind == "results":
        if results is None:
            results = api.run(scenario, set=set, over=over, seed=seed, point=point, at=at)
        return draw_any(results, path, **chosen, **options)
    page = Page(
        options.pop("width", None) or "single", options.pop("font_size", None), options.pop("ax", None)
    )
    labels = options.pop("labels", None)
    if not options.pop("markers", True):
        _refuse("only figures of results have marks to leave out", markers=False)
    _refuse(OVER_TIME, panels=panels, **options)
    if kind == "link-events":
        _refuse(BY_LINK, by=by, labels=labels)
    view = api.events if kind == "events" else api.link_events
    viewed = view(scenario, set=set, over=over, seed=seed, point=point, at=at, run=run)
    table = Table.of_frame(viewed)
    wanted = wanted.over(table, x, y, by, panels, where) if wanted.of == kind else Wanted()
    return _plot_over_time(
        table,
        None if path is None else fspath(path),
        x=x,
        y=y or wanted.y,
        by=by or wanted.by,
        where=where or wanted.where,
        title=plan.title if title is None else title,
        width=page,
        labels=labels or wanted.labels,
    )


def _kind(wanted: Wanted, y: Sequence[str] | None) -> str:
    """What a figure of ``y`` is of: a variable of a sender or a link is drawn over time."""
    if not y:
        return wanted.of
    if all(name in timelines.CHOICES for name in y):
        return "events"
    return "link-events" if all(name in linkevents.DRAWN for name in y) else "results"


def _plot_over_time(
    table: Table,
    path: str | None,
    *,
    x: str | None,
    y: str | Sequence[str] | None,
    by: str | Sequence[str] | None,
    where: Mapping[str, Any] | None,
    title: str,
    width: Page,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Events, or those of links."""
    name = ",".join(column_list(y) or []) or None
    if linkevents.is_link_events(table):
        return linkevents.plot(table, path, x=x, y=name, where=where, title=title, width=width)
    return timelines.plot(
        table, path, x=x, y=name, by=by, where=where, title=title, width=width, labels=labels
    )


def _read_results(path: str | PathLike[str], plan: int | str | None, whole: bool) -> Results | Table:
    """A results file, with the scenarios of its points where it is ``whole``, or the table of a CSV file."""
    if whole and is_results_file(path):
        return plans.load_results(path, plan)
    if is_results_file(path):
        from crossfade.results.planresults import results_of  # here: it needs numpy, which takes a while

        found = results_of(datasets.read_plan(path, plan))
        ends = [found.points[place] for place in (0, -1)] if len(found.points) else []
        if not any(1 < point.runs < ENOUGH_RUNS for point in ends):
            return found
        return plans.load_results(path, plan)  # each run is drawn
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
