"""Unusual traffic through a live link: malformed packets, fragments, multicast, IPv6, a flood."""

from __future__ import annotations

import csv
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.live_runs import live, need, need_live
from tests.conftest import Cli, long_form

# UDP echo server for IPv4 and IPv6.
ECHO = """\
import select, socket
servers = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
servers[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
for server in servers:
    server.bind(("", 7777))
while True:
    for server in select.select(servers, [], [])[0]:
        data, peer = server.recvfrom(65535)
        server.sendto(data, peer)
"""

# Client of the echo server; its arguments are the address and the number of bytes.
ASK = """\
import os, socket, sys
address, size = sys.argv[1], int(sys.argv[2])
asking = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(1.0)
for _ in range(20):
    asking.sendto(bytes(range(256)) * (size // 256), (address, 7777))
    try:
        print(asking.recv(65535) == bytes(range(256)) * (size // 256))
        break
    except TimeoutError:
        continue
"""

# Sends malformed packets through a packet socket.
BROKEN = """\
import random, socket, struct
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
out.bind(("tun0", 0x0800))
draws, sent, refused = random.Random(7), 0, 0
def header(version=4, words=5, length=None, offset=0, protocol=17, to=(10, 77, 0, 1), body=b""):
    length = words * 4 + len(body) if length is None else length
    return struct.pack(">BBHHHBBH4B4B", version << 4 | words, 0, length, 1, offset, 64, protocol, 0,
                       10, 77, 0, 2, *to) + body
packets = [draws.randbytes(draws.randrange(1, 1500)) for _ in range(200)]
packets += [bytes([version << 4]) * 40 for version in range(16)]
packets += [header()[:size] for size in range(1, 20)]
packets += [header(words=15), header(words=0), header(length=9000), header(length=0)]
packets += [header(protocol=6, body=bytes(size)) for size in range(0, 20)]
packets += [header(offset=place, body=bytes(24)) for place in (0x2000, 0x2001, 0x1fff, 0x3fff)]
packets += [header(to=(224, 0, 0, 251), body=bytes(20)), header(to=(255, 255, 255, 255), body=bytes(20))]
packets += [b"\\x60" + bytes(39), b"\\x60" + bytes(12), b"\\x60" + b"\\xff" * 60]
for packet in packets + [bytes(1501), bytes(60000)]:
    try:
        out.send(packet)
        sent += 1
    except OSError:
        refused += 1
print(sent, refused)
"""


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    need_live()
    path = tmp_path / "echo.py"
    path.write_text(ECHO)
    (tmp_path / "ask.py").write_text(ASK)
    (tmp_path / "broken.py").write_text(BROKEN)
    return path


