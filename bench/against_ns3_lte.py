"""Simulated seconds per second of CPU time of one LTE user in Crossfade and in ns-3, measured in turns.

Usage: python bench/against_ns3_lte.py [TURNS]     needs g++ and ns-3 (Debian's package libns3-dev)

Both simulate a TCP download over 25 resource blocks with RLC AM, HARQ and uplink grants, near the base
station and far from it. The program of ns-3 is bench/ns3_lte.cc; Crossfade uses the preset `lte-10` with 25
resource blocks, at the SNR that gives a similar goodput. Prints a table of goodput and speed, medians of
TURNS (default: 3). CPU time is the user time of the simulation: in ns-3 of Simulator::Run, in Crossfade of
crossfade.run(), which includes reading the scenario.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("core", "network", "internet", "mobility", "applications", "point-to-point", "lte")
# Distance in m for ns-3, SNR in dB for Crossfade, simulated seconds of ns-3 and of Crossfade.
CASES = ((300, 30.0, 10, 200), (6000, 8.0, 10, 200))

OURS = """
import json, resource, sys
import crossfade as cf
scenario = json.loads(sys.argv[1])
# Once for what is loaded at first use, which is no simulation.
cf.run({**scenario, "run": {**scenario["run"], "duration": "1 s", "warmup": "0 s"}}, cache=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
results = cf.run(scenario, cache=False)
spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
print(results.points[0].value("goodput_bps") / 1e6, spent)
"""


def ours(snr_db: float, seconds: int, seed: int) -> tuple[float, float]:
    """Goodput in Mbit/s, and simulated seconds per second of CPU time, of Crossfade."""
    scenario = {
        "schema": 2,
        "run": {"duration": f"{seconds} s", "warmup": "1 s", "runs": 1, "seed": seed},
        "nr": {
            "preset": "lte-10",
            "prbs": 25,
            "layers": 1,
            "profile": "awgn",
            "radio": {"mean_snr_db": snr_db},
            "uplink": {"sr_period": "10 ms"},
        },
        "link": {"packet_size": "1440 B", "queue": {"limit": "1 MB"}},
        "wired": {"rtt": "20 ms"},
        "tcp": {"flavour": "rfc", "variant": "sack", "w_max": 2700},
    }
    command = [sys.executable, "-c", OURS, json.dumps(scenario)]
    goodput, spent = map(
        float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    return goodput, seconds / spent


def theirs(program: str, metres: int, seconds: int, seed: int) -> tuple[float, float]:
    """Goodput in Mbit/s, and simulated seconds per second of CPU time, of ns-3."""
    command = [program, str(metres), "0", str(seconds), str(seed)]
    goodput, spent = map(
        float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    return goodput, seconds / spent


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3/lte-module.h").exists():
        sys.exit("error: ns-3 is not installed (Debian's package libns3-dev, with g++)")
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "ns3_lte")
        linked = [f"-lns3-{name}" for name in LIBRARIES]
        source = str(ROOT / "bench" / "ns3_lte.cc")
        subprocess.run([compiler, "-O3", "-std=c++17", "-o", program, source, *linked], check=True)
        print("| distance, SNR | Crossfade Mbit/s | ns-3 Mbit/s | Crossfade s/s | ns-3 s/s | ratio |")
        print("|---|---|---|---|---|---|")
        for metres, snr_db, short, long in CASES:
            pairs = [
                (ours(snr_db, long, seed), theirs(program, metres, short, seed))
                for seed in range(1, turns + 1)
            ]
            goodput = [statistics.median(pair[which][0] for pair in pairs) for which in (0, 1)]
            speed = [statistics.median(pair[which][1] for pair in pairs) for which in (0, 1)]
            ratio = statistics.median(a[1] / b[1] for a, b in pairs)
            print(
                f"| {metres} m, {snr_db:g} dB | {goodput[0]:.1f} | {goodput[1]:.1f} | {speed[0]:.0f} | "
                f"{speed[1]:.1f} | {ratio:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
