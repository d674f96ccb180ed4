"""Large segments that a live link cuts itself: packets on the link, in captures and in the journal."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.live_runs import SCENARIO, live, need, need_live
from tests.conftest import Cli, long_form

DATAGRAMS = """\
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
for number in range(20):
    s.sendto(bytes([number]) * 9500, (os.environ["CROSSFADE_SERVER"], 9))
    time.sleep(0.01)  # the receiver's buffer is small
"""
SERVER = """\
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.1", 9))
s.settimeout(30)
with open(sys.argv[1], "wb") as came:
    for _ in range(200): came.write(b"%d " % len(s.recv(65536)))
"""


@pytest.fixture(autouse=True)
def _live() -> None:
    need_live()


@pytest.mark.parametrize("link", [long_form("only loses"), "hop"])
def test_a_download_in_large_segments(link: str, tmp_path: Path, cli: Cli) -> None:
    need("curl", "tshark")
    data = random.Random(1).randbytes(5_000_000 if link == "only loses" else 2_000_000)
    (tmp_path / "file").write_bytes(data)
    names = ("got", "near.pcap", "far.pcap", "rec.cfj", "report.json")
    got, near, far, journal, report = (tmp_path / name for name in names)
    (tmp_path / "hop.toml").write_text(SCENARIO.replace("20 Mbit/s", "200 Mbit/s"))
    hop: list[str | Path] = [tmp_path / "hop.toml", "--large-segments"]
    options: list[str | Path] = ["--loss", "0.5 %", "--delay", "1 ms"] if link == "only loses" else hop
    options += ["--serve", tmp_path, "--pcap", f"{near},{far}", "--record", journal, "--json", report]
    done = live(*options, "--", "sh", "-c", f"curl -sf -o {got} $CROSSFADE_SERVER/file")
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(data).digest()
    replayed = cli("run", "--replay", journal).out
    assert replayed.count("identical") == 2, replayed
    down = json.loads(report.read_text())["directions"][0]
    assert down["lost"] > 5
    assert down["ring_drops"] == 0
    sent, came = read(far, "10.77.0.1"), read(near, "10.77.0.1")
    assert (len(sent), len(came)) == (down["packets"], down["arrived"])
    assert max(int(length) for _, _, length, *_ in sent) == 1500
    # Packets arrive as they were sent; all checksums are correct (status 1), those of lost packets too.
    assert {tuple(packet[1:]) for packet in came} <= {tuple(packet[1:]) for packet in sent}
    assert {tuple(packet[-2:]) for packet in sent + came} == {("1", "1")}


def test_datagrams_in_large_segments(tmp_path: Path, cli: Cli) -> None:
    need("tshark")
    near, far, journal = (tmp_path / name for name in ("near.pcap", "far.pcap", "rec.cfj"))
    (tmp_path / "send.py").write_text(DATAGRAMS)
    (tmp_path / "serve.py").write_text(SERVER)
    came, sizes = tmp_path / "came", [*[1000] * 9, 500] * 20
    options: list[str | Path] = ["--delay", "1 ms", "--pcap", f"{near},{far}", "--record", journal]
    options += ["--far", f"python3 {tmp_path / 'serve.py'} {came}"]
    # The program waits until all datagrams have arrived.
    wait = f"python3 {tmp_path / 'send.py'}; until [ -s {came} ]; do sleep 0.1; done"
    done = live(*options, "--", "sh", "-c", wait)
    assert done.returncode == 0, done.stderr
    assert [int(size) for size in came.read_text().split()] == sizes
    assert cli("run", "--replay", journal).out.count("identical") == 2
    for capture in (near, far):
        datagrams = read(capture, "10.77.0.2", "udp.length", "udp.checksum.status")
        assert [int(length) - 8 for _, _, _, length, *_ in datagrams] == sizes
        assert {status for *_, status in datagrams} == {"1"}


@pytest.mark.parametrize("segments", ["--large-segments", long_form("--no-large-segments")])
def test_no_larger_window_is_told_than_w_max(segments: str, tmp_path: Path) -> None:
    """Advertised windows never exceed w_max, and checksums stay correct, even if the kernel leaves them to
    segmentation offload.
    """
    need("tshark")
    (tmp_path / "link.toml").write_text(SCENARIO)
    near, far = tmp_path / "near.pcap", tmp_path / "far.pcap"
    options: list[str | Path] = [
        "--set",
        "tcp.w_max=30",
        "--set",
        "run.duration=500 ms",
        "--pcap",
        f"{near},{far}",
    ]
    done = live(tmp_path / "link.toml", "--workload", "bulk", segments, *options)
    assert done.returncode == 0, done.stderr
    for capture in (near, far):
        told = read(capture, "10.77.0.2", "tcp.window_size", more=["tcp.options.wscale.shift"])
        (shift,) = (packet[-1] for packet in told if packet[-1])
        # The limit is rounded up to a multiple of the window scale.
        assert max(int(window) for _, _, _, window, *_ in told) == -(-30 * 1448 >> int(shift)) << int(shift)
        assert {tuple(packet[-3:-1]) for packet in told} == {("1", "1")}


def read(
    path: Path,
    source: str,
    word: str = "tcp.seq_raw",
    status: str = "tcp.checksum.status",
    more: Sequence[str] = (),
) -> list[list[str]]:
    """Time, IP identification, length, field ``word``, checksum statuses (IP and above; 1 is good) and
    ``more`` fields, as tshark reads them.
    """
    checked = [part for name in ("ip", "tcp", "udp") for part in ("-o", f"{name}.check_checksum:TRUE")]
    names = ["frame.time_epoch", "ip.id", "ip.len", word, "ip.checksum.status", status, *more]
    fields = [part for name in names for part in ("-e", name)]
    select = ["-Y", f"ip.src == {source} && {word}"]
    command = ["tshark", "-r", str(path), *checked, *select, "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("\t") for line in lines]
