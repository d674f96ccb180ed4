"""Figures and tables of docs/persistence.md, computed by the build that the page describes."""

from __future__ import annotations

from pathlib import Path

import crossfade as cf
from crossfade.figures.style import MARKERS, PALETTE, figure

# Quantities that the figure of each scenario shows, one panel below the other.
PANELS = [
    ("goodput_bps", "Goodput"),
    ("one_way_delay_p95_s", "One-way delay, p95"),
    ("one_way_delay_p99_s", "One-way delay, p99"),
    ("timeouts", "Timeouts a run"),
    ("spurious_timeouts", "of these, spurious"),
]
TCP_WORDS = {"tahoe": "Tahoe, 1 s", "reno": "Reno, 1 s", "sack": "SACK, 200 ms"}
CHANNEL_WORDS = {"iid": "i.i.d.", "markov": "fading"}


def make_persistence(gallery: Path) -> None:
    """Make a figure and a table for each link, and a table for faster and slower fading."""
    for name in ("rlp", "wifi"):
        results = cf.run(f"{name}-persistence")
        _draw(results, gallery / f"{name}-persistence.png")
        _write(_table(results), gallery / f"{name}-persistence.csv")
    _write(fades(), gallery / "wifi-fades.csv")


def fades() -> list[dict[str, float | str | None]]:
    """Rows of the table for the fast link with fades of about 7, 68 and 270 ms."""
    over = {
        "channel": [{"model": "markov", "p_e": 0.1, "fd_t": fd_t} for fd_t in (0.02, 0.002, 0.0005)],
        "link.arq.max_retransmissions": [3, 20, "unlimited"],
    }
    results = cf.run("wifi-persistence", over=over)
    records = _table(results)
    for point, record in zip(results.points, records, strict=True):
        record["channel"] = f"fd_t {point.axes['channel']['fd_t']:g}"
    return records


def _write(records: list[dict[str, float | str | None]], file: Path) -> None:
    file.write_text(cf.store.Table.of(list(records[0]), records).to_csv())


def _limit(point: cf.store.Point) -> str:
    limit = point.axes["link.arq.max_retransmissions"]
    return "\N{INFINITY}" if limit == "unlimited" else str(limit)


def _curves(results: cf.store.Results) -> dict[tuple[str, str], list[cf.store.Point]]:
    curves: dict[tuple[str, str], list[cf.store.Point]] = {}
    for point in results.points:
        key = (point.axes["tcp"]["variant"], point.axes["channel"]["model"])
        curves.setdefault(key, []).append(point)
    return curves


def _draw(results: cf.store.Results, file: Path) -> None:
    from matplotlib.ticker import EngFormatter

    curves = _curves(results)
    variants = list(dict.fromkeys(variant for variant, _ in curves))
    channels = list(dict.fromkeys(channel for _, channel in curves))
    with figure(file, height=2.6) as drawn:
        panels = drawn.subplots(len(PANELS), sharex=True)
        for axes, (metric, title) in zip(panels, PANELS, strict=True):
            for (variant, channel), points in curves.items():
                color = PALETTE[variants.index(variant)]
                axes.errorbar(
                    range(len(points)),
                    [point.value(metric) for point in points],
                    yerr=[point.metrics[metric].ci95 or 0.0 for point in points],
                    fmt=list(MARKERS)[channels.index(channel)],
                    linestyle="-",
                    linewidth=0.5,
                    color=color,
                    markerfacecolor=color if channel == channels[0] else "none",
                    elinewidth=0.8,
                    capsize=1.8,
                    label=f"{TCP_WORDS[variant]}, {CHANNEL_WORDS[channel]}",
                )
            axes.set_ylabel(title)
            axes.set_ylim(bottom=0.0)
            unit = {"bps": "bit/s", "s": "s"}.get(metric.rsplit("_", 1)[-1])
            if unit is not None:
                axes.yaxis.set_major_formatter(EngFormatter(unit=unit, sep=" "))
        panels[0].legend(fontsize=5)
        limits = [_limit(point) for point in next(iter(curves.values()))]
        panels[-1].set_xticks(range(len(limits)), limits)
        panels[-1].set_xlabel("Retransmissions before a frame is given up")


def _table(results: cf.store.Results) -> list[dict[str, float | str | None]]:
    def cells(point: cf.store.Point) -> dict[str, float | str | None]:
        return {
            "TCP": TCP_WORDS[point.axes["tcp"]["variant"]],
            "channel": CHANNEL_WORDS[point.axes["channel"]["model"]],
            "n": _limit(point),
            "goodput (kbit/s)": f"{point.value('goodput_bps') / 1e3:.3g}",
            "one-way delay, p95 (ms)": f"{1e3 * point.value('one_way_delay_p95_s'):.0f}",
            "p99 (ms)": f"{1e3 * point.value('one_way_delay_p99_s'):.0f}",
            "head of line, p95 (ms)": f"{1e3 * point.value('hol_delay_p95_s'):.0f}",
            "frames given up": f"{point.value('residual_frame_error_rate'):.2g}",
            "timeouts": f"{point.value('timeouts'):.3g}",
            "spurious": f"{point.value('spurious_timeouts'):.3g}",
            "detected": f"{point.value('spurious_timeouts_detected'):.3g}",
        }

    return [cells(point) for point in results.points]
