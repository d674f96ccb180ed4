"""The kernel's bbr beside the simulated one over the same links, and its AccECN beside the marks of our queue.

Usage: python bench/live_bbr.py [--pairs N] [--most N] [--seconds S] [--out FILE] [CASE ...]

Each pair is a simulated and a live run with one seed. Of each case the mean difference between live and simulated is printed
with its 95 % interval and its bound, which is fixed here: goodput within 5 % (10 % where 15 % of packets or more are lost),
mean queueing delay within 2 ms, bbr's share beside CUBIC within 0.05. After --pairs (6) a case goes on, up to --most (12),
while an interval does not decide. Rows are kept in --out (live_bbr.csv): the same command goes on from there. `accecn` needs
tshark: a Reno of the kernel that negotiates AccECN behind a CoDel that marks; what the three bits of its acknowledgements add up
to, as tshark reads them, is the number of marked packets that came. A CASE is the beginning of a name.
Needs root, and for figures a quiet machine; about 45 s a pair.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from live_pairs import interval

import crossfade as cf

BASE = """\
schema = 2
run = { runs = 1 }
link = { rate = "10 Mbit/s", delay = "20 ms", packet_size = "1500 B", queue = { limit = "167 packets" } }
reverse = { rate = "10 Mbit/s", delay = "20 ms", queue = { limit = "1000 packets" } }
channel = { model = "iid", p_e = 0 }
tcp = { flavour = "rfc", variant = "sack", w_max = 2000, congestion = "bbr-v1", rfc = { profile = "linux" } }
"""
COLUMNS = ["case", "metric", "seed", "seconds", "simulated", "live", "lateness_p99_s"]
# A bandwidth-delay product of 10 Mbit/s and 40 ms.
BDP_PACKETS = 34


def cases() -> dict[str, tuple[dict[str, Any], dict[str, float]]]:
    """Keys to set and the bounds of metrics, by the name of a case."""
    found: dict[str, tuple[dict[str, Any], dict[str, float]]] = {}
    for loss in (0, 1, 5, 10, 15, 20):
        bounds = {"goodput": 0.05 if loss < 15 else 0.10, "queueing_ms": 2.0}
        found[f"loss-{loss}"] = ({"channel.p_e": loss / 100}, bounds)
    for bdps in (1, 2, 4, 8, 16, 32):
        flows = {"bbr": {"traffic": "bulk"}, "cubic": {"traffic": "bulk", "tcp": {"congestion": "cubic"}}}
        keys = {"flows": flows, "link.queue.limit": f"{bdps * BDP_PACKETS} packets"}
        found[f"share-{bdps}"] = (keys, {"share": 0.05})
    for persistence in (0, 3, 10):
        found[f"fading-{persistence}"] = (
            {
                "link.frame_size": "500 B",
                "link.arq": {
                    "protocol": "selective-repeat",
                    "window": 1024,
                    "max_retransmissions": persistence,
                },
                "channel": {"model": "markov", "p_e": 0.05, "mean_burst": 10},
            },
            {"goodput": 0.05},
        )
    return found


def values(point: Any) -> dict[str, float]:
    """What a point has of all metrics here."""
    found = {"goodput": point.metrics["goodput_bps"].value}
    queue = next(link for link in point.links if link.name == "forward").metrics.get("queueing_delay_mean_s")
    if queue is not None:
        found["queueing_ms"] = 1e3 * queue.value
    flows = {flow.name: flow.metrics["goodput_bps"].value for flow in point.flows}
    if "cubic" in flows:
        found["share"] = flows["bbr"] / (flows["bbr"] + flows["cubic"])
    return found


def pair(name: str, keys: dict[str, Any], seed: int, seconds: float) -> list[dict[str, Any]]:
    """The rows of one simulated and one live run."""
    keys = {"run.duration": f"{seconds:g} s", **keys}
    simulated, live = cf.run(BASE, set=keys, seed=seed, methods=["simulation", "live"], cache=False).points
    ours, theirs = values(simulated), values(live)
    row = {
        "case": name,
        "seed": seed,
        "seconds": seconds,
        "lateness_p99_s": live.metrics["lateness_p99_s"].value,
    }
    return [
        {**row, "metric": metric, "simulated": ours[metric], "live": theirs[metric]}
        for metric in ours
        if metric in theirs
    ]


def differences(rows: list[dict[str, Any]], name: str, metric: str, seconds: float) -> list[float]:
    """Live less simulated of each pair; of goodput as a share of it."""
    found = []
    for row in rows:
        if (row["case"], row["metric"], float(row["seconds"])) == (name, metric, seconds):
            difference = float(row["live"]) - float(row["simulated"])
            found.append(difference / float(row["simulated"]) if metric == "goodput" else difference)
    return found


def verdict(found: list[float], bound: float) -> str:
    """Whether the mean difference is within its bound, as far as that is decided."""
    mean, half = interval(found)
    if abs(mean) + half <= bound:
        return "within"
    return "differs" if abs(mean) - half > bound else "open"


def accecn(seconds: float) -> int:
    """Marked packets that came, beside the counts in the acknowledgements of the kernel's receiver."""
    text = BASE.replace('congestion = "bbr-v1", rfc = { profile = "linux" }', "@").replace(
        "@", 'congestion = "reno", rfc = { profile = "linux", ecn = true, accurate_ecn = true }'
    )
    codel = 'queue = { discipline = "codel", limit = "200 packets", ecn = true }'
    text = text.replace('queue = { limit = "167 packets" }', codel)
    with tempfile.TemporaryDirectory() as folder:
        scenario, near, far = (Path(folder) / name for name in ("accecn.toml", "near.pcap", "far.pcap"))
        scenario.write_text(text)
        live = [sys.executable, "-m", "crossfade", "live", str(scenario), "--workload", "bulk", "--quiet"]
        live += ["--duration", f"{seconds:g} s", "--pcap", f"{near},{far}"]
        subprocess.run(live, check=True)

        def read(pcap: Path, chosen: str, field: str) -> list[str]:
            command = ["tshark", "-r", str(pcap), "-n", "-Y", chosen, "-T", "fields", "-e", field]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

        marked = len(read(near, "tcp.len > 0 && ip.dsfield.ecn == 3", "ip.dsfield.ecn"))
        asked = read(near, "tcp.flags.syn == 1", "tcp.flags.ace")
        # The receiver's own acknowledgements, as they left: none is lost there.
        fields = read(near, "tcp.len == 0 && tcp.flags.syn == 0 && tcp.flags.fin == 0", "tcp.flags.ace")
        count, last = 0, 5
        for ace in map(int, fields):
            count, last = count + (ace - last) % 8, ace
        print(f"accecn: SYN, SYN-ACK with ACE {asked}; {marked} packets came marked, the acknowledgements count {count}")
        return 0 if marked == count and marked > 0 else 1


