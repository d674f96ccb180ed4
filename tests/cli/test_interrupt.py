"""Ctrl-C: quick, without a traceback, and nothing that is finished is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crossfade.results.cache import cache_path
from tests.conftest import SMALL

# Long enough to be stopped in the middle: a second or more on any machine.
LONG = SMALL.replace("2000 slots", "200000 slots") + '[sweep]\n"channel.p_e" = "log:0.001:0.3:30"\n'


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "crossfade", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        # A shell's background job ignores Ctrl-C and hands that down; what is tested here must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def stored_rows() -> int:
    path = cache_path()
    assert path is not None
    if not path.exists():
        return 0
    database = sqlite3.connect(path)
    try:
        (count,) = database.execute("SELECT count(*) FROM rows").fetchone()
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
    finally:
        database.close()
    return int(count)


def interrupt_with_some_rows(process: subprocess.Popen[str]) -> tuple[float, str, str]:
    """Send a Ctrl-C once there are rows; gives the seconds until the end, standard output and error."""
    deadline = time.monotonic() + 60
    while not stored_rows():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return time.monotonic() - sent, out, err


@pytest.mark.parametrize("csv", [True, False])
def test_a_stopped_run_is_resumed_as_if_nothing_had_happened(tmp_path: Path, csv: bool) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    output = ["--csv", "-"] if csv else []
    process = start("run", str(scenario), *output)
    seconds, out, err = interrupt_with_some_rows(process)
    assert process.returncode == 130
    assert seconds < 1.0
    assert "Traceback" not in err
    assert "interrupted: finished runs are kept: the same command goes on from there" in err
    table = err if csv else out
    assert "throughput_per_slot" in table  # what is finished
    if csv:
        assert out == ""
    kept = stored_rows()
    assert 0 < kept < 300

    resumed = start("run", str(scenario), "--csv", "-")
    resumed_out, _ = resumed.communicate(timeout=120)
    assert resumed.returncode == 0
    assert stored_rows() == 300
    whole = start("run", str(scenario), "--csv", "-", "--no-cache")
    whole_out, _ = whole.communicate(timeout=120)
    assert resumed_out == whole_out


def test_a_stopped_figure_says_what_is_finished() -> None:
    long = ["--set", "run.duration=2000000 slots", "--method", "simulation"]
    process = start("paper", "tcp-markov", "fig4", "--csv", "-", *long)
    seconds, out, err = interrupt_with_some_rows(process)
    assert (process.returncode, out) == (130, "")
    assert seconds < 1.0
    assert "Traceback" not in err
    assert "throughput_sim" in err
