"""What is drawn of results, of runs over time, and of a scenario as it says itself."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict, Unpack

from crossfade import api, plans
from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError, shortened
from crossfade.figures import distributions, folded, linkevents, phases, timelines
from crossfade.figures.choice import column_list, number
from crossfade.figures.choice import where as rows_where
from crossfade.figures.plot import plot_wanted
from crossfade.figures.style import check_plot_file
from crossfade.figures.wanted import Wanted
from crossfade.files import shipped_scenarios
from crossfade.plans.options import Options, ScenarioLike, Values, check_names
from crossfade.results import datasets
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.results.rows import PREFIXES
from crossfade.tables import Table, label

# What pictures of single runs do not leave to choose.
OVER_TIME = "over time, axes are linear, and all but the curves' axis have panels; where chooses"
FOLDED = "over the phase, axes are linear; y and where choose"
BY_LINK = "each link and point has a panel of its own; where chooses"


class Look(TypedDict, total=False):
    """The keyword arguments of :func:`draw` that are those of :func:`plot`, and say what it looks like."""

    log_x: bool | None
    log_y: bool | None
    intervals: str
    width: str | float | None
    labels: Mapping[str, str] | None
    cdf: str | None


def plot(
    results: Results | Table | str | PathLike[str],
    path: str | PathLike[str],
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
    width: str | float | None = None,
    labels: Mapping[str, str] | None = None,
    cdf: str | None = None,
    fold: str | None = None,
) -> None:
    """Draw results, a table, a results file or a CSV file as PNG, PDF or SVG by the ending of ``path``.

    ``x`` is the column across (default: SNR, fading margin or packet error probability where that is swept,
    else the numeric axis with most values), ``y`` the metric (default: throughput or goodput) or the ratio of
    two (``"a.goodput_bps/b.goodput_bps"``), ``by`` the columns that tell the curves apart (default: the other
    axes, as far as that makes no more than a dozen curves), ``panels`` an axis with a panel for each value;
    of two axes the first runs across, the second down, and of several metrics each has a row. ``labels`` are
    what values are called (``{"sack": "Reno with SACK"}``). What a scenario says in its table ``figure``
    stands before these defaults.
    ``where`` draws the rows alone that have these values (``{"tcp.variant": "reno"}``); an axis that is
    nowhere is held at its first value, and a :class:`CrossfadeWarning` says so. ``plan`` says which sweep of
    a results file is meant (default: the one added last).

    Simulation is drawn as marks with their 95 % intervals (``intervals``: ``"bars"``, ``"bands"`` or
    ``"none"``), exact analysis as lines, bounds as bands, a formula as dashes. ``width`` is that of a
    journal's ``"single"`` (3.5 in) or ``"double"`` (7.16 in) column (default: that of a grid of panels), or a
    number of millimetres. ``log_x``
    and ``log_y`` stand above what the values suggest: x as they are spaced, y for error rates over decades.

    Of events (:func:`events`), ``y`` is drawn over time: ``cwnd`` (default) with ``ssthresh`` as thin dashes
    and marks for fast retransmits and timeouts, another variable of the sender, or ``seq``, the time-sequence
    plot. The last axis of a sweep, or ``by``, tells curves apart; the other axes have a panel each value.
    ``where`` also compares: ``{"time_s>=": 1, "time_s<": 2}`` shows that part of the time. ``fold="15 s"``
    draws samples over their phase in that period (see :func:`fold`), ``y`` among ``goodput_bps``,
    ``rtt_mean_s``, ``queue_packets``, ``capacity_bps``, ``retransmissions``, ``cwnd``, ``losses_per_s`` and
    ``spurious_per_s``.

    Of link events (:func:`link_events`), each link has a panel for each kind that it has: frames by
    ``attempt`` (or ``snr_db``) with their verdicts, the queue's ``packets`` (or ``bytes``), who had which
    ``bin`` in which slot, and which ``node`` was on the air; ``y`` draws one of these.

    Of transfers (:func:`transfers`) and delays (:func:`delays`), or any table with a column ``cdf``, the
    share of values that are no larger is drawn, as the mean over runs with its pointwise 95 % band; with
    ``log_y`` the share above, where tails are seen. Of results of a cell, how a metric of users
    (``cdf="user_goodput_bps"``) differs from user to user; ``by="flow"`` tells those of each flow apart.
    """
    if not isinstance(results, Results | Table):
        check_plot_file(Path(path), results)
        results = _read_results(results, plan, whole=cdf is not None)
    wanted = Wanted()
    if isinstance(results, Results):
        table, title = results.table(), results.title if title is None else title
        wanted = results.figure
    else:
        table = results
    if cdf is not None and isinstance(results, Results):
        table = _users(results, cdf)
    file = fspath(path)
    if fold is not None:
        _refuse(FOLDED, x=x, by=by, panels=panels, log_x=log_x, log_y=log_y, cdf=cdf)
        chosen, period = _samples(table, where), phases.Period.read(fold)
        folded.plot(chosen, file, period, y=column_list(y), title=title or "", width=width or "single")
        return
    common: dict[str, Any] = {"by": by, "where": where, "title": title or "", "labels": labels}
    if cdf is not None or distributions.is_transfers(table) or distributions.is_delays(table):
        _refuse("a distribution has one panel", x=x, y=y, panels=panels)
        common |= {"log_x": log_x, "log_y": log_y, "width": width or "single"}
        distributions.plot(table, file, of=cdf, **common)
    elif linkevents.is_link_events(table) or timelines.is_events(table):
        _refuse(OVER_TIME, log_x=log_x, log_y=log_y, panels=panels)
        if linkevents.is_link_events(table):
            _refuse(BY_LINK, by=by, labels=labels)
        _plot_over_time(table, file, x=x, y=y, width=width or "single", **common)
    else:
        common |= {"panels": panels, "log_x": log_x, "log_y": log_y, "intervals": intervals, "width": width}
        plot_wanted(table, file, wanted, x=x, y=y, **common)


def _samples(table: Table, where: Values | None) -> Table:
    """The rows of samples and events that are wanted."""
    if not timelines.is_events(table):
        raise ResultsError("fold: only samples and events have times (crossfade run --samples writes them)")
    return rows_where(table, where or {})


def fold(
    samples: Table | str | PathLike[str],
    period: str,
    *,
    y: str | Sequence[str] | None = None,
    where: Values | None = None,
    slots: bool = False,
) -> Table:
    """Samples by their phase in a period (``"15 s"``, or ``"15 s from 8.76 s"``), or by whole periods.

    ``samples`` are a table or a CSV file of :func:`samples`, or of :func:`events` with ``run.sample``. Of
    each quantity of a flow or link there is a row for each bin of the phase: mean, 5th and 95th percentile
    over the periods. With ``slots`` there is one row: its mean over whole periods, the 95 % interval by a
    bootstrap of these, and for goodput the median time after which a period is back at 90 % of its goodput
    (``recovery_s``). Fewer than ten whole periods are warned of.
    """
    table = samples if isinstance(samples, Table) else Table.read(samples)
    chosen, of = _samples(table, where), phases.Period.read(period)
    if not slots:
        return phases.fold(chosen, of, column_list(y))
    found = phases.by_slots(chosen, of, column_list(y))
    fewest = min((number(cell) for cell in found.cells("periods")), default=0.0)
    if fewest < phases.FEW_SLOTS:
        warnings.warn(
            f"{fewest:g} whole periods of {of.seconds:g} s: an interval of fewer than "
            f"{phases.FEW_SLOTS} says little",
            CrossfadeWarning,
            stacklevel=2,
        )
    return found


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
    path: str | PathLike[str],
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
) -> None:
    """Draw the figure of a scenario, as its table ``figure`` says: of results, or of single runs over time.

    ``results`` are those of :func:`run` (default: it is run, with ``set``, ``over``, ``seed``,
    ``point`` and ``at``); where windows, sequence numbers or links are drawn over time, one run of each point
    is repeated for it (at most 20 points): the first, or that of number ``run``. The rest is as in
    :func:`plot`, and stands above what the scenario says.
    """
    check_names(Look, options)
    check_plot_file(Path(path))
    plan = plans.load(scenario, Options(set, over, seed=seed, point=point, at=at, run=run))
    wanted = plan.figure
    kind = _kind(wanted, column_list(y))
    chosen: dict[str, Any] = {"x": x, "y": y, "by": by, "panels": panels, "where": where, "title": title}
    if kind == "results":
        if results is None:
            results = api.run(scenario, set=set, over=over, seed=seed, point=point, at=at)
        plot(results, path, **chosen, **options)
        return
    width, labels = options.pop("width", None) or "single", options.pop("labels", None)
    _refuse(OVER_TIME, panels=panels, **options)
    if kind == "link-events":
        _refuse(BY_LINK, by=by, labels=labels)
    view = api.events if kind == "events" else api.link_events
    viewed = view(scenario, set=set, over=over, seed=seed, point=point, at=at, run=run)
    table = Table.from_csv(viewed, "events")
    wanted = wanted.over(table, x, y, by, panels, where) if wanted.of == kind else Wanted()
    _plot_over_time(
        table,
        fspath(path),
        x=x,
        y=y or wanted.y,
        by=by or wanted.by,
        where=where or wanted.where,
        title=plan.title if title is None else title,
        width=width,
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
    path: str,
    *,
    x: str | None,
    y: str | Sequence[str] | None,
    by: str | Sequence[str] | None,
    where: Mapping[str, Any] | None,
    title: str,
    width: str | float,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Events, or those of links."""
    name = ",".join(column_list(y) or []) or None
    if linkevents.is_link_events(table):
        linkevents.plot(table, path, x=x, y=name, where=where, title=title, width=width)
    else:
        timelines.plot(table, path, x=x, y=name, by=by, where=where, title=title, width=width, labels=labels)


def _read_results(path: str | PathLike[str], plan: int | str | None, whole: bool) -> Results | Table:
    """A results file, with the scenarios of its points where it is ``whole``, or the table of a CSV file."""
    if whole and is_results_file(path):
        return plans.load_results(path, plan)
    if is_results_file(path):
        from crossfade.results.planresults import results_of  # here: it needs numpy, which takes a while

        return results_of(datasets.read_plan(path, plan))
    if Path(path).suffix == ".cfj":
        return api.journal_events(path)
    if not os.path.exists(path) and fspath(path).removesuffix(".toml") in shipped_scenarios():
        name = fspath(path).removesuffix(".toml")
        raise ResultsError(
            f"{name}: a scenario has no results yet; crossfade run {name} --plot FILE draws it"
        )
    if plan is not None:
        raise ResultsError(f"{path}: not a results file; a CSV file holds no plans (plan = {plan})")
    return Table.read(path)
