"""Statements of papers and drafts on transports over 5G, checked on cells of 5G NR.

The figures are the scenarios of ``scenarios/papers/nr``; the statements, paraphrased, are in ``claims.toml``
beside them. Statements that closed forms decide are tested in ``crates/nr``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crossfade.comparison.paired import Sample
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.checks import Difference
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, find, real
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

KEY = "nr"
CITATION = (
    "Transports over 5G: Zhang et al., Xu et al., Huang et al., Moltchanov et al., Park et al., and others"
)

GOODPUT = "goodput_bps"
# Parts of the delay of a packet in the cell, in one direction.
PARTS = ("queue", "grant", "air", "harq", "rlc", "reordering")
DELAY, UPLINK_DELAY = "delay_s", "uplink_delay_s"

# Axis of all figures: each has one ratio, and other columns distinguish curves.
SNR = Along("snr_db")
FIGURES = {
    "link-retransmissions": Figure("HARQ and RLC off and on", SNR, GOODPUT),
    "buffers": Figure("Queues and windows before a blocked mmWave link", SNR, GOODPUT),
    "marking": Figure("Queues that mark or drop early", SNR, DELAY),
    "wired-queue": Figure("A shallow queue before a fast cell", Along("queue_kb", "log"), GOODPUT),
    "window": Figure("The receiver's window", SNR, GOODPUT),
    "blocked": Figure("A mmWave link that is blocked for 299 ms", SNR, "rtt_p99_s"),
    "blockage-times": Figure("Blockage from 2 ms to 1 s", Along("blocked_ms", "log"), GOODPUT),
    "target": Figure("The error rate that is aimed at, over SNR", Along("user_snr_db"), GOODPUT),
    "uplink-latency": Figure("Mean uplink delay of an idle user", Along("sr_period_ms"), UPLINK_DELAY),
    "reassembly": Figure("t-Reassembly", SNR, "rlc_retransmissions_per_packet"),
    "handover": Figure("Handovers with and without forwarding", Along("interruption_ms"), GOODPUT),
    "ack-bursts": Figure("Acknowledgements once per uplink slot", Along("gap_ms", "log"), GOODPUT),
}


def _seconds(value: Any) -> float:
    """Time of a scenario in seconds."""
    number, unit = str(value).split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def _ms(value: Any) -> Cell:
    return None if value is None else round(1e3 * _seconds(value), 6)


def _ms_of(name: str) -> Any:
    return lambda value: f"{real(name, value, 'a number of milliseconds'):g} ms"


def _kilobytes(value: Any) -> Cell:
    return float(value.split()[0]) / 1e3 if value and str(value).endswith(" B") else None


def _gap_ms(pattern: Any) -> Cell:
    """Longest time in ms from an uplink slot to the next, with slots of 0.5 ms."""
    if pattern is None:
        return None
    if pattern == "fdd":
        return 0.5
    return 0.5 * (1 + max(len(run) for run in (2 * str(pattern)).split("U")))


AXES = {
    "congestion": Axis("tcp.congestion", cell=lambda value: value or "reno"),
    "w_max": Axis("tcp.w_max"),
    "discipline": Axis("link.queue.discipline", cell=lambda value: value or "drop-tail"),
    "queue_kb": Axis("wired.queue.limit", cell=_kilobytes),
    "transmissions": Axis("nr.harq.transmissions"),
    "rlc": Axis("nr.rlc.mode"),
    "snr_db": Axis("nr.radio.mean_snr_db"),
    # Metrics of the user of the flow that the scenario names.
    "user_snr_db": Axis("flows.f.radio.mean_snr_db"),
    "target_bler": Axis("nr.target_bler"),
    "depth_db": Axis("nr.blockage.depth_db"),
    "blocked_ms": Axis("nr.blockage.blocked", cell=_ms),
    "sr_period_ms": Axis("nr.uplink.sr_period", read=_ms_of("sr_period_ms"), cell=_ms),
    "t_reassembly_ms": Axis("nr.rlc.t_reassembly", read=_ms_of("t_reassembly_ms"), cell=_ms),
    "interruption_ms": Axis("nr.handover.interruption", read=_ms_of("interruption_ms"), cell=_ms),
    "mode": Axis("nr.handover.mode"),
    "gap_ms": Axis("nr.pattern", cell=_gap_ms),
}
METRICS = [GOODPUT, DELAY, "rtt_mean_s", "rtt_p95_s", "rtt_p99_s", "retransmissions", "timeouts"]
METRICS += ["rlc_retransmissions_per_packet", UPLINK_DELAY]
COLUMNS = [*AXES, *(name for metric in METRICS for name in (metric, f"{metric}_ci95"))]

# Keys set by --quick: shorter and fewer runs than for the figures.
QUICK = {"run.duration": "6 s", "run.runs": 3}


def table(name: str, options: Options) -> Table:
    """Rows of a figure, without columns that are empty or constant in it."""
    find(KEY, name, FIGURES)
    found = SET.table(name, options)
    records = found.records()
    said = [column for column in found.columns if any(record[column] is not None for record in records)]
    return Table.of(said, records)


def sample(point: Point, metric: str) -> Sample:
    """Metric by run; the delay in the cell is the sum of its parts."""
    if metric not in (DELAY, UPLINK_DELAY):
        return Sample.of(point, metric)
    way = "uplink_" if metric == UPLINK_DELAY else ""
    parts = [Sample.of(point, f"{way}delay_{part}_mean_s").values for part in PARTS]
    return Sample({run: sum(part[run] for part in parts) for run in parts[0]})


def _values(point: Point) -> dict[str, Cell]:
    """Metrics of a point with their intervals; absent ones are left out."""
    found: dict[str, Cell] = {}
    for metric in METRICS:
        needs = f"{metric.removesuffix('_s')}_queue_mean_s" if metric in (DELAY, UPLINK_DELAY) else metric
        if needs in point.metrics:
            runs = sample(point, metric)
            found |= {metric: runs.mean, f"{metric}_ci95": runs.half_width()}
    return found


# Slots of 0.5 ms from an occasion to the end of the block: processing (4), k2 (4), and the block (1).
SLOT_S, SLOTS_AFTER = 0.5e-3, 9


def _uplink_latency(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the mean uplink delay of an idle user against the sum of its layers, for each request period.

    Packets arrive at the end of a slot, and the request waits for its occasion: half a period less half a
    slot on average. The base station's processing, the grant's propagation and the block follow.
    """
    asked = replace(options, methods=["simulation"])
    found = []
    for point in SET.results(check["figure"], asked).points:
        period_s = _seconds(point.scenario["nr"]["uplink"]["sr_period"])
        layers_s = (period_s - SLOT_S) / 2.0 + SLOTS_AFTER * SLOT_S
        delays = sample(point, UPLINK_DELAY).values
        ratio = Sample({run: value / layers_s - 1.0 for run, value in delays.items()})
        where = f"sr_period_ms {1e3 * period_s:g} (layers: {1e3 * layers_s:g} ms)"
        found.append(Difference(where, ratio.mean, ratio.half_width()))
    return checks.within(found, check["tolerance"])


SET = Figures(
    figures=FIGURES,
    folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric=GOODPUT,
    claims_methods=["simulation"],
    sample=sample,
    kinds={"uplink-latency": _uplink_latency},
)
