"""Judge fits to records of paths and flows that the model of a link lacks, against their true parameters.

    python bench/fit_strangers.py [--rate 12e6] [--rtt 0.04] [--only asym,policer/bbr-v1] [--keep FOLDER]

Paths are a link with levels, outages, jitter, reordering, a policer, a shaper, a slow or bursty reverse path,
an AQM or losses; flows are congestion controls, UDP, short downloads and several flows, and logs of iperf3.
For each record the script prints the ratio of the fitted rate to the true one, its interval and verdict, the
base delay and its verdict, and whether each verdict is right. An identified value is right if its interval,
2 % wider at either end (of the delay 5 %), holds the truth; a bound is right if it is no more than 2 % beyond
the truth. The rate of a link behind a policer or a shaper is that of the policer or shaper.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.errors import CrossfadeError

TEXT = """
schema = 2
[link]
{link}
packet_size = "1500 B"
delay = "{half:.4f} ms"
{queue}
[reverse]
delay = "{half:.4f} ms"
{reverse}
{channel}
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "64 MB"
[run]
duration = "{seconds:g} s"
runs = 1
seed = {seed}
"""
PACKET = 1500
# Largest number of packets in a record: on fast links a record is shorter than ``LONGEST_S``.
MOST_PACKETS = 300_000
LONGEST_S = 30.0
# Flows below the rate of a token bucket, which never empty it, so their records do not show it.
NEVER_EMPTY = ("udp-slow", "udp-poisson", "udp-on-off", "held")
# Errors of a rate and of a base delay, as a share, up to which a verdict still counts as right.
RATE_MARGIN = 0.02
DELAY_MARGIN = 0.05


@dataclass(frozen=True)
class Route:
    """A path: keys of its scenario, and the true rate in bit/s, idle RTT in s and queue limit in packets.

    An RTT or queue limit of None is not judged.
    """

    link: str
    rate: float
    rtt: float | None
    queue: int | None
    channel: str = '[channel]\nmodel = "none"'
    reverse: str = ""
    more_queue: str = ""
    # Rate in bit/s of the link behind a policer or shaper: the true rate if a flow never empties the bucket.
    peak: float | None = None


def table(folder: Path, name: str, seconds: float, rows: Sequence[tuple[float, float]]) -> tuple[str, float]:
    """Write a table of rates (time in s, bit/s); returns a link key that names it, and its mean rate."""
    file = folder / f"{name}.csv"
    file.write_text(
        "time_s,rate_bps,delay_s,loss\n" + "".join(f"{at:.4f},{rate:.0f},0,0\n" for at, rate in rows)
    )
    ends = [*(at for at, _ in rows[1:]), seconds]
    mean = sum(rate * (end - at) for (at, rate), end in zip(rows, ends, strict=True)) / seconds
    return f'trace = {{ rates = "{file}", at_end = "loop", period = "{seconds:g} s" }}', mean


def paths(rate: float, rtt: float, seconds: float, folder: Path) -> dict[str, Route]:
    """Paths with a mean rate in bit/s, an RTT in s and a duration in s, by name."""
    bdp = max(4, round(rate * rtt / 8 / PACKET))
    key = f'rate = "{rate:.0f} bit/s"'
    plain = Route(key, rate, rtt, bdp)
    peak = f'rate = "{8 * rate:.0f} bit/s"'
    bucket = f'rate = "{rate:.0f} bit/s", burst = "{max(4, bdp) * PACKET} B"'
    third = seconds / 10
    levels = [(third * k, rate * (0.5, 1.0, 2.0)[k * 7 % 3]) for k in range(10)]
    tenths = [(seconds / 15 * k, rate * (1 + 0.1 * (-1) ** k)) for k in range(15)]
    outages = [(0.0, rate), (0.27 * seconds, 0.0), (0.27 * seconds + 0.4, rate)]
    outages += [(0.63 * seconds, 0.0), (0.63 * seconds + 1.2, rate)]
    varying = {}
    for name, rows in (("levels", levels), ("tenths", tenths), ("outages", outages)):
        text, mean = table(folder, name, seconds, rows)
        varying[name] = replace(plain, link=text, rate=mean, channel="", queue=round(1.5 * bdp))
    # Acknowledgements of every second packet need 1.4 times the rate of the reverse path.
    slow = rate / (2 * 8 * PACKET) * 8 * 52 / 1.4
    return {
        "plain": plain,
        **varying,
        "reorder": replace(plain, link=f'{key}\njitter = {{ std = "3 ms" }}'),
        "jitter": replace(plain, link=f'{key}\njitter = {{ std = "1 ms", rate = "{rate:.0f} bit/s" }}'),
        "spikes": replace(plain, link=f'{key}\njitter = {{ std = "1 ms", spike_share = "7 %" }}'),
        "policer": replace(plain, link=f"{peak}\npolicer = {{ {bucket} }}", queue=None, peak=8 * rate),
        "shaper": replace(plain, link=f"{peak}\nshaper = {{ {bucket} }}", queue=None, peak=8 * rate),
        "asym": replace(plain, reverse=f'rate = "{slow:.0f} bit/s"\nqueue.limit = "50 packets"', rtt=None),
        "ack-slots": replace(plain, reverse='aggregation = { period = "5 ms" }', rtt=None),
        "ack-thinned": replace(plain, reverse='aggregation = { period = "4 ms", thinning = 4 }', rtt=None),
        "codel": replace(plain, queue=None, more_queue='queue.discipline = "codel"'),
        "fq-codel": replace(plain, queue=None, more_queue='queue.discipline = "fq-codel"'),
        "lossy": replace(plain, channel='[channel]\nmodel = "iid"\np_e = 0.02'),
        "bursts": replace(plain, channel='[channel]\nmodel = "markov"\np_e = 0.01\nmean_burst = 5'),
    }


def flows(rate: float) -> dict[str, dict[str, Any]]:
    """Recorded flows by name, each as keys of the scenario, on a link of ``rate`` (bit/s)."""

    def udp(share: float, **more: Any) -> dict[str, Any]:
        return {"tcp": None, "flows": {"u": {"traffic": "udp", "rate": f"{share * rate:.0f} bit/s", **more}}}

    each_s = max(0.02, 1e6 * 8 / rate / 4)
    return {
        "cubic": {},
        "reno": {"tcp.congestion": "reno"},
        "bbr-v1": {"tcp.congestion": "bbr-v1"},
        "bbr-v3": {"tcp.congestion": "bbr-v3"},
        "quic": {"tcp.flavour": "quic", "tcp.variant": None},
        "udp-slow": udp(0.4),
        "udp-poisson": udp(0.5, traffic="poisson"),
        "udp-on-off": udp(0.75, on="0.5 s", off="1 s"),
        "udp-over": udp(1.2),
        "web": {
            "flows": {
                "w": {
                    "traffic": "arrivals",
                    "arrivals_per_s": round(0.5 / each_s * 4, 3),
                    "size": f"{round(rate * each_s / 8 / 4)} B",
                    "sizes": "pareto",
                }
            }
        },
        "two": {"flows": {"two": {"traffic": "bulk", "count": 2, "stagger": "1 s"}}},
        "held": {"flows": {"held": {"traffic": "bulk", "rate": f"{0.5 * rate:.0f} bit/s"}}},
        "iperf3": {},
    }


def iperf(events: Path, file: Path, seconds: float, rtt: float) -> None:
    """Write the JSON log that iperf3 would write at the sender, from the events of a simulated flow."""
    sent: dict[str, float] = {}
    seen: set[str] = set()
    count = int(seconds)
    per: list[dict[str, Any]] = [{"bytes": 0, "again": 0, "trip": rtt} for _ in range(count)]
    with events.open() as rows:
        for row in csv.DictReader(rows):
            at = float(row["time_s"])
            of = per[min(count - 1, int(at))]
            if row["event"] == "send":
                of["again"] += row["seq"] in seen
                seen.add(row["seq"])
                sent[row["seq"]] = at
            elif row["event"] == "receive":
                of["bytes"] += PACKET - 52
                of["trip"] = at - sent.get(row["seq"], at) + rtt / 2
    start = {"test_start": {"protocol": "TCP", "num_streams": 1}, "connected": [{"socket": 5}]}
    intervals = []
    for second, of in enumerate(per):
        sums = {
            "start": second,
            "end": second + 1,
            "seconds": 1,
            "bytes": of["bytes"],
            "bits_per_second": 8 * of["bytes"],
            "retransmits": of["again"],
            "omitted": False,
            "sender": True,
        }
        stream = {
            "socket": 5,
            **sums,
            "snd_cwnd": 100_000,
            "rtt": int(1e6 * of["trip"]),
            "rttvar": 500,
            "pmtu": 1500,
        }
        intervals.append({"streams": [stream], "sum": sums})
    file.write_text(json.dumps({"start": start, "intervals": intervals, "end": {}}))


def record(text: str, name: str, keys: dict[str, Any], folder: Path, seconds: float, rtt: float) -> Path:
    """Record a flow over a path; returns the file: a capture, events of UDP, or a log of iperf3."""
    stem = folder / name.replace("/", "-")
    if name.endswith("iperf3"):
        events = stem.with_suffix(".events")
        cf.runs.write_events(events, text, set=keys)
        iperf(events, stem.with_suffix(".json"), seconds, rtt)
        events.unlink()
        return stem.with_suffix(".json")
    if "tcp" in keys:
        cf.runs.write_events(stem.with_suffix(".csv"), text, set=keys)
        return stem.with_suffix(".csv")
    cf.runs.write_pcap(stem.with_suffix(".pcap"), text, set=keys, snaplen=100)
    return stem.with_suffix(".pcap")


def wrong(fit: cf.fit.LinkFit, path: Route) -> Iterator[str]:
    """Names of the parameters of a fit whose verdict is wrong for the true path."""
    rate, delay, queue = fit.rate, fit.delay, fit.queue
    if rate.verdict == "identified":
        if not rate.low * (1 - RATE_MARGIN) <= path.rate <= rate.high * (1 + RATE_MARGIN):
            yield "rate"
    elif rate.verdict == "bounded" and rate.value > (1 + RATE_MARGIN) * path.rate:
        yield "bound"
    if path.rtt is not None:
        is_held = delay.low * (1 - DELAY_MARGIN) <= path.rtt <= delay.high * (1 + DELAY_MARGIN)
        if delay.verdict == "identified" and not is_held:
            yield "delay"
    if path.queue is not None and queue.verdict == "identified":
        margin = max(2, 0.05 * path.queue)
        if not queue.low - margin <= path.queue <= queue.high + margin:
            yield "queue"


def row(name: str, fit: cf.fit.LinkFit, path: Route) -> str:
    """Row of the printed table: record, true rate, and fitted parameters with their verdicts."""
    of = fit.rate
    ratios = f"{of.value / path.rate:.3f} ({of.low / path.rate:.3f} to {of.high / path.rate:.3f})"
    delay = f"{fit.delay.value * 1e3:.2f} ms, {fit.delay.verdict}"
    queue = f"{fit.queue.value:.0f}, {fit.queue.verdict}"
    said = ", ".join(wrong(fit, path)) or "no"
    cells = [name, f"{path.rate / 1e6:.4g}", fit.model, ratios, of.verdict, delay, queue, said]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Record each flow over each path, fit a link to the record, and print the judgement as a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=12e6, help="bit/s")
    parser.add_argument("--rtt", type=float, default=0.04, help="seconds")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--keep", help="folder for the records; those that are there are not made again")
    parser.add_argument("--warnings", action="store_true", help="print the warnings of each fit")
    options = parser.parse_args()
    seconds = min(LONGEST_S, max(8.0, MOST_PACKETS * 8 * PACKET / options.rate))
    only = [part for part in options.only.split(",") if part]
    print("| record | Mbit/s | model | rate by the true one | verdict | base delay | queue | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    counts = {"identified": [0, 0], "bounded": [0, 0], "not identified": [0, 0]}
    others = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True, parents=True)
        for on, of_path in paths(options.rate, options.rtt, seconds, folder).items():
            path = of_path
            limit = path.queue or max(4, round(options.rate * options.rtt / 8 / PACKET))
            limit = 10 * limit if "codel" in on else limit
            text = TEXT.format(
                link=path.link,
                half=options.rtt * 500,
                queue=f'queue.limit = "{limit} packets"\n{path.more_queue}',
                reverse=path.reverse,
                channel=path.channel,
                seconds=seconds,
                seed=options.seed,
            )
            for by, keys in flows(options.rate).items():
                name, path = f"{on}/{by}", of_path
                if only and not any(part in name for part in only):
                    continue
                try:
                    stem = folder / name.replace("/", "-")
                    kept = [
                        file for end in (".pcap", ".csv", ".json") if (file := stem.with_suffix(end)).exists()
                    ]
                    file = kept[0] if kept else record(text, name, keys, folder, seconds, options.rtt)
                    fit = cf.fit.link(file)
                    if path.peak and by in NEVER_EMPTY:
                        path = replace(path, rate=path.peak)
                except CrossfadeError as error:
                    print(f"| {name} | | | | refused: {error} | | | no |", flush=True)
                    continue
                print(row(name, fit, path), flush=True)
                if options.warnings:
                    for warning in fit.warnings:
                        print("  -", warning)
                found = list(wrong(fit, path))
                counts[fit.rate.verdict][0] += 1
                counts[fit.rate.verdict][1] += "rate" in found or "bound" in found
                others += "delay" in found or "queue" in found
    print()
    for verdict, (count, missed) in counts.items():
        print(f"- rate {verdict}: {count}, wrong {missed}")
    print(f"- delay or queue identified and wrong: {others}")


if __name__ == "__main__":
    main()
