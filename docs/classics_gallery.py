"""Figures and tables of docs/classics/, computed by the build that the pages describe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.cli.app import main

CLASSICS = [
    "slow-start",
    "one-two-three-losses",
    "bufferbloat",
    "fairness",
    "rtt-unfairness",
    "cubic-against-reno",
    "ack-path",
]


def make_classics(gallery: Path) -> None:
    """Draw the figure and compute the table of every page of docs/classics/."""
    for name in CLASSICS:
        _do("run", f"classics/{name}", "--quiet", "--plot", str(gallery / f"classics-{name}.png"))
    for name, make in TABLES.items():
        records = make()
        (gallery / f"classics-{name}.csv").write_text(cf.store.Table.of(list(records[0]), records).to_csv())


def _do(*arguments: str) -> None:
    if (code := main(arguments)) != 0:
        raise RuntimeError(f"crossfade {' '.join(arguments)} ended with {code}")


Records = list[dict[str, float | str | None]]


def _run(name: str, **options: Any) -> cf.store.Results:
    return cf.run(f"classics/{name}", **options)


def _mbit(point: cf.store.Point, name: str = "goodput_bps") -> str:
    return f"{point.value(name) / 1e6:.3g}"


def slow_start() -> Records:
    """One row per loss: the window when it occurred, and the window after it."""
    table = cf.store.Table.of_frame(cf.events("classics/slow-start"))
    records: Records = []
    highest = 0.0
    for row in table.records():
        time, window = float(row["time_s"] or 0), float(row["cwnd"] or 0)
        highest = max(highest, window)
        if row["event"] == "recovery_end":
            shown = {"recovered at (s)": f"{time:.1f}", "largest window": f"{highest:.3g}"}
            records.append(shown | {"after recovery": f"{window:.3g}"})
            highest = 0.0
    return records[:4]


def losses() -> Records:
    results = _run("one-two-three-losses")
    return [
        {
            "losses": len(point.axes["channel.drops"]),
            "TCP": str(point.axes["tcp.variant"]),
            "goodput (Mbit/s)": _mbit(point),
            "retransmitted": f"{point.value('retransmissions'):g}",
            "fast retransmits": f"{point.value('fast_retransmits'):g}",
            "timeouts": f"{point.value('timeouts'):g}",
        }
        for point in results.points
    ]


def bufferbloat() -> Records:
    def cells(point: cf.store.Point, name: str) -> dict[str, float | str | None]:
        return {
            f"page, {name} (s)": f"{point.value('page.completion_time_s'):.3g}",
            f"download, {name} (Mbit/s)": _mbit(point, "download.goodput_bps"),
        }

    return _beside(_run("bufferbloat"), "link.queue.discipline", {"link.queue.limit": "queue limit"}, cells)


def fairness() -> Records:
    ends = [125, 130, 150, 180, 240]
    results = _run("fairness", over={"run.duration": [f"{end} s" for end in ends]})
    return [
        {"measured for (s)": end - 120, "Jain's index": f"{point.value('jain_fairness'):.4f}"}
        for end, point in zip(ends, results.points, strict=True)
    ]


def rtt_unfairness() -> Records:
    words = {"sack": "Reno", "cubic": "CUBIC"}

    def cells(point: cf.store.Point, name: str) -> dict[str, float | str | None]:
        rtt = point.value("far.rtt_mean_s") / point.value("near.rtt_mean_s")
        goodput = point.value("near.goodput_bps") / point.value("far.goodput_bps")
        power = math.log(goodput) / math.log(rtt) if rtt > 1.1 else math.nan
        return {
            f"{words[name]}: round trips": f"{rtt:.2f}",
            f"{words[name]}: goodputs": f"{goodput:.2f}",
            f"{words[name]}: power": "" if math.isnan(power) else f"{power:.2f}",
        }

    return _beside(
        _run("rtt-unfairness"),
        "tcp.variant",
        {"flows.far.access_delay": "access delay of the far one"},
        cells,
    )


def cubic_against_reno() -> Records:
    words = {"sack": "Reno", "cubic": "CUBIC"}
    rtt = 0.1

    def cells(point: cf.store.Point, name: str) -> dict[str, float | str | None]:
        p = point.axes["channel.p_e"]
        window = point.value("goodput_bps") * point.value("rtt_mean_s") / (8 * 1448)
        # Mean window by RFC 9438 section 5.1, with one loss every 1/p segments; in the Reno-friendly region
        # CUBIC has Reno's.
        reno = 1.2247 / p**0.5
        law = reno if name == "sack" else max(reno, 1.054 * (rtt / p) ** 0.75)
        return {f"{words[name]}: window": f"{window:.3g}", f"{words[name]}: formula": f"{law:.3g}"}

    return _beside(_run("cubic-against-reno"), "tcp.variant", {"channel.p_e": "share lost"}, cells)


def ack_path() -> Records:
    words = {"0 s": "every segment", "200 ms": "every second"}

    def cells(point: cf.store.Point, name: str) -> dict[str, float | str | None]:
        rate = point.scenario["reverse"]["rate"]
        acks_per_s = float(rate.split()[0]) / (52 * 8)
        bound = min(acks_per_s * (1 if name == "0 s" else 2) * 1448 * 8, 10e6 * 1448 / 1500)
        return {f"{words[name]} (Mbit/s)": _mbit(point), f"bound, {words[name]}": f"{bound / 1e6:.3g}"}

    return _beside(_run("ack-path"), "tcp.rfc.delayed_ack", {"reverse.rate": "reverse path"}, cells)


def ack_loss() -> Records:
    over = {
        "tcp.rfc.delayed_ack": ["200 ms"],
        "reverse.rate": ["1 Mbit/s"],
        "reverse.channel.p_e": [0, 0.1, 0.3, 0.5],
    }
    results = _run("ack-path", set={"reverse.channel.model": "iid"}, over=over, runs=10)
    return [
        {
            "acknowledgements lost": f"{point.axes['reverse.channel.p_e']:.0%}",
            "goodput (Mbit/s)": _mbit(point),
            "timeouts": f"{point.value('timeouts'):.1f}",
        }
        for point in results.points
    ]


def _beside(
    results: cf.store.Results,
    across: str,
    rows: Mapping[str, str],
    cells: Callable[[cf.store.Point, str], Mapping[str, float | str | None]],
) -> Records:
    """One row per value of the other axes: for each value of ``across``, side by side, the cells that
    ``cells`` returns.
    """
    found: dict[str, dict[str, float | str | None]] = {}
    for point in results.points:
        key = {title: point.axes[axis] for axis, title in rows.items()}
        shown = {title: f"{value:.3g}" if isinstance(value, float) else value for title, value in key.items()}
        found.setdefault(str(key), shown).update(cells(point, point.axes[across]))
    return list(found.values())


TABLES: dict[str, Callable[[], Records]] = {
    "slow-start": slow_start,
    "one-two-three-losses": losses,
    "bufferbloat": bufferbloat,
    "fairness": fairness,
    "rtt-unfairness": rtt_unfairness,
    "cubic-against-reno": cubic_against_reno,
    "ack-path": ack_path,
    "ack-loss": ack_loss,
}
