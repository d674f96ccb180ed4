"""Runs behind the figures: their axes as columns, their options, and their points by chain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers.figures import Axis, Figures, items, real
from crossfade.papers.mimo_mac.drawn import FIGURES
from crossfade.papers.mimo_mac.optima import METRIC, Chain, share_of
from crossfade.papers.options import Options
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell

KEY = "mimo-mac"

# Default definition of the paper's "saturation throughput", and default knowledge of its nodes.
SATURATED = "knee-5"
ARRAYS = "nulling-genie"
CLASSES = {"equal": "250 m", "wider": "450 m"}


def _interference(value: Any) -> str:
    if value not in CLASSES:
        raise ScenarioError(f"over interference_class = {value}: must be one of {', '.join(CLASSES)}")
    return CLASSES[value]


def _class(value: Any) -> Cell:
    return {distance: name for name, distance in CLASSES.items()}.get(value, str(value))


def _per_hop(rule: Any) -> dict[str, float]:
    """Scenario value of a rule such as ``1/2.8``."""
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
    "rule": Axis("mesh.rule"),
    "interference_class": Axis("mesh.interference", read=_interference, cell=_class),
    "hops": Axis("mesh.hops"),
    "cwl": Axis("tcp.cwnd_limit", cell=lambda value: value if isinstance(value, int) else None),
    "k_rule": Axis("tcp.cwnd_limit", read=_per_hop, cell=_rule),
    # The optimum is computed from several points, and is no key of a scenario.
    "optimum": Axis(""),
}
COLUMNS = [
    *("mac", "rule", "interference_class", "hops", "rthc", "cwl", "offered_bps", METRIC, "ci95"),
    *("one_way_delay_mean_s", "delay_ci95", "rtt_mean_s", "optimum", "k_rule", "optimal_cwl", "k"),
    *("optimal_cwl_low", "optimal_cwl_high", "packets"),
]

# Keys set by --quick: a quarter of the figures' measured 20 s; the warm-up is unchanged.
QUICK = {"run.duration": "7 s"}


def window(rule: str, rthc: int) -> int:
    """Limit of the window by a rule for a round trip of ``rthc`` hops, in packets: rounded, at least 1."""
    return max(1, int(_per_hop(rule)["per_hop"] * rthc + 0.5))


def asked(name: str, options: Options) -> tuple[Options, list[str]]:
    """Options of a figure with the keys of the reading, and the definitions of the optimum."""
    read, axes = options.reading.of(name) if options.reading else ({}, {})
    over = {**axes, **(options.over or {})}
    optima = [str(definition) for definition in items(over.pop("optimum", [SATURATED]))]
    for definition in optima:
        share_of(definition)
    return replace(options, set={**read, **(options.set or {})}, over=over, reading=None), optima


def values_of(point: Point) -> dict[str, Cell]:
    """Columns of a point that are not axes."""
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
        "packets": _packets(point) if goodput else None,
    }


def _packets(point: Point) -> int:
    """Number of packets that arrived in the measured time of all runs."""
    run, size = point.scenario["run"], float(point.scenario["link"]["packet_size"].removesuffix(" B"))
    measured_s = sum(
        sign * float(run[key].removesuffix(" s")) for key, sign in (("duration", 1), ("warmup", -1))
    )
    return round(math.fsum(Sample.of(point, METRIC).values.values()) * measured_s / (8.0 * size))


def chains(results: Results) -> dict[Chain, dict[int | None, Point]]:
    """Points of each chain by the limit of the window (None: without a limit)."""
    found: dict[Chain, dict[int | None, Point]] = {}
    for point in results.points:
        axes = RUNS.axes_of(point)
        rule, cwl = axes["rule"], axes["cwl"]
        chain = Chain(
            str(axes["mac"]),
            None if rule is None else str(rule),
            str(axes["interference_class"]),
            int(str(axes["hops"])),
        )
        found.setdefault(chain, {})[None if cwl is None else int(str(cwl))] = point
    return found


RUNS = Figures(
    figures=FIGURES,
    folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=values_of,
    quick=QUICK,
    metric=METRIC,
    claims_methods=["simulation"],
)
