"""Public recordings split in time: a link is fitted to the first half and compared with the second half.

Usage: python bench/public_split.py [--half 60] [--record cubic] [--controls cubic,bbr-v1] FILE [FILE ...]

A FILE is a trace of mahimahi (integer ms, one opportunity of 1500 bytes each; ravinet/mahimahi, or the
capacity of LeoReplayer) or the CSV of Starlink-on-the-Autobahn (column ``download``, Mbit/s in each second).
The program simulates a flow of the control --record over the first half, and fits a link to its capture.
Flows of each of --controls then run over

- the second half itself, which is the truth;
- the fitted link;
- M0, a link with the constant rate that was fitted;
- the shuffled replay of the capture: its stretches of 100 ms in random order.

Prints a table of 1-Wasserstein distances to the truth, of goodput in windows of 1 s and of the round trips of
packets, each divided by the mean of the truth (no unit); then in how many rows the fitted link is nearest,
and means. The recordings do not come with Crossfade.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crossfade as cf
from crossfade.fitting.records import read_record

Array = NDArray[np.float64]
STRETCH_MS = 100
WINDOW_S = 1.0
LINK = """
schema = 2
[link]
packet_size = "1500 B"
delay = "20 ms"
queue.limit = "250 packets"
{capacity}
[reverse]
delay = "20 ms"
[channel]
model = "none"
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "64 MB"
[run]
duration = "{half} s"
runs = 1
"""


def halves(file: Path, half: float, folder: Path) -> list[str]:
    """The capacity of each half as a key of table `link`, with its file in ``folder``."""
    if file.suffix == ".csv":
        rows = list(csv.DictReader(file.open()))
        rates = [float(row["download"] or 0) * 1e6 for row in rows]
        found = []
        for number in range(2):
            table = folder / f"{file.stem}-{number}.csv"
            part = rates[int(number * half) : int((number + 1) * half)]
            table.write_text(
                "time_s,rate_bps,delay_s,loss\n"
                + "".join(f"{at},{max(rate, 1e4):.0f},0,0\n" for at, rate in enumerate(part))
            )
            found.append(f'trace = {{ rates = "{table}", at_end = "loop", period = "{half:g} s" }}')
        return found
    times = np.loadtxt(file, dtype=np.int64)
    found = []
    for number in range(2):
        part = times[(times >= number * half * 1e3) & (times < (number + 1) * half * 1e3)]
        trace = folder / f"{file.name}-{number}.up"
        trace.write_text("".join(f"{time}\n" for time in part - int(number * half * 1e3)))
        found.append(f'trace.opportunities = "{trace}"')
    return found


def shuffled(trace: Path, half: float, seed: int) -> None:
    """Put the stretches of a trace of opportunities into a random order, in place."""
    times = np.loadtxt(trace, dtype=np.int64)
    stretches: list[list[int]] = [[] for _ in range(int(half * 1e3 / STRETCH_MS) + 1)]
    for time in times:
        stretches[min(len(stretches) - 1, time // STRETCH_MS)].append(int(time % STRETCH_MS))
    random.Random(seed).shuffle(stretches)
    rows = [at * STRETCH_MS + time for at, stretch in enumerate(stretches) for time in stretch]
    trace.write_text("".join(f"{time}\n" for time in rows))


def flow(scenario: str | Path, control: str, half: float, folder: Path) -> tuple[Array, Array]:
    """Goodput in bit/s in each window, and round trips of packets in s, of one simulated flow."""
    file = folder / "flow.pcap"
    cf.runs.write_pcap(file, scenario, set={"tcp.congestion": control}, snaplen=100)
    packets, _ = read_record([file])
    known = np.isfinite(packets["seen_s"])
    arrived = packets["fate"] == 0
    seen = np.interp(np.flatnonzero(arrived), np.flatnonzero(known), packets["seen_s"][known])
    bins = np.arange(0.0, half + WINDOW_S / 2, WINDOW_S)
    carried = np.histogram(seen, bins, weights=packets["bytes"][arrived])[0] * 8 / WINDOW_S
    return carried, (packets["seen_s"] - packets["sent_s"])[known]


def distance(ours: Array, theirs: Array) -> float:
    """The 1-Wasserstein distance of two samples, divided by the mean of the second."""
    shares = (np.arange(2000) + 0.5) / 2000
    return float(np.abs(np.quantile(ours, shares) - np.quantile(theirs, shares)).mean() / theirs.mean())


def of_file(file: Path, half: float, recorder: str, controls: list[str]) -> list[dict[str, Any]]:
    """A row for each control, with the distances of each link to the second half of a recording."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second = (
            LINK.format(capacity=capacity, half=f"{half:g}") for capacity in halves(file, half, folder)
        )
        record = folder / "record.pcap"
        cf.runs.write_pcap(record, first, set={"tcp.congestion": recorder}, snaplen=100)
        fit = cf.fit.link(record)
        links = fit.write_variants(folder)
        constant = LINK.format(capacity=f'rate = "{fit.rate.value:.0f} bit/s"', half=f"{half:g}")
        constant = constant.replace('"20 ms"', f'"{fit.delay.value * 500:.4f} ms"')
        constant = constant.replace('"250 packets"', f'"{fit.queue.value:.0f} packets"')
        replay = fit.write_replay(folder / "replay.toml")
        shuffled(replay.with_suffix(".up"), half, 1)
        rows = []
        for control in controls:
            truth = flow(second, control, half, folder)
            row: dict[str, Any] = {"file": file.name, "model": fit.model, "control": control}
            of_links = [flow(link, control, half, folder) for link in links[:4]]
            fitted = tuple(np.concatenate([of[part] for of in of_links]) for part in range(2))
            others = {"fitted": fitted}
            for what, scenario in (("M0", constant), ("shuffled", replay)):
                others[what] = flow(scenario, control, half, folder)
            for what, of in others.items():
                row[f"rate {what}"] = distance(of[0], truth[0])
                row[f"delay {what}"] = distance(of[1], truth[1])
            rows.append(row)
        return rows


def main() -> int:
    """Print the table, in how many rows the fitted link is nearest, and mean distances."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--half", type=float, default=60.0, help="seconds of each half (default: 60)")
    parser.add_argument("--record", default="cubic", help="congestion control of the recorded flow")
    parser.add_argument(
        "--controls", default="cubic,bbr-v1", help="congestion controls of the flows compared"
    )
    chosen = parser.parse_args()
    print("| recording | model | flow | rate: fitted | M0 | shuffled | delay: fitted | M0 | shuffled |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    for file in chosen.files:
        for row in of_file(file, chosen.half, chosen.record, chosen.controls.split(",")):
            rows.append(row)
            cells = [
                f"{row[f'{of} {what}']:.3f}"
                for of in ("rate", "delay")
                for what in ("fitted", "M0", "shuffled")
            ]
            print(f"| {row['file']} | {row['model']} | {row['control']} | {' | '.join(cells)} |", flush=True)
    for of in ("rate", "delay"):
        near = [
            all(row[f"{of} fitted"] <= row[f"{of} {other}"] for other in ("M0", "shuffled")) for row in rows
        ]
        means = {
            what: statistics.fmean(row[f"{of} {what}"] for row in rows)
            for what in ("fitted", "M0", "shuffled")
        }
        said = ", ".join(f"{what} {mean:.3f}" for what, mean in means.items())
        print(f"{of}: fitted is nearest in {sum(near)} of {len(rows)}; means {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