def through(echo: Path, *options: str, script: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Words printed by a shell script beside the echo server, and the counts of both directions."""
    report = echo.parent / "report.json"
    outputs = ["--delay", "2 ms", *options, "--json", str(report)]
    done = live(*outputs, "--far", f"python3 {echo}", "--", "sh", "-c", f"cd {echo.parent}; {script}")
    assert done.returncode == 0, done.stderr
    ways: list[dict[str, Any]] = json.loads(report.read_text())["directions"]
    for way in ways:
        assert way["packets"] == way["arrived"] + way["lost"] + way["dropped"] + way["left"]
        assert way["ring_drops"] == 0
    return done.stdout.split(), ways


@pytest.mark.parametrize("queue", ["drop-tail", long_form("fq-codel")])
def test_broken_packets_pass_and_harm_nothing(echo: Path, queue: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can send broken packets")
    scenario = echo.parent / "link.toml"
    kind = "" if queue == "drop-tail" else ', discipline = "fq-codel"'
    scenario.write_text(
        "schema = 1\nchannel = { model = 'iid', p_e = 0 }\n"
        "link = { rate = '50 Mbit/s', packet_size = '1500 B', "
        f"queue = {{ limit = '1000 packets'{kind} }} }}\n"
        "reverse = { rate = '50 Mbit/s', queue = { limit = '1000 packets' } }\n"
        "tcp = { flavour = 'rfc', variant = 'sack' }\n"
    )
    report, journal = echo.parent / "report.json", echo.parent / "rec.cfj"
    script = f"cd {echo.parent}; python3 broken.py; python3 ask.py $CROSSFADE_SERVER 1024"
    outputs: list[str | Path] = ["--json", report, "--record", journal]
    done = live(scenario, *outputs, "--far", f"python3 {echo}", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    sent, refused, echoed = done.stdout.split()
    assert (int(refused), echoed) == (2, "True"), (
        "what is larger than the MTU is refused by the sender's kernel"
    )
    up = json.loads(report.read_text())["directions"][1]
    # The far kernel does not accept packets that are not IP.
    assert up["packets"] == int(sent) + 1 == up["arrived"] + up["lost"] + up["dropped"] + up["left"]
    assert up["undeliverable"] > 0


def test_fragments_are_put_together(echo: Path) -> None:
    words, ways = through(echo, script="python3 ask.py $CROSSFADE_SERVER 8192")
    assert words == ["True"]
    assert [way["packets"] for way in ways] == [6, 6], "8,200 bytes in pieces of 1,480"


def test_ipv6_is_there_where_it_is_asked_for(echo: Path) -> None:
    if not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("the kernel has no IPv6")
    script = 'python3 ask.py "$CROSSFADE_SERVER6" 4096; grep -c fd77 /proc/net/if_inet6'
    words, ways = through(echo, "--ipv6", script=script)
    assert words == ["True", "1"]
    assert min(way["arrived"] for way in ways) >= 3
    words, ways = through(
        echo, script="cat /proc/net/if_inet6 | grep -v ' lo$' | wc -l; echo $CROSSFADE_SERVER6"
    )
    assert words == ["0"]
    assert [way["packets"] for way in ways] == [0, 0], "no chatter of its own"


def test_a_flood_is_dropped_and_memory_bounded(echo: Path) -> None:
    """A flood at ten times the link's rate is dropped; the long form is ``python bench/live_trials.py
    flood``.
    """
    need("python3")
    flood = echo.parent / "flood.py"
    flood.write_text(
        "import os, socket\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(6000): out.sendto(bytes(1400), (os.environ['CROSSFADE_SERVER'], 9))\n"
        "print(open(f'/proc/{os.getppid()}/status').read().count('VmRSS'))\n"
    )
    options = ["--rate", "5 Mbit/s", "--queue", "50 packets"]
    words, ways = through(echo, *options, script="python3 flood.py; sleep 0.3")
    up = ways[1]
    assert (words, up["packets"]) == (["1"], 6000)
    assert up["dropped"] > 5000


def test_opportunities_are_those_of_the_trace(tmp_path: Path, cli: Cli) -> None:
    """A saturated link that carries a packet each 2 ms gives a trace with one line each 2 ms, which a
    scenario can read.
    """
    need_live()
    down, up = tmp_path / "down.trace", tmp_path / "up.trace"
    flood = (
        "import os, socket\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(300): out.sendto(bytes(1472), (os.environ['CROSSFADE_SERVER'], 9))\n"
    )
    (tmp_path / "flood.py").write_text(flood)
    options = ["--rate", "6 Mbit/s", "--queue", "1000 packets", "--opportunities", f"{down},{up}"]
    done = live(*options, "--", "python3", str(tmp_path / "flood.py"))
    assert done.returncode == 0, done.stderr
    times = [int(line) for line in up.read_text().split()]
    assert len(times) == 300, "what is on its way when COMMAND ends still arrives"
    # Except when the program was not scheduled to send.
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) == 2
    assert gaps.count(2) > 285
    scenario = tmp_path / "again.toml"
    scenario.write_text(
        "schema = 1\nrun = { duration = '20 s', runs = 1 }\nchannel = { model = 'iid', p_e = 0 }\n"
        f"link = {{ packet_size = '1500 B', trace = {{ opportunities = '{up}' }} }}\n"
        "tcp = { flavour = 'rfc', variant = 'sack' }\n"
    )
    outcome = cli("run", scenario, "--csv", "-", "--quiet")
    assert outcome.code == 0, outcome.err
    (row,) = csv.DictReader(outcome.out.splitlines())
    # The trace repeats after its last line.
    carried_bps = 300 * 1460 * 8 / (times[-1] / 1e3)
    assert 0.8 < float(row["goodput_bps"]) / carried_bps < 1.05
