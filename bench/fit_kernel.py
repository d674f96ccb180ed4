"""Links fitted to captures of Linux's TCP, and what Linux's other congestion control does there.

    python bench/fit_kernel.py [--seconds 20] [--links 4] [--predictions 20]

Needs root, and Linux with CUBIC and BBR. `crossfade live` puts the kernel's sender behind a link of a rate,
delay, queue and loss; one control is captured at the sender, a link is fitted to that, and the other control
is predicted. The truth is the same link with the other control, captured again. Errors of goodput and of the
95th percentile of the round trip are printed, beside those of a replay of the record; the aims are 10 and
15 %.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import crossfade as cf
from crossfade.fitting.records import read_record

# Rate in Mbit/s, one-way delay in ms, queue in packets, loss.
LINKS = ((12, 20, 60, 0.005), (8, 30, 40, 0.0), (20, 15, 100, 0.002), (5, 50, 80, 0.01))
LINK = """
schema = 2
[link]
rate = "{rate} Mbit/s"
packet_size = "1500 B"
delay = "{delay} ms"
queue.limit = "{queue} packets"
[reverse]
delay = "{delay} ms"
[channel]
model = "iid"
p_e = {loss}
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "4 MB"
rfc.profile = "linux"
[run]
duration = "{seconds} s"
runs = 1
"""
KERNEL = {"cubic": "cubic", "bbr-v1": "bbr"}


def live(scenario: Path, control: str, file: Path, seed: int) -> None:
    """Captures the kernel's sender on a link."""
    near = file.with_suffix(".near.pcap")
    command = [sys.executable, "-m", "crossfade", "live", str(scenario), "--quiet", "--workload", "bulk"]
    keys = ["--set", f"tcp.congestion={control}", "--seed", str(seed), "--pcap", f"{near},{file}"]
    subprocess.run([*command, *keys], check=True, stdout=subprocess.DEVNULL)


def seen(file: Path, seconds: float) -> dict[str, float]:
    """Goodput and the 95th percentile of the round trip of a capture."""
    packets, _ = read_record([file])
    arrived = packets["bytes"][packets["fate"] == 0]
    rtt = packets["seen_s"] - packets["sent_s"]
    data = float((arrived - 52).clip(0).sum())
    return {"goodput_bps": 8 * data / seconds, "rtt_p95_s": float(np.quantile(rtt[np.isfinite(rtt)], 0.95))}


def main() -> int:
    """Prints a line a prediction, and the medians of the errors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--links", type=int, default=len(LINKS))
    parser.add_argument("--predictions", type=int, default=20)
    chosen = parser.parse_args()
    errors: dict[str, list[tuple[float, float, bool]]] = {"goodput_bps": [], "rtt_p95_s": []}
    print("| link | recorded | predicted | metric | Linux | predicted | 90 % interval | error | replay's |")
    print("|---|---|---|---|---|---|---|---|---|")
    for number, (rate, delay, queue, loss) in enumerate(LINKS[: chosen.links]):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            scenario = folder / "link.toml"
            text = LINK.format(rate=rate, delay=delay, queue=queue, loss=loss, seconds=chosen.seconds)
            scenario.write_text(text)
            files = {control: folder / f"{control}.pcap" for control in KERNEL}
            for control, file in files.items():
                live(scenario, control, file, number + 1)
            for recorded, other in (("cubic", "bbr-v1"), ("bbr-v1", "cubic")):
                fit = cf.fit.link(files[recorded])
                truth = seen(files[other], chosen.seconds)
                for of in fit.predict([other], runs=chosen.predictions, cache=False):
                    true = truth[of.metric]
                    replay = float("nan") if of.replay is None else of.replay / true - 1
                    holds = of.low <= true <= of.high
                    errors[of.metric].append((abs(of.value / true - 1), abs(replay), holds))
                    scale, unit = (1e-6, "Mbit/s") if of.metric == "goodput_bps" else (1e3, "ms")
                    link = f"{rate} Mbit/s, {2 * delay} ms, {queue} packets, {loss:.1%}"
                    values = f"{true * scale:.4g} {unit} | {of.value * scale:.4g}"
                    ends = f"{of.low * scale:.4g} to {of.high * scale:.4g}"
                    error = f"{of.value / true - 1:+.1%} | {replay:+.0%}"
                    row = f"{link} | {recorded} | {other} | {of.metric} | {values} | {ends} | {error}"
                    print(f"| {row} |", flush=True)
    for metric, of_all in errors.items():
        ours, theirs = (statistics.median(error[at] for error in of_all) for at in range(2))
        most, held = max(error[0] for error in of_all), sum(error[2] for error in of_all)
        print(
            f"{metric}: median error {ours:.1%}, largest {most:.1%}, replay's median {theirs:.0%}; "
            f"{held} of {len(of_all)} intervals hold"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
