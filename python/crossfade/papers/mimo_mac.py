"""Jindal and Sahoo, "Improving Performance of TCP with Efficient MIMO-based MAC".

Figures 4 to 8 and the table of spatial reuse are scenarios in ``scenarios/papers/mimo-mac``; the claims are
``claims.toml`` beside them. What the paper leaves open, and what does not come out, is in the documentation.
Nowhere does it say what it takes for the optimal window, so each figure that shows one has it by three
definitions: ``argmax`` (the best), ``knee-2`` and ``knee-5`` (the smallest within 2 and 5 % of the best).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crossfade import api
from crossfade.comparison.knee import Knee, knee_of
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, find, items, real
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.results import Point, Results
from crossfade.tables import Cell, Table

KEY = "mimo-mac"
CITATION = (
    "A. Jindal and A. Sahoo, Improving Performance of TCP with Efficient MIMO-based MAC, Indian Institute of "
    "Technology, Bombay"
)

RTHC = Along("rthc")
# The intervals of what is drawn, where their columns have other names than those of the figure's own.
ENDS = {
    "ip_goodput_bps": {"ci95": "ci95"},
    "one_way_delay_mean_s": {"ci95": "delay_ci95"},
    "optimal_cwl": {"ci95_low": "optimal_cwl_low", "ci95_high": "optimal_cwl_high"},
}


def _by_limit(y: str) -> Callable[[Table], Table]:
    """Curves along the hops, told apart by what limits the window; of the optima the first alone."""

    def drawn(table: Table) -> Table:
        records = table.records()
        first = next((str(row["optimum"]) for row in records if row["optimum"]), None)
        kept = [row for row in records if row["optimum"] in (None, first)]
        told = [
            "mac",
            *(["interference_class"] if len({row["interference_class"] for row in kept}) > 1 else []),
        ]

        def limit(row: Mapping[str, Cell]) -> str:
            if row["optimum"]:
                return "optimal CWL"
            return "no limit" if row["k_rule"] is None else f"CWL by {row['k_rule']}"

        ends = {f"{y}_{end}": column for end, column in ENDS[y].items()}
        shown = [
            {name: row[name] for name in (*told, "rthc", y)}
            | {"limit": limit(row)}
            | {end: row[column] for end, column in ends.items()}
            for row in kept
        ]
        return Table.of([*told, "limit", "rthc", y, *ends], shown)

    return drawn


FIGURES = {
    "fig4": Figure("TCP throughput over the limit of the window (CWL)", Along("cwl"), "ip_goodput_bps"),
    "fig5": Figure(
        "Packet delay over the round trip hop count, optimal CWL and none",
        RTHC,
        "one_way_delay_mean_s",
        _by_limit("one_way_delay_mean_s"),
    ),
    "fig6": Figure(
        "Optimal CWL over the round trip hop count", RTHC, "optimal_cwl", _by_limit("optimal_cwl")
    ),
    "fig7": Figure(
        "TCP throughput over the round trip hop count, wider interference, k = 1/3 and 1/5",
        RTHC,
        "ip_goodput_bps",
        _by_limit("ip_goodput_bps"),
    ),
    "fig8": Figure(
        "TCP throughput over the round trip hop count, optimal CWL and k = 1/2.8",
        RTHC,
        "ip_goodput_bps",
        _by_limit("ip_goodput_bps"),
    ),
    "reuse": Figure("Exchanges at one time: the largest set, and how many there are", None, "exchanges"),
}

# What a definition of the optimum may cost of the best throughput.
OPTIMA = {"argmax": 0.0, "knee-2": 0.02, "knee-5": 0.05}
CLASSES = {"equal": "250 m", "wider": "450 m"}
METRIC = "ip_goodput_bps"


def _interference(value: Any) -> str:
    if value not in CLASSES:
        raise ScenarioError(f"over interference_class = {value}: must be one of {', '.join(CLASSES)}")
    return CLASSES[value]


def _class(value: Any) -> Cell:
    return {distance: name for name, distance in CLASSES.items()}.get(value, str(value))


def _per_hop(rule: Any) -> dict[str, float]:
    """``1/2.8`` as the scenario has it."""
    above, _, below = str(rule).partition("/")
    allowed = "a rule such as 1/5"
    over, under = real("k_rule", above, allowed), real("k_rule", below or 1, allowed)
    if over <= 0.0 or under <= 0.0:
        raise ScenarioError(f"over k_rule = {rule}: must be {allowed}")
    return {"per_hop": over / under}


def _rule(value: Any) -> Cell:
    return f"1/{1.0 / value['per_hop']:.3g}" if isinstance(value, Mapping) else None


AXES = {
    "mac": Axis("mesh.mac"),
    "interference_class": Axis("mesh.interference", read=_interference, cell=_class),
    "hops": Axis("mesh.hops"),
    "cwl": Axis("tcp.cwnd_limit", cell=lambda value: value if isinstance(value, int) else None),
    "k_rule": Axis("tcp.cwnd_limit", read=_per_hop, cell=_rule),
}
COLUMNS = [
    *("mac", "interference_class", "hops", "rthc", "cwl", "offered_bps", METRIC, "ci95"),
    *("one_way_delay_mean_s", "delay_ci95", "rtt_mean_s", "optimum", "k_rule", "optimal_cwl", "k"),
    *("optimal_cwl_low", "optimal_cwl_high"),
]
REUSE_AXES = {
    "mac": Axis("mesh.mac"),
    "antennas": Axis("mesh.antennas"),
    "range_m": Axis("mesh.range"),
    "interference_m": Axis("mesh.interference"),
    "hops": Axis("mesh.hops"),
}
REUSE_COLUMNS = [*REUSE_AXES, "links", "exchanges", "exact", "exchanges_mean", "ci95"]

# A quarter of the figures' 20 s; the warm-up stays.
QUICK = {"run.duration": "7 s"}


def table(name: str, options: Options) -> Table:
    """The rows of a figure, under the columns that the design fixes."""
    find(KEY, name, FIGURES)
    if name == "reuse":
        return _reuse(options)
    over = dict(options.over or {})
    optima = _optima(over.pop("optimum", None))
    if name in ("fig4", "fig7") and (options.over or {}).get("optimum") is not None:
        raise ScenarioError(f"over optimum: no axis of {name} (its axes are {', '.join(AXES)})")
    asked = replace(options, over=over)
    if name in ("fig4", "fig7"):
        return SET.table(name, asked)
    rows = {"fig5": _fig5, "fig6": _fig6, "fig8": _fig8}[name]
    return Table.of(COLUMNS, rows(asked, optima))


def window(rule: str, rthc: int) -> int:
    """The limit of the window that a rule makes of a round trip of so many hops: rounded, at least 1."""
    return max(1, int(_per_hop(rule)["per_hop"] * rthc + 0.5))


def _optima(asked: Any) -> list[str]:
    names = list(OPTIMA) if asked is None else [str(name) for name in items(asked)]
    for name in names:
        if name not in OPTIMA:
            raise ScenarioError(f"over optimum = {name}: must be one of {', '.join(OPTIMA)}")
    return names


def _values(point: Point) -> dict[str, Cell]:
    """What the figures show of a point."""
    hops = int(point.scenario["mesh"]["hops"])
    flow = point.scenario["flows"]["file"]
    limit = flow["tcp"].get("cwnd_limit")
    goodput, delay, rtt = (point.metrics.get(name) for name in (METRIC, "one_way_delay_mean_s", "rtt_mean_s"))
    return {
        "rthc": 2 * hops,
        "cwl": window(str(_rule(limit)), 2 * hops) if isinstance(limit, Mapping) else limit,
        "offered_bps": float(flow["rate"].removesuffix(" bit/s")),
        METRIC: goodput.value if goodput else None,
        "ci95": goodput.ci95 if goodput else None,
        "one_way_delay_mean_s": delay.value if delay else None,
        "delay_ci95": delay.ci95 if delay else None,
        "rtt_mean_s": rtt.value if rtt else None,
    }


_Chain = tuple[Cell, Cell, int]
"""Kind of access, interference class, hops."""


def _chains(results: Results) -> dict[_Chain, dict[int | None, Point]]:
    """The points of each chain by the limit of the window; None is without a limit."""
    found: dict[_Chain, dict[int | None, Point]] = {}
    for point in results.points:
        axes = SET.axes_of(point)
        cwl = axes["cwl"]
        chain = (axes["mac"], axes["interference_class"], int(str(axes["hops"])))
        found.setdefault(chain, {})[None if cwl is None else int(str(cwl))] = point
    return found


def _knee(points: Mapping[int | None, Point], optimum: str) -> Knee:
    curve = {float(cwl): Sample.of(point, METRIC) for cwl, point in points.items() if cwl is not None}
    return knee_of(curve, OPTIMA[optimum])


def _row(point: Point, **more: Cell) -> dict[str, Cell]:
    return SET.axes_of(point) | _values(point) | more


def _at_optimum(points: Mapping[int | None, Point], optimum: str) -> dict[str, Cell]:
    found = _knee(points, optimum)
    row = _row(points[int(found.x)], optimum=optimum, optimal_cwl=int(found.x))
    row["k"] = found.x / float(str(row["rthc"]))
    row |= {"optimal_cwl_low": found.low, "optimal_cwl_high": found.high}
    return row


def _fig5(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    """With the optimal limit, and (an empty cell) without one."""
    for points in _chains(SET.results("fig5", options)).values():
        yield from (_at_optimum(points, optimum) for optimum in optima)
        if None in points:
            yield _row(points[None])


def _fig6(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    for points in _chains(SET.results("fig6", options)).values():
        yield from (_at_optimum(points, optimum) for optimum in optima)


def _fig8(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    """The rules, and the optimum that they come near to."""
    over = options.over or {}
    rules = {name: values for name, values in over.items() if name != "cwl"}
    found = SET.results("fig8", replace(options, over=rules))
    yield from (_row(point) for point in found.points)
    chains = {name: values for name, values in over.items() if name != "k_rule"}
    asked = replace(options, over={"interference_class": ["equal"], **chains})
    for points in _chains(SET.results("fig6", asked)).values():
        yield from (_at_optimum(points, optimum) for optimum in optima)


def _reuse(options: Options) -> Table:
    """The largest set of exchanges, beside the mean of saturated UDP."""
    over = {}
    for column, values in (options.over or {}).items():
        if column not in REUSE_AXES:
            raise ScenarioError(f"over {column}: no axis of reuse (its axes are {', '.join(REUSE_AXES)})")
        over[REUSE_AXES[column].key] = values
    asked = replace(options, set=SET.asked("reuse", replace(options, over=None)).set, over=over)
    found = api.reuse(SCENARIOS / "papers" / KEY / "reuse.toml", **asked.given())
    records = [
        {
            column: record.get(REUSE_AXES[column].key if column in REUSE_AXES else column)
            for column in REUSE_COLUMNS
        }
        for record in found.records()
    ]
    for record in records:
        for column in ("range_m", "interference_m"):
            record[column] = float(str(record[column]).removesuffix(" m"))
    return Table.of(REUSE_COLUMNS, records)


# Checks of claims.


def _grid(
    check: Mapping[str, Any], options: Options, cwl: Iterable[int | str] | None
) -> dict[_Chain, dict[int | None, Point]]:
    """The chains that a check is about, at some limits of the window (None: those of figure 6)."""
    over: dict[str, Any] = {"hops": check["hops"]}
    for column in ("mac", "interference_class"):
        over[column] = sorted({side.get(column, check.get(column)) for side in _sides(check)})
    if cwl is not None:
        over["cwl"] = list(cwl)
    changed = dict(options.set or {}) | check.get("set", {})
    return _chains(SET.results("fig6", replace(options, over=over, set=changed, methods=["simulation"])))


def _sides(check: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [check[side] for side in ("first", "second") if side in check] or [{}]


def _knees(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """The k of the optimum of each chain, or their mean, lies in a range."""
    low, high = check["between"]
    ks: list[tuple[str, float, float, float]] = []
    for (mac, kind, hops), points in _grid(check, options, None).items():
        found, rthc = _knee(points, check["optimum"]), 2.0 * hops
        ends = [found.x if end is None else end for end in (found.low, found.high)]
        ks.append((f"{mac}, {kind}, {hops} hops", found.x / rthc, ends[0] / rthc, ends[1] / rthc))
    if check.get("mean"):
        count = len(ks)
        k, least, most = (math.fsum(part) / count for part in zip(*(item[1:] for item in ks), strict=True))
        ks = [(f"mean over {count} chains: 1/{1 / k:.2f}", k, least, most)]
    outcomes = []
    for where, k, least, most in ks:
        inside, outside = low <= least and most <= high, most < low or least > high
        holds = True if inside else False if outside else None
        slack = min(least - low, high - most)
        outcomes.append(Outcome(where, k, (most - least) / 2.0, holds, slack))
    return outcomes


def _pairs(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """One way to run TCP against another, as shares of the second: ``above`` or ``below`` a limit.

    A side has ``mac``, ``interference_class`` and ``cwl``: a number, a rule (``1/2.8``), ``best`` (the best
    of figure 6) or ``unlimited``.
    """
    metric = check.get("metric", METRIC)
    sides = _sides(check)
    grid = _grid(check, options, None) if any(side["cwl"] == "best" for side in sides) else {}
    if fixed := [side["cwl"] for side in sides if side["cwl"] != "best"]:
        limits: set[int | str] = set()
        for limit in fixed:
            rule = "/" in str(limit)
            limits |= {window(limit, 2 * hops) for hops in check["hops"]} if rule else {limit}
        for chain, points in _grid(check, options, sorted(limits, key=str)).items():
            grid[chain] = grid.get(chain, {}) | points
    outcomes = []
    for hops in check["hops"]:
        samples = [_of_side(grid, check, side, hops, metric) for side in sides]
        difference = samples[0] - samples[1]
        divisor = abs(samples[1].mean)
        value, half = difference.mean / divisor, difference.half_width() / divisor
        if "above" in check:
            inside, outside, slack = (
                value - half > check["above"],
                value + half <= check["above"],
                value - half - check["above"],
            )
        else:
            inside, outside, slack = (
                value + half <= check["below"],
                value - half > check["below"],
                check["below"] - value - half,
            )
        outcomes.append(
            Outcome(f"{hops} hops", value, half, True if inside else False if outside else None, slack)
        )
    return outcomes


def _of_side(
    grid: Mapping[_Chain, Mapping[int | None, Point]],
    check: Mapping[str, Any],
    side: Mapping[str, Any],
    hops: int,
    metric: str,
) -> Sample:
    chain = tuple(side.get(column, check.get(column)) for column in ("mac", "interference_class"))
    points, limit = grid[(chain[0], chain[1], hops)], side["cwl"]
    if limit == "best":
        point = points[int(_knee(points, "argmax").x)]
    elif limit == "unlimited":
        point = points[None]
    else:
        point = points[window(limit, 2 * hops) if "/" in str(limit) else int(limit)]
    return Sample.of(point, metric)


def _largest(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """The largest set of exchanges of each chain is its hops over a number, rounded up or down."""
    over = {key: [value] for key, value in check["mesh"].items()} | {"mesh.hops": check["hops"]}
    zipped = {key: over.pop(key)[0] for key in check["mesh"]}
    set = dict(zipped) | {"run.runs": 1}
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    found = api.reuse(scenario, set=set, over=over, simulated=False, cache=options.cache)
    outcomes = []
    for record in found.records():
        hops, exchanges = int(str(record["mesh.hops"])), int(str(record["exchanges"]))
        least, most = hops // check["over"], -(-hops // check["over"])
        off = min(abs(exchanges - least), abs(exchanges - most)) if not least <= exchanges <= most else 0
        where = f"{hops} hops (said: {hops / check['over']:.3g})"
        outcomes.append(Outcome(where, float(exchanges), None, off == 0, -float(off)))
    return outcomes


def _round_trips(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """The round trip of a packet that is alone is at most so many exchanges."""
    outcomes = []
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    for hops in check["hops"]:
        mesh = api.check(scenario, set={"mesh.hops": hops}).mesh
        assert mesh is not None
        (flow,) = mesh["flows"]
        share = flow["round_trip_s"] / (2 * hops * mesh["slot_s"])
        outcomes.append(Outcome(f"{hops} hops", share, None, share <= 1.0, 1.0 - share))
    return outcomes


def _ack_share(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Which share of the air the acknowledgements of TCP take, where nothing else is sent."""
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    mesh = api.check(scenario, set={"mesh.hops": 1}).mesh
    assert mesh is not None
    (flow,) = mesh["flows"]
    share = 1.0 - mesh["slot_s"] / flow["round_trip_s"]
    low, high = check["between"]
    return [
        Outcome(
            "a packet and its acknowledgement",
            share,
            None,
            low <= share <= high,
            min(share - low, high - share),
        )
    ]


SET = Figures(
    figures=FIGURES,
    folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric=METRIC,
    claims_methods=["simulation"],
    kinds={
        "knees": _knees,
        "pairs": _pairs,
        "largest": _largest,
        "round-trips": _round_trips,
        "ack-share": _ack_share,
    },
)
