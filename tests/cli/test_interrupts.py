"""Ctrl-C ends the command within a second, whatever it is doing, with status 130 and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

POINT = """
schema = 1
run = { duration = "1000000000 slots", runs = 1 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"""
SCENARIOS = {
    "one long run": POINT,
    "many points being read": POINT.replace("1000000000 slots", "100 slots")
    + '[sweep]\n"channel.p_e" = "log:0.0001:0.5:1000"\n"tcp.w_max" = "1:100:1"\n',
    "a solution": POINT.replace('"iid", p_e = 0.01', '"markov", p_e = 0.01, fd_t = 0.01').replace(
        "schema = 1", 'schema = 1\nmethods = ["analysis"]'
    )
    + '[sweep]\n"tcp.w_max" = "30:60:1"\n"tcp.variant" = ["old-tahoe"]\n',
    "a pipe": POINT.replace('"iid", p_e = 0.01', '"trace", file = "losses.txt"'),
}


@pytest.mark.parametrize("doing", SCENARIOS)
def test_ctrl_c_ends_it_within_a_second(doing: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SCENARIOS[doing])
    os.mkfifo(tmp_path / "losses.txt")
    program = [sys.executable, "-m", "crossfade", "run", "x.toml", "--no-cache"]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    # Somebody holds the pipe open and writes nothing.
    writer = os.open(tmp_path / "losses.txt", os.O_RDWR)
    try:
        time.sleep(2.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = process.communicate(timeout=30)
        assert time.monotonic() - began < 1.5  # a second, and what a busy machine takes
        assert process.returncode == 130
        assert b"Traceback" not in err
    finally:
        os.close(writer)
        process.kill()


@pytest.mark.parametrize("after", [0.1, 0.3, 0.6])
def test_ctrl_c_while_the_command_is_loaded_says_nothing(after: float, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(POINT)
    program = [sys.executable, "-m", "crossfade", "run", "x.toml", "--no-cache"]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    # From the first line of the package on, whatever that is waiting for.
    while b"_crossfade" not in Path(f"/proc/{process.pid}/maps").read_bytes():
        time.sleep(0.005)
    time.sleep(after / 10)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 1.5
    assert process.returncode in (130, -signal.SIGINT)  # what a shell calls 130
    assert b"Traceback" not in err
