"""Links drawn at random, recorded by one congestion control, and what the fit predicts for the others.

    python bench/fit_links.py [--links 30] [--out table.csv]

Each link has a rate, a round trip, a queue and losses drawn over wide ranges; a flow of one control is
recorded at its sender (a capture of the simulation), a link is fitted to the capture, and every other control
is run on the fitted link and on a replay of the record. Printed are the errors of the median prediction
against the truth (the mean of several runs on the true link), and whether the 90 % interval of the prediction
holds the truth.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.comparison.predictions import METRICS, predict
from crossfade.errors import CrossfadeError

RECORDERS = ("cubic", "reno", "bbr-v1")
CONTROLS = ("cubic", "reno", "bbr-v1", "quic")
PACKET = 1500


def drawn(number: int) -> dict[str, Any]:
    """Link ``number``: rate 1 to 100 Mbit/s, round trip 10 to 300 ms, queue 0.2 to 5 BDP, loss 0 to 2 %."""
    of = random.Random(1_000 + number)
    rate = math.exp(of.uniform(math.log(1e6), math.log(100e6)))
    rtt = math.exp(of.uniform(math.log(10e-3), math.log(300e-3)))
    bdp = max(rate * rtt / 8 / PACKET, 1.0)
    queue = max(4, round(bdp * math.exp(of.uniform(math.log(0.2), math.log(5)))))
    loss = 0.0 if of.random() < 0.3 else math.exp(of.uniform(math.log(1e-4), math.log(0.02)))
    bursts = loss > 0 and of.random() < 0.3
    return {
        "rate": rate,
        "rtt": rtt,
        "queue": queue,
        "loss": loss,
        "burst": of.uniform(2, 6) if bursts else None,
    }


def scenario(link: dict[str, Any], seconds: float, runs: int) -> str:
    half = f"{link['rtt'] * 500:.4f} ms"
    channel = f'model = "iid"\np_e = {link["loss"]:.6g}'
    if link["burst"]:
        channel = f'model = "markov"\np_e = {link["loss"]:.6g}\nmean_burst = {link["burst"]:.4g}'
    return f"""
schema = 2
[link]
rate = "{link["rate"]:.0f} bit/s"
packet_size = "{PACKET} B"
delay = "{half}"
queue.limit = "{link["queue"]} packets"
[reverse]
delay = "{half}"
[channel]
{channel}
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "64 MB"
[run]
duration = "{seconds:g} s"
runs = {runs}
"""


def keys(control: str) -> dict[str, Any]:
    if control == "quic":
        return {"tcp.flavour": "quic", "tcp.variant": None}
    return {"tcp.congestion": control}


def truth(text: str, control: str) -> dict[str, float]:
    point = cf.run(text, set=keys(control), cache=False).points[0]
    return {metric: point.value(metric) for metric in METRICS}


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors of predictions on fitted links, beside replays.")
    parser.add_argument("--links", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for number in range(chosen.first, chosen.first + chosen.links):
        link, recorder = drawn(number), RECORDERS[number % len(RECORDERS)]
        text = scenario(link, chosen.seconds, 5)
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.pcap"
            record.write_bytes(cf.runs.pcap(text, set=keys(recorder), snaplen=100))
            try:
                fit = cf.fit.link(record)
            except CrossfadeError as error:
                print(f"link {number}: {recorder}: {error}", file=sys.stderr)
                continue
            others = [control for control in CONTROLS if control != recorder]
            fitted, *_ = fit.write(Path(folder) / "link.toml")
            replay = fit.write_replay(Path(folder) / "replay.toml")
            predictions = predict(fitted, others, replay, runs=chosen.runs, cache=False, progress=False)
        truths = {control: truth(text, control) for control in others}
        for of in predictions:
            true = truths[of.control][of.metric]
            rows.append(
                {
                    "link": number,
                    **{name: f"{value:.6g}" if value else "" for name, value in link.items()},
                    "recorder": recorder,
                    "model": fit.model,
                    "rate_verdict": fit.rate.verdict,
                    "rate_fitted": f"{fit.rate.value:.6g}",
                    "queue_verdict": fit.queue.verdict,
                    "control": of.control,
                    "metric": of.metric,
                    "truth": true,
                    "predicted": of.value,
                    "low": of.low,
                    "high": of.high,
                    "error": of.value / true - 1,
                    "holds": of.low <= true <= of.high,
                    "replay_error": math.nan if of.replay is None else of.replay / true - 1,
                }
            )
        print(
            f"link {number}: {recorder}, {fit.model}, rate {fit.rate.value / link['rate']:.3f} of the truth",
            flush=True,
        )
    if chosen.out and rows:
        with chosen.out.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    for metric in METRICS:
        for verdict in ("identified", "bounded"):
            of_all = [row for row in rows if row["metric"] == metric and row["rate_verdict"] == verdict]
            if not of_all:
                continue
            error = statistics.median(abs(row["error"]) for row in of_all)
            replayed = statistics.median(abs(row["replay_error"]) for row in of_all)
            holds = sum(row["holds"] for row in of_all) / len(of_all)
            print(
                f"{metric}, rate {verdict}: {len(of_all)} predictions, median error {error:.1%} "
                f"(replay {replayed:.1%}), "
                f"{holds:.0%} of the 90 % intervals hold"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
