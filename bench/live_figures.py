"""Throughput, delay and timing precision of `crossfade live`, beside the minimal forwarder bench/forward.c.

Usage: python bench/live_figures.py [--seconds S] [CASE ...]

The cases are pass-through, large-segments, round-trip, delays, lateness and processor; a CASE is the
beginning of a name, and without one all run. Transfers of iperf3 last S seconds (4) each, all cases some two
minutes. Prints a line for each measured value, with its unit (Gbit/s, us, or % of a processor), its bound and
whether it holds. The exit code is 1 if a bound does not hold or the kernel dropped packets before the
emulator saw them. Needs root, iperf3, ping, cc and ip, and cores without other work.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIVE = [sys.executable, "-m", "crossfade", "live", "--quiet"]
SERVER = "iperf3 -s -1"
# Number of turns, each with the forwarder and then crossfade live; the medians are compared.
TURNS = 3
LOAD = 7

ARQ = """\
schema = 1
channel = { model = "iid", p_e = 0.1 }
reverse = { rate = "10 Mbit/s", delay = "1 ms" }
tcp = { flavour = "rfc", variant = "cubic" }
[link]
rate = "10 Mbit/s"
packet_size = "1500 B"
frame_size = "125 B"
queue = { limit = "100 packets" }
arq = { protocol = "selective-repeat", window = 1024, max_retransmissions = 10 }
"""

SLOTS = """\
import os, socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin, number = time.monotonic(), 0
while (now := time.monotonic() - begin) < float(sys.argv[1]):
    while number < now * 1500:
        out.sendto(bytes(1000), (os.environ["CROSSFADE_SERVER"], 9))
        number += 1
    time.sleep(1 / 1500)
"""

# Program that measures RTTs like ping, but to 0.1 us, since ping prints three digits.
ECHO = """\
import socket, struct, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
out.connect((sys.argv[1], 0))
for number in range(int(sys.argv[2])):
    request = struct.pack("!BBHHH", 8, 0, 0xF7FF - 1 - number, 1, number)
    begin = time.perf_counter_ns()
    out.send(request)
    while out.recv(200)[20:] != struct.pack("!BBHHH", 0, 0, 0xFFFF - 1 - number, 1, number):
        pass
    print(f"time={(time.perf_counter_ns() - begin) / 1e6:.4f} ms")
    time.sleep(float(sys.argv[3]))
"""


@dataclass(frozen=True)
class Figure:
    """A measured value with its unit; it is good if at least ``least`` and at most ``most``."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def is_good(self) -> bool:
        is_enough = self.least is None or self.value >= self.least
        return is_enough and (self.most is None or self.value <= self.most)

    def __str__(self) -> str:
        wanted = "-"
        if self.least is not None:
            wanted = f">= {self.least:g}"
        if self.most is not None:
            wanted = f"<= {self.most:g}"
        verdict = "" if wanted == "-" else "  ok" if self.is_good else "  NOT REACHED"
        return f"{self.name:<64}{self.value:>10.4g} {self.unit:<7}{wanted:>10}{verdict}"


