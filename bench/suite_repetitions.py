"""Detections and false alarms of `crossfade suite` with simulated congestion controls, in twenty repetitions.

Usage: python bench/suite_repetitions.py

In each repetition, Reno makes the baseline of five cases of suite c4 with six runs each. Four controls are
compared with it: Reno with the same seed, Reno with another seed, Reno that reduces its window by nine tenths
on a loss, and Reno whose window grows at a tenth of the rate, as behind a slow reverse path. Prints for each
control the number of repetitions in which a case was worse, and in which a case missed a target.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from crossfade.suite.baseline import compare_with
from crossfade.suite.running import run_suite

CASES = ["alone", "low-and-up", "drop-and-back", "beside-cubic", "wifi-fade"]
REPETITIONS, RUNS = 20, 6
CONTROL = """
from crossfade.teaching import CongestionControl

class Control(CongestionControl):
    "Reno, but for two factors."
    def start(self, cwnd, ssthresh):
        self.cwnd, self.ssthresh = cwnd, ssthresh
    def on_ack(self, ack):
        self.cwnd += GROWTH * (ack.acked if self.cwnd < self.ssthresh else ack.acked / self.cwnd)
    def on_loss(self, now, window):
        self.ssthresh = max(2.0, window * LEFT)
        self.cwnd = self.ssthresh
    def on_timeout(self, now, window):
        self.ssthresh = max(2.0, window * LEFT)
        self.cwnd = 1.0
"""


def main() -> None:
    """Run all repetitions and print a line for each control."""
    with tempfile.TemporaryDirectory() as folder:
        changed = {}
        for name, growth, left in (("wrong response", 1.0, 0.1), ("slowed", 0.1, 0.5)):
            file = Path(folder) / f"{name.split()[0]}.py"
            file.write_text(CONTROL.replace("GROWTH", str(growth)).replace("LEFT", str(left)))
            changed[name] = str(file)
        tested = {"unchanged, same seed": ("reno", 0), "unchanged, other seed": ("reno", 1)}
        tested |= {name: (file, 0) for name, file in changed.items()}
        worse = dict.fromkeys(tested, 0)
        failed = dict.fromkeys(tested, 0)
        for number in range(REPETITIONS):
            seed = 1000 + 2 * number
            old = json.loads(
                run_suite("c4", "reno", cases=CASES, runs=RUNS, seed=seed, cache=False).to_json()
            )
            for name, (control, more) in tested.items():
                new = run_suite("c4", control, cases=CASES, runs=RUNS, seed=seed + more, cache=False)
                worse[name] += any(pair.verdict == "worse" for pair in compare_with(new, old))
                failed[name] += bool(new.failed)
        for name in tested:
            print(f"{name}: worse in {worse[name]}, failed in {failed[name]} of {REPETITIONS}")


if __name__ == "__main__":
    main()
