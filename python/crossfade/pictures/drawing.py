"""One function that draws results, events, samples or distributions, by the kind of what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures import distributions, linkevents, timelines
from crossfade.figures.choice import column_list
from crossfade.figures.phases import Measured
from crossfade.figures.plot import plot_wanted
from crossfade.figures.style import Page
from crossfade.figures.wanted import Wanted
from crossfade.pictures.folds import draw_folded
from crossfade.pictures.sources import given, is_distribution, is_of_results
from crossfade.plans.options import Values
from crossfade.results.results import Results
from crossfade.results.rows import PREFIXES
from crossfade.tables import Table, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Message for options that do not apply to figures of single runs over time.
OVER_TIME = "over time, axes are linear, and all but the curves' axis have panels; where chooses"
FOLDED = "over the phase, axes are linear; y and where choose"
BY_LINK = "each link and point has a panel of its own; where chooses"


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
    """Draw results, events or distributions, whichever is given: common part of :func:`plot`,
    :func:`plot_events` and :func:`plot_cdf`.
    """
    page = Page(width or "single", font_size, ax)
    if fold is not None:
        if not markers:
            refuse("only figures of results have marks to leave out", markers=markers)
        refuse(FOLDED, x=x, by=by, panels=panels, log_x=log_x, log_y=log_y, cdf=cdf)
        return draw_folded(results, path, fold, y=column_list(y), where=where, title=title, width=page)
    results = given(results, path, plan, whole=cdf is not None)
    wanted = Wanted()
    if isinstance(results, Results):
        table, title = results.drawn(column_list(y)), results.title if title is None else title
        wanted = results.figure
    else:
        table = results
    if cdf is not None and isinstance(results, Results):
        table = _users(results, cdf)
    file = None if path is None else fspath(path)
    of_results = cdf is None and is_of_results(table)
    if not (markers or of_results):
        refuse("only figures of results have marks to leave out", markers=markers)
    common: dict[str, Any] = {"by": by, "where": where, "title": title or "", "labels": labels}
    if cdf is not None or is_distribution(table):
        refuse("a distribution has one panel", x=x, y=y, panels=panels)
        common |= {"log_x": log_x, "log_y": log_y, "width": page}
        return distributions.plot(table, file, of=cdf, **common)
    if not of_results:
        refuse(OVER_TIME, log_x=log_x, log_y=log_y, panels=panels)
        if linkevents.is_link_events(table):
            refuse(BY_LINK, by=by, labels=labels)
        return plot_over_time(table, file, x=x, y=y, width=page, **common)
    common |= {"panels": panels, "log_x": log_x, "log_y": log_y, "intervals": intervals, "markers": markers}
    return plot_wanted(table, file, wanted, x=x, y=y, width=replace(page, width=width or ""), **common)


def refuse(why: str, **options: object) -> None:
    """Raise :class:`ScenarioError` for any option that is set but does not apply to this figure; ``why``
    explains it.
    """
    for name, value in options.items():
        if value is not None:
            said = ",".join(column_list(value) or []) if isinstance(value, str | Sequence) else value
            raise ScenarioError(f"{name} = {shortened(said)}: not for this picture ({why})")


def _users(results: Results, metric: str) -> Table:
    """Table of results of a cell: one row per run and user, with the axes, the flow and a metric of the
    user.
    """
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


def plot_over_time(
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
    """Draw events of senders or of links over time."""
    name = ",".join(column_list(y) or []) or None
    if linkevents.is_link_events(table):
        return linkevents.plot(table, path, x=x, y=name, where=where, title=title, width=width)
    return timelines.plot(
        table, path, x=x, y=name, by=by, where=where, title=title, width=width, labels=labels
    )