def main(arguments: list[str]) -> int:
    """Make what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("live_bbr.csv"))
    asked = parser.parse_args(arguments)
    chosen = [
        name for name in [*cases(), "accecn"] if not asked.cases or any(map(name.startswith, asked.cases))
    ]
    if not chosen:
        print(f"error: no such case; there are {', '.join(cases())}, accecn", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = list(csv.DictReader(asked.out.open())) if asked.out.exists() else []
    with asked.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        for name in chosen:
            if name == "accecn":
                return accecn(asked.seconds)
            keys, bounds = cases()[name]
            while True:
                found = {metric: differences(rows, name, metric, asked.seconds) for metric in bounds}
                pairs = min(map(len, found.values()))
                is_open = pairs > 1 and "open" in (verdict(found[metric], bounds[metric]) for metric in found)
                if pairs >= asked.pairs and not (is_open and pairs < asked.most):
                    break
                new = pair(name, keys, pairs + 1, asked.seconds)
                writer.writerows(new)
                file.flush()
                rows += new
            for metric, bound in bounds.items():
                mean, half = interval(found[metric])
                print(f"{name:<12}{metric:<14}{pairs:>4}{mean:>10.3f} ± {half:.3f}", end="")
                print(f"  bound {bound:g}: {verdict(found[metric], bound)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
