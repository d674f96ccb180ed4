"""Zorzi, Chockalingam and Rao, "Throughput Analysis of TCP on Channels with Memory" (IEEE JSAC 18(7), 2000).

Figures 1 to 6 are scenarios in ``scenarios/papers/tcp-markov``, with the claims in ``claims.toml``. The
paper's simulations are by ns: ``--over sender=paper,ns2`` adds marks by ns-2's rules to those of the sender
that the analysis describes.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from crossfade import api, plans
from crossfade.comparison import paired
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, channel_axis, find, items, of_formula, speeds
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.interrupted import Interrupted
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

KEY = "tcp-markov"
CITATION = (
    "M. Zorzi, A. Chockalingam and R. R. Rao, Throughput Analysis of TCP on Channels with Memory, "
    "IEEE J. Select. Areas Commun. 18(7), 2000"
)
FOLDER = SCENARIOS / "papers" / KEY

P_E = Along("p_e", "log")


def _marks_on_lines(table: Table) -> Table:
    """Table with curves of two senders merged: lines of the paper's analysed sender, marks of the other."""
    senders = list(dict.fromkeys(table.cells("sender")))
    if len(senders) != 2 or PAPER not in senders:
        return table
    places = [name for name in AXES if name != "sender"]
    marks = {tuple(row[name] for name in places): row for row in table.records() if row["sender"] != PAPER}
    drawn = []
    for row in table.records():
        if row["sender"] == PAPER:
            mark = marks[tuple(row[name] for name in places)]
            drawn.append(row | {name: mark[name] for name in ("sender", "throughput_sim", "ci95")})
    return Table.of(table.columns, drawn)


FIGURES = {
    "table1": Figure("Markov parameters p_GG and p_BB at different values of P_E and f_d T"),
    "fig1": Figure("Reno and Tahoe, i.i.d. and f_d T = 0.01, W_max = 6", P_E, drawn=_marks_on_lines),
    "fig2": Figure("Reno and Tahoe, i.i.d. and f_d T = 0.01, W_max = 24", P_E, drawn=_marks_on_lines),
    "fig3": Figure("NewReno, i.i.d. and f_d T = 0.01, W_max = 6 and 24", P_E, drawn=_marks_on_lines),
    "fig4": Figure("Tahoe and NewReno at different f_d T, W_max = 24", P_E, drawn=_marks_on_lines),
    "fig5": Figure("Tahoe, K = 1, 2, 3, i.i.d. and f_d T = 0.01, W_max = 24", P_E, drawn=_marks_on_lines),
    "fig6": Figure("NewReno, K = 1, 2, 3, i.i.d. and f_d T = 0.01, W_max = 24", P_E, drawn=_marks_on_lines),
}

PAPER = "paper"
# Senders by name: flavour, limited transmit, back-off of the timer, gate. Limited transmit (RFC 3042, 2001)
# is younger than the paper, in which the timeout is constant and no packet is queued; ns-2 has back-off and
# queues.
SENDERS: dict[str, list[Any]] = {
    PAPER: ["paper", False, False, "slot"],
    "ns2": ["ns2", False, True, "queue"],
    "ns2-constant": ["ns2", False, False, "queue"],
    "ns2-slot": ["ns2", False, False, "slot"],
}


def _sender(value: Any) -> list[Any]:
    if value not in SENDERS:
        raise ScenarioError(f"over sender = {value}: must be one of {', '.join(SENDERS)}")
    return SENDERS[value]


def _sender_cell(tcp: Any) -> Cell:
    """Name of the sender that a table ``tcp`` describes; its flavour, if it has no name."""
    keys = [tcp["flavour"], tcp["limited_transmit"], tcp["rto"]["backoff"], tcp["gate"]]
    found: Cell = next((name for name, sender in SENDERS.items() if sender == keys), tcp["flavour"])
    return found


# Columns that are axes, and the scenario keys that they stand for.
AXES = {
    "variant": Axis("tcp.variant"),
    "channel": channel_axis(),
    "w_max": Axis("tcp.w_max"),
    "k": Axis("tcp.dupthresh"),
    "p_e": Axis("channel.p_e"),
    "sender": Axis(
        "tcp.flavour,tcp.limited_transmit,tcp.rto.backoff,tcp.gate",
        read=_sender,
        cell=_sender_cell,
        shown="tcp",
    ),
}
COLUMNS = [
    *(name for name in AXES if name != "sender"),
    "throughput_lower",
    "throughput_upper",
    "throughput_exact",
    "throughput_sim",
    "ci95",
    "transmissions_exact",
    "sender",
]

TABLE1_COLUMNS = ["fd_t", "p_e", "fading_margin_db", "p_gg", "p_bb", "burst"]
TABLE1_AXES: dict[str, list[float]] = {"fd_t": [0.01, 0.08, 0.64], "p_e": [0.001, 0.01, 0.1]}

# Keys set by --quick: half of the figures' 100,000 slots; the warm-up is unchanged.
QUICK = {"run.duration": "50000 slots"}


