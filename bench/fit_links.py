"""Measure errors of predictions on fitted links: random simulated links, each recorded by one flow.

    python bench/fit_links.py [--links 30] [--first 0] [--base 1000] [--recorders others] [--out table.csv]

Each link has a random model (M0 constant rate, M1 bursts of losses, M2 rate levels with outages, M3 slots of
15 s), rate, RTT, queue and loss rate. One flow is recorded on it: a capture of TCP or QUIC at the sender, or
the events of UDP (``--recorders others``: the further records of `fit_recorders.py`, in turn). A link is
fitted to the record, and every other congestion control runs on the fitted link and on a replay of the
record. The script prints goodput and 95th percentile of the RTT: the relative error of the mean prediction
against the mean of several runs on the true link, and whether the 90 % interval of the prediction holds that
mean.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fit_recorders import OTHERS, RECORDERS, keys, record

import crossfade as cf
from crossfade.comparison.predictions import METRICS
from crossfade.errors import CrossfadeError

CONTROLS = ("cubic", "reno", "bbr-v1", "quic")
MODELS = ("M0", "M0", "M1", "M2", "M3")
PACKET = 1500
# Added to the seed for the true values, so that their losses are not those of the record.
LATER = 1_000_000
# Largest number of packets in a record: on the fastest links a record is shorter than 60 s.
MOST_PACKETS = 600_000


def drawn(number: int, base: int = 1_000) -> dict[str, Any]:
    """Draw link ``number``: rate 1 to 500 Mbit/s, RTT 10 to 300 ms, queue 0.2 to 5 BDP, loss 0 to 2 %.

    ``rate`` is in bit/s, ``rtt`` and ``seconds`` (of the record) in s, ``queue`` and ``burst`` in packets.
    """
    of = random.Random(base + number)
    model = of.choice(MODELS)
    rate = math.exp(of.uniform(math.log(1e6), math.log(500e6)))
    rtt = math.exp(of.uniform(math.log(10e-3), math.log(300e-3)))
    bdp = max(rate * rtt / 8 / PACKET, 1.0)
    queue = max(4, round(bdp * math.exp(of.uniform(math.log(0.2), math.log(5)))))
    loss = 0.0 if of.random() < 0.3 else math.exp(of.uniform(math.log(1e-4), math.log(0.02)))
    if model == "M1":
        loss = math.exp(of.uniform(math.log(1e-3), math.log(0.02)))
    return {
        "number": number,
        "seed": base + number,
        "model": model,
        "rate": rate,
        "rtt": rtt,
        "queue": queue,
        "loss": loss,
        "burst": of.uniform(2, 6) if model == "M1" else None,
        "udp": of.choice((0.5, 1.2)),
        "seconds": min(60.0, max(15.0, MOST_PACKETS * 8 * PACKET / rate)),
    }


def rates(link: dict[str, Any]) -> list[tuple[float, float]]:
    """True rates of a link of model M2 or M3: pairs of a time in s and the rate in bit/s from then on.

    M2 draws levels, with outages between some of them. M3 draws a level per 15 s, which is reached after a
    dip to 0 and a ramp of half a second.
    """
    of = random.Random(77_000 + link["seed"])
    rows, at = [], 0.0
    if link["model"] == "M2":
        levels = [link["rate"] * math.exp(of.gauss(0, 0.5)) for _ in range(of.randint(2, 5))]
        while at < link["seconds"]:
            rows.append((at, of.choice(levels)))
            at += max(0.5, of.expovariate(1 / 4))
            if of.random() < 0.15:
                rows.append((at, 0.0))
                at += of.uniform(0.1, 0.8)
    else:
        at = -of.uniform(0, 15)
        while at < link["seconds"]:
            level = link["rate"] * math.exp(of.gauss(0, 0.3))
            for share in (0.0, 0.23, 0.58, 0.77, 0.86):
                rows.append((max(at, 0.0), share * level))
                at += 0.1
            for _ in range(29):
                rows.append((max(at, 0.0), level * math.exp(of.gauss(0, 0.1))))
                at += 0.5
    last = max(index for index, row in enumerate(rows) if row[0] == 0.0)
    return [row for row in rows[last:] if row[0] < link["seconds"]]


def scenario(link: dict[str, Any], folder: Path, runs: int) -> str:
    """TOML text of a scenario with a drawn link; rates that change go to a CSV file in ``folder``."""
    half = f"{link['rtt'] * 500:.4f} ms"
    rate = f'rate = "{link["rate"]:.0f} bit/s"'
    channel = f'[channel]\nmodel = "iid"\np_e = {link["loss"]:.6g}'
    if link["burst"]:
        channel = f'[channel]\nmodel = "markov"\np_e = {link["loss"]:.6g}\nmean_burst = {link["burst"]:.4g}'
    if link["model"] in ("M2", "M3"):
        table = folder / "true-rates.csv"
        rows = "".join(f"{at:.4f},{rate:.0f},0,{link['loss']:.6g}\n" for at, rate in rates(link))
        table.write_text("time_s,rate_bps,delay_s,loss\n" + rows)
        rate = f'trace = {{ rates = "{table}", at_end = "loop", period = "{link["seconds"]} s" }}'
        channel = ""
    return f"""
