"""Table of nr.md about a call on its own bearer: runs of the scenario ``nr-bearers``."""

from __future__ import annotations

from pathlib import Path

import crossfade as cf

WORDS = {
    "shared": "that of the download",
    "equal": "its own, of equal priority (5QI 9)",
    "first": "its own, before the download (5QI 1)",
    "behind": "its own, behind the download (`priority` 4 and 9)",
    "assured": "behind the download, with `prioritised_rate` 8 and 16 kB/s",
}
CONTROLS = {"cubic": "CUBIC", "bbr-v1": "BBRv1"}


def make_bearers(gallery: Path) -> None:
    """Write the table of the call's delays and the download's goodput, by the bearer of the call."""
    points = {
        (point.axes["alternative"], point.axes["tcp.congestion"]): point
        for point in cf.run("nr-bearers").points
    }
    records = []
    for alternative, words in WORDS.items():
        record = {"bearer of the call": words}
        for control, name in CONTROLS.items():
            flows = {flow["name"]: flow for flow in points[alternative, control].flows}
            record |= {
                f"{name}: call, mean": said(flows["call"]["one_way_delay_mean_s"], 1e3, "ms"),
                f"{name}: 99 %": said(flows["call"]["one_way_delay_p99_s"], 1e3, "ms"),
                f"{name}: download": said(flows["download"]["goodput_bps"], 1e-6, "Mbit/s"),
            }
        records.append(record)
    columns = list(records[0])
    (gallery / "nr-bearers.csv").write_text(cf.store.Table.of(columns, records).to_csv())


def said(metric: dict[str, float], scale: float, unit: str) -> str:
    """A mean and its interval as text, scaled and with its unit, with as many digits as the interval
    justifies.
    """
    value, half = scale * metric["value"], scale * (metric["ci95"] or 0.0)
    digits = 0 if half >= 1.0 or value >= 1e3 else 1
    return f"{value:,.{digits}f} ± {half:,.{digits}f} {unit}"
