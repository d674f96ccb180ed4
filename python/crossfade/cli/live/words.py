"""Text of the closing report of a live run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Lines of the closing report."""
    for way, name in zip(report["directions"], ("from the far host", "to the far host"), strict=True):
        line = f"live: {name}: {way['packets']:,} packets, {way['arrived']:,} arrived, {way['lost']:,} lost"
        line += f", {way['dropped']:,} dropped by the queue"
        if way["marked"]:
            line += f", {way['marked']:,} marked"
        if way["transit_p50_s"] is not None:
            line += f"; {milliseconds(way['transit_p50_s'])} one way (median)"
        yield line
        if way["frame_error_rate"] is not None and way["packets"]:
            yield (
                f"live: {name}: frame_error_rate {way['frame_error_rate']:.4f}, "
                f"frame_transmissions_per_frame {way['frame_transmissions_per_frame']:.4f}"
            )
    worst = max(report["directions"], key=lambda way: way["lateness_p99_s"] or 0.0)
    if worst["lateness_p99_s"] is not None:
        late = [milliseconds(worst[f"lateness_{p}_s"]) for p in ("p50", "p99", "p999")]
        drops = sum(way["ring_drops"] for way in report["directions"])
        yield (
            f"live: late by {late[0]} (median), {late[1]} (99 %), {late[2]} (99.9 %); "
            f"{100.0 * worst['late_share']:.2g} % later than {milliseconds(report['late_s'])}; "
            f"{drops:,} packets never seen"
        )
    tcp = f"; TCP {whose(report)} of the kernel" if report["congestion"] else ""
    yield (
        f"live: {report['duration_s']:.1f} s at a load of {report['load']:.1f} on {report['processors']} "
        f"processors, "
        f"{100.0 * report['stolen']:.1f} % stolen{tcp}"
    )


def whose(report: dict[str, Any]) -> str:
    """Congestion controls that sent data, with the names of the scenario's flows if they have names."""
    flows = dict.fromkeys((flow["name"], flow["congestion"]) for flow in report["flows"])
    named = [f"{congestion} ({name})" for name, congestion in flows if name and congestion]
    return ", ".join(named or report["congestion"])


def milliseconds(seconds: float) -> str:
    """Time in milliseconds with three significant digits."""
    return f"{1e3 * seconds:.3g} ms"
