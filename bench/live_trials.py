"""Robustness of `crossfade live`: processes killed at random, Ctrl-C at any moment, a flood of packets.

Usage: python bench/live_trials.py [kill | interrupt | flood] [N]

N is the number of trials (100), or the seconds of the flood (60); without a kind all three run. A trial
starts a live run with programs that never end; after up to 2.5 s `kill` kills one of its processes at random,
`interrupt` sends SIGINT. Prints a line for each kind. The exit code is 1 if a process, network namespace,
device or route is left, or if under the flood (UDP at ten times the rate of the link) the memory of the
emulator grows by more than 50 MiB. The trials run in a process namespace of their own (`unshare --pid`, as
root), so that they count no processes of others.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

LIVE = [sys.executable, "-m", "crossfade", "live"]
MARK = "CROSSFADE_TRIAL"
PATIENCE_S = 10.0


def processes(mark: str) -> list[int]:
    """Process ids of all processes with this mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def state() -> tuple[set[str], set[str], str]:
    """Network namespaces in use, names of network devices, and the routing table."""
    namespaces = set()
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            namespaces.add(os.readlink(entry))
        except OSError:
            continue
    return (
        namespaces,
        {device.name for device in Path("/sys/class/net").iterdir()},
        Path("/proc/net/route").read_text(),
    )


def start(mark: str) -> subprocess.Popen[bytes]:
    """Start a live run with a tree of programs that never end."""
    command = [*LIVE, "--rate", "5 Mbit/s", "--far", "sleep 1000 & sleep 1000", "--quiet", "--"]
    command += ["sh", "-c", "ping -q 10.77.0.1 > /dev/null & sleep 1000 | sleep 1000"]
    env = {**os.environ, MARK: mark}
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, start_new_session=True)


def trials(kind: str, count: int) -> int:
    """Run ``count`` trials that kill a process or send SIGINT; return 1 if anything is left, else 0."""
    draws, left = random.Random(1), 0
    before = state()
    for number in range(count):
        mark = f"{os.getpid()}-{number}"
        running = start(mark)
        time.sleep(draws.uniform(0.0, 2.5))
        if kind == "kill":
            if victims := processes(mark):
                with suppress(ProcessLookupError):
                    os.kill(draws.choice(victims), signal.SIGKILL)
            time.sleep(0.1)
        # A killed leaf process may leave its shell waiting on a pipe, which the user would end by Ctrl-C.
        until = time.monotonic() + PATIENCE_S
        while processes(mark) and time.monotonic() < until:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGINT)
            time.sleep(0.1)
        left += bool(processes(mark))
        for pid in processes(mark):
            os.kill(pid, signal.SIGKILL)
        running.wait()
    time.sleep(0.5)
    after = state()
    same = after[0] <= before[0] and after[1:] == before[1:]
    print(f"{kind}: {count} trials, {left} left processes; devices, namespaces and routes as before: {same}")
    return 1 if left or not same else 0


RATE_BPS = 20e6
TIMES = 10
FLOOD = f"""
import os, socket, time
PAYLOAD, AT_ONCE, RATE = 1400, 40, {TIMES * RATE_BPS:g} / 8 / 1428
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, PAYLOAD)  # UDP_SEGMENT: the kernel cuts what is sent at once
begin, sent = time.monotonic(), 0
while (now := time.monotonic() - begin) < {{seconds}}:
    while sent < now * RATE:
        s.sendto(bytes(PAYLOAD * AT_ONCE), (os.environ["CROSSFADE_SERVER"], 9))
        sent += AT_ONCE
    time.sleep(AT_ONCE / RATE)
"""


def flood(seconds: int) -> int:
    """Send UDP at ten times the rate of a link; return 1 if the emulator's memory grows too much."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        client = FLOOD.format(seconds=seconds)
        command = [*LIVE, "--rate", f"{RATE_BPS:g} bit/s", "--delay", "20 ms", "--quiet"]
        command += ["--json", str(report), "--"]
        running = subprocess.Popen([*command, sys.executable, "-c", client], stderr=subprocess.DEVNULL)
        peaks = []
        while running.poll() is None:
            try:
                status = Path(f"/proc/{running.pid}/status").read_text()
                peaks.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
            except (OSError, IndexError):
                pass
            time.sleep(0.25)
        up = json.loads(report.read_text())["directions"][1]
    middle, last = peaks[len(peaks) // 2], max(peaks)
    times = up["packets"] * 1428 * 8 / seconds / RATE_BPS
    print(
        f"flood: {up['packets']} packets in {seconds} s, {times:.1f} times what the link takes, "
        f"{up['dropped']} dropped by the queue, "
        f"{up['ring_drops']} never seen; memory {middle:.0f} MiB half-way, {last:.0f} MiB at most; "
        f"exit code {running.returncode}"
    )
    is_flood = times >= 0.99 * TIMES
    return 1 if running.returncode or last > middle + 50 or not is_flood else 0


def main(arguments: list[str]) -> int:
    """Run the trials of one kind, or of all, in a process namespace of their own."""
    if os.getpid() != 1:
        # A process namespace excludes processes that other users start meanwhile.
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable]
        return subprocess.run([*apart, *sys.argv], check=False).returncode
    kind = arguments[0] if arguments else "all"
    count = int(arguments[1]) if len(arguments) > 1 else 0
    code = 0
    if kind in ("kill", "interrupt", "all"):
        for one in ("kill", "interrupt") if kind == "all" else (kind,):
            code |= trials(one, count or 100)
    if kind in ("flood", "all"):
        code |= flood(count or 60)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
