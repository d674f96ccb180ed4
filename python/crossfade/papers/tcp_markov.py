"""Zorzi, Chockalingam and Rao, "Throughput Analysis of TCP on Channels with Memory" (IEEE JSAC 18(7), 2000).

Figures 1 to 6 are scenarios in ``scenarios/papers/tcp-markov``; their claims are ``claims.toml`` beside them.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from crossfade import api, paired
from crossfade.errors import Interrupted, ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import verdicts
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Curve, Outcome, Sample, Verdict
from crossfade.results import Point, Results
from crossfade.tables import Cell, Table

KEY = "tcp-markov"
CITATION = (
    "M. Zorzi, A. Chockalingam and R. R. Rao, Throughput Analysis of TCP on Channels with Memory, "
    "IEEE J. Select. Areas Commun. 18(7), 2000"
)
FOLDER = SCENARIOS / "papers" / KEY

FIGURES = {
    "table1": "Markov parameters p_GG and p_BB at different values of P_E and f_d T",
    "fig1": "Reno and Tahoe, i.i.d. and f_d T = 0.01, W_max = 6",
    "fig2": "Reno and Tahoe, i.i.d. and f_d T = 0.01, W_max = 24",
    "fig3": "NewReno, i.i.d. and f_d T = 0.01, W_max = 6 and 24",
    "fig4": "Tahoe and NewReno at different f_d T, W_max = 24",
    "fig5": "Tahoe, K = 1, 2, 3, i.i.d. and f_d T = 0.01, W_max = 24",
    "fig6": "NewReno, K = 1, 2, 3, i.i.d. and f_d T = 0.01, W_max = 24",
}

# The columns that are axes, and the keys of a scenario that they stand for.
AXES = {
    "variant": "tcp.variant",
    "channel": "channel",
    "w_max": "tcp.w_max",
    "k": "tcp.dupthresh",
    "p_e": "channel.p_e",
}
COLUMNS = [
    *AXES,
    "throughput_lower",
    "throughput_upper",
    "throughput_exact",
    "throughput_sim",
    "ci95",
    "transmissions_exact",
]

TABLE1_COLUMNS = ["fd_t", "p_e", "fading_margin_db", "p_gg", "p_bb", "burst"]
TABLE1_AXES: dict[str, list[float]] = {"fd_t": [0.01, 0.08, 0.64], "p_e": [0.001, 0.01, 0.1]}

# Half of the 100,000 slots of the figures' scenarios; the warm-up stays.
QUICK = {"run.duration": "50000 slots"}


def table(name: str, options: Options) -> Table:
    """The rows of a figure or table, under the columns that the design fixes."""
    if name not in FIGURES:
        raise ScenarioError(f"{KEY} {name}: no such figure or table (there are: {', '.join(FIGURES)})")
    return _table1(options) if name == "table1" else _figure(name, options)


def _table1(options: Options) -> Table:
    if options.set:
        raise ScenarioError(
            f"{next(iter(options.set))} (set): table1 has no scenario; its axes are {_axes(TABLE1_AXES)}"
        )
    axes = dict(TABLE1_AXES)
    for name, values in options.over.items():
        if name not in axes:
            raise ScenarioError(f"over {name}: no axis of table1 (its axes are {_axes(axes)})")
        axes[name] = [_real(name, value) for value in _items(values)]
    records = []
    for fd_t, p_e in product(axes["fd_t"], axes["p_e"]):
        record = api.markov_from_rayleigh(fd_t, p_e=p_e)
        records.append(record | {"burst": record["mean_burst"]})
    return Table.of(TABLE1_COLUMNS, records)


def _figure(name: str, options: Options) -> Table:
    try:
        return _columns(_results(name, options))
    except Interrupted as error:
        raise Interrupted(error.results, _columns(error.results)) from None


def _results(name: str, options: Options) -> Results:
    return api.run(
        FOLDER / f"{name}.toml",
        set=(QUICK if options.quick else {}) | dict(options.set),
        over=_over(name, options.over),
        runs=options.runs,
        seed=options.seed,
        methods=options.methods,
        jobs=options.jobs,
        cache=options.cache,
        progress=options.progress,
    )


def _columns(results: Results) -> Table:
    """The results of a figure's scenario under the figure's columns."""
    records: dict[str, dict[str, Cell]] = {}
    for point in results.points:
        record = records.setdefault(json.dumps(point.axes), _axes_of(point))
        record |= _values(point)
    return Table.of(COLUMNS, records.values())


def _axes_of(point: Point) -> dict[str, Cell]:
    return {column: _cell(column, _lookup(point, key)) for column, key in AXES.items()}


def _values(point: Point) -> dict[str, Cell]:
    """What a method says about a point, under the figure's columns; of bounds the last asked for stand."""

    def value(metric: str) -> Cell:
        found = point.metrics.get(metric)
        return None if found is None else found.value

    if point.method == "simulation":
        throughput = point.metrics.get("throughput_per_slot")
        return {
            "throughput_sim": value("throughput_per_slot"),
            "ci95": None if throughput is None else throughput.ci95,
        }
    if point.method == "analysis:exact":
        return {
            "throughput_exact": value("throughput_per_slot"),
            "transmissions_exact": value("transmissions_per_slot"),
        }
    if point.method.startswith("analysis:"):
        return {column: value(column) for column in ("throughput_lower", "throughput_upper")}
    return {}


