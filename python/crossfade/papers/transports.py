"""Statements of papers, RFCs and drafts on BBR, CUBIC, L4S and QUIC over wireless links.

The figures are the scenarios of ``scenarios/modern``; the statements, paraphrased, are in ``claims.toml`` in
``scenarios/papers/transports``. A statement is not judged, with a reason, if its transport is not
implemented, or if only the abstract of its source was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.checks import Difference
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, find, real
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

KEY = "transports"
CITATION = "BBR, CUBIC, L4S and QUIC recovery over wireless links: RFC 3366 and 9330, Ware et al., and others"

P_E = Along("p_e", "log")
SHARE = "throughput_per_slot"
FIGURES = {
    "loss-response": Figure("Random loss at 10 Mbit/s and 40 ms", P_E, "goodput_bps"),
    "loss-long-path": Figure("Random loss and bursts at 100 Mbit/s and 100 ms", P_E, "goodput_bps"),
    "loss-and-arq": Figure("Lost frames that are repeated 0, 3 or 10 times", P_E, "goodput_bps"),
    "outages": Figure("An outage after each 10 s", Along("period_s"), SHARE),
    "ack-gaps": Figure("Acknowledgements that come together", Along("gap_ms"), "link_utilisation"),
    "bbr-against-cubic": Figure("BBR's part beside CUBIC over the queue", Along("queue_bdp", "log"), "part"),
    "voice-beside": Figure("A call beside a download", Along("persistence"), "voice.one_way_delay_p95_s"),
    "suspensions": Figure("A Wi-Fi that suspends", Along("rtt_ms"), SHARE),
    "blockage": Figure("A path that is blocked for half a second", Along("period_s"), "rtt_p99_s"),
    "quic-and-arq": Figure(
        "QUIC's recovery beside TCP's: frames repeated 0, 3 or 10 times", P_E, "goodput_bps"
    ),
    "quic-reordering": Figure("A link that repairs out of order", P_E, "spurious_losses"),
    "quic-outages": Figure(
        "QUIC's recovery beside TCP's: an outage after each 10 s", Along("period_s"), SHARE
    ),
}

# Figures in which a column varies; elsewhere the column is left out.
ONLY_IN = {"flavour": ["quic-and-arq", "quic-outages", "quic-reordering"], "undo": ["quic-reordering"]}


def _seconds(value: Any) -> float:
    """Time of a scenario in seconds."""
    number, unit = str(value).split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def _ms_of(name: str) -> Any:
    return lambda value: f"{real(name, value, 'a number of milliseconds'):g} ms"


def _channel(value: Any) -> dict[str, Any]:
    channels: dict[str, dict[str, Any]] = {
        "iid": {"model": "iid"},
        "bursts": {"model": "markov", "mean_burst": 10},
    }
    if value not in channels:
        raise ScenarioError(f"over channel = {value}: must be iid or bursts")
    return channels[value]


def _channel_cell(value: Any) -> Cell:
    return {"iid": "iid", "markov": "bursts"}.get(value["model"]) if value else None


def _bdp(value: Any) -> Cell:
    """Queue of ``bbr-against-cubic`` in BDPs: 10 Mbit/s times 41.2 ms are 51,500 bytes."""
    return round(float(value.split()[0]) / 51_500.0, 3) if value and value.endswith(" B") else None


AXES = {
    # Defaults of a scenario: TCP by the RFCs, Reno and drop-tail.
    "congestion": Axis("tcp.congestion", cell=lambda value: value or "reno"),
    "flavour": Axis("tcp.flavour", cell=lambda value: value or "rfc"),
    "undo": Axis("tcp.quic.undo", cell=lambda value: int(bool(value))),
    "delivery": Axis("link.arq.delivery"),
    "channel": Axis("channel", read=_channel, cell=_channel_cell),
    "p_e": Axis("channel.p_e"),
    "persistence": Axis("link.arq.max_retransmissions"),
    "rtt_ms": Axis(
        "wired.rtt",
        read=_ms_of("rtt_ms"),
        cell=lambda value: None if value is None else 2e3 * _seconds(value),
        shown="wired.one_way_delay",
    ),
    "link": Axis("link.trace.rates", cell=lambda value: None if value is None else value.partition(".")[0]),
    "period_s": Axis(
        "link.trace.period",
        read=lambda value: f"{real('period_s', value, 'a number of seconds'):g} s",
        cell=lambda value: None if value is None else _seconds(value),
    ),
    "gap_ms": Axis(
        "reverse.aggregation.period",
        read=_ms_of("gap_ms"),
        cell=lambda value: None if value is None else 1e3 * _seconds(value),
    ),
    "queue_bdp": Axis("link.queue.limit", read=lambda value: f"{value} bdp", cell=_bdp),
    "discipline": Axis("link.queue.discipline", cell=lambda value: value or "drop-tail"),
}
METRICS = [
    *("goodput_bps", SHARE, "link_utilisation", "rtt_mean_s", "rtt_p99_s", "timeouts", "spurious_timeouts"),
    *("spurious_losses", "voice.one_way_delay_p95_s"),
]
COLUMNS = [*AXES, *(name for metric in METRICS for name in (metric, f"{metric}_ci95")), "part", "part_ci95"]

# Keys set by --quick: a sixth to two thirds of the figures' duration, and fewer runs.
QUICK = {"run.duration": "40 s", "run.runs": 4}


def table(name: str, options: Options) -> Table:
    """Rows of a figure, without columns that are empty or constant in it."""
    find(KEY, name, FIGURES)
    found = SET.table(name, options)
    records = found.records()
    said = [column for column in found.columns if any(record[column] is not None for record in records)]
    said = [column for column in said if name in ONLY_IN.get(column, [name])]
    return Table.of(said, records)


def _values(point: Point) -> dict[str, Cell]:
    """Metrics of a point, and BBR's share of the goodput of two flows, with their intervals."""
    found: dict[str, Cell] = {}
    for metric in METRICS:
        if estimate := {**point.metrics, **point.parts}.get(metric):
            found |= {metric: estimate.value, f"{metric}_ci95": estimate.ci95}
    if part := _part(point):
        found |= {"congestion": None, "part": part.mean, "part_ci95": part.ci95()}
    return found


