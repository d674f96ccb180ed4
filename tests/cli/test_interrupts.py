"""Ctrl-C ends the command at once, whatever it is doing, with status 130 and without a traceback.

That it takes less than a second on a quiet machine is measured by hand: here a command
that would go on for minutes has to end, and nothing is computed that nobody waits for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.results.interrupted import Interrupted
from crossfade.results.results import Results
from crossfade.sweeps.stored import StoredRows

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
def test_ctrl_c_ends_it(doing: str, tmp_path: Path) -> None:
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
        _, err = process.communicate(timeout=60)
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
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # what a shell calls 130
    assert b"Traceback" not in err


def test_what_is_finished_is_put_together_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRows, "make", lambda *_, **__: False)  # Ctrl-C before the first run
    asked = []
    results = plans.Plan.results

    def counted(self: plans.Plan, *rows: object, **complete: bool) -> Results:
        asked.append(complete)
        return results(self, *rows, **complete)  # type: ignore[arg-type]

    monkeypatch.setattr(plans.Plan, "results", counted)
    with pytest.raises(Interrupted) as stopped:
        cf.run(SCENARIOS["many points being read"], over={"tcp.w_max": [1, 2]}, cache=False)
    assert asked == []
    assert (stopped.value.rows, stopped.value.results.points) == (0, [])
    assert asked == [{"complete": False}]
