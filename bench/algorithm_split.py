"""Predict TCP throughput from public UDP recordings of the same networks, and compare with recorded TCP.

    python bench/algorithm_split.py FOLDER [--drives 8] [--draws 6] [--seconds 60] [--rtt "60 ms"] [--loss]

FOLDER is ``3-Thrpt-Comp`` of Starlink-Project/Satellite-vs-Cellular (CoNEXT 2023; no licence file: used, not
shipped): throughput per second of UDP and of TCP downloads, in different drives. The middle of each of
several UDP drives becomes an iperf3 log of a sender that offers more than the link carries, and a link is
fitted to it. The data has no losses: half of the draws lose nothing, the others up to 2 %; with ``--loss``
the draws have the loss shares that the authors counted in TCP's captures (their Figure 5). A CUBIC download
runs over each draw of each link. The output has one row per network: medians of throughput in Mbit/s over
windows of 1 s, of the recorded UDP and TCP and of the prediction; the range of the prediction's draws; the
ratio of prediction to TCP; and whether the range contains TCP's median.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np

import crossfade as cf
from crossfade.fitting.records import read_record

BLOCK = 1472
# Offered over received rate in the log. The fit only uses that more was offered than arrived.
OFFERED = 1.2
# Lost segments over all, of each TCP download of a network (Fig5.py of the repository).
COUNTED = {
    "att": (547 / 79144, 37 / 81596, 3 / 176617, 807 / 469957, 310 / 594958, 0.0),
    "tm": (4 / 129681, 0.0, 5 / 161002, 29 / 954485, 15 / 882580, 1766 / 987599),
    "vz": (0.0, 1524 / 606425, 86 / 107937, 0.0, 0.0),
    "rm": (980 / 71322, 886 / 73100, 736 / 71902, 671 / 75382, 106 / 35013, 210 / 88982, 498 / 137236),
    "mob": (528 / 143016, 1400 / 502007, 231 / 28219, 150 / 15514),
}


def drives(file: Path) -> list[list[float]]:
    """Throughput in Mbit/s per second of a recording, as one list for each stretch of time without a gap."""
    rows = list(csv.DictReader(file.open()))
    found: list[list[float]] = []
    last = None
    for row in rows:
        time = datetime.strptime(row["time"][:19], "%Y-%m-%d %H:%M:%S")
        if last is None or (time - last).total_seconds() != 1:
            found.append([])
        found[-1].append(float(row["throughput"]))
        last = time
    return found


def log(rates: list[float], file: Path) -> None:
    """Write an iperf3 log of a UDP receiver with these rates in Mbit/s, one per second."""
    intervals = []
    for second, rate in enumerate(rates):
        packets = max(OFFERED * rate, 1.0) * 125e3 / BLOCK
        lost = packets - rate * 125e3 / BLOCK
        of = {"start": second, "end": second + 1, "bytes": packets * BLOCK}
        intervals.append({"streams": [], "sum": {**of, "packets": packets, "lost_packets": lost}})
    start = {"test_start": {"protocol": "UDP", "blksize": BLOCK, "num_streams": 1, "reverse": 0}}
    file.write_text(json.dumps({"start": start, "intervals": intervals, "end": {}}))


def carried(link: Path, draw: int, seconds: int, folder: Path) -> list[float]:
    """Throughput in Mbit/s per second of a simulated CUBIC flow over one draw of a link."""
    file = folder / "flow.pcap"
    cf.runs.write_pcap(file, link, run=draw, snaplen=100)
    packets, _ = read_record([file])
    known = np.isfinite(packets["seen_s"])
    arrived = packets["fate"] == 0
    seen = np.interp(np.flatnonzero(arrived), np.flatnonzero(known), packets["seen_s"][known])
    found = np.histogram(seen, np.arange(seconds + 1), weights=packets["bytes"][arrived])[0]
    return [float(bits) for bits in found * 8e-6]


def of_provider(name: str, chosen: argparse.Namespace) -> str:
    """Row of a network: throughput of recorded UDP and TCP and of the prediction in Mbit/s, range of the
    draws, ratio of prediction to TCP, whether the range contains TCP's median.
    """
    folder: Path = chosen.folder
    udp = next((folder / "UDP" / "Downlink").glob(f"{name}_*.csv"))
    tcp = next((folder / "TCP" / "Downlink").glob(f"{name}_*.csv"))
    truth = [rate for drive in drives(tcp) for rate in drive]
    recorded = [rate for drive in drives(udp) for rate in drive]
    long = [drive for drive in drives(udp) if len(drive) >= 2 * chosen.seconds]
    taken = [long[number * len(long) // chosen.drives] for number in range(min(chosen.drives, len(long)))]
    by_draw: list[list[float]] = [[] for _ in range(chosen.draws)]
    for drive in taken:
        begin = (len(drive) - chosen.seconds) // 2
        with tempfile.TemporaryDirectory() as made:
            work = Path(made)
            record = work / "udp.json"
            log(drive[begin : begin + chosen.seconds], record)
            fit = cf.fit.link(record, rtt=chosen.rtt)
            draws = fit.found["draws"]
            if chosen.loss:
                shares = COUNTED[name]
                draws = [[*row[:3], shares[at % len(shares)], None] for at, row in enumerate(draws)]
            fit = replace(fit, found={**fit.found, "draws": draws})
            links = fit.write_variants(work, chosen.draws)
            for draw in range(chosen.draws):
                # A link of constant rate is one scenario that contains all draws.
                link, run = (links[draw], 0) if len(links) > 1 else (links[0], draw)
                by_draw[draw] += carried(link, run, chosen.seconds, work)
    medians = sorted(statistics.median(of) for of in by_draw)
    every = statistics.median(rate for of in by_draw for rate in of)
    real = statistics.median(truth)
    held = medians[0] <= real <= medians[-1]
    cells = (
        name,
        f"{statistics.median(recorded):.1f}",
        f"{real:.1f}",
        f"{every:.1f}",
        f"{medians[0]:.1f} to {medians[-1]:.1f}",
        f"{max(every / real, real / every):.2f}",
        "yes" if held else "no",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table, a row per network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="3-Thrpt-Comp of the recordings")
    parser.add_argument("--providers", default=",".join(COUNTED), help="networks, separated by commas")
    parser.add_argument("--drives", type=int, default=8, help="number of UDP drives per network")
    parser.add_argument("--draws", type=int, default=6, help="number of draws of each fitted link")
    parser.add_argument("--seconds", type=int, default=60, help="seconds taken from each drive")
    parser.add_argument("--rtt", default="60 ms", help="RTT of the empty path")
    parser.add_argument("--loss", action="store_true", help="take the losses counted in captures of TCP")
    chosen = parser.parse_args()
    print("| network | UDP | TCP | predicted | its draws | factor | holds |")
    print("|---|---|---|---|---|---|---|")
    for name in chosen.providers.split(","):
        print(of_provider(name, chosen), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
