"""The kernel's BBRv1 against simulated BBRv1 over the same links, by goodput, queueing, cycles and timers.

Usage: python bench/live_table.py [--pairs N] [--most N] [--folder DIR] [--only-kept] [CASE ...]

Each pair is a live and a simulated run with one seed. The program prints a line for each case and observable:
the means of simulated and live values, their difference with its 95 % interval (of goodput and other rates
as a share of the simulated value), the bound on it, which is fixed in this file, and the verdict: within,
differs, or open if the interval does not decide. Times are in ms or s and queues in packets, as the name of
the observable says. After --pairs pairs (6) a case gets further ones, up to --most (12), while a verdict is
open. A live run is repeated, up to twice, if more than 1 % of its packets were late or its sockets were not
read for 0.2 s.

Live results go to --folder (live_table/), two files per run, and the same command continues from there.
Simulations are always repeated. --only-kept makes no live runs: for use after a change of the simulation. A
CASE is the beginning of a name. Needs root; if other programs run, put `chrt -f 1` before the command. About
80 minutes in all. For Reno and CUBIC see live_pairs.py.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from live_pairs import interval
from numpy.typing import NDArray

import crossfade as cf

BASE = """\
schema = 2
run = { runs = 1 }
link = { rate = "10 Mbit/s", delay = "20 ms", packet_size = "1500 B", queue = { limit = "167 packets" } }
reverse = { rate = "10 Mbit/s", delay = "20 ms", queue = { limit = "1000 packets" } }
channel = { model = "iid", p_e = 0 }
tcp = { flavour = "rfc", variant = "sack", w_max = 2000, congestion = "bbr-v1", rfc = { profile = "linux" } }
"""
# A transfer too large for any run, with a handshake, as the kernel's connections begin.
ONE_FLOW = {"f": {"traffic": "transfer", "size": "1000 MB", "handshake": True}}
RATE, DELAY_S, PACKET_S = 10e6, 0.02, 1.2e-3
BDP_PACKETS = 100 / 3
EVERY_S = 0.01
WARM_S = 20.0
MOST_LATE, LONGEST_GAP_S, ATTEMPTS = 0.01, 0.2, 3

Floats = NDArray[np.float64]


@dataclass
class Seen:
    """Values of a run: means over the run, and the state of its first flow every 10 ms."""

    goodput_bps: float
    # Share of BBR beside CUBIC, from WARM_S on.
    share: float
    queueing_s: float
    one_way_p95_s: float
    # The following arrays are samples of the first flow.
    time_s: Floats
    cwnd: Floats
    queue_packets: Floats
    retransmissions: Floats
    # Number of segments cumulatively acknowledged until each sample.
    segments: Floats


@dataclass(frozen=True)
class Observable:
    """A value read from a run, and the bound on the difference between live and simulated."""

    name: str
    bound: float
    read: Callable[[Seen], float]
    is_share: bool = False
    digits: int = 3


@dataclass(frozen=True)
class Distance:
    """Samples read from runs, and the bound on the Kolmogorov-Smirnov distance of live and simulated ones."""

    name: str
    bound: float
    read: Callable[[Seen], Floats]
    digits: int = 3


@dataclass(frozen=True)
class Case:
    """Scenario keys, the length of a run in seconds, and the observables."""

    keys: dict[str, Any]
    seconds: float
    observables: list[Observable | Distance]


def goodput(bound: float) -> Observable:
    return Observable("goodput", bound, lambda seen: seen.goodput_bps / 1e6, is_share=True)


def of_seconds(seen: Seen) -> Floats:
    """Acknowledged payload in each second but the first two, in Mbit/s."""
    edges = np.arange(2.0, seen.time_s[-1], 1.0)
    return np.diff(np.interp(edges, seen.time_s, seen.segments)) * 1448 * 8 / 1e6


def startup_peak(seen: Seen) -> float:
    return float(seen.queue_packets[seen.time_s < 2.0].max())


def startup_length(seen: Seen) -> float:
    """Time from the first acknowledgement until the queue leaves its peak in Startup, in ms."""
    early = seen.time_s < 2.0
    begun = seen.time_s[np.flatnonzero(seen.segments > 0)[0]]
    high = np.flatnonzero(seen.queue_packets[early] > 0.9 * startup_peak(seen))
    return float(1e3 * (seen.time_s[high[-1]] - begun))


def probes_of_rtt(seen: Seen) -> tuple[Floats, Floats]:
    """Start and duration, in seconds, of the times with a window of 4 segments (ProbeRTT)."""
    at = np.flatnonzero(np.diff((seen.cwnd <= 4.0).astype(int)))
    edges = seen.time_s[at + 1]
    return edges[0::2][: len(edges) // 2], edges[1::2] - edges[0::2][: len(edges) // 2]


def probe_rtt_period(seen: Seen) -> float:
    begins, _ = probes_of_rtt(seen)
    return float(np.diff(begins).mean()) if len(begins) > 1 else np.nan


def probe_rtt_length(seen: Seen) -> float:
    _, lengths = probes_of_rtt(seen)
    return float(1e3 * lengths.mean()) if len(lengths) else np.nan


def cruising(seen: Seen) -> NDArray[np.bool_]:
    """True for each sample outside Startup and Drain that is about a second away from ProbeRTT."""
    begins, _ = probes_of_rtt(seen)
    away = np.all(np.abs(seen.time_s[:, None] - begins[None, :] - 0.6) > 0.7, axis=1)
    return (seen.time_s > 2.0) & away


def period(seen: Seen, begin: float, end: float) -> float:
    """Period of the queue length in ms, from its autocorrelation at four times a lag of 300 to 400 ms."""
    step = 0.002
    grid = np.arange(begin, end, step)
    queue = np.interp(grid, seen.time_s, seen.queue_packets)
    queue -= queue.mean()

    def best(lags: NDArray[np.int64]) -> int:
        return int(lags[np.argmax([np.mean(queue[:-lag] * queue[lag:]) for lag in lags])])

    one = best(np.arange(0.3 / step, 0.4 / step, dtype=int))
    return 1e3 * best(np.arange(4 * one - 10, 4 * one + 11)) * step / 4


def cycle(seen: Seen) -> float:
    """Period of the queue in ms before the first ProbeRTT."""
    return period(seen, 2.0, probes_of_rtt(seen)[0][0] - 0.1)


def later_cycle(seen: Seen) -> float:
    """Period of the queue in ms between the first and the second ProbeRTT."""
    begins = probes_of_rtt(seen)[0]
    return period(seen, begins[0] + 1.0, begins[1] - 0.1)


def cwnd(seen: Seen) -> float:
    return float(np.median(seen.cwnd[cruising(seen)]))


def round_trip(seen: Seen) -> float:
    """Median RTT in ms, computed from the queue length."""
    return float(1e3 * (2 * DELAY_S + PACKET_S * (1 + np.median(seen.queue_packets[cruising(seen)]))))


def policed_after(seen: Seen) -> float:
    """Time in seconds until the sender has found the rate of the policer.

    From the first retransmission to half a second with at most 3 retransmissions (of 83 packets).
    """
    begun = seen.time_s[np.flatnonzero(seen.retransmissions > 0)[0]]
    at = np.arange(begun, seen.time_s[-1] - 0.5, EVERY_S)
    count, later = (np.interp(of, seen.time_s, seen.retransmissions) for of in (at, at + 0.5))
    few = np.flatnonzero(later - count <= 3.0)
    return float(at[few[0]] - begun) if len(few) else np.nan


def repeated_share(seen: Seen) -> float:
    return float(seen.retransmissions[-1] / max(seen.segments[-1], 1.0))


def ware(bdps: float) -> float:
    """BBR's share of a link whose queue is ``bdps`` bandwidth-delay products (Ware et al., IMC'19)."""
    queue = bdps * BDP_PACKETS
    others = max(0.0, 0.5 - 1 / (2 * bdps) - 4 / queue)
    probing = (queue * PACKET_S + 0.2 + 2 * DELAY_S) / 10
    return (1 - others) * (1 - probing)


def cases() -> dict[str, Case]:
    """All cases by their names."""
    found: dict[str, Case] = {}
    queueing = Observable("queueing ms", 2.0, lambda seen: 1e3 * seen.queueing_s)
    for loss in (0, 1, 5, 10, 15, 20):
        bound = 0.05 if loss < 15 else 0.10
        found[f"bbr-loss-{loss}"] = Case({"channel.p_e": loss / 100}, 20.0, [goodput(bound), queueing])
    for loss in (0, 1, 5, 10):
        keys = {"channel.p_e": loss / 100, "link.queue.limit": "33 packets"}
        found[f"bbr-short-{loss}"] = Case(keys, 20.0, [goodput(0.05), queueing])
    found["bbr-cycle"] = Case(
        {},
        32.0,
        [
            Observable("cycle ms", 4.0, cycle, digits=1),
            Observable("later cycle ms", 4.0, later_cycle, digits=1),
            Observable("cwnd", 2.0, cwnd, digits=1),
            Observable("round trip ms", 2.0, round_trip, digits=1),
            Observable("startup peak", 5.0, startup_peak, digits=1),
            # Bound: one round trip, queueing included.
            Observable("startup ms", 125.0, startup_length, digits=0),
            Observable("ProbeRTT every s", 0.05, probe_rtt_period),
            Observable("ProbeRTT ms", 50.0, probe_rtt_length, digits=0),
        ],
    )
    for rtt in (40, 10):
        for gap in (20, 60, 120, 200):
            keys = {
                "link.delay": f"{rtt / 2:g} ms",
                "reverse.delay": f"{rtt / 2:g} ms",
                "reverse.aggregation.period": f"{gap} ms",
            }
            found[f"acks-{rtt}-{gap}"] = Case(keys, 12.0, [goodput(0.05 if gap <= 60 else 0.10)])
    found["policer"] = Case(
        {"link.policer": {"rate": "2 Mbit/s", "burst": "20 kB"}},
        15.0,
        [
            goodput(0.05),
            Observable("retransmitted", 0.02, repeated_share),
            # Bound: one interval of 16 round trips; Linux needs two intervals.
            Observable("policed after s", 0.66, policed_after, digits=2),
        ],
    )
    for bdps in (1, 2, 4, 8, 16, 32):
        keys = {
            "link.queue.limit": f"{round(bdps * BDP_PACKETS)} packets",
            "flows": {
                "bbr": {"traffic": "bulk", "tcp": {"congestion": "bbr-v1"}},
                "cubic": {"traffic": "bulk", "start": "100 ms", "tcp": {"congestion": "cubic"}},
            },
        }
        found[f"share-{bdps}"] = Case(keys, 50.0, [Observable("share of bbr", 0.05, lambda seen: seen.share)])
    for persistence in (0, 3, 10):
        arq = {"protocol": "selective-repeat", "window": 1024, "max_retransmissions": persistence}
        keys = {
            "link.frame_size": "500 B",
            "link.arq": arq,
            "channel": {"model": "markov", "p_e": 0.05, "mean_burst": 10},
        }
        observables = [
            goodput(0.05),
            Observable("one way p95", 0.05, lambda seen: 1e3 * seen.one_way_p95_s, is_share=True),
            Distance("KS of seconds", 0.1, of_seconds),
        ]
        found[f"fading-{persistence}"] = Case(keys, 20.0, observables)
    return {name: replace(case, keys={"flows": ONE_FLOW, **case.keys}) for name, case in found.items()}


def toml(value: Any) -> str:
    """TOML text of a value, as in a scenario file."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(of)}" for key, of in value.items()) + " }"
    return json.dumps(value)