def table(name: str, options: Options) -> Table:
    """Rows of a figure or table, under its fixed columns."""
    find(KEY, name, FIGURES)
    return _table1(options) if name == "table1" else _figure(name, options)


# Distance between the seeds of neighbouring marks; seeds between them are free for the user's own series.
SEED_STEP = 1000


def _figure(name: str, options: Options) -> Table:
    """Lines and bands at all points for the paper's sender, and marks for every sender.

    Each mark has a seed of its own: with a common seed the same channel would shift all marks of a figure
    together.
    """
    over = dict(options.over or {})
    with open(SET.path(name), "rb") as file:
        methods = options.methods or tomllib.load(file)["methods"]
    points: list[Point] = []
    try:
        for sender in items(over["sender"]) if "sender" in over else [PAPER]:
            own = {"sender": [sender]} if "sender" in over else {}
            asked = SET.asked(name, replace(options, over=over | own))
            # The analysis applies only to the paper's sender; for another sender alone it raises an error.
            analysis = [method for method in methods if method != "simulation"]
            if analysis and (sender == PAPER or len(analysis) == len(methods)):
                points += api.solve(SET.path(name), replace(asked, methods=analysis)).points
            if "simulation" in methods:
                points += _marks(SET.path(name), replace(asked, methods=["simulation"]))
    except Interrupted as error:
        raise error.with_table(lambda results: SET.rows([*points, *results.points])) from None
    return SET.rows(points)


def _table1(options: Options) -> Table:
    axes = of_formula("table1", TABLE1_AXES, options)
    records = []
    for fd_t, p_e in product(axes["fd_t"], axes["p_e"]):
        record = api.markov_from_rayleigh(fd_t, p_e=p_e)
        records.append(record | {"burst": record["mean_burst"]})
    return Table.of(TABLE1_COLUMNS, records)


def _marks(scenario: Path, asked: Options) -> Iterator[Point]:
    """Points of a scenario, each simulated with a seed of its own."""
    plan = plans.load(scenario, asked).description
    for number, place in enumerate(plan["points"]):
        axes = {key: [value] for key, value in place["axes"].items()}
        mark = replace(asked, over=axes, seed=plan["seed"] + SEED_STEP * number)
        yield from api.solve(scenario, mark).points


def _values(point: Point) -> dict[str, Cell]:
    """Values of a method at a point, by the figure's columns; of several bounds, the last."""

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


def _analysed(options: Options, methods: list[str]) -> Options:
    """Options of the analysis, which has one sender in every reading."""
    return replace(options, methods=methods, reading=None)


