"""Figures of results, of single runs over time, and of a scenario as it defines them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError
from crossfade.pictures.drawing import draw_any
from crossfade.pictures.folds import fold
from crossfade.pictures.scenarios import draw
from crossfade.pictures.sources import given, is_distribution, is_of_results
from crossfade.plans.options import Values
from crossfade.results.results import Results

__all__ = ["draw", "fold", "plot", "plot_cdf", "plot_events"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crossfade.pictures.sources import Drawable


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
    dashes. Values in the scenario's table ``figure`` replace the defaults below.

    Parameters
    ----------
    results : Results, Table, DataFrame, or path
        Results of :func:`run`, their table, a results file or a CSV file.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    plan : int or str, optional
        Plan of a results file that holds several (default: the one added last).
    x : str, optional
        Column on the horizontal axis. Default: SNR, fading margin or packet error probability if swept,
        otherwise the numeric axis with the most values.
    y : str or sequence of str, optional
        Metric, or the ratio of two (``"a.goodput_bps/b.goodput_bps"``); each of several has its own row of
        panels. Default: throughput or goodput.
    by : str or sequence of str, optional
        Columns by which curves differ. Default: the other axes, up to about a dozen curves.
    panels : str or sequence of str, optional
        Axis with one panel per value; of two axes, the first gives columns and the second rows of panels.
    where : mapping, optional
        Conditions for rows to draw (``{"tcp.variant": "reno"}``); a key may end in ``<``, ``<=``, ``>`` or
        ``>=``. An axis used nowhere in the figure is held at its first value, with a
        :class:`CrossfadeWarning`.
    title : str, optional
        Title (default: that of the scenario; ``""`` for none).
    log_x, log_y : bool, optional
        Whether an axis is logarithmic. Default: x if its values are spaced by factors, y for error rates over
        decades.
    intervals : {"bars", "bands", "none"}
        How the 95 % intervals are drawn.
    markers : bool
        True to draw values as marks; otherwise, and for more than 25 values, a curve is a line.
    width : {"single", "double"} or float, optional
        Width of one (3.5 in) or two (7.16 in) columns of a journal, or in millimetres.
    font_size : float, optional
        Font size in points (default 7.5).
    labels : mapping, optional
        Labels of values in the figure (``{"sack": "Reno with SACK"}``).
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, for a figure of one panel.
    cdf, fold : str, optional
        Deprecated: use :func:`plot_cdf`, and :func:`plot_events` with ``fold``.

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
    results = given(results, path, plan, whole=cdf is not None)
    if cdf is not None or fold is not None or not is_of_results(results):
        other = "plot_cdf" if cdf is not None or is_distribution(results) else "plot_events"
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
        Result of :func:`crossfade.events`, :func:`crossfade.runs.samples` or
        :func:`crossfade.runs.link_events`, a CSV file of one, or a journal (``.cfj``) of a live run.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    y : str or sequence of str, optional
        Quantity to draw. For senders: ``"cwnd"`` (default, with ``ssthresh`` as thin dashes and marks for
        fast retransmits and timeouts), another variable of a sender, or ``"seq"`` for the time-sequence plot.
        For links: ``"attempt"``, ``"snr_db"``, ``"packets"``, ``"bytes"``, ``"bin"``, ``"node"``, or
        ``"delay"`` for the parts of the packet delay; by default one panel for each kind of event.
    by : str or sequence of str, optional
        Axis by which curves differ (default: the last of a sweep); the other axes have one panel per value.
    where : mapping, optional
        Conditions for rows to draw; ``{"time_s>=": 1, "time_s<": 2}`` selects an interval of time.
    title : str
        Title.
    width : {"single", "double"} or float
        As in :func:`plot`.
    font_size : float, optional
        Font size in points (default 7.5).
    labels : mapping, optional
        Names of values.
    fold : str, optional
        Period (``"15 s"``) over whose phase samples are drawn, see :func:`crossfade.pictures.fold`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, for a figure of one panel.

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
    table = given(events, path, None, whole=False)
    if isinstance(table, Results) or is_of_results(table) or is_distribution(table):
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
    """Draw the cumulative distribution of values: the mean over runs, with its 95 % band.

    Parameters
    ----------
    values : DataFrame, Table, Results, or path
        Result of :func:`crossfade.runs.transfers` or :func:`crossfade.runs.delays`, a CSV file of one, or
        results of a cell.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    of : str, optional
        Quantity: for transfers ``"completion_time_s"`` (default), for delays ``"rtt_s"`` or
        ``"one_way_delay_s"``, for results of a cell a metric of its users (``"user_goodput_bps"``).
    plan : int or str, optional
        Plan of a results file that holds several.
    by : str or sequence of str, optional
        Columns by which curves differ (``"flow"``: one curve per flow).
    where : mapping, optional
        Conditions for rows to draw.
    title : str, optional
        Title.
    log_x, log_y : bool, optional
        Whether an axis is logarithmic; with ``log_y`` the complementary distribution (share above) is drawn,
        which shows tails.
    width : {"single", "double"} or float
        As in :func:`plot`.
    font_size : float, optional
        Font size in points (default 7.5).
    labels : mapping, optional
        Names of values.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.

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
    found = given(values, path, plan, whole=True)
    options: dict[str, Any] = {"by": by, "where": where, "title": title, "labels": labels}
    if of is None and not is_distribution(found):
        raise ResultsError("of: must name the column to draw (for results of a cell: of='user_goodput_bps')")
    return draw_any(
        found, path, cdf=of, log_x=log_x, log_y=log_y, width=width, font_size=font_size, ax=ax, **options
    )


def _deprecated(text: str) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=3)
