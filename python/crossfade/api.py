"""The functions of ``import crossfade as cf``; the command line is a thin layer over them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from crossfade import _crossfade, errors, plots, timelines
from crossfade.files import read_scenario, read_text
from crossfade.progress import ProgressBar
from crossfade.results import Estimate, Point, Results, label
from crossfade.rows import Row
from crossfade.store import Cache, open_cache
from crossfade.tables import Table, csv_line

# More threads than any machine has cores; a larger number is a slip of the pen.
MOST_JOBS = 1024

Scenario = str | PathLike[str]
"""A scenario file, the name of a shipped scenario, or (with a line break in it) the TOML text itself."""

Values = Mapping[str, Any]
"""Dotted keys and what they are set to, or run over (a list, an array, or a range as text)."""


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
    plan = _load(scenario, set=set, over=over, runs=runs, precision=precision, seed=seed, methods=methods)
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise errors.ScenarioError(f"jobs = {jobs}: must be at least 1 and at most {MOST_JOBS}")
    if isinstance(cache, Cache):
        return _execute(plan, set, over, jobs, cache, progress)
    with open_cache(cache) as store:
        return _execute(plan, set, over, jobs, store, progress)


def _execute(
    plan: _crossfade.Plan,
    set: Values | None,
    over: Values | None,
    jobs: int | None,
    store: Cache,
    progress: bool,
) -> Results:
    rows = store.get(plan.keys())

    def keep(batch: list[tuple[Any, ...]]) -> None:
        finished = [Row(*row) for row in batch]
        store.put(finished)
        rows.update({row.key: row for row in finished})

    with _translated(), ProgressBar(enabled=progress) as bar:
        complete = plan.execute(list(rows.values()), jobs, (1, 1), keep, bar.update)
        summary = json.loads(plan.summarise(list(rows.values())))
    overrides = {"set": _plain(set), "over": _plain(over)}
    description = json.loads(plan.describe())
    results = _results(description, summary, rows, overrides, complete)
    if not complete:
        raise errors.Interrupted(results)
    return results


def _results(
    description: dict[str, Any],
    summary: list[dict[str, Any]],
    rows: Mapping[str, Row],
    overrides: dict[str, Any],
    complete: bool,
) -> Results:
    _refuse_methods_without_result(summary)

    def point(found: dict[str, Any]) -> Point:
        runs, method = found["runs"], found["method"]

        def estimates(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
            return {
                name: Estimate(metric["value"], metric["ci95"], runs, method, metric["unit"])
                for name, metric in metrics.items()
                if isinstance(metric, dict)
            }

        metrics = estimates(found["metrics"])
        parts = {
            f"{part['name']}.{name}": estimate
            for part in [*found["flows"], *found["links"]]
            for name, estimate in estimates(part).items()
            # The wireless link is described by the metrics of the whole; so is a flow without a name.
            if part["name"] and not (part["name"] == "forward" and name in metrics)
        }
        return Point(
            axes=found["axes"],
            scenario=found["scenario"],
            method=method,
            runs=runs,
            metrics=metrics,
            parts=parts,
            flows=found["flows"],
            links=found["links"],
            warnings=found["warnings"],
            loss_windows=found["loss_windows"],
            rows=[rows[key] for key in found["rows"]],
        )

    return Results(
        title=description["scenario"].get("title") or "",
        methods=description["methods"],
        seed=description["seed"],
        points=[point(found) for found in summary if complete or found["complete"]],
        provenance={
            "version": _crossfade.__version__,
            "results_version": _crossfade.RESULTS_VERSION,
            "overrides": overrides,
        },
        complete=complete,
        axes=description["axes"],
    )


def _refuse_methods_without_result(summary: list[dict[str, Any]]) -> None:
    """A method that was refused at every point (its states fit nowhere) was asked for by mistake."""
    for method in dict.fromkeys(found["method"] for found in summary):
        all_found = [found for found in summary if found["method"] == method]
        refused = f"no {method}: "
        reasons = [text for text in all_found[0]["warnings"] if text.startswith(refused)]
        if reasons and not any(found["metrics"] or not found["complete"] for found in all_found):
            raise errors.ScenarioError(reasons[0].removeprefix(refused))


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
    plan = _load(scenario, set=set, over=over, runs=runs, precision=precision, seed=seed, methods=methods)
    description = json.loads(plan.describe())
    points = description["points"]
    axes = {
        axis: len({json.dumps(point["axes"][axis], sort_keys=True) for point in points})
        for axis in description["axes"]
    }
    title = description["scenario"].get("title") or ""
    return Check(
        title=title,
        axes=axes,
        points=len(points),
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
    plan = _load(scenario, set=set, over=over, runs=None, precision=None, seed=seed, methods=None)
    with _translated():
        texts = plan.events()
    description = json.loads(plan.describe())
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
    plan = _load(scenario, set=set, over=over, runs=None, precision=None, seed=seed, methods=None)
    with _translated():
        return plan.pcap(ipv6)


def schema() -> str:
    """The JSON Schema of a scenario, for editors."""
    return json.dumps(json.loads(_crossfade.schema()), indent=2)


def explain(key: str) -> str:
    """What a key of a scenario means: its type, unit, default and what is allowed."""
    with _translated():
        return _crossfade.explain(key)


def parse_value(text: str) -> Any:
    """A value as the command line takes it: a TOML number, list or inline table, else the text itself."""
    with _translated():
        return json.loads(_crossfade.parse_value(text))


def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> dict[str, float]:
    """The two-state Markov channel of a Rayleigh fading link with a threshold (Zorzi, Rao and Milstein 1995).

    ``fd_t`` is the Doppler frequency times the slot; exactly one of ``p_e`` (mean packet error probability)
    and ``fading_margin_db`` says how deep the threshold lies. Gives fd_t, p_e, fading_margin_db, p_gg, p_bb,
    mean_burst (slots) and rho.
    """
    with _translated():
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
    with _translated():
        cases = json.loads(_crossfade.verify(patterns, files))
    return [
        GoldenCase(case["case"].replace(".csv/", " "), case["rows"], case["difference"]) for case in cases
    ]


def plot(
    results: Results | Table | str | PathLike[str],
    path: str | PathLike[str],
    *,
    plan: str | None = None,
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
    only = {key: label(value) for key, value in _plain(where).items()}
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


def _read_results(path: str | PathLike[str], plan: str | None) -> Results | Table:
    """A results file, or the table of a CSV file."""
    return Table.read(path)


def _load(
    scenario: Scenario,
    *,
    set: Values | None,
    over: Values | None,
    runs: int | None,
    precision: str | None,
    seed: int | None,
    methods: Sequence[str] | None,
) -> _crossfade.Plan:
    name, text = read_scenario(scenario)
    overrides = {
        "set": list(_plain(set).items()),
        "over": list(_plain(over).items()),
        "runs": runs,
        "precision": precision,
        "seed": seed,
        "methods": None if methods is None else list(methods),
    }
    with _translated():
        return _crossfade.Plan.load(text, name, json.dumps(overrides))


def _plain(values: Values | None) -> dict[str, Any]:
    """Values as JSON has them (numpy arrays and numbers become lists and numbers)."""
    return {key: _plain_value(key, value) for key, value in (values or {}).items()}


def _plain_value(key: str, value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {inner: _plain_value(f"{key}.{inner}", item) for inner, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain_value(key, item) for item in value]
    if value is not None and not isinstance(value, str | int | float | bool):
        raise errors.ScenarioError(
            f"{key} = {value!r}: must be a number, a text, true or false, a list or a table"
        )
    if isinstance(value, float) and value - value != 0.0:
        raise errors.ScenarioError(f"{key} = {value}: must be a finite number")
    return value


@contextmanager
def _translated() -> Iterator[None]:
    """The extension's errors as this package's own."""
    try:
        yield
    except _crossfade.ScenarioError as error:
        raise errors.ScenarioError(str(error)) from None
    except _crossfade.GoldenError as error:
        raise errors.GoldenError(str(error)) from None
