"""Table of frames of a physical layer, or of transport blocks of an NR cell.

It has a row for each point and number of transmissions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crossfade.results.points import Estimate, Point
from crossfade.results.results import Results
from crossfade.tables import Cell, Table, label

COLUMNS = [
    "scheme",
    "detector",
    "correlation",
    "stbc_power",
    "combining",
    "combining_stage",
    "transmissions",
    "snr_db",
    "frame_bits",
    "frames",
    "frame_errors",
    "fer",
    "ci95",
    "ber",
    "residual",
]
"""Columns of a table of frames.

``fer`` is the error rate of the combination of ``transmissions`` receptions, or without combining that of a
single reception; ``residual`` is the share of frames that are not accepted after so many transmissions.
"""

INTERVALS = ["ci95_low", "ci95_high", "ber_ci95"]
INTERVALS += ["residual_ci95", "residual_ci95_low", "residual_ci95_high"]
BLOCK_COLUMNS = ["bits_per_symbol", "rate_times_1024", "frame_bits", "code_blocks", "symbols"]
"""Columns of a table of transport blocks that describe the block, after the error rates."""

# Axes whose values are in columns of their own, about scheme, detector, antennas and SNR.
_TOLD = {
    "phy",
    "phy.scheme",
    "phy.detector",
    "phy.stbc_power",
    "phy.combining",
    "phy.combining.stage",
    "phy.combining.weights",
    "channel.antennas.correlation",
    "channel.snr_db",
    "nr.radio",
    "nr.radio.mean_snr_db",
}
RATES = ["effective_rate_bps", "effective_rate_ci95"]


def frames_table(results: Results) -> Table:
    """Table of the frames of all points: the other axes, the :data:`COLUMNS`, ``method``, and intervals."""
    axes = [axis for axis in results.axes if axis not in _TOLD]
    results_from = COLUMNS.index("frames")
    columns = [*axes, *COLUMNS[:results_from], "method", *COLUMNS[results_from:], *INTERVALS, *RATES]
    if any(point.block for point in results.points):
        found = [name for name in (*COLUMNS[results_from:], *INTERVALS) if not name.startswith("ber")]
        columns = [*axes, "transmissions", "snr_db", "method", *found, *BLOCK_COLUMNS]
    return Table.of(
        columns,
        (
            {axis: label(point.axes[axis]) for axis in axes} | {"method": point.method} | record
            for point in results.points
            for record in frame_records(point)
        ),
    )


def frame_records(point: Point) -> Iterator[dict[str, Cell]]:
    """Rows of a point, one for each number of transmissions."""
    frames = _total(point, "frame_transmissions")
    alone = point.metrics.get("frame_error_rate")
    for index, residual in enumerate(point.residual):
        fer = point.combined[index] if index and point.combined else alone
        rate = fer.value if fer is not None else None
        errors = None if rate is None or frames is None else round(rate * frames)
        yield {
            **(block_columns(point.block) if point.block else phy_columns(point.scenario)),
            "transmissions": index + 1,
            "snr_db": point.snr_db,
            "frames": frames,
            "frame_errors": errors,
            **_cells("fer", fer, "ci95", "ci95_low", "ci95_high"),
            **_cells("ber", point.metrics.get("bit_error_rate"), "ber_ci95"),
            **_cells("residual", residual, "residual_ci95", "residual_ci95_low", "residual_ci95_high"),
            **_cells("effective_rate_bps", point.metrics.get("effective_rate_bps"), "effective_rate_ci95"),
        }


def block_columns(block: Mapping[str, Any]) -> dict[str, Cell]:
    """Kind of a point's transport block, by column."""
    return {"frame_bits": block["bits"], **{name: block[name] for name in BLOCK_COLUMNS if name in block}}


def counted_blocks(results: Results) -> list[dict[str, Any]]:
    """Number of transport blocks and of failures by kind and SNR, after 1, 2, ... transmissions."""
    return [
        {
            "block": point.block,
            "transmissions": index + 1,
            "snr_db": point.snr_db,
            "frames": frames,
            "failures": round(residual.value * frames),
        }
        for point in results.points
        if point.block and (frames := _total(point, "frame_transmissions"))
        for index, residual in enumerate(point.residual)
        if residual.value is not None
    ]


def _cells(name: str, found: Estimate | None, *interval: str) -> dict[str, Cell]:
    """Value, half-width and ends of an estimate, by column."""
    if found is None:
        return {}
    return dict(zip([name, *interval], [found.value, found.ci95, found.low, found.high], strict=False))


def _total(point: Point, name: str) -> int | None:
    """Sum of a kept count over all runs."""
    mean = point.metrics.get(name)
    return None if mean is None or mean.value is None else round(mean.value * point.runs)


def phy_columns(scenario: Mapping[str, Any]) -> dict[str, Cell]:
    """Scheme, detector and combining of a point, by column."""
    phy, link = scenario["phy"], scenario["link"]
    combining = phy.get("combining", {})
    stage = combining.get("stage", "none")
    is_ml = stage != "none" and phy["detector"] in ("ml", "sphere")
    return {
        "scheme": phy["scheme"],
        "detector": phy["detector"],
        "correlation": scenario["channel"]["antennas"]["correlation"],
        "stbc_power": phy["stbc_power"],
        "combining": "none" if stage == "none" else combining.get("weights"),
        "combining_stage": None if stage == "none" else "ml" if is_ml else stage,
        "frame_bits": 8 * int(str(link["frame_size"]).removesuffix(" B")),
    }