def kernel(name: str, case: Case, seed: int, folder: Path) -> Seen:
    """Values of the live run of a case with this seed, from the folder or from a new run."""
    stem = folder / f"{name}-{seed}"
    events, report = stem.with_suffix(".csv.gz"), stem.with_suffix(".json")
    if not report.exists():
        for _ in range(ATTEMPTS):
            text, said = live(case, seed)
            if is_sound(text, said):
                break
        events.write_bytes(gzip.compress(text.encode(), 9))
        report.write_text(json.dumps(said))
    return of_kernel(gzip.decompress(events.read_bytes()).decode(), json.loads(report.read_text()))


def live(case: Case, seed: int) -> tuple[str, dict[str, Any]]:
    """Events and report of a live run of a case with this seed."""
    keys = {"run.duration": f"{case.seconds:g} s", **case.keys}
    with tempfile.TemporaryDirectory() as scratch:
        scenario, events, report = (
            Path(scratch) / file for file in ("table.toml", "events.csv", "report.json")
        )
        scenario.write_text(BASE)
        command = [sys.executable, "-m", "crossfade", "live", str(scenario), "--workload", "bulk"]
        command += ["--data-only", "--quiet", "--seed", str(seed)]
        command += ["--events", str(events), "--json", str(report)]
        for key, value in keys.items():
            command += ["--set", f"{key}={toml(value)}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return events.read_text(), json.loads(report.read_text())


def is_sound(events: str, report: dict[str, Any]) -> bool:
    """True if the emulator kept time: few late packets, none dropped unseen, no long gap between samples."""
    looks = np.array([float(record["time_s"]) for record in csv.DictReader(io.StringIO(events))])
    late = max(way["late_share"] for way in report["directions"])
    drops = sum(way["ring_drops"] for way in report["directions"])
    gap = np.diff(np.append(looks, report["duration_s"])).max()
    return bool(late <= MOST_LATE and not drops and len(looks) and gap <= LONGEST_GAP_S)


def of_kernel(events: str, report: dict[str, Any]) -> Seen:
    """Values of a live run, from the samples of its sockets and the report."""
    records = [record for record in csv.DictReader(io.StringIO(events)) if record["host"] == "far"]
    first = [record for record in records if record["flow"] == records[0]["flow"]]

    def column(key: str) -> Floats:
        return np.array([float(record[key] or "nan") for record in first])

    forward = report["directions"][0]
    other = [record for record in records if record["flow"] != records[0]["flow"]]
    return Seen(
        goodput_bps=8 * sum(flow["bytes"] for flow in report["flows"]) / report["duration_s"],
        share=part(*(moved(of, "seq") for of in (first, other))),
        queueing_s=forward["queueing_delay_mean_s"],
        one_way_p95_s=forward["transit_p95_s"],
        time_s=column("time_s"),
        cwnd=column("cwnd"),
        # Of the packets inside, one is being sent and DELAY_S / PACKET_S are propagating; the others are
        # queued.
        queue_packets=np.maximum(column("link_inside") - 1 - DELAY_S / PACKET_S, 0.0),
        retransmissions=column("retransmissions"),
        segments=column("seq"),
    )


def moved(records: list[dict[str, str]], key: str, cumulated: bool = True) -> float:
    """Increase of a counter from WARM_S on, or the sum of a column that is not cumulative."""
    counts = [float(record[key]) for record in records if float(record["time_s"]) >= WARM_S]
    if not counts:
        return 0.0
    return counts[-1] - counts[0] if cumulated else sum(counts)


def part(one: float, other: float) -> float:
    return one / (one + other) if one + other > 0.0 else np.nan


@cache
def simulated(name: str, seed: int) -> Seen:
    """Values of the simulated run of a case with this seed."""
    case = cases()[name]
    keys = {"run.duration": f"{case.seconds:g} s", **case.keys}
    [point] = cf.run(BASE, set=keys, seed=seed, methods=["simulation"], cache=False).points
    text = cf.runs.samples(BASE, f"{EVERY_S} s", set=keys, seed=seed).to_csv(index=False)
    records = list(csv.DictReader(io.StringIO(text)))
    first = [record for record in records if record["flow"] == "0"]
    forward = [record for record in records if record["link"] == "forward"]

    def column(of: list[dict[str, str]], key: str) -> Floats:
        return np.array([float(record[key] or "nan") for record in of])

    other = [record for record in records if record["flow"] == "1"]
    [link] = [link for link in point.links if link["name"] == "forward"]
    # Acknowledged up to the first missing segment, as in the kernel's counter.
    acknowledged = [
        (float(record["time_s"]), float(record["seq"]))
        for record in csv.DictReader(io.StringIO(cf.events(BASE, set=keys, seed=seed).to_csv(index=False)))
        if record["flow"] == "0" and record["event"] in ("ack", "recovery_end")
    ]
    acknowledged_s, segments = np.array(acknowledged).T
    return Seen(
        goodput_bps=point.metrics["goodput_bps"].value,
        share=part(*(moved(of, "goodput_bps", cumulated=False) for of in (first, other))),
        queueing_s=link["queueing_delay_mean_s"]["value"],
        one_way_p95_s=point.metrics["one_way_delay_p95_s"].value,
        time_s=column(first, "time_s"),
        cwnd=column(first, "cwnd"),
        queue_packets=column(forward, "queue_packets"),
        retransmissions=np.cumsum(column(first, "retransmissions")),
        segments=np.interp(
            column(first, "time_s"), acknowledged_s, np.maximum.accumulate(segments), left=0.0
        ),
    )


Pairs = list[tuple[Seen, Seen]]


def judged(observable: Observable | Distance, pairs: Pairs) -> tuple[float, float, float, float, str]:
    """Simulated mean, live mean, their difference, the half-width of its interval, and the verdict."""
    if isinstance(observable, Distance):
        return distance(observable, pairs)
    ours = np.array([observable.read(simulated) for _, simulated in pairs])
    theirs = np.array([observable.read(live) for live, _ in pairs])
    differences = (theirs - ours) / (ours if observable.is_share else 1.0)
    differences = differences[np.isfinite(differences)]
    if not len(differences):
        return float(np.nanmean(ours)), float(np.nanmean(theirs)), np.nan, np.nan, "open"
    mean, half = interval(list(differences))
    return (
        float(np.nanmean(ours)),
        float(np.nanmean(theirs)),
        mean,
        half,
        verdict(mean, half, observable.bound),
    )


def verdict(mean: float, half: float, bound: float) -> str:
    """Verdict "within" if a difference is within its bound, otherwise "differs"; "open" if undecided."""
    if abs(mean) + half <= bound:
        return "within"
    return "differs" if abs(mean) - half > bound else "open"


def distance(of: Distance, pairs: Pairs) -> tuple[float, float, float, float, str]:
    """Simulated and live mean, Kolmogorov-Smirnov distance of all samples, Smirnov's critical distance at 5
    %, and the verdict.
    """
    ours = np.sort(np.concatenate([of.read(simulated) for _, simulated in pairs]))
    theirs = np.sort(np.concatenate([of.read(live) for live, _ in pairs]))
    at = np.concatenate([ours, theirs])
    steps = [np.searchsorted(one, at, side="right") / len(one) for one in (ours, theirs)]
    found = float(np.abs(steps[0] - steps[1]).max())
    half = 1.358 * math.sqrt(1 / len(ours) + 1 / len(theirs))
    return float(ours.mean()), float(theirs.mean()), found, half, verdict(found, half, of.bound)


def line(name: str, observable: Observable | Distance, pairs: Pairs) -> str:
    """The line of the table for a case and an observable."""
    ours, theirs, mean, half, found = judged(observable, pairs)
    n = observable.digits
    is_share = isinstance(observable, Observable) and observable.is_share
    difference = f"{100 * mean:8.1f} ± {100 * half:.1f} %" if is_share else f"{mean:8.{n}f} ± {half:.{n}f}"
    bound = f"{100 * observable.bound:g} %" if is_share else f"{observable.bound:g}"
    text = f"{name:<13}{observable.name:<17}{len(pairs):>3}{ours:>10.{n}f}{theirs:>10.{n}f}"
    text += f"{difference:<20}{bound:>6}  {found}"
    if name.startswith("share-"):
        expected = ware(float(name.removeprefix("share-")))
        text += f"; Ware {expected:.2f}, off by {theirs - expected:+.2f}"
    return text


def main(arguments: list[str]) -> int:
    """Run the missing pairs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pairs", type=int, default=6, help="least pairs per case (default: 6)")
    parser.add_argument("--most", type=int, default=12, help="most pairs per case (default: 12)")
    parser.add_argument("--folder", type=Path, default=Path("live_table"), help="folder of live results")
    parser.add_argument("--only-kept", action="store_true", help="no live runs")
    asked = parser.parse_args(arguments)
    chosen = [
        name for name in cases() if not asked.cases or any(name.startswith(case) for case in asked.cases)
    ]
    if not chosen:
        print(f"error: no such case; there are {', '.join(cases())}", file=sys.stderr)
        return 2
    asked.folder.mkdir(exist_ok=True)
    head = f"{'case':<13}{'observable':<16}{'pairs':>4}{'simulated':>10}{'kernel':>10}"
    print(f"{head}  difference         bound  verdict")
    for name in chosen:
        case, pairs = cases()[name], Pairs()
        while True:
            is_open = len(pairs) > 1 and any(judged(of, pairs)[-1] == "open" for of in case.observables)
            if len(pairs) >= asked.pairs and not (is_open and len(pairs) < asked.most):
                break
            seed = len(pairs) + 1
            if asked.only_kept and not (asked.folder / f"{name}-{seed}.json").exists():
                break
            pairs.append((kernel(name, case, seed, asked.folder), simulated(name, seed)))
        for observable in case.observables if pairs else []:
            print(line(name, observable, pairs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
