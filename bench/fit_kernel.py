"""Measure errors of predictions for Linux's congestion controls, from a link fitted to one capture.

    python bench/fit_kernel.py [--seconds 30] [--runs 2] [--out table.csv]        needs root and tshark

Each emulated link carries a flow of the kernel's CUBIC or BBR (``crossfade live``), and a link is fitted to
its capture at the sender. The fitted link predicts goodput (bit/s) and the 95th percentile of the RTT (s) of
both (``crossfade fit --predict``); the true value is the mean over further live runs of the kernel. The
script prints both values and the relative error, and writes a CSV row per link, recorded flow, congestion
control and metric.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import crossfade as cf

CONTROLS = ("cubic", "bbr-v1")
LINKS = {
    "20 Mbit/s, 40 ms, 0.5 %": {"rate": "20 Mbit/s", "delay": "20 ms", "limit": "1 bdp", "loss": 0.005},
    "20 Mbit/s, 40 ms": {"rate": "20 Mbit/s", "delay": "20 ms", "limit": "2 bdp", "loss": 0.0},
    "8 Mbit/s, 100 ms, 0.1 %": {"rate": "8 Mbit/s", "delay": "50 ms", "limit": "1 bdp", "loss": 0.001},
    "60 Mbit/s, 30 ms, 1 %": {"rate": "60 Mbit/s", "delay": "15 ms", "limit": "0.5 bdp", "loss": 0.01},
    "40 Mbit/s, 80 ms, 0.2 %": {"rate": "40 Mbit/s", "delay": "40 ms", "limit": "0.7 bdp", "loss": 0.002},
}
"""Links by name: forward rate, one-way delay, limit of the queue, packet loss probability."""


def scenario(link: dict[str, object], control: str, seconds: float) -> str:
    """Scenario of a bulk flow over the link; the channel drops only segments with data."""
    return f"""schema = 2
title = "a flow of Linux over a link that is known"
run = {{ duration = "{seconds} s", seed = 7 }}
channel = {{ model = "iid", p_e = {link["loss"]} }}

[link]
rate = "{link["rate"]}"
delay = "{link["delay"]}"
packet_size = "1500 B"
queue = {{ limit = "{link["limit"]}" }}

[reverse]
delay = "{link["delay"]}"

[tcp]
variant = "sack"
w_max = 4000
mss = "1448 B"

[flows]
main = {{ tcp = {{ congestion = "{control}" }} }}
"""


def live(link: dict[str, object], control: str, seconds: float, run: int, folder: Path) -> tuple[Path, float]:
    """Make a live run of a congestion control; returns the sender's capture and the goodput in bit/s."""
    names = [f"{control}{run}{end}" for end in (".toml", "-near.pcap", "-far.pcap", ".json")]
    file, near, far, told = (folder / name for name in names)
    file.write_text(scenario(link, control, seconds))
    command = ["live", file, "--workload", "bulk", "--run", run, "--pcap", f"{near},{far}", "--json", told]
    done = subprocess.run(
        [sys.executable, "-m", "crossfade", *map(str, command), "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"crossfade live: {done.stderr.strip()}")
    of = json.loads(told.read_text())
    return far, 8 * of["flows"][0]["bytes"] / of["duration_s"]


def rtt_p95_s(capture: Path) -> float:
    """95th percentile of the RTT in s at the sender, by the timestamps that acknowledgements echo."""
    stamps = ("tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr")
    fields = ("frame.time_relative", "tcp.len", "tcp.ack", *stamps)
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=,"]
    command += [word for field in fields for word in ("-e", field)]
    left: dict[str, float] = {}
    acknowledged, rtts = 1, []
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split():
        at, length, ack, stamp, echo = line.split(",")
        if int(length):
            left.setdefault(stamp, float(at))
        elif int(ack) > acknowledged and echo in left:
            acknowledged = int(ack)
            rtts.append(float(at) - left[echo])
    return sorted(rtts)[int(0.95 * len(rtts))]


def truth(
    link: dict[str, object], control: str, seconds: float, runs: int, folder: Path
) -> dict[str, list[float]]:
    """Goodput in bit/s and 95th percentile of the RTT in s of the kernel, in further live runs."""
    found: dict[str, list[float]] = {"goodput_bps": [], "rtt_p95_s": []}
    for run in range(1, runs + 1):
        capture, goodput = live(link, control, seconds, run, folder)
        found["goodput_bps"].append(goodput)
        found["rtt_p95_s"].append(rtt_p95_s(capture))
    return found


def main() -> None:
    """Print a line per link, recorded flow, congestion control and metric."""
    parser = argparse.ArgumentParser(description="Predictions from captures of Linux, and what Linux does.")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of a live run")
    parser.add_argument("--runs", type=int, default=2, help="number of live runs for a true value")
    parser.add_argument("--out", type=Path, metavar="CSV", help="file for the table")
    asked = parser.parse_args()
    rows = []
    for name, link in LINKS.items():
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent)
            truths = {
                control: truth(link, control, asked.seconds, asked.runs, folder) for control in CONTROLS
            }
            records = {recorder: live(link, recorder, asked.seconds, 0, folder)[0] for recorder in CONTROLS}
            fits = {recorder: cf.fit.link(record) for recorder, record in records.items()}
        for recorder, fit in fits.items():
            predictions = fit.predict(list(CONTROLS), runs=20, cache=False)
            rate = f"{fit.rate.value / 1e6:.2f} Mbit/s {fit.rate.verdict}"
            found = f"{fit.model}, {rate}, loss {fit.loss.value:.2%}"
            print(f"{name} recorded by {recorder}: {found}", flush=True)
            for of in predictions:
                true = statistics.fmean(truths[of.control][of.metric])
                rows.append(
                    {
                        "link": name,
                        "recorder": recorder,
                        "fitted": found,
                        "control": of.control,
                        "metric": of.metric,
                        "kernel": true,
                        "runs": " ".join(f"{value:.4g}" for value in truths[of.control][of.metric]),
                        "predicted": of.value,
                        "low": of.low,
                        "high": of.high,
                        "error": of.value / true - 1,
                        "holds": of.low <= true <= of.high,
                        "replay": of.replay,
                    }
                )
                print(
                    f"  {of.control:7s} {of.metric:12s} kernel {true:.4g} predicted {of.value:.4g} "
                    f"{rows[-1]['error']:+.1%}"
                )
    for metric in ("goodput_bps", "rtt_p95_s"):
        errors = [abs(row["error"]) for row in rows if row["metric"] == metric]
        holds = sum(row["holds"] for row in rows if row["metric"] == metric)
        print(
            f"{metric}: median error {statistics.median(errors):.1%}, largest {max(errors):.1%}, "
            f"{holds} of {len(errors)} intervals hold"
        )
    if asked.out:
        with asked.out.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
