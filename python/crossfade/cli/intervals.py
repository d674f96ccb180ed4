"""Lines about each interval of a run, in the manner of iperf3: ``crossfade run --interval``."""

from __future__ import annotations

import math
from typing import TextIO, Unpack

from crossfade import api
from crossfade.cli.facts import rate_text, time_text
from crossfade.errors import ScenarioError, one_line, shortened
from crossfade.plans.options import LookOptions, ViewOptions


def print_intervals(scenario: str, every: str, out: TextIO, **options: Unpack[LookOptions]) -> None:
    """Print a line for each flow and link in each interval, while the run is simulated."""
    of_plan: ViewOptions = {name: value for name, value in options.items() if name != "run"}  # type: ignore[assignment]
    points = api.check(scenario, **of_plan).points
    if points > 1:
        raise ScenarioError(
            f"--interval: shows one run of one point; the plan has {points} points (--point N takes one)"
        )
    lines = _Lines(out)
    api.stream_samples(lines.take, scenario, _quantity(every), **options)


def _quantity(every: str) -> str:
    """Time of ``--interval`` with its unit; a plain number is in seconds."""
    try:
        number = float(every)
    except ValueError:
        return every
    if not (math.isfinite(number) and number > 0.0):
        raise ScenarioError(f'--interval {shortened(every)}: must be a time above 0 such as 1 or "100 ms"')
    return f"{number} s"


class _Lines:
    """Conversion of CSV lines of samples to lines for people."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.columns: list[str] | None = None

    def take(self, text: str) -> None:
        for line in text.splitlines():
            cells = line.split(",")
            if self.columns is None:
                self.columns = cells
                continue
            sample = dict(zip(self.columns, cells, strict=True))
            # A link without a capacity and without a queue has nothing to show.
            if sample["flow"] or sample["capacity_bps"] or sample["queue_packets"] != "0":
                print(one_line(_line(sample)), file=self.out)
        self.out.flush()


def _line(sample: dict[str, str]) -> str:
    """Line with goodput, RTT, window and retransmissions of a flow, or output and queue of a link."""
    time = f"{float(sample['time_s']):9.2f} s"
    rate = rate_text(float(sample["goodput_bps"]))
    if sample["flow"]:
        rtt = sample["rtt_mean_s"]
        trip = f"RTT {time_text(float(rtt))}" if rtt else "no RTT"
        again = f"{sample['retransmissions']} retransmitted"
        window = f"window {float(sample['cwnd']):.4g}"
        return f"{time}  flow {sample['flow']:<9} {rate:>13}  {trip}, {window}, {again}"
    parts = []
    if capacity := sample["capacity_bps"]:
        parts.append(f"of {rate_text(float(capacity))}")
    if queue := sample["queue_packets"]:
        parts.append(f"{queue} packets wait")
    if again := sample["retransmissions"]:
        parts.append(f"{again} frames retransmitted")
    return f"{time}  {sample['link']:<14} {rate:>13}  {', '.join(parts)}".rstrip()
