"""Unusual programs in ``crossfade live``: clients that disconnect early, and programs that ignore signals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from crossfade.cli.live.page import Page
from tests.cli.live_runs import SCENARIO, live, live_command, need, need_live
from tests.conftest import Cli, Outcome, expect_one_line

LINK = ["--rate", "20 Mbit/s", "--delay", "2 ms"]

# Client that requests a file, closes its sending side, and disconnects in the middle of the answer.
GOES_AWAY = """\
import os, socket, time
asking = socket.create_connection((os.environ["CROSSFADE_SERVER"], 80))
asking.sendall(b"GET /file HTTP/1.0\\r\\n\\r\\n")
asking.shutdown(socket.SHUT_WR)
asking.recv(1000)
asking.close()
time.sleep(0.3)
"""
DEAF = """\
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    need_live()
    need("curl")
    (tmp_path / "file").write_bytes(bytes(1_000_000))
    return tmp_path


def test_the_server_outlives_clients_that_go_away(folder: Path) -> None:
    (folder / "away.py").write_text(GOES_AWAY)
    script = (
        f"python3 {folder}/away.py; curl -s -m 0.2 -o {folder}/part $CROSSFADE_SERVER/file; sleep 0.3; "
        "curl -sf $CROSSFADE_SERVER/file | wc -c"
    )
    done = live(*LINK, "--quiet", "--serve", folder, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout.split()) == (0, ["1000000"])
    assert "Traceback" not in done.stderr


def test_the_server_answers_over_both_versions_of_ip(folder: Path) -> None:
    (folder / "a name%").write_text("found")
    script = "for s in $CROSSFADE_SERVER [$CROSSFADE_SERVER6]; do curl -sgf http://$s/a%20name%25; done"
    done = live(*LINK, "--quiet", "--ipv6", "--serve", folder, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "foundfound")


def test_the_far_program_is_waited_for_beside_the_server(folder: Path) -> None:
    far = "sleep 0.4; exec python3 -m http.server 8000"
    fetch = ["curl", "-sf", "-o", f"{folder}/got", "10.77.0.1:8000/small"]
    (folder / "small").write_text("found")
    done = live(*LINK, "--serve", folder, "--far", f"cd {folder}; {far}", "--", *fetch)
    assert done.returncode == 0, done.stderr
    assert "does not listen" not in done.stderr
    done = live(*LINK, "--serve", folder, "--far", "sleep 100", "--", "true")
    assert "live: the far program does not listen after 2 s; COMMAND starts\n" in done.stderr


def test_a_far_program_that_fails_at_once_is_told(folder: Path) -> None:
    for far, word in (
        ("false", "with exit code 1"),
        ("exit 7", "with exit code 7"),
        ("kill -9 $$", "by signal 9"),
    ):
        done = live(*LINK, "--far", far, "--", "true")
        assert f"live: the far program ended {word} before COMMAND started\n" in done.stderr
        assert done.returncode == 0  # the exit code of COMMAND
    # A far program that ends with 0 may have left a server running, so no message.
    assert "ended" not in live(*LINK, "--far", "true", "--", "true").stderr


def test_whose_tcp_ran_is_told_though_nobody_watches(folder: Path) -> None:
    report = folder / "report.json"
    fetch = ["sh", "-c", f"curl -sf -o {folder}/got $CROSSFADE_SERVER/file"]
    link = ["--rate", "10 Mbit/s", "--congestion", "reno", "--json", str(report)]
    done = live(*link, "--serve", folder, "--", *fetch)
    assert done.returncode == 0, done.stderr
    assert json.loads(report.read_text())["congestion"] == ["reno"]
    assert "; TCP reno of the kernel" in done.stderr


def test_a_command_that_does_not_listen_to_sigterm_is_killed(folder: Path) -> None:
    words = live_command(*LINK, "--quiet", "--", "python3", "-c", DEAF)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGKILL


def test_a_port_that_is_not_free_is_told_before_anything_runs(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = live(*LINK, "--page", port, "--", "touch", folder / "began")
    assert done.returncode == 125
    assert done.stderr == f"error: --page {port}: cannot listen on 127.0.0.1 (Address already in use)\n"
    assert not (folder / "began").exists()


def test_a_page_that_nobody_waits_for_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    page = Page(0)
    try:
        address = page.address.removeprefix("http://").partition("/")
        host, _, port = address[0].partition(":")
        for _ in range(20):
            with socket.create_connection((host, int(port))) as asking:
                # Close the connection with a reset, before the answer comes.
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                asking.sendall(f"GET /{address[2]} HTTP/1.0\r\nHost: {address[0]}\r\n\r\n".encode())
        time.sleep(0.3)
    finally:
        page.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_journal_takes_the_place_of_no_file_even_an_empty_one(folder: Path, cli: Cli) -> None:
    journal = folder / "rec.cfj"
    journal.touch()
    outcome = cli("live", *LINK, "--record", str(journal), "--", "true")
    assert outcome.code == 125
    assert outcome.err == f"error: --record {journal}: not overwritten (it must be the name of a new file)\n"
    assert journal.read_bytes() == b""


def test_a_run_that_fails_leaves_no_journal_in_the_way_of_the_next(folder: Path) -> None:
    journal = folder / "rec.cfj"
    failed = live(*LINK, "--record", journal, "--congestion", "nosuch", "--", "true")
    assert (failed.returncode, failed.stderr.count("\n")) == (125, 1)
    assert not journal.exists()
    assert live(*LINK, "--record", journal, "--", "true").returncode == 0
    assert journal.stat().st_size > 0


def test_a_run_without_tcp_has_a_record_that_can_be_read(folder: Path, cli: Cli) -> None:
    need("ping")
    journal, events = folder / "rec.cfj", folder / "events.csv"
    ping = ["ping", "-q", "-c", "2", "-i", "0.05", "10.77.0.1"]
    assert live(*LINK, "--record", journal, "--events", events, "--", *ping).returncode == 0
    (header,) = events.read_text().splitlines()
    assert header.startswith("time_s,event,flow,")
    replayed = cli("run", "--replay", journal, "--events", folder / "again.csv")
    assert (replayed.code, replayed.out.count("identical")) == (0, 2)
    assert (folder / "again.csv").read_text() == events.read_text()


def test_method_live_where_live_cannot_work_is_an_error(folder: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("crossfade live without a TUN device: only root can cover the one that there is")
    scenario = folder / "link.toml"
    scenario.write_text(SCENARIO)
    run = " ".join(live_command()[:3]) + f" run {scenario} --method live"
    words = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /dev/net; {run}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    expect_one_line(Outcome(done.returncode, done.stdout, done.stderr), "live: cannot open /dev/net/tun")