class Bench:
    """Runs programs over emulator or forwarder, and counts packets that the kernel dropped first."""

    def __init__(self, seconds: float, folder: Path) -> None:
        self.seconds, self.folder, self.ring_drops = seconds, folder, 0
        self._forwarder, self._wake = folder / "forward", folder / "wake"
        for program in (self._forwarder, self._wake):
            source = Path(__file__).with_name(f"{program.name}.c")
            subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
        (folder / "arq.toml").write_text(ARQ)
        (folder / "slots.py").write_text(SLOTS)
        (folder / "echo.py").write_text(ECHO)

    @property
    def client(self) -> str:
        return f"iperf3 -R -J -t {self.seconds:g} -c 10.77.0.1"

    def forwarder(self, mtu: int = 1500, *large: str) -> float:
        """Goodput of one TCP flow through the forwarder, in Gbit/s."""
        done = subprocess.run(
            [self._forwarder, f"{SERVER} > /dev/null", self.client, str(mtu), *large],
            capture_output=True,
            text=True,
            check=True,
        )
        return goodput(done.stdout)

    def bare_ping(self) -> float:
        """The median RTT of pings through the forwarder, in microseconds."""
        return self._bare(self._ping("10.77.0.1"))

    def bare_echo(self, pause_s: float) -> float:
        """Like `bare_ping`, but to 0.1 us, from a Python program with ``pause_s`` seconds between echoes."""
        return self._bare(self._echo("10.77.0.1", pause_s))

    def bare_echo_held(self, delay_ms: int) -> float:
        """Like `bare_echo`, but the forwarder holds each packet ``delay_ms``, awake for the last 0.1 ms."""
        return self._bare(self._echo("10.77.0.1"), "1500", str(1000 * delay_ms))

    def _bare(self, command: list[str], *how: str) -> float:
        near = " ".join(command)
        done = subprocess.run(
            [self._forwarder, "sleep 1000", near, *how], capture_output=True, text=True, check=True
        )
        return median_ping(done.stdout)

    def wake(self) -> list[float]:
        """The four wake-up and system call times that bench/wake.c prints, in microseconds."""
        done = subprocess.run([self._wake], capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    def _ping(self, address: str) -> list[str]:
        return ["ping", "-i", "0.005", "-c", str(max(50, int(self.seconds / 0.01))), address]

    def _echo(self, address: str, pause_s: float = 0.005) -> list[str]:
        count = max(50, int(self.seconds / 0.05))
        return [sys.executable, str(self.folder / "echo.py"), address, str(count), str(pause_s)]

    def live(self, *options: str, command: list[str]) -> tuple[str, dict[str, Any], float]:
        """Output of a command over `crossfade live`, its report, and its share of a processor."""
        report = self.folder / "report.json"
        printed = self.folder / "printed"
        with printed.open("w") as out:
            running = subprocess.Popen(
                [*LIVE, *options, "--json", str(report), "--", *command],
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
        began, used = time.monotonic(), 0.0
        first: tuple[float, float] | None = None
        last = (0.0, 0.0)
        while running.poll() is None:
            now = (time.monotonic(), cpu_seconds(running.pid))
            # Starting takes a second of processor time, which is not the emulation's.
            if now[0] - began > 1.5:
                first, last = first or now, now if now[1] else last
            time.sleep(0.05)
        if first is not None and last[0] > first[0]:
            used = (last[1] - first[1]) / (last[0] - first[0])
        if running.returncode:
            raise SystemExit(f"{' '.join(options)}: crossfade live ended with {running.returncode}")
        found = json.loads(report.read_text())
        self.ring_drops += sum(way["ring_drops"] for way in found["directions"])
        return printed.read_text(), found, used

    def flow(self, *options: str) -> tuple[float, dict[str, Any]]:
        """Goodput in Gbit/s of one TCP flow over `crossfade live` with these options, and the report."""
        printed, found, _ = self.live(*options, "--far", f"{SERVER} > /dev/null", command=self.client.split())
        return goodput(printed), found

    def ping(self, *options: str) -> float:
        """The median RTT of pings over `crossfade live` with these options, in microseconds."""
        return median_ping(self.live(*options, command=self._ping("10.77.0.1"))[0])

    def echo(self, *options: str) -> float:
        """Like `ping`, but to 0.1 us, from a Python program."""
        return median_ping(self.live(*options, command=self._echo("10.77.0.1"))[0])


def median_ping(text: str) -> float:
    """Median of the times that ping printed, in microseconds."""
    times = [float(line.split("time=")[1].split()[0]) for line in text.splitlines() if "time=" in line]
    return 1e3 * statistics.median(times)


def goodput(text: str) -> float:
    """Goodput at the receiver in the JSON output of iperf3, in Gbit/s."""
    return float(json.loads(text)["end"]["sum_received"]["bits_per_second"]) / 1e9


def cpu_seconds(pid: int) -> float:
    """Processor time of a process in seconds; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run ``count`` programs that only compute, for the duration of the context."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def lateness_us(report: dict[str, Any]) -> float:
    """99th percentile of the lateness of packets in the direction of the data, in microseconds."""
    return 1e6 * float(report["directions"][0]["lateness_p99_s"] or 0.0)


def pass_through(bench: Bench) -> Iterator[Figure]:
    """One TCP flow with packets of 1500 B through the forwarder, and through a link without delay."""
    ours, bare = [], []
    for _ in range(TURNS):
        bare.append(bench.forwarder())
        ours.append(bench.flow("--delay", "0 ms", "--no-large-segments")[0])
    yield Figure("bare C forwarder, one TCP flow, packets of 1500 B", statistics.median(bare), "Gbit/s")
    yield Figure("crossfade live, one TCP flow, packets of 1500 B", statistics.median(ours), "Gbit/s")
    yield Figure(
        "ratio of crossfade live to the forwarder",
        statistics.median(ours) / statistics.median(bare),
        "",
        least=0.9,
    )


def large_segments(bench: Bench) -> Iterator[Figure]:
    """One TCP flow with packets of up to 65,535 B, or with segments that the emulator cuts."""
    yield Figure("bare C forwarder, packets of 65,535 B", bench.forwarder(65535), "Gbit/s")
    whole = bench.flow("--delay", "0 ms", "--mtu", "65535")[0]
    yield Figure("a link that only delays (0 ms), packets of 65,535 B", whole, "Gbit/s", least=20.0)
    # A longer round trip needs a larger window than the kernel's usual 3 MB.
    whole = bench.flow("--delay", "0.1 ms", "--mtu", "65535")[0]
    yield Figure("a link that only delays (0.1 ms), packets of 65,535 B", whole, "Gbit/s", least=20.0)
    bare = bench.forwarder(1500, "large")
    yield Figure("bare C forwarder, large segments of 1500 B packets, not cut", bare, "Gbit/s")
    for delay in ("0 ms", "0.1 ms"):
        cut = bench.flow("--delay", delay)[0]
        yield Figure(f"a link that only delays ({delay}), large segments, cut inside", cut, "Gbit/s")
    fast = ["--rate", "20 Gbit/s", "--queue", "10000 packets"]
    yield Figure("a link of 20 Gbit/s, packets of 1500 B", bench.flow(*fast)[0], "Gbit/s")
    yield Figure(
        "a link of 20 Gbit/s, large segments, cut inside", bench.flow(*fast, "--large-segments")[0], "Gbit/s"
    )


def round_trip(bench: Bench) -> Iterator[Figure]:
    """RTT of pings through links without delay, beside the wake-up times of the machine."""
    elsewhere, here, _, _ = bench.wake()
    yield Figure("this machine wakes a sleeping thread, after 5 ms", elsewhere, "us")
    yield Figure("a sleeping thread on the same processor, after 5 ms", here, "us")
    yield Figure("round trip through the bare C forwarder, median", bench.bare_ping(), "us")
    yield Figure("round trip through two links, median", bench.ping("--delay", "0 ms"), "us", most=15.0)
    fast = bench.ping("--delay", "0 ms", "--realtime")
    yield Figure("round trip through two links with --realtime, median", fast, "us", most=15.0)


def delays(bench: Bench) -> Iterator[Figure]:
    """Error of the RTT through links with a delay of 2 and of 40 ms."""
    _, _, at_once, cold = bench.wake()
    yield Figure("two system calls at once, median", at_once, "us")
    yield Figure("two system calls after 40 ms of sleep, median", cold, "us")
    for asked_ms in (2, 40):
        # The forwarder sleeps for as long as the emulator does while a packet is in the links.
        bare_us = bench.bare_echo(2e-3 * asked_ms)
        found_us = bench.echo("--delay", f"{asked_ms} ms") - 2e3 * asked_ms
        name = f"delay of {asked_ms} ms each way, error of the median round trip"
        yield Figure(name, found_us, "us", most=50.0)
        yield Figure("  beyond the round trip of the bare forwarder", found_us - bare_us, "us")
        held_us = bench.bare_echo_held(asked_ms) - 2e3 * asked_ms
        yield Figure("  error of the bare forwarder, holding packets as long", held_us, "us")


def lateness(bench: Bench) -> Iterator[Figure]:
    """99th percentile of lateness at 100 Mbit/s, over ARQ, and beside busy programs."""
    rate = ["--rate", "100 Mbit/s", "--delay", "5 ms"]
    yield Figure("lateness at 100 Mbit/s of TCP, p99", lateness_us(bench.flow(*rate)[1]), "us", most=30.0)
    arq = lateness_us(bench.flow(str(bench.folder / "arq.toml"))[1])
    yield Figure("lateness over ARQ, 10,000 frames/s, p99", arq, "us", most=120.0)
    with busy(LOAD):
        late = lateness_us(bench.flow(*rate, "--realtime")[1])
    yield Figure(
        f"lateness at 100 Mbit/s beside {LOAD} busy programs, --realtime, p99", late, "us", most=200.0
    )


def processor(bench: Bench) -> Iterator[Figure]:
    """Share of a processor that the emulator takes with 1500 packets/s, and without packets."""
    slots = [sys.executable, str(bench.folder / "slots.py"), f"{bench.seconds + 2:g}"]
    used = bench.live("--rate", "20 Mbit/s", command=slots)[2]
    yield Figure("1500 packets/s, share of a processor", 100.0 * used, "%", most=15.0)
    used = bench.live("--rate", "20 Mbit/s", command=["sleep", f"{bench.seconds + 2:g}"])[2]
    yield Figure("nothing is sent, share of a processor", 100.0 * used, "%", most=1.0)


CASES: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "pass-through": pass_through,
    "large-segments": large_segments,
    "round-trip": round_trip,
    "delays": delays,
    "lateness": lateness,
    "processor": processor,
}


def main(arguments: list[str]) -> int:
    """Measure the chosen cases and print a line for each value."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a transfer (default: 4)")
    asked = parser.parse_args(arguments)
    chosen = [
        case
        for name, case in CASES.items()
        if not asked.cases or any(name.startswith(c) for c in asked.cases)
    ]
    if missing := [name for name in ("iperf3", "ping", "cc", "ip") if shutil.which(name) is None]:
        print(f"error: {', '.join(missing)}: not installed", file=sys.stderr)
        return 2
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.seconds, Path(folder))
        for case in chosen:
            for figure in case(bench):
                print(figure, flush=True)
                is_good &= figure.is_good
        drops = Figure("packets dropped before the emulator saw them, in all", bench.ring_drops, "", most=0.0)
        print(drops)
    return 0 if is_good and drops.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
