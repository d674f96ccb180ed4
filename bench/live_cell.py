"""Live against simulated goodput of one user of a cell, and how late the live packets leave the emulator.

Usage: python bench/live_cell.py [--nr | --nr-alone | --wifi] [--pairs N] [--seconds S] [--load N]
       [--realtime] [--large-segments]

Each pair has a live run of S seconds (12), in which iperf3 over the kernel's CUBIC is one user, and a
simulated run with the same seed, and hence the same channels of all users. The scenarios are

- by default a cell of preset nr-30k with 106 frequency bins, some 100 Mbit/s in all, and 20 users at a mean
  SNR of 16 dB and 3 km/h;
- --nr: a 5G NR cell of 40 MHz with RLC AM and scheduling requests, and 5 users at 18 dB and 3 km/h;
- --nr-alone: that cell at a constant 45 dB (peak rate 303 Mbit/s), whose second user sends 10 kbit/s;
- --wifi: a station of 802.11ax, one stream at 80 MHz, 4 m from its access point.

Prints for each of N pairs (6) goodput in Mbit/s of the user, simulated and live, and of all users, simulated,
then the median and 99th percentile of the lateness in microseconds; at the end the mean of live over
simulated goodput with its 95 % interval. --load N runs N busy programs beside the live run; --realtime and
--large-segments are options of crossfade live. Needs root, iperf3, and a machine without other work; 15 s
per pair.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from live_figures import busy
from live_pairs import interval

import crossfade as cf

CELL = """\
schema = 2
run = { runs = 1 }
link = { packet_size = "1500 B", queue = { limit = "200 packets" } }
reverse = { rate = "10 Mbit/s", delay = "2 ms" }
wired = { rtt = "20 ms" }
cell = { preset = "nr-30k", bins = 106, scheduler = "proportional-fair" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 1000, rfc = { profile = "linux" } }

[flows]
you = { radio = { mean_snr_db = 16, speed = "3 km/h" } }
others = { count = 19, radio = { mean_snr_db = 16, speed = "3 km/h" } }
"""

NR = """\
schema = 2
run = { runs = 1 }
link = { packet_size = "1500 B", queue = { limit = "1 MB" } }
wired = { rtt = "20 ms" }
nr = { scheduler = "proportional-fair", outer_loop.step_down_db = 0.5, uplink.sr_period = "20 ms" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 4000, rfc = { profile = "linux" } }

[flows]
you = { radio = { mean_snr_db = 18, speed = "3 km/h" } }
others = { count = 4, radio = { mean_snr_db = 18, speed = "3 km/h" } }
"""
ALONE = """\
schema = 2
run = { runs = 1 }
link = { packet_size = "1500 B", queue = { limit = "2 MB" } }
wired = { rtt = "10 ms" }
nr = { profile = "awgn", uplink = { sr_period = "20 ms" } }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 4000, rfc = { profile = "linux" } }

[flows]
you = { radio = { mean_snr_db = 45 } }
other = { traffic = "udp", rate = "10 kbit/s", radio = { mean_snr_db = 45 } }
"""
WIFI = """\
schema = 2
run = { runs = 1 }
link = { packet_size = "1500 B" }
wired = { rtt = "10 ms" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 4000, rfc = { profile = "linux" } }

[wlan]
standard = "ax"
width = "80 MHz"
streams = 1
stations = { laptop.distance = "4 m", other.distance = "4 m" }

[flows]
you = { station = "laptop" }
other = { station = "other", traffic = "udp", rate = "10 kbit/s" }
"""


def simulated(cell: str, seed: int, seconds: float) -> tuple[float, float]:
    """Simulated goodput in bit/s: of the user who is live in the other run, and of all users together."""
    point = cf.run(cell, set={"run.duration": f"{seconds:g} s"}, seed=seed).points[0]
    you = next(flow for flow in point.flows if flow["name"] == "you")
    return float(you["goodput_bps"]["value"]), float(point.metrics["goodput_bps"].value or 0.0)


def live(
    cell: str, folder: Path, seed: int, seconds: float, options: list[str]
) -> tuple[float, dict[str, Any]]:
    """Live goodput in bit/s of the user, and the report of the direction in which its data go."""
    scenario, told, report = (folder / name for name in ("cell.toml", "iperf3.json", "report.json"))
    scenario.write_text(cell.replace("you = { ", 'you = { traffic = "outside", '))
    for file in (told, report):
        file.unlink(missing_ok=True)
    near = f"iperf3 -R -c $CROSSFADE_SERVER -t {seconds:g} -J > {told}"
    command = [sys.executable, "-m", "crossfade", "live", str(scenario), "--quiet", "--seed", str(seed)]
    command += ["--congestion", "cubic", "--json", str(report), *options]
    subprocess.run([*command, "--far", "iperf3 -s -1 > /dev/null", "--", "sh", "-c", near], check=True)
    received = json.loads(told.read_text())["end"]["sum_received"]["bits_per_second"]
    return received, json.loads(report.read_text())["directions"][0]


def main(arguments: list[str]) -> int:
    """Run the pairs; print a line for each, and the mean of live over simulated goodput with its interval."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--nr", dest="cell", action="store_const", const=NR, default=CELL, help="5G NR, 5 users"
    )
    which.add_argument("--nr-alone", dest="cell", action="store_const", const=ALONE, help="5G NR at 45 dB")
    which.add_argument("--wifi", dest="cell", action="store_const", const=WIFI, help="802.11ax, 4 m")
    parser.add_argument("--pairs", type=int, default=6, help="number of pairs (default: 6)")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a run (default: 12)")
    parser.add_argument("--load", type=int, default=0, help="number of busy programs beside")
    parser.add_argument("--realtime", action="store_true", help="run crossfade live --realtime")
    parser.add_argument("--large-segments", action="store_true", help="run crossfade live --large-segments")
    asked = parser.parse_args(arguments)
    if shutil.which("iperf3") is None:
        print("error: iperf3 is needed", file=sys.stderr)
        return 2
    options = [
        *(["--realtime"] if asked.realtime else []),
        *(["--large-segments"] if asked.large_segments else []),
    ]
    ratios = []
    print("seed; Mbit/s of the user simulated, live; of all users simulated; us late: median, 99 %")
    with tempfile.TemporaryDirectory() as name:
        for seed in range(1, asked.pairs + 1):
            with busy(asked.load):
                found, way = live(asked.cell, Path(name), seed, asked.seconds, options)
            expected, of_all = simulated(asked.cell, seed, asked.seconds)
            ratios.append(found / expected)
            late = [1e6 * float(way[key]) for key in ("lateness_p50_s", "lateness_p99_s")]
            megabits = [bps / 1e6 for bps in (expected, found, of_all)]
            print(f"{seed:>4}" + "".join(f"{value:>9.2f}" for value in [*megabits, *late]), flush=True)
    mean, half = interval(ratios)
    print(f"live over simulated: {mean:.3f} ± {half:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
