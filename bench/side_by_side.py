"""Goodput of six links by formula, by simulation and live: the table of docs/side-by-side.md.

Usage: python bench/side_by_side.py [--runs N] [--seconds S] [LINK ...]

Prints for each link and method goodput in Mbit/s with its 95 % interval over N runs (5) of S seconds (10),
the ratio of live to simulation, and the share of live packets that were late. A LINK is the beginning of a
name ("RLP"); without one all run. Needs Linux, and cores without other work (or chrt -f 1 python ...).
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import crossfade as cf

BASE = """\
schema = 1
reverse = { delay = "20 ms" }
tcp = { flavour = "rfc", variant = "sack", w_max = 1000, rfc = { profile = "linux" } }
"""

LINK = {"delay": "20 ms", "packet_size": "1500 B", "queue": {"limit": "100 packets"}}
RATE = {**LINK, "rate": "10 Mbit/s"}
MARKOV = {"model": "markov", "p_e": 0.01, "mean_burst": 3, "clock": "transmission"}


def iid(p_e: float) -> dict[str, Any]:
    """Table `channel` with independent losses of probability ``p_e``."""
    return {"model": "iid", "p_e": p_e}


def trace(folder: Path) -> str:
    """Write a minute of opportunities of a link whose rate swings between 4 and 12 Mbit/s in 2 s."""
    lines, due = [], 0.0
    for ms in range(60_000):
        due += (8e6 + 4e6 * math.sin(math.pi * ms / 1000)) / 12e6
        while due >= 1.0:
            lines.append(f"{ms + 1}\n")
            due -= 1.0
    path = folder / "swing.trace"
    path.write_text("".join(lines))
    return str(path)


def links(folder: Path) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """By the name of a link, the methods beside simulation and live, and the scenario keys."""
    rlp = {
        "rate": "1 Mbit/s",
        "frame_size": "125 B",
        "arq": {"protocol": "rlp-nack", "max_retransmissions": 6, "timeout": "50 ms"},
    }
    mimo = {"frame_size": "60 B", "arq": {"protocol": "selective-repeat", "window": 512}}
    mimo_phy = {"modulation": "qpsk", "symbol_rate": "250 kBd", "scheme": "blast", "detector": "mmse-osic"}
    fading = {"model": "block-rayleigh", "snr_db": 15, "antennas": {"correlation": "none"}}
    cell = {"preset": "lte", "radio": {"mean_snr_db": 16, "speed": "30 km/h"}}
    return {
        "i.i.d., 1 % lost": (["formula"], {"channel": iid(0.01), "link": RATE}),
        "Markov, 1 % lost in bursts of 3": (["formula"], {"channel": MARKOV, "link": RATE}),
        "RLP at 1 Mbit/s, 20 % of frames lost": (
            [],
            {"channel": iid(0.2), "link": {**LINK, **rlp, "queue": {"limit": "25 packets"}}},
        ),
        "trace, 4 to 12 Mbit/s in 2 s": (
            [],
            {"channel": iid(0), "link": {**LINK, "trace": {"opportunities": trace(folder)}}},
        ),
        "MIMO, V-BLAST 4 x 4 at 15 dB, ARQ": (
            [],
            {"channel": fading, "phy": mimo_phy, "link": {**LINK, **mimo}},
        ),
        "cell of LTE, 16 dB at 30 km/h": (
            [],
            {"cell": cell, "link": {"packet_size": "1500 B", "queue": {"limit": "100 packets"}}},
        ),
    }


def main(arguments: list[str]) -> int:
    """Run the chosen links and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("links", nargs="*", metavar="LINK")
    parser.add_argument("--runs", type=int, default=5, help="runs of each method (default: 5)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a run (default: 10)")
    asked = parser.parse_args(arguments)
    print("| link | formula | simulation | live: Linux | live / simulation | late |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (others, keys) in links(Path(folder)).items():
            if asked.links and not any(name.startswith(link) for link in asked.links):
                continue
            keys = {"run.duration": f"{asked.seconds:g} s", **keys}
            methods = [*others, "simulation", "live"]
            points = {
                point.method: point
                for point in cf.run(BASE, set=keys, runs=asked.runs, methods=methods, cache=False).points
            }
            found = {method: point.metrics["goodput_bps"] for method, point in points.items()}
            cells = [
                "-" if method not in found else mbit(found[method].value, found[method].ci95)
                for method in ("formula", "simulation", "live")
            ]
            ratio = (found["live"].value or 0.0) / (found["simulation"].value or 1.0)
            late = 100.0 * points["live"].value("late_share")
            print(f"| {name} | {' | '.join(cells)} | {ratio:.3f} | {late:.2g} % |", flush=True)
    return 0


def mbit(value: float | None, half: float | None) -> str:
    """A goodput in bit/s and the half-width of its interval, printed in Mbit/s."""
    if value is None:
        return "-"
    return f"{value / 1e6:.2f}" + (f" ± {half / 1e6:.2f}" if half else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
