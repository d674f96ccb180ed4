"""Goodput of the kernel's TCP against simulated TCP over the same links, in pairs with the same losses.

Usage: python bench/live_pairs.py [--quick] [--pairs N] [--most N] [--seconds S] [--out FILE]
           [--only-kept] [--random N] [CASE ...]

Each pair is a simulated and a live run of S seconds (20) with one seed: transmission number n of a flow is
lost in both or in neither. For each case the program prints the mean of live over simulated goodput with its
95 % interval, and whether the mean is within 5 % of 1. After --pairs pairs (6) a case gets further ones, up
to --most (12), while its interval does not decide. A CASE is the beginning of a name (reno-iid-0.01,
cubic-queue-1, ...); without one all cases run.

Rows go to --out (live_pairs.csv) after each pair, and the same command continues from there. --quick makes 3
pairs of 4 s of one case. --only-kept makes no live runs, but repeats the simulations and prints the table:
for use after a change of the simulation.

--random N replaces the cases by N drawn scenarios (random-0, random-1, ...): rates of 1 to 50 Mbit/s, round
trips of 5 to 160 ms, queues of half to four bandwidth-delay products, independent or bursty losses of up to
5 %, and drawn windows, timers and senders. Each has one pair, and more while its ratio is not within 5 %.

Needs what crossfade live needs; about 20 s per pair.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import sys
from pathlib import Path
from typing import Any

import crossfade as cf

BASE = """\
schema = 2
run = { runs = 1 }
link = { rate = "10 Mbit/s", delay = "20 ms", packet_size = "1500 B" }
reverse = { delay = "20 ms" }
channel = { model = "iid", p_e = 0 }
tcp = { flavour = "rfc", variant = "sack", w_max = 1000, rfc = { profile = "linux" } }
"""
# A bandwidth-delay product of 10 Mbit/s and 40 ms.
BDP_PACKETS = 34
COLUMNS = ["case", "seed", "seconds", "simulated_bps", "live_bps", "late_share"]
WITHIN = 0.05
# The two-sided 95 % quantiles of Student's t with 1, 2, ... degrees of freedom (any table).
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201]
STUDENT += [2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]


def cases() -> dict[str, dict[str, Any]]:
    """The scenario keys that each case sets, by its name."""
    found: dict[str, dict[str, Any]] = {}
    for variant, name in (("sack", "reno"), ("cubic", "cubic")):
        for loss in (0.001, 0.01, 0.03):
            found[f"{name}-iid-{loss:g}"] = {"tcp.variant": variant, "channel.p_e": loss}
            markov = {"model": "markov", "p_e": loss, "mean_burst": 3, "clock": "transmission"}
            found[f"{name}-markov-{loss:g}"] = {"tcp.variant": variant, "channel": markov}
        for bdps in (1, 5):
            limit = f"{bdps * BDP_PACKETS} packets"
            found[f"{name}-queue-{bdps}"] = {"tcp.variant": variant, "link.queue.limit": limit}
        for segments in (10, 40):
            window = {"tcp.w_max": segments, "channel.p_e": 0.001}
            found[f"{name}-window-{segments}"] = {"tcp.variant": variant, **window}
    found["reno-two-flows"] = {
        "flows": {"one": {"traffic": "bulk"}, "two": {"traffic": "bulk", "start": "1 s"}},
        "link.queue.limit": f"{BDP_PACKETS} packets",
    }
    found["reno-arq"] = {
        "link.frame_size": "250 B",
        "link.arq": {"protocol": "selective-repeat", "window": 1024, "max_retransmissions": 10},
        "channel": {"model": "iid", "p_e": 0.1},
    }
    return found


def random_case(number: int) -> dict[str, Any]:
    """The scenario keys of drawn case ``number``; equal numbers give equal keys."""
    draw = random.Random(number)
    rate_mbps, rtt_ms = 10 ** draw.uniform(0.0, 1.7), 10 ** draw.uniform(0.7, 2.2)
    there_ms = rtt_ms * draw.uniform(0.2, 0.8)
    packet = draw.choice([1500, 1500, 1500, 900, 576])
    bdp = rate_mbps * rtt_ms * 125.0 / packet
    w_max = draw.choice([10, 20, 60, 200, 1000])
    keys: dict[str, Any] = {
        "link.rate": f"{rate_mbps:.3f} Mbit/s",
        "link.delay": f"{there_ms:.2f} ms",
        "link.packet_size": f"{packet} B",
        "link.queue.limit": f"{max(4, int(bdp * draw.choice([0.5, 1, 2, 4])))} packets",
        "reverse.delay": f"{rtt_ms - there_ms:.2f} ms",
        "tcp.w_max": w_max,
        "tcp.initial_window": min(w_max, draw.choice([1, 2, 4, 10, 10, 10, 20])),
        "tcp.rfc.timestamps": draw.random() < 0.8,
        "tcp.rto.min": draw.choice(["200 ms", "200 ms", "200 ms", "50 ms", "400 ms"]),
    }
    sender = draw.choice(["newreno", "sack", "sack", "cubic", "cubic", "bbr-v1"])
    keys |= {"tcp.congestion": sender} if sender == "bbr-v1" else {"tcp.variant": sender}
    if draw.random() < 0.2:
        keys["tcp.rfc.tail_loss_probe"] = False
    if draw.random() < 0.3:
        keys["tcp.rfc.delayed_ack"] = "0 s"
    p_e, burst = draw.choice([0, 0.001, 0.003, 0.01, 0.02, 0.05]), draw.choice([1, 1, 2, 3, 5])
    if p_e > 0 and burst > 1:
        keys["channel"] = {"model": "markov", "p_e": p_e, "mean_burst": burst, "clock": "transmission"}
    else:
        keys["channel.p_e"] = p_e
    return keys


def simulated_bps(keys: dict[str, Any], row: dict[str, Any]) -> float:
    """Goodput in bit/s of a new simulation with the seed and length of a kept row."""
    keys = {"run.duration": f"{float(row['seconds']):g} s", **keys}
    [point] = cf.run(BASE, set=keys, seed=int(row["seed"]), methods=["simulation"], cache=False).points
    return point.metrics["goodput_bps"].value


def pair(name: str, keys: dict[str, Any], seed: int, seconds: float) -> dict[str, Any]:
    """The row of a pair: one simulated and one live run with the same seed."""
    keys = {"run.duration": f"{seconds:g} s", **keys}
    simulated, live = cf.run(BASE, set=keys, seed=seed, methods=["simulation", "live"], cache=False).points
    return {
        "case": name,
        "seed": seed,
        "seconds": seconds,
        "simulated_bps": simulated.metrics["goodput_bps"].value,
        "live_bps": live.metrics["goodput_bps"].value,
        "late_share": live.metrics["late_share"].value,
    }


def ratio(row: dict[str, Any], simulated: float) -> float:
    """Live over simulated goodput; 1 if both are 0, for instance because the first segments are lost."""
    live = float(row["live_bps"])
    if simulated == 0.0:
        return 1.0 if live == 0.0 else math.inf
    return live / simulated


def interval(ratios: list[float]) -> tuple[float, float]:
    """The mean and the half-width of its 95 % interval."""
    if len(ratios) < 2:
        return ratios[0], math.inf
    t = STUDENT[min(len(ratios), len(STUDENT)) - 2]
    return statistics.fmean(ratios), t * statistics.stdev(ratios) / math.sqrt(len(ratios))


def verdict(ratios: list[float]) -> str:
    """Verdict "within" if mean live goodput is within 5 % of simulated, otherwise "differs"; "open" if
    undecided.
    """
    mean, half = interval(ratios)
    if len(ratios) == 1 and abs(mean - 1.0) <= WITHIN:
        return "one pair within 5 %"
    if abs(mean - 1.0) + half <= WITHIN:
        return "within 5 %"
    return "differs" if abs(mean - 1.0) - half > WITHIN else "open"


def main(arguments: list[str]) -> int:
    """Run the missing pairs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--quick", action="store_true", help="3 pairs of 4 s of one case")
    parser.add_argument("--pairs", type=int, default=6, help="least pairs per case (default: 6)")
    parser.add_argument("--most", type=int, default=12, help="most pairs per case (default: 12)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a run (default: 20)")
    parser.add_argument("--out", type=Path, default=Path("live_pairs.csv"), help="CSV file of the rows")
    parser.add_argument("--only-kept", action="store_true", help="no live runs")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="number of drawn cases")
    asked = parser.parse_args(arguments)
    if asked.quick:
        asked.cases, asked.pairs, asked.most, asked.seconds = ["reno-iid-0.01"], 3, 3, 4.0
    known = {f"random-{number}": random_case(number) for number in range(asked.random)} or cases()
    chosen = {
        name: keys
        for name, keys in known.items()
        if not asked.cases or any(name.startswith(case) for case in asked.cases)
    }
    if not chosen:
        print(f"error: no such case; there are {', '.join(known)}", file=sys.stderr)
        return 2
    rows = list(csv.DictReader(asked.out.open())) if asked.out.exists() else []
    with asked.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        print(f"{'case':<20}{'pairs':>6}{'live / simulated':>20}  verdict")
        for name, keys in chosen.items():
            ratios = [
                ratio(row, simulated_bps(keys, row) if asked.only_kept else float(row["simulated_bps"]))
                for row in rows
                if row["case"] == name and float(row["seconds"]) == asked.seconds
            ]
            if asked.only_kept and not ratios:
                continue
            while not asked.only_kept and (
                len(ratios) < (1 if asked.random else asked.pairs)
                or (len(ratios) < asked.most and verdict(ratios) == "open")
            ):
                row = pair(name, keys, len(ratios) + 1, asked.seconds)
                writer.writerow(row)
                file.flush()
                ratios.append(ratio(row, row["simulated_bps"]))
            mean, half = interval(ratios)
            print(f"{name:<20}{len(ratios):>6}{mean:>12.3f} ± {half:.3f}  {verdict(ratios)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