def _contained(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that simulated throughputs lie between the paper's bounds, at every point of a figure.

    By chance some of ``together`` points lie outside their 95 % interval. Each therefore has an interval with
    coverage 1 - 0.05 / ``together`` (Bonferroni), so that all hold at once.
    """
    of_analysis = SET.results(check["figure"], _analysed(options, ["analysis:paper-bounds"]))
    of_runs = SET.results(check["figure"], replace(options, methods=["simulation"]))
    outcomes = []
    for bounds, simulated in zip(of_analysis.points, of_runs.points, strict=True):
        lower, upper = (bounds.value(name) for name in ("throughput_lower", "throughput_upper"))
        throughput = paired.Sample.of(simulated, "throughput_per_slot")
        value, ci95 = throughput.mean, throughput.ci95()
        if ci95 is None:
            outcomes.append(Outcome(SET.place(check["figure"], simulated), value, None, None, -math.inf))
            continue
        slack = min(value - lower, upper - value) + throughput.half_width(paired.each_of(check["together"]))
        outcomes.append(Outcome(SET.place(check["figure"], simulated), value, ci95, slack >= 0.0, slack))
    return outcomes


def _apart(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that the paper's bounds are at most a tolerance apart, at every point of a figure."""
    outcomes = []
    for point in SET.results(check["figure"], _analysed(options, ["analysis:paper-bounds"])).points:
        lower, upper = (point.value(name) for name in ("throughput_lower", "throughput_upper"))
        slack = check["tolerance"] - (upper - lower)
        outcomes.append(Outcome(SET.place(check["figure"], point), upper - lower, None, slack >= 0.0, slack))
    return outcomes


def _as_printed(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check that each number of a printed table equals ours, rounded to the printed digits."""
    outcomes = []
    for row in check["rows"]:
        ours = _table1(Options(over={"fd_t": [row["fd_t"]], "p_e": [row["p_e"]]})).records()[0]
        for column in (name for name in TABLE1_COLUMNS[2:] if name in row):
            where = f"{column}, fd_t {row['fd_t']:g}, p_e {row['p_e']:g}"
            outcomes.append(checks.printed(where, ours[column], row[column]))
    return outcomes


def _margin_of_a_decade(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the increase of the fading margin, in dB, for each decade of P_E in Table I."""
    outcomes = []
    between = check["between"]
    margins = [api.markov_from_rayleigh(0.01, p_e=p_e)["fading_margin_db"] for p_e in TABLE1_AXES["p_e"]]
    for p_e, more, less in zip(TABLE1_AXES["p_e"], margins, margins[1:], strict=False):
        value = more - less
        slack = min(value - between[0], between[1] - value)
        outcomes.append(Outcome(f"p_e {p_e:g} to {10 * p_e:g}", value, None, slack >= 0.0, slack))
    return outcomes


def _exact_contained(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that the exact solution lies between the paper's bounds, up to its truncation error."""
    outcomes = []
    for exact, bounds in _exact_beside("analysis:paper-bounds", check, options):
        lower, upper = (bounds.value(name) for name in ("throughput_lower", "throughput_upper"))
        value = exact.value("throughput_per_slot")
        slack = min(value - lower, upper - value) + exact.value("truncation_error")
        where = SET.place(check["figure"], exact)
        if check.get("side") == "lower":
            slack = value - lower + exact.value("truncation_error")
        outcomes.append(Outcome(where, value, None, slack >= 0.0, slack))
    return outcomes


def _transmissions(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the transmissions per slot of the semi-Markov process against those of the exact solution."""
    outcomes = []
    for exact, chain in _exact_beside("analysis:bounds", check, options):
        value = chain.value("transmissions_per_slot") - exact.value("transmissions_per_slot")
        slack = check["tolerance"] - abs(value)
        outcomes.append(Outcome(SET.place(check["figure"], exact), value, None, slack >= 0.0, slack))
    return outcomes


def _exact_beside(method: str, check: Mapping[str, Any], options: Options) -> Iterator[tuple[Point, Point]]:
    """Points of a figure, each solved exactly and by a method of bounds."""
    methods = ["analysis:exact", method]
    asked = _analysed(replace(options, over=check.get("over", {})), methods)
    results = SET.results(check["figure"], asked)
    return zip(*(results.by_method(one).points for one in methods), strict=True)


def _loss_windows(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the mean window at the first loss of a cycle against that with i.i.d. losses."""
    asked = _analysed(replace(options, over={"channel": ["iid", check["channel"]]}), ["analysis:exact"])
    windows: dict[tuple[Cell, Cell], dict[Cell, float]] = {}
    for point in SET.results(check["figure"], asked).points:
        axes = SET.axes_of(point)
        mean = math.fsum(floor * share for floor, share in enumerate(point.loss_windows, start=1))
        windows.setdefault((axes["variant"], axes["p_e"]), {})[axes["channel"]] = mean
    outcomes = []
    for (variant, p_e), mean_of in windows.items():
        value = mean_of[check["channel"]] / mean_of["iid"] - 1.0
        slack = value - check["margin"]
        outcomes.append(Outcome(f"p_e {p_e:.3g}, {variant}", value, None, slack > 0.0, slack))
    return outcomes


def _states(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the printed numbers of states: at the start of a cycle, and of windows at a loss.

    Windows between 1 and W_max are distinguished by floor(Y) and ceil(Y/2), for which steps of a quarter
    packet suffice.
    """
    outcomes = []
    for w_max in check["w_max"]:
        half = math.ceil(w_max / 2)
        starts = {(state, w_th, 1) for state in "BG" for w_th in range(1, half + 1)}
        starts |= {("G", w_th, w_th) for w_th in range(1, half + 1)}
        windows = (quarters / 4 for quarters in range(4, 4 * w_max + 1))
        losses = {(math.floor(window), math.ceil(window / 2)) for window in windows}
        for name, count, said in (
            ("at the start of a cycle", len(starts), 3 * half - 1),
            ("at a loss", len(losses), 3 * w_max // 2 - 1),
        ):
            where = f"w_max {w_max} {name} (said: {said})"
            outcomes.append(Outcome(where, float(count), None, count == said, -abs(count - said)))
    return outcomes


def _recovery(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check that 2 i - K of equation (24) bounds the transmissions of a failed recovery of NewReno.

    The K-th success is the i-th transmission after the first loss. Then follow the retransmission of that
    loss, up to i - K - 1 further ones that arrive, and the one that is lost.
    """
    outcomes = []
    k = check["k"]
    for i in range(k + 1, check["w_max"]):
        most = i + 1 + (i - k - 1) + 1
        said = 2 * i - k
        where = f"K {k}, i {i} (said: at most {said})"
        outcomes.append(Outcome(where, float(most), None, most <= said, float(said - most)))
    return outcomes


SET = Figures(
    figures=FIGURES,
    folder=FOLDER,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric="throughput_per_slot",
    claims_methods=["analysis"],
    kinds={
        "printed": _as_printed,
        "decade": _margin_of_a_decade,
        "contains": _contained,
        "contains-exact": _exact_contained,
        "transmissions": _transmissions,
        "narrow": _apart,
        "loss-windows": _loss_windows,
        "states": _states,
        "recovery": _recovery,
        "speeds": speeds,
    },
)
