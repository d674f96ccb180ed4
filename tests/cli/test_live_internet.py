"""``crossfade live --internet``: a server in another namespace stands for the machine's network."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.live_runs import live, live_command, need, need_live
from tests.conftest import Cli, expect_one_line

# Script with a machine and a server in two network namespaces; it stores the machine's network state before
# and after.
STAGE = """\
set -e
ip link set lo up
unshare -n sleep 1000 & server=$!
trap 'kill $server $web' EXIT
while [ "$(readlink /proc/$server/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add out type veth peer name in
ip link set in netns $server
ip addr add 192.0.2.1/24 dev out
ip link set out up
nsenter -t $server -n sh -c 'ip link set lo up; ip addr add 192.0.2.9/24 dev in; ip link set in up'
cd FOLDER
nsenter -t $server -n python3 -m http.server 8000 --bind 192.0.2.9 > /dev/null 2>&1 & web=$!
until nsenter -t $server -n sh -c 'grep -q :1F40 /proc/net/tcp'; do sleep 0.05; done
state() { ip -o link | cut -d' ' -f2; ip route; cat /proc/sys/net/ipv4/ip_forward; cat /etc/resolv.conf; }
state > FOLDER/before
LIVE
state > FOLDER/after
"""


@pytest.fixture
def stage(tmp_path: Path) -> str:
    need_live()
    need("slirp4netns", "ip", "nsenter", "unshare", "curl", "python3")
    if os.geteuid() != 0:
        pytest.skip("crossfade live --internet: only root can make a network to reach")
    return STAGE.replace("FOLDER", str(tmp_path))


def test_a_server_of_the_network_is_reached_through_the_link(stage: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 2000)
    report = tmp_path / "report.json"
    link: list[str | Path] = ["--rate", "10 Mbit/s", "--delay", "10 ms", "--json", report, "--internet"]
    script = (
        f"curl -sf -m 30 -o {tmp_path}/got http://192.0.2.9:8000/file; "
        # A closed port, the machine's loopback address, and the name servers.
        "curl -s -m 3 http://192.0.2.9:8001/; echo $?; curl -s -m 3 http://10.78.0.2:8000/; echo $?; "
        "cat /etc/resolv.conf"
    )
    command = shlex.join(live_command(*link, "--", "sh", "-c", script))
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", stage.replace("LIVE", command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "got").read_bytes() == (tmp_path / "file").read_bytes()
    assert "--internet: COMMAND reaches the network" in done.stderr, "said loudly"
    refused, loopback, *names = done.stdout.split()
    assert refused != "0"
    assert loopback != "0"
    assert names == ["nameserver", "10.78.0.3"]
    down, up = json.loads(report.read_text())["directions"]
    assert down["arrived_bytes"] > 512_000, "through the link"
    assert up["transit_p50_s"] >= 0.01
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()


def test_without_the_program_it_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    need_live()
    monkeypatch.setenv("PATH", str(tmp_path))
    done = live("--rate", "1 Mbit/s", "--internet", "--", "true")
    assert done.returncode == 125
    assert "slirp4netns is not installed" in done.stderr
    assert "slirp4netns: not installed (--internet); mend: apt install slirp4netns" in cli("doctor").out
    outcome = cli("live", "quickstart", "--workload", "bulk", "--internet")
    expect_one_line(type(outcome)(2, outcome.out, outcome.err), "--internet")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'cannot open tap:\n  not permitted' >&2; exit 1", "cannot open tap: not permitted"),
        ("exit 3", "it said nothing"),
        ("yes >&2; exit 4", f"{'y ' * 98}y..."),
    ],
)
def test_why_the_program_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    need_live()
    program = tmp_path / "slirp4netns"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = live("--rate", "1 Mbit/s", "--internet", "--", "true")
    said = f"error: --internet: slirp4netns could not join the far host ({why})\n"
    assert (done.returncode, done.stderr) == (125, said)
