"""Figure of a scenario, as its own table ``figure`` defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from crossfade import api, plans
from crossfade.figures import linkevents, timelines
from crossfade.figures.choice import column_list
from crossfade.figures.style import Page, check_plot_file
from crossfade.figures.wanted import Wanted
from crossfade.pictures.drawing import BY_LINK, OVER_TIME, draw_any, plot_over_time, refuse
from crossfade.plans.options import Options, ScenarioLike, Values, check_names
from crossfade.results.results import Results
from crossfade.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(TypedDict, total=False):
    """Keyword arguments of :func:`draw` for the appearance of the figure, shared with :func:`plot`."""

    log_x: bool | None
    log_y: bool | None
    intervals: str
    markers: bool
    width: str | float | None
    font_size: float | None
    labels: Mapping[str, str] | None
    cdf: str | None
    ax: Axes | None


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
    """Draw the figure of a scenario that its table ``figure`` defines: of results, or of single runs over
    time.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    results : Results, optional
        Results of :func:`crossfade.run` (default: the scenario is run, with ``set``, ``over``, ``seed``,
        ``point`` and ``at``). For windows, sequence numbers or links over time, one run of each point is
        repeated (at most 20 points).
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
        As in :func:`crossfade.plot`; they take precedence over the scenario's table ``figure``.
    **options
        Appearance of the figure, as in :func:`crossfade.plot`.

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
        refuse("only figures of results have marks to leave out", markers=False)
    refuse(OVER_TIME, panels=panels, **options)
    if kind == "link-events":
        refuse(BY_LINK, by=by, labels=labels)
    view = api.events if kind == "events" else api.link_events
    viewed = view(scenario, set=set, over=over, seed=seed, point=point, at=at, run=run)
    table = Table.of_frame(viewed)
    wanted = wanted.over(table, x, y, by, panels, where) if wanted.of == kind else Wanted()
    return plot_over_time(
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
    """Kind of a figure with quantities ``y``: variables of senders and links are drawn over time, metrics
    over an axis.
    """
    if not y:
        return wanted.of
    if all(name in timelines.CHOICES for name in y):
        return "events"
    return "link-events" if all(name in linkevents.DRAWN for name in y) else "results"
