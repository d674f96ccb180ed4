"""Chockalingam and Bao, "Performance of TCP/RLP Protocol Stack on Correlated Fading DS-CDMA Wireless Links".

Figures 3 to 5 are scenarios in ``scenarios/papers/tcp-rlp``, with the claims in ``claims.toml``. The paper's
description of the radio link protocol can be read in several ways, none of which meets all of its statements:
``--over reading=a,b,...`` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

from crossfade import api
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, channel_axis, find, of_formula, real, speeds
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

KEY = "tcp-rlp"
CITATION = (
    "A. Chockalingam and G. Bao, Performance of TCP/RLP Protocol Stack on Correlated Fading DS-CDMA Wireless "
    "Links, IEEE Trans. Vehicular Technology 49(1), 2000"
)

P_E = Along("p_e", "log")
FIGURES = {
    "fig2": Figure(
        "Mean burst of lost frames over f_d T, fading margins 5, 10, 15 and 20 dB",
        Along("fd_t", "log"),
        "burst",
    ),
    "fig3": Figure("RLP throughput over P_E, segments of 536 bytes", P_E, "rlp_throughput_bps"),
    "fig4": Figure("TCP throughput over P_E, segments of 536 bytes", P_E, "goodput_bps"),
    "fig5": Figure(
        "TCP throughput over P_E, segments of 536 and 1072 bytes (padded to 28 and 54 frames), f_d T = 0.01",
        P_E,
        "goodput_bps",
    ),
}

FIG2_COLUMNS = ["fading_margin_db", "fd_t", "burst"]
FIG2_AXES: dict[str, list[float]] = {
    "fading_margin_db": [5.0, 10.0, 15.0, 20.0],
    "fd_t": [0.01, 0.014, 0.02, 0.028, 0.04, 0.057, 0.08, 0.113, 0.16, 0.226, 0.32, 0.453, 0.64],
}

# Bytes of the TCP and IP headers before compression.
HEADERS = 40


def _packet_size(value: Any) -> str:
    mss = real("mss", value, "a number of bytes")
    if not (mss.is_integer() and mss > 0):
        raise ScenarioError(f"over mss = {value}: must be a whole number of bytes")
    return f"{int(mss) + HEADERS} B"


def _bytes(size: Any) -> Cell:
    return int(str(size).removesuffix(" B"))


AXES = {
    "reading": Axis("link.arq.reading"),
    "mss": Axis("link.packet_size", read=_packet_size, cell=_bytes, shown="tcp.mss"),
    "n": Axis("link.arq.max_retransmissions"),
    "channel": channel_axis(),
    "p_e": Axis("channel.p_e"),
}
COLUMNS = [*AXES, "rlp_throughput_bps", "rlp_ci95", "goodput_bps", "ci95"]

# Keys set by --quick: a quarter of the figures' 10,000 s; the warm-up is unchanged.
QUICK = {"run.duration": "2500 s"}


def table(name: str, options: Options) -> Table:
    """Rows of a figure, under its fixed columns."""
    find(KEY, name, FIGURES)
    return _fig2(options) if name == "fig2" else SET.table(name, options)


def _fig2(options: Options) -> Table:
    axes = of_formula("fig2", FIG2_AXES, options)
    records = []
    for margin, fd_t in product(axes["fading_margin_db"], axes["fd_t"]):
        record = api.markov_from_rayleigh(fd_t, fading_margin_db=margin)
        records.append(record | {"fading_margin_db": margin, "burst": record["mean_burst"]})
    return Table.of(FIG2_COLUMNS, records)


def _values(point: Point) -> dict[str, Cell]:
    """Throughputs of the link and of TCP at a point, with their intervals."""
    rlp, tcp = point.metrics.get("rlp_throughput_bps"), point.metrics.get("goodput_bps")
    return {
        "rlp_throughput_bps": rlp.value if rlp else None,
        "rlp_ci95": rlp.ci95 if rlp else None,
        "goodput_bps": tcp.value if tcp else None,
        "ci95": tcp.ci95 if tcp else None,
    }


def _bursts(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of printed mean bursts against the equations, rounded to the printed digits."""
    outcomes = []
    for row in check["rows"]:
        found = api.markov_from_rayleigh(row["fd_t"], fading_margin_db=row["fading_margin_db"])
        where = f"fading margin {row['fading_margin_db']:g} dB, fd_t {row['fd_t']:g}"
        outcomes.append(checks.printed(where, found["mean_burst"], row["burst"]))
    return outcomes


def _margins(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the P_E of a fading margin, to one significant digit."""
    outcomes = []
    for row in check["rows"]:
        p_e = api.markov_from_rayleigh(0.01, fading_margin_db=row["fading_margin_db"])["p_e"]
        holds = f"{p_e:.0e}" == f"{row['p_e']:.0e}"
        slack = -abs(p_e / row["p_e"] - 1.0)
        outcomes.append(Outcome(f"fading margin {row['fading_margin_db']:g} dB", p_e, None, holds, slack))
    return outcomes


def _longer_bursts(_check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the ratio of the mean burst of figure 2 to that at the next larger f_d T."""
    outcomes = []
    records = _fig2(replace(options, set={}, over={})).records()
    for slower, faster in pairwise(records):
        if slower["fading_margin_db"] == faster["fading_margin_db"]:
            longer = float(str(slower["burst"])) - float(str(faster["burst"]))
            where = f"fading margin {slower['fading_margin_db']} dB, fd_t {slower['fd_t']}"
            outcomes.append(Outcome(where, longer, None, longer > 0.0, longer))
    return outcomes


def _frames(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the number of frames of a segment, to the stated digits."""
    return [
        checks.printed(f"{row['bytes']} bytes", row["bytes"] / check["payload"], row["frames"])
        for row in check["rows"]
    ]


SET = Figures(
    figures=FIGURES,
    folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric="goodput_bps",
    claims_methods=["simulation"],
    kinds={
        "bursts": _bursts,
        "margins": _margins,
        "speeds": speeds,
        "longer-bursts": _longer_bursts,
        "frames": _frames,
    },
)