def _part(point: Point) -> Sample | None:
    """BBR's share of the goodput of flows ``bbr`` and ``cubic``, by run."""
    if "bbr.goodput_bps" not in point.parts:
        return None
    bbr, cubic = (Sample.of(point, f"{name}.goodput_bps") for name in ("bbr", "cubic"))
    return Sample({run: value / (value + cubic.values[run]) for run, value in bbr.values.items()})


# Rate of 10 Mbit/s in packets per second, and round trip of 40 ms plus a packet's time, in seconds.
RATE, ROUND_TRIP = 10e6 / (8.0 * 1500.0), 0.0412


def ware(queue_bdp: float, seconds: float, flows: int = 1) -> float:
    """BBR's share beside any number of loss-based flows (Ware et al. 2019), at 10 Mbit/s and 40 ms.

    While BBR does not probe, the others' share is p = 1/2 - 1/(2 X) - 4 N/q for a queue of q packets, which
    is X BDPs. In every 10 s BBR empties the queue for 200 ms and fills it again.
    """
    queue = queue_bdp * RATE * ROUND_TRIP
    others = max(0.0, 0.5 - 0.5 / queue_bdp - 4.0 * flows / queue)
    return (1.0 - others) * _not_probing(queue, seconds)


def of_flights(queue_bdp: float, seconds: float, flows: int = 1) -> float:
    """BBR's share like :func:`ware`, but with the RTT that follows from all packets in flight of the others.

    Ware et al. take (p q + 4 N)/c + l for the RTT, the others' queue and the path. But without BBR's packets
    the others' p (q + c l) fill the path as well: the RTT is (p (q + c l) + 4 N)/c, and p = 1/2 - 4 N/(q + c
    l).
    """
    queue = queue_bdp * RATE * ROUND_TRIP
    others = max(0.0, 0.5 - 4.0 * flows / (queue + RATE * ROUND_TRIP))
    return (1.0 - others) * _not_probing(queue, seconds)


