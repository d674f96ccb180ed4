"""Compare goodput and user CPU time of Wi-Fi networks in Crossfade and ns-3.

Usage: python bench/against_ns3_wifi.py [TURNS [FILE]]     needs g++ and ns-3 (Debian's package libns3-dev)

Nine networks of 802.11n, ac and ax carry UDP packets of 1472 bytes: eight with one saturated station that
receives, one with 20 stations that send; bench/ns3_wifi.cc is their ns-3 program. The script prints goodput
(Mbit/s of UDP payload) and CPU seconds per simulated second, medians of TURNS (default: 3) seeds, and writes
the table to FILE as CSV. CPU time is user time: in ns-3 of Simulator::Run, in Crossfade of crossfade.run(),
which includes reading the scenario.
"""

from __future__ import annotations

import csv
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("core", "network", "internet", "mobility", "applications", "wifi")


@dataclass(frozen=True)
class Case:
    """A network: PHY, block ack window, offered load in Mbit/s per station, and simulated seconds of ns-3."""

    standard: str
    mcs: int
    streams: int
    width_mhz: int
    guard_ns: int
    window: int
    stations: int
    offered_mbps: float
    seconds: int

    @property
    def direction(self) -> str:
        """Direction of the traffic: one station receives, several send and contend."""
        return "down" if self.stations == 1 else "up"

    @property
    def name(self) -> str:
        """The network in words, for the table."""
        many = "" if self.stations == 1 else f", {self.stations} stations"
        return (
            f"{self.standard} MCS {self.mcs}, {self.streams} x {self.width_mhz} MHz, {self.guard_ns} ns, "
            f"window {self.window}{many}"
        )


CASES = [
    Case("n", 7, 1, 20, 800, 64, 1, 75, 6),
    Case("n", 3, 1, 20, 800, 64, 1, 30, 10),
    Case("n", 7, 2, 40, 400, 64, 1, 320, 4),
    Case("ac", 4, 1, 40, 800, 64, 1, 100, 5),
    Case("ac", 8, 1, 80, 800, 64, 1, 400, 4),
    Case("ax", 5, 1, 20, 800, 64, 1, 80, 6),
    Case("ax", 11, 1, 80, 800, 64, 1, 650, 3),
    Case("ax", 11, 1, 80, 800, 256, 1, 650, 3),
    Case("ax", 11, 1, 80, 800, 64, 20, 40, 4),
]

# Crossfade in a process of its own: prints the goodput of the payload in Mbit/s and the user CPU seconds.
OURS = """
import json, resource, sys
import crossfade as cf
scenario, stations, metric = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
# A first short run, because loading modules is no simulation.
cf.run({**scenario, "run": {**scenario["run"], "duration": "10 ms", "warmup": "0 s"}}, cache=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
results = cf.run(scenario, cache=False)
spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
print(results.points[0].value(metric) * stations * 1472 / 1500 / 1e6, spent)
"""


def ours(case: Case, seed: int, seconds: int) -> tuple[float, float]:
    """Goodput in Mbit/s and CPU seconds per simulated second of a network in Crossfade."""
    scenario = {
        "schema": 2,
        "run": {"duration": f"{seconds} s", "warmup": "1 s", "runs": 1, "seed": seed},
        "link": {"packet_size": "1500 B"},
        "wlan": {
            "standard": case.standard,
            "mcs": case.mcs,
            "streams": case.streams,
            "width": f"{case.width_mhz} MHz",
            "guard_interval": f"{case.guard_ns} ns",
            "ampdu": {"window": case.window},
        },
        "flows": {
            "udp": {
                "traffic": "udp",
                # The rate of whole packets; the offered load of ns-3 counts payload only.
                "rate": f"{case.offered_mbps * 1500 / 1472} Mbit/s",
                "count": case.stations,
                "direction": case.direction,
            }
        },
    }
    metric = "station_goodput_bps" if case.direction == "down" else "station_uplink_goodput_bps"
    command = [sys.executable, "-c", OURS, json.dumps(scenario), str(case.stations), metric]
    goodput, spent = map(
        float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    return goodput, spent / seconds


def theirs(program: str, case: Case, seed: int) -> tuple[float, float]:
    """Goodput in Mbit/s and CPU seconds per simulated second of a network in ns-3."""
    words = [case.standard, case.mcs, case.streams, case.width_mhz, case.guard_ns, case.window, case.stations]
    words += [case.direction, case.offered_mbps, case.seconds, seed]
    command = [program, *map(str, words)]
    goodput, _, spent = map(
        float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    return goodput, spent / case.seconds


def main() -> None:
    """Build the ns-3 program, run both in turns, and print the table."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3/wifi-module.h").exists():
        sys.exit("error: ns-3 is not installed (Debian's package libns3-dev, with g++)")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "ns3_wifi")
        source = str(ROOT / "bench" / "ns3_wifi.cc")
        linked = [f"-lns3-{name}" for name in LIBRARIES]
        subprocess.run([compiler, "-O3", "-std=c++17", "-o", program, source, *linked], check=True)
        print("| network | Crossfade Mbit/s | ns-3 Mbit/s | difference | Crossfade s/s | ns-3 s/s | ratio |")
        print("|---|---|---|---|---|---|---|")
        for case in CASES:
            # Crossfade simulates five times as long as ns-3, so that reading the scenario counts less.
            pairs = [
                (ours(case, seed, 5 * case.seconds), theirs(program, case, seed))
                for seed in range(1, turns + 1)
            ]
            goodput = [statistics.median(pair[which][0] for pair in pairs) for which in (0, 1)]
            spent = [statistics.median(pair[which][1] for pair in pairs) for which in (0, 1)]
            ratio = statistics.median(b[1] / a[1] for a, b in pairs)
            difference = goodput[0] / goodput[1] - 1
            rows.append([case.name, *goodput, difference, *spent, ratio])
            print(
                f"| {case.name} | {goodput[0]:.1f} | {goodput[1]:.1f} | {100 * difference:+.2f} % | "
                f"{spent[0]:.4f} | {spent[1]:.4f} | {ratio:.0f} |",
                flush=True,
            )
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                ["network", "ours_mbps", "ns3_mbps", "difference", "ours_s_per_s", "ns3_s_per_s", "ratio"]
            )
            writer.writerows(rows)


if __name__ == "__main__":
    main()