def _lookup(point: Point, key: str) -> Any:
    """The value of a dotted key at a point."""
    value: Any = point.scenario
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _cell(column: str, value: Any) -> Cell:
    """What stands in a column for the value of its key."""
    if column == "channel":
        model, fd_t = value.get("model"), value.get("fd_t")
        cell: Cell = fd_t if model == "markov" and fd_t is not None else model
        return cell
    return value if isinstance(value, int | float | str) else None


def _over(figure: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """Axes named as columns, as axes of the scenario."""
    axes: dict[str, Any] = {}
    for column, values in over.items():
        if column not in AXES:
            raise ScenarioError(f"over {column}: no axis of {figure} (its axes are {_axes(AXES)})")
        axes[AXES[column]] = [_channel(value) for value in _items(values)] if column == "channel" else values
    return axes


def _channel(value: Any) -> dict[str, Any]:
    if value == "iid":
        return {"model": "iid"}
    return {"model": "markov", "fd_t": _real("channel", value, "iid or an fd_t")}


def _items(values: Any) -> list[Any]:
    return values.split(",") if isinstance(values, str) else list(values)


def _real(name: str, value: Any, allowed: str = "a number") -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"over {name} = {value}: must be {allowed}") from None


def _axes(names: Mapping[str, Any]) -> str:
    return ", ".join(names)


def claims(options: Options) -> list[Verdict]:
    """The verdicts on every claim of ``claims.toml``."""
    return [
        verdicts.judge(claim, lambda check: _outcomes(check, options)) for claim in _claims_file()["claim"]
    ]


def _claims_file() -> dict[str, Any]:
    with open(FOLDER / "claims.toml", "rb") as file:
        return tomllib.load(file)


