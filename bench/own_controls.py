"""CPU time per segment of custom congestion controls, over that of the built-in Reno.

Usage: python bench/own_controls.py [SECONDS] [TURNS]

Simulates SECONDS (100) of flavour rfc with a base RTT of 40 ms and 0.1 % of losses: one flow over 10 and 100
Mbit/s, and 20 flows over 100 Mbit/s. In each of TURNS turns (5), after one that only compiles and imports,
each control runs in one process: built-in Reno and BBRv1, a control in Rust, and batched, shared and plain
controls in Python. Prints for each case and control the median CPU time in ns per delivered segment, and the
median of its ratio to built-in Reno in the same turn. The batched and shared controls keep windows near those
of the others, so that the links are equally busy; one shared control serves all flows.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import crossfade as cf

SCENARIO = """
schema = 2
run = {{ duration = "{seconds} s", runs = 1, seed = 1 }}
channel = {{ model = "iid", p_e = 0.001 }}
reverse = {{ rate = "{rate} Mbit/s", delay = "20 ms" }}
tcp = {{ variant = "sack", w_max = 10000 }}

[link]
rate = "{rate} Mbit/s"
packet_size = "1500 B"
delay = "20 ms"
queue = {{ limit = "{queue} packets" }}

[flows]
all = {{ count = {flows}, stagger = "10 ms" }}
"""

PYTHON = "from crossfade.teaching import Reno\nclass Mine(Reno): pass\n"
BATCHED = """
from crossfade.teaching import BatchedCongestionControl


class Mine(BatchedCongestionControl):
    def on_acks(self, batch):
        lost = batch["newly_lost"].sum()
        rate, rtt = batch["rate"], batch["rtt"]
        self.delay = rtt.min() if len(rtt) else 0.0
        self.cwnd = max(self.cwnd * 0.5, 4.0) if lost else self.cwnd + 1.0
"""
SHARED = """
import numpy as np
from crossfade.teaching import SharedCongestionControl


class Mine(SharedCongestionControl):
    period = 0.05

    def on_acks(self, batch):
        flows, of = np.unique(batch["flow"], return_inverse=True)
        lost = np.bincount(of, batch["newly_lost"])
        cwnd = self.cwnd[flows]
        self.cwnd[flows] = np.where(lost > 0, np.maximum(0.5 * cwnd, 4.0), cwnd + 1.0)
"""
CONTROLS = ("reno", "bbr-v1", "reno.rs", "batched.py", "shared.py", "mine.py")
# Mbit/s and flows.
CASES = ((10, 1), (100, 1), (100, 20))


def main() -> None:
    """Measure all controls in turns and print a line for each case and control."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rust = (Path(__file__).parents[1] / "examples" / "congestion-control" / "reno.rs").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (
            ("mine.py", PYTHON),
            ("batched.py", BATCHED),
            ("shared.py", SHARED),
            ("reno.rs", rust),
        ):
            (folder / file).write_text(text)
        for rate, flows in CASES:
            scenario = folder / f"{rate}-{flows}.toml"
            scenario.write_text(SCENARIO.format(seconds=seconds, rate=rate, queue=5 * rate, flows=flows))
            took: dict[str, list[float]] = {control: [] for control in CONTROLS}
            for turn in range(turns + 1):
                for control in CONTROLS:
                    began = time.process_time()
                    found = cf.run(scenario, set={"tcp.congestion": control}, cache=False, jobs=1)
                    spent = time.process_time() - began
                    if turn:  # turn 0 only compiles and imports
                        took[control].append(spent / (found.points[0].value("segments_delivered") or 1.0))
            for control in CONTROLS:
                ratios = [own / reno for own, reno in zip(took[control], took["reno"], strict=True)]
                cost = 1e9 * statistics.median(took[control])
                times = f"{statistics.median(ratios):.2f} times reno"
                print(f"{flows:2} over {rate} Mbit/s {control:<11} {cost:8.0f} ns a segment, {times}")


if __name__ == "__main__":
    main()