def _not_probing(queue: float, seconds: float) -> float:
    """Share of the time in which BBR does not probe for the minimum RTT."""
    probing = (queue / RATE + 0.2 + ROUND_TRIP) * seconds / 10.0
    return (seconds - probing) / seconds


def _ware(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of BBR's share against the formula, at every queue."""
    asked = _asked(check, options)
    outcomes = []
    for point in SET.results(check["figure"], asked).points:
        part = _part(point)
        assert part is not None, "both flows have results"
        run = point.scenario["run"]
        seconds = _seconds(run["duration"]) - _seconds(run["warmup"])
        place = float(str(SET.axes_of(point)["queue_bdp"]))
        formula = (of_flights if check.get("flights") else ware)(place, seconds)
        where = f"queue_bdp {place:g} (formula {formula:.2f})"
        (found,) = checks.within(
            [Difference(where, part.mean - formula, part.half_width())], check["tolerance"]
        )
        outcomes.append(found)
    return outcomes


def _lost_seconds(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the cost of an outage beyond its duration: seconds without deliveries in each period.

    Of every period 10 s carry data; the sender's rate is taken from the shortest outage of a link that waits.
    With ``less``, a flavour, the cost is in excess of that of this flavour under the same control.
    """
    points = SET.results(check["figure"], _asked(check, options)).points
    places = [(point, SET.axes_of(point)) for point in points]
    lost: dict[tuple[Cell, Cell, float], Sample] = {}
    for point, axes in places:
        period, sender = float(str(axes["period_s"])), (axes["flavour"], axes["congestion"])
        if axes["link"] != check["link"] or period < check["from_s"]:
            continue
        # A link that holds packets in an outage has no rate then; one that loses them always has its rate.
        carries = 10.0 if check["link"] == "outage-waits" else period
        share = Sample.of(point, SHARE)
        steady = Sample.of(_steady(places, sender), SHARE).mean
        seconds = {run: 10.0 - value * carries / steady for run, value in share.values.items()}
        lost[*sender, period] = Sample(seconds)
    judge = checks.above if check["side"] == "above" else checks.below
    outcomes = []
    for (flavour, congestion, period), sample in lost.items():
        if flavour != check.get("flavour", flavour):
            continue
        if "less" in check:
            sample = sample - lost[check["less"], congestion, period]
        where = f"{congestion}, outage of {period - 10.0:g} s"
        outcomes += judge([Difference(where, sample.mean, sample.half_width())], check["margin"])
    return outcomes


def _steady(places: list[tuple[Point, dict[str, Cell]]], sender: tuple[Cell, Cell]) -> Point:
    """Point of a flavour and a control with the shortest outage of a link that waits."""
    waits = [
        (float(str(axes["period_s"])), point)
        for point, axes in places
        if (axes["flavour"], axes["congestion"], axes["link"]) == (*sender, "outage-waits")
    ]
    return min(waits, key=lambda found: found[0])[1]


def _asked(check: Mapping[str, Any], options: Options) -> Options:
    changed = dict(options.set or {}) | (check.get("set", {}) if not options.quick else {})
    return replace(options, over=check.get("over", {}), set=changed, methods=["simulation"])


SET = Figures(
    figures=FIGURES,
    folder=SCENARIOS / "modern",
    claims_folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric=SHARE,
    claims_methods=["simulation"],
    kinds={"ware": _ware, "lost-seconds": _lost_seconds},
)