def _outcomes(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """The outcomes of one check; ``each`` repeats it with more columns of its curves fixed."""
    kind = check["kind"]
    if kind == "printed":
        return _as_printed(check["rows"])
    if kind == "decade":
        return _margin_of_a_decade(check["between"])
    if kind == "contains":
        return _contained(check["figure"], check["together"], options)
    if kind == "narrow":
        return _apart(check["figure"], check["tolerance"], options)
    # The figure as it is, and again under each of the settings that a check compares with it. Where the
    # analysis can tell, no interval blurs the answer.
    settings = check.get("settings", {})
    by_run = kind == "identical" or settings
    methods = ["simulation"] if by_run else options.methods or ["analysis"]
    samples = []
    for setting, keys in ({"none": {}} | settings).items():
        changed = dict(options.set) | (check.get("set", {}) if not options.quick else {}) | keys
        asked = replace(options, over=check.get("over", {}), set=changed, methods=methods)
        samples += [_sample(point, setting) for point in _results(check["figure"], asked).points]
    outcomes = []
    for fixed in check.get("each", [{}]):
        plus, minus = ([dict(curve) | dict(fixed) for curve in check[sign]] for sign in ("plus", "minus"))
        outcomes += _compare(check, samples, plus, minus)
    return outcomes


def _sample(point: Point, setting: str) -> Sample:
    columns = _axes_of(point) | {"setting": setting}
    p_e = float(str(columns["p_e"]))
    if point.method == "simulation":
        return Sample(columns, p_e, point.samples("throughput_per_slot"))
    return Sample(columns, p_e, [point.value("throughput_per_slot")], is_exact=True)


def _contained(figure: str, together: int, options: Options) -> list[Outcome]:
    """The paper's bounds around what is simulated, at every point of a figure.

    Of ``together`` points some would lie outside their own 95 % interval by chance: each is given the
    interval that covers with 0.05 / ``together`` less than certainty (Bonferroni), so that all are right at
    once.
    """
    methods = ["analysis:paper-bounds", "simulation"]
    results = _results(figure, replace(options, methods=methods))
    outcomes = []
    both = zip(*(results.by_method(method).points for method in methods), strict=True)
    for bounds, simulated in both:
        lower, upper = (bounds.value(name) for name in ("throughput_lower", "throughput_upper"))
        throughput = paired.Sample.of(simulated, "throughput_per_slot")
        value, ci95 = throughput.mean, throughput.ci95()
        if ci95 is None:
            outcomes.append(Outcome(_place(simulated), value, None, None, -math.inf))
            continue
        slack = min(value - lower, upper - value) + throughput.half_width(paired.each_of(together))
        outcomes.append(Outcome(_place(simulated), value, ci95, slack >= 0.0, slack))
    return outcomes


def _apart(figure: str, tolerance: float, options: Options) -> list[Outcome]:
    """How far apart the paper's bounds are, at every point of a figure."""
    outcomes = []
    for point in _results(figure, replace(options, methods=["analysis:paper-bounds"])).points:
        lower, upper = (point.value(name) for name in ("throughput_lower", "throughput_upper"))
        slack = tolerance - (upper - lower)
        outcomes.append(Outcome(_place(point), upper - lower, None, slack >= 0.0, slack))
    return outcomes


def _place(point: Point) -> str:
    axes = _axes_of(point)
    others = (f"{column} {value}" for column, value in axes.items() if column != "p_e")
    return ", ".join([f"p_e {axes['p_e']:.3g}", *others])


def _compare(
    check: Mapping[str, Any], samples: Sequence[Sample], plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    low, high = check.get("p_e", [0.0, 1.0])
    match check["kind"]:
        case "above":
            return verdicts.above(samples, plus, minus, check["margin"], (low, high))
        case "within":
            return verdicts.within(samples, plus, minus, check["tolerance"], (low, high))
        case "identical":
            return verdicts.identical(samples, plus[0], minus[0])
        case "crossing":
            return verdicts.crossing_ratio(
                samples, plus[0], minus[0], check["level"], tuple(check["between"])
            )
    raise ValueError(f"no such kind of check: {check['kind']}")


def _as_printed(rows: list[dict[str, Any]]) -> list[Outcome]:
    """Each number of a printed table against ours, rounded to as many digits as are printed."""
    outcomes = []
    for row in rows:
        ours = _table1(Options(over={"fd_t": [row["fd_t"]], "p_e": [row["p_e"]]})).records()[0]
        for column in ("fading_margin_db", "p_gg", "p_bb", "burst"):
            value, printed = ours[column], row[column]
            assert isinstance(value, float)
            digits = len(printed.partition(".")[2])
            unit = 10.0**-digits
            where = f"{column}, fd_t {row['fd_t']:g}, p_e {row['p_e']:g} (printed {printed})"
            holds = f"{value:.{digits}f}" == printed
            outcomes.append(Outcome(where, value, None, holds, -abs(value - float(printed)) / unit))
    return outcomes


def _margin_of_a_decade(between: list[float]) -> list[Outcome]:
    """How many dB of fading margin go with each decade of P_E in Table I."""
    outcomes = []
    margins = [api.markov_from_rayleigh(0.01, p_e=p_e)["fading_margin_db"] for p_e in TABLE1_AXES["p_e"]]
    for p_e, more, less in zip(TABLE1_AXES["p_e"], margins, margins[1:], strict=False):
        value = more - less
        slack = min(value - between[0], between[1] - value)
        outcomes.append(Outcome(f"p_e {p_e:g} to {10 * p_e:g}", value, None, slack >= 0.0, slack))
    return outcomes
