"""The kernel's bbr beside the simulated one over the same links.

Usage: python bench/live_bbr.py [--pairs N] [--most N] [--seconds S] [--out FILE] [CASE ...]

Each pair is a simulated and a live run with one seed. Of each case the mean difference between live and
simulated is printed with its 95 % interval and its bound, which is fixed here: goodput within 5 % (10 % where
15 % of packets or more are lost), mean queueing delay within 2 ms. After --pairs (6) pairs a case goes on, up
to --most (12), while an interval does not decide. Rows are kept in --out (live_bbr.csv): the same command
goes on from there. A CASE is the beginning of a name. Needs root, and for figures a quiet machine: what comes
late lengthens the kernel's queue (docs/congestion-control.md). About 25 s a pair.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from live_pairs import interval

import crossfade as cf

BASE = """\
schema = 2
run = { runs = 1 }
link = { rate = "10 Mbit/s", delay = "20 ms", packet_size = "1500 B", queue = { limit = "167 packets" } }
reverse = { rate = "10 Mbit/s", delay = "20 ms", queue = { limit = "1000 packets" } }
channel = { model = "iid", p_e = 0 }
tcp = { flavour = "rfc", variant = "sack", w_max = 2000, congestion = "bbr-v1", rfc = { profile = "linux" } }
"""
COLUMNS = ["case", "metric", "seed", "seconds", "simulated", "live", "lateness_p99_s"]


def cases() -> dict[str, tuple[dict[str, Any], dict[str, float]]]:
    """Keys to set and the bounds of metrics, by the name of a case."""
    found: dict[str, tuple[dict[str, Any], dict[str, float]]] = {}
    for loss in (0, 1, 5, 10, 15, 20):
        bounds = {"goodput": 0.05 if loss < 15 else 0.10, "queueing_ms": 2.0}
        found[f"loss-{loss}"] = ({"channel.p_e": loss / 100}, bounds)
    for persistence in (0, 3, 10):
        found[f"fading-{persistence}"] = (
            {
                "link.frame_size": "500 B",
                "link.arq": {
                    "protocol": "selective-repeat",
                    "window": 1024,
                    "max_retransmissions": persistence,
                },
                "channel": {"model": "markov", "p_e": 0.05, "mean_burst": 10},
            },
            {"goodput": 0.05},
        )
    return found


def values(point: Any) -> dict[str, float]:
    """What a point has of all metrics here."""
    found = {"goodput": point.metrics["goodput_bps"].value}
    link = next(link for link in point.links if link["name"] == "forward")
    if "queueing_delay_mean_s" in link:
        found["queueing_ms"] = 1e3 * link["queueing_delay_mean_s"]["value"]
    return found


def pair(name: str, keys: dict[str, Any], seed: int, seconds: float) -> list[dict[str, Any]]:
    """The rows of one simulated and one live run."""
    keys = {"run.duration": f"{seconds:g} s", **keys}
    simulated, live = cf.run(BASE, set=keys, seed=seed, methods=["simulation", "live"], cache=False).points
    ours, theirs = values(simulated), values(live)
    row = {
        "case": name,
        "seed": seed,
        "seconds": seconds,
        "lateness_p99_s": live.metrics["lateness_p99_s"].value,
    }
    return [
        {**row, "metric": metric, "simulated": ours[metric], "live": theirs[metric]}
        for metric in ours
        if metric in theirs
    ]


def differences(rows: list[dict[str, Any]], name: str, metric: str, seconds: float) -> list[float]:
    """Live less simulated of each pair; of goodput as a share of it."""
    found = []
    for row in rows:
        if (row["case"], row["metric"], float(row["seconds"])) == (name, metric, seconds):
            difference = float(row["live"]) - float(row["simulated"])
            found.append(difference / float(row["simulated"]) if metric == "goodput" else difference)
    return found


def verdict(found: list[float], bound: float) -> str:
    """Whether the mean difference is within its bound, as far as that is decided."""
    mean, half = interval(found)
    if abs(mean) + half <= bound:
        return "within"
    return "differs" if abs(mean) - half > bound else "open"


def main(arguments: list[str]) -> int:
    """Make what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("live_bbr.csv"))
    asked = parser.parse_args(arguments)
    chosen = [
        name for name in cases() if not asked.cases or any(name.startswith(case) for case in asked.cases)
    ]
    if not chosen:
        print(f"error: no such case; there are {', '.join(cases())}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = list(csv.DictReader(asked.out.open())) if asked.out.exists() else []
    with asked.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if file.tell() == 0:
            writer.writeheader()
        for name in chosen:
            keys, bounds = cases()[name]
            while True:
                found = {metric: differences(rows, name, metric, asked.seconds) for metric in bounds}
                pairs = min(map(len, found.values()))
                is_open = pairs > 1 and "open" in (verdict(found[metric], bounds[metric]) for metric in found)
                if pairs >= asked.pairs and not (is_open and pairs < asked.most):
                    break
                new = pair(name, keys, pairs + 1, asked.seconds)
                writer.writerows(new)
                file.flush()
                rows += new
            for metric, bound in bounds.items():
                mean, half = interval(found[metric])
                print(f"{name:<12}{metric:<14}{pairs:>4}{mean:>10.3f} ± {half:.3f}", end="")
                print(f"  bound {bound:g}: {verdict(found[metric], bound)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