schema = 2
[link]
{rate}
packet_size = "{PACKET} B"
delay = "{half}"
queue.limit = "{link["queue"]} packets"
[reverse]
delay = "{half}"
{channel}
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "64 MB"
[run]
duration = "{link["seconds"]:g} s"
runs = {runs}
seed = {link["seed"]}
"""


def truth(text: str, control: str, link: dict[str, Any], recorder: str) -> dict[str, float]:
    """Mean goodput (bit/s) and 95th percentile of the RTT (s) of a congestion control on the true link."""
    of = keys(control, link) | (keys(recorder, link) if recorder == "short" else {})
    # Another seed, since a later connection meets other losses than the recorded one.
    point = cf.run(text, set=of, seed=link["seed"] + LATER, cache=False).points[0]
    return {metric: point.value(metric) for metric in METRICS}


def main() -> int:
    """Draw, record, fit and predict link after link; print the errors, and write the table."""
    parser = argparse.ArgumentParser(description="Errors of predictions on fitted links, beside replays.")
    parser.add_argument("--links", type=int, default=30, help="number of links")
    parser.add_argument("--first", type=int, default=0, help="number of the first link")
    parser.add_argument("--base", type=int, default=1_000, help="seed of link 0")
    parser.add_argument("--recorder", choices=(*RECORDERS, *OTHERS), help="record of every link")
    parser.add_argument(
        "--recorders", choices=("usual", "others"), default="usual", help="records that links have in turn"
    )
    parser.add_argument("--runs", type=int, default=20, help="runs for a prediction")
    parser.add_argument("--truths", type=int, default=5, help="runs for a true value")
    parser.add_argument("--controls", default=",".join(CONTROLS), help="controls that are predicted")
    parser.add_argument("--out", type=Path, metavar="CSV", help="file for the table")
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for number in range(chosen.first, chosen.first + chosen.links):
        link = drawn(number, chosen.base)
        turns = RECORDERS if chosen.recorders == "usual" else tuple(OTHERS)
        recorder = chosen.recorder or turns[number % len(turns)]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = scenario(link, folder, chosen.truths)
            made = record(text, link, recorder, folder)
            begun = time.perf_counter()
            try:
                fit = cf.fit.link(made)
            except CrossfadeError as error:
                print(f"link {number}: {recorder}: {error}", file=sys.stderr)
                continue
            took = time.perf_counter() - begun
            others = [control for control in chosen.controls.split(",") if control != recorder]
            predictions = fit.predict(others, runs=chosen.runs, cache=False)
            truths = {control: truth(text, control, link, recorder) for control in others}
        print(
            f"link {number} {link['model']} {link['rate'] / 1e6:.3g} Mbit/s {link['rtt'] * 1e3:.3g} ms queue "
            f"{link['queue']} ({link['queue'] * PACKET * 8 / link['rate'] / link['rtt']:.2f} BDP) loss "
            f"{link['loss']:.2%} burst {link['burst'] or 0:.2g}: by {recorder}: {fit.model}, rate "
            f"{fit.rate.value / link['rate']:.3f} {fit.rate.verdict} rtt {fit.delay.value / link['rtt']:.4f} "
            f"queue {fit.queue.value / link['queue']:.3f} ({fit.queue.low:.0f}-{fit.queue.high:.0f}) "
            f"{fit.queue.verdict}, loss {fit.loss.value:.3%} ({fit.loss.low:.3%}-{fit.loss.high:.3%}) "
            f"burst {fit.found['mean_burst']}, fitted in {took:.1f} s",
            flush=True,
        )
        for of in predictions:
            true = truths[of.control][of.metric]
            replayed = math.nan if of.replay is None else of.replay / true - 1
            rows.append(
                {
                    "link": number,
                    **{
                        name: f"{value:.6g}" if isinstance(value, float) else value
                        for name, value in link.items()
                        if name != "number"
                    },
                    "recorder": recorder,
                    "fitted": fit.model,
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
                    "is_range": of.is_range,
                    "holds": of.low <= true <= of.high,
                    "replay_error": replayed,
                }
            )
            scale = 1e-6 if of.metric == "goodput_bps" else 1e3
            mark = "  " if rows[-1]["holds"] else "XX"
            print(
                f"   {mark} {of.control:7s} {of.metric:12s} truth {true * scale:9.4g} predicted "
                f"{of.value * scale:9.4g} ({of.low * scale:.4g} to {of.high * scale:.4g}) error "
                f"{rows[-1]['error']:+.1%} replay {replayed:+.0%}",
                flush=True,
            )
    if chosen.out and rows:
        with chosen.out.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    for metric in METRICS:
        for verdict in ("identified", "bounded", "all"):
            of_all = [
                row for row in rows if row["metric"] == metric and verdict in (row["rate_verdict"], "all")
            ]
            if not of_all:
                continue
            error = statistics.median(abs(row["error"]) for row in of_all)
            known = [abs(row["replay_error"]) for row in of_all if not math.isnan(row["replay_error"])]
            replayed = statistics.median(known) if known else math.nan
            holds = sum(row["holds"] for row in of_all) / len(of_all)
            print(
                f"{metric}, rate {verdict}: {len(of_all)} predictions, median error {error:.1%} "
                f"(replay {replayed:.1%}), "
                f"{holds:.0%} of the 90 % intervals hold"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
