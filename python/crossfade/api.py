"""The functions of ``import crossfade as cf``; the command line is a thin layer over them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from crossfade import _crossfade, datasets, errors, plans, plots, timelines
from crossfade.files import read_text
from crossfade.plans import Plan, translated_errors
from crossfade.plans import Scenario as Scenario
from crossfade.plans import Values as Values
from crossfade.progress import ProgressBar
from crossfade.results import Results, label
from crossfade.resultsfile import is_results_file
from crossfade.rows import Row
from crossfade.store import Cache, open_cache
from crossfade.tables import Table, csv_line


def run(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
    jobs: int | None = None,
    cache: bool | Cache = True,
    progress: bool = False,
) -> Results:
    """Solve or simulate a scenario: every point of its sweep by each of its methods.

    ``set`` changes keys (``{"tcp.w_max": 6}``; None takes a key out), ``over`` replaces or adds axes
    (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"``, ``"start:stop:step"``). ``runs`` or
    ``precision`` (``"1 %"``), ``seed`` and ``methods`` (``["analysis", "simulation"]``) stand
    above the file's. ``jobs`` is the number of
    threads (all cores where None); results do not depend on it.

    Finished runs are taken from the user's cache and kept there; ``cache=False`` leaves it alone.

    Raises :class:`ScenarioError` on anything wrong in the scenario or an option, and on Ctrl-C
    :class:`Interrupted` (a ``KeyboardInterrupt``), which carries what is finished.
    """
    plan = plans.load(
        scenario, set=set, over=over, runs=runs, precision=precision, seed=seed, methods=methods
    )
    plans.check_jobs(jobs)
    if isinstance(cache, Cache):
        return _execute(plan, jobs, cache, progress)
    with open_cache(cache) as store:
        return _execute(plan, jobs, store, progress)


def _execute(plan: Plan, jobs: int | None, store: Cache, progress: bool) -> Results:
    rows = store.get(plan.core.keys())

    def keep(batch: list[tuple[Any, ...]]) -> None:
        finished = [Row(*row) for row in batch]
        store.put(finished)
        rows.update({row.key: row for row in finished})

    with translated_errors(), ProgressBar(enabled=progress) as bar:
        complete = plan.core.execute(list(rows.values()), jobs, (1, 1), keep, bar.update)
    results = plan.results(rows, complete)
    if not complete:
        raise errors.Interrupted(results)
    return results


@dataclass(frozen=True)
class Check:
    """What a scenario would run: its axes, points and runs a point, and what to be careful about."""

    title: str
    axes: dict[str, int]
    points: int
    methods: list[str]
    stop: dict[str, Any]
    seed: int
    warnings: list[str]


def check(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
) -> Check:
    """Read a scenario and say what it would run; :class:`ScenarioError` where it is wrong."""
    plan = plans.load(
        scenario, set=set, over=over, runs=runs, precision=precision, seed=seed, methods=methods
    )
    description = plan.description
    return Check(
        title=plan.title,
        axes=description["steps"],
        points=len(description["points"]),
        methods=description["methods"],
        stop=description["stop"],
        seed=description["seed"],
        warnings=description["warnings"],
    )


def events(
    scenario: Scenario, *, set: Values | None = None, over: Values | None = None, seed: int | None = None
) -> str:
    """Every event of run 0 as CSV text (time_s, event, flow, seq, cwnd, ...).

    Of a scenario with a sweep, the events of each of its points (20 at the most), one after the other, behind
    columns for the axes.
    """
    plan = plans.load(scenario, set=set, over=over, seed=seed)
    with translated_errors():
        texts = plan.core.events()
    description = plan.description
    if not (axes := description["axes"]):
        return texts[0]
    rows: list[str] = []
    for point, text in zip(description["points"], texts, strict=True):
        header, *lines = text.splitlines(keepends=True)
        rows = rows or [csv_line(axes) + "," + header]
        before = csv_line(label(point["axes"][axis]) for axis in axes)
        rows += [f"{before},{line}" for line in lines]
    return "".join(rows)


def pcap(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
    ipv6: bool = False,
) -> bytes:
    """What the senders' network interfaces see in run 0 of a single point, as the bytes of a pcap file.

    IPv4 (or IPv6) and TCP headers are real, with options and right checksums; the payload is zeros. Flow n
    has port 50000 + n. The handshake is not simulated: it stands at the instant of the flow's first packet.
    """
    plan = plans.load(scenario, set=set, over=over, seed=seed)
    with translated_errors():
        return plan.core.pcap(ipv6)


def schema() -> str:
    """The JSON Schema of a scenario, for editors."""
    return json.dumps(json.loads(_crossfade.schema()), indent=2)


def explain(key: str) -> str:
    """What a key of a scenario means: its type, unit, default and what is allowed."""
    with translated_errors():
        return _crossfade.explain(key)


def parse_value(text: str) -> Any:
    """A value as the command line takes it: a TOML number, list or inline table, else the text itself."""
    with translated_errors():
        return json.loads(_crossfade.parse_value(text))


def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> dict[str, float]:
    """The two-state Markov channel of a Rayleigh fading link with a threshold (Zorzi, Rao and Milstein 1995).

    ``fd_t`` is the Doppler frequency times the slot; exactly one of ``p_e`` (mean packet error probability)
    and ``fading_margin_db`` says how deep the threshold lies. Gives fd_t, p_e, fading_margin_db, p_gg, p_bb,
    mean_burst (slots) and rho.
    """
    with translated_errors():
        found = _crossfade.markov_from_rayleigh(fd_t, p_e=p_e, fading_margin_db=fading_margin_db)
    return cast(dict[str, float], found)


@dataclass(frozen=True)
class GoldenCase:
    """One golden trace replayed: where it first differs, or None where every row is identical."""

    case: str
    rows: int
    difference: str | None


def verify(folder: str | PathLike[str]) -> list[GoldenCase]:
    """Replay a folder of golden traces: ``patterns.json`` and ``sends_SET_VARIANT.csv`` (or ``.csv.gz``).

    Raises :class:`GoldenError` where the folder cannot be read as one.
    """
    path = Path(folder)
    if not path.is_dir():
        raise errors.GoldenError(f"{path}: no such folder")
    patterns = read_text(path / "patterns.json", errors.GoldenError)
    names = sorted([*path.glob("sends_*.csv"), *path.glob("sends_*.csv.gz")])
    files = [(name.name.removesuffix(".gz"), read_text(name, errors.GoldenError)) for name in names]
    with translated_errors():
        cases = json.loads(_crossfade.verify(patterns, files))
    return [
        GoldenCase(case["case"].replace(".csv/", " "), case["rows"], case["difference"]) for case in cases
    ]


def plot(
    results: Results | Table | str | PathLike[str],
    path: str | PathLike[str],
    *,
    plan: int | str | None = None,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | None = None,
    where: Values | None = None,
    title: str | None = None,
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    width: str | float = "single",
) -> None:
    """Draw results, a table, a results file or a CSV file as PNG, PDF or SVG by the ending of ``path``.

    ``x`` is the column across (default: SNR, fading margin or packet error probability where that is swept,
    else the numeric axis with most values), ``y`` the metric (default: throughput or goodput) or the ratio of
    two (``"a.goodput_bps/b.goodput_bps"``), ``by`` the columns that tell the curves apart (default: the other
    axes, as far as that makes no more than a dozen curves), ``panels`` an axis with a panel for each value.
    ``where`` draws the rows alone that have these values (``{"tcp.variant": "reno"}``); an axis that is
    nowhere is held at its first value, and a :class:`CrossfadeWarning` says so. ``plan`` says which sweep of
    a results file is meant (default: the one added last).

    Simulation is drawn as marks with their 95 % intervals (``intervals``: ``"bars"``, ``"bands"`` or
    ``"none"``), exact analysis as lines, bounds as bands, a formula as dashes. ``width`` is that of a
    journal's ``"single"`` (3.5 in) or ``"double"`` (7.16 in) column, or a number of millimetres. ``log_x``
    and ``log_y`` stand above what the values suggest: x as they are spaced, y for error rates over decades.

    Of events (:func:`events`), ``y`` is drawn over time: ``cwnd`` (default) with ``ssthresh`` as thin dashes
    and marks for fast retransmits and timeouts, another variable of the sender, or ``seq``, the time-sequence
    plot. The last axis of a sweep, or ``by``, tells curves apart; the other axes have a panel each value.
    """
    if not isinstance(results, Results | Table):
        results = _read_results(results, plan)
    if isinstance(results, Results):
        table, title = results.table(), results.title if title is None else title
    else:
        table = results
    only = {key: label(value) for key, value in (where or {}).items()}
    file, title = fspath(path), title or ""
    if timelines.is_events(table):
        timelines.plot(table, file, x=x, y=y, by=by, only=only, title=title, width=width)
        return
    plots.plot(
        table,
        file,
        x=x,
        y=y,
        by=by,
        panels=panels,
        only=only,
        title=title,
        log_x=log_x,
        log_y=log_y,
        intervals=intervals,
        width=width,
    )


def _read_results(path: str | PathLike[str], plan: int | str | None) -> Results | Table:
    """A results file, or the table of a CSV file."""
    if is_results_file(path):
        from crossfade.planresults import results_of  # here: it needs numpy, which takes a while

        return results_of(datasets.read_plan(path, plan))
    if plan is not None:
        raise errors.ResultsError(f"{path}: not a results file; a CSV file holds no plans (plan = {plan})")
    return Table.read(path)
