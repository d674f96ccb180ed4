"""Ctrl-C ends any command at once, without a traceback, and keeps all finished runs.

Here a command of several minutes only has to end; the required time of one second is measured by hand.
Results that no one reads are not computed.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.plans.options import Options, RunOptions
from crossfade.results.cache import MemoryStore, cache_path
from crossfade.results.interrupted import Interrupted
from crossfade.results.results import Results
from crossfade.results.rows import Row
from crossfade.sweeps.engines import Threads
from crossfade.sweeps.stored import StoredRows
from tests.conftest import SMALL, long_form

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


def start(*arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "crossfade", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        # A shell's background job ignores SIGINT, and its children inherit that; the tested command must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def has_begun(pid: int) -> bool:
    """True if a process reads the pipe, or has used twice the processor time that its start takes."""
    try:
        held = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:  # a file is closed meanwhile
        held = []
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    used_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return used_s > 0.6 or any(path.endswith("losses.txt") for path in held)


@pytest.mark.parametrize("doing", SCENARIOS)
def test_ctrl_c_ends_it(doing: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SCENARIOS[doing])
    os.mkfifo(tmp_path / "losses.txt")
    process = start("run", "x.toml", "--no-cache", cwd=tmp_path)
    # The pipe stays open for writing, and gets no data.
    writer = os.open(tmp_path / "losses.txt", os.O_RDWR)
    try:
        while not has_begun(process.pid):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (
            130,
            -signal.SIGINT,
        )  # -SIGINT if a slow machine is still loading modules
        assert "Traceback" not in err
    finally:
        os.close(writer)
        process.kill()


@pytest.mark.parametrize("command", ["run", long_form("sweep")])
def test_a_single_long_run_shows_how_far_it_is_and_how_long_it_takes(command: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(POINT)
    ours, terminal = pty.openpty()
    # Wide enough for a bar with the remaining time.
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    arguments = [sys.executable, "-m", "crossfade", command, "x.toml", "--seed", "5"]
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    try:
        deadline = time.monotonic() + 120
        while not re.search(rb"runs .*0/1 +\d:\d\d:\d\d", re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)):
            assert time.monotonic() < deadline, shown
            shown += os.read(ours, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.parametrize("after", [0.1, 0.3, 0.6])
def test_ctrl_c_while_the_command_is_loaded_says_nothing(after: float, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(POINT)
    process = start("run", "x.toml", "--no-cache", cwd=tmp_path)
    # Wait until the package begins to load: its extension appears in the memory map.
    while b"_crossfade" not in Path(f"/proc/{process.pid}/maps").read_bytes():
        time.sleep(0.005)
    time.sleep(after / 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # a shell reports -SIGINT as 130
    assert "Traceback" not in err


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_row_that_is_finished_when_ctrl_c_comes_is_kept(when: str) -> None:
    interrupted: list[bool] = []
    rows = StoredRows(plans.load(SMALL, Options.of(RunOptions, {})), store := MemoryStore())
    add = rows.add

    def interrupted_add(finished: Sequence[Row]) -> None:
        if when == "after" or interrupted:
            add(finished)
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt

    rows.add = interrupted_add  # type: ignore[method-assign]
    assert not rows.make(Threads(1))
    assert 0 < store.size() == len(rows.known)
    assert rows.results(complete=False).points


def test_ctrl_c_while_a_row_is_kept_comes_after_it() -> None:
    class Store(MemoryStore):
        def put(self, rows: Sequence[Row]) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)  # a moment in which Python handles the signal
            super().put(rows)

    rows = StoredRows(plans.load(SMALL, Options.of(RunOptions, {})), store := Store())
    made = [Row(*row) for row in rows.plan.core.make([(0, "simulation", 0)])]
    # A shell's background job ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            rows.add(made)
    finally:
        signal.signal(signal.SIGINT, before)
    assert store.size() == len(rows.known) == 1
    assert rows.results(complete=False).points


def test_what_is_finished_is_put_together_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRows, "make", lambda *_, **__: False)  # Ctrl-C before the first run
    asked = []
    results = StoredRows.results

    def counted(self: StoredRows, complete: bool) -> Results:
        asked.append(complete)
        return results(self, complete)

    monkeypatch.setattr(StoredRows, "results", counted)
    with pytest.raises(Interrupted) as stopped:
        cf.run(SCENARIOS["many points being read"], over={"tcp.w_max": [1, 2]}, cache=False)
    assert asked == []
    assert (stopped.value.rows, stopped.value.results.points) == (0, [])
    assert asked == [False]


# A sweep that takes a third of a second on two processors, so it can be stopped in the middle.
LONG = SMALL.replace("2000 slots", "36000 slots") + '[sweep]\n"channel.p_e" = "log:0.001:0.3:30"\n'


def stored_rows() -> int:
    path = cache_path()
    assert path is not None
    if not path.exists():
        return 0
    database = sqlite3.connect(path)
    try:
        (count,) = database.execute("SELECT count(*) FROM rows").fetchone()
    except sqlite3.OperationalError:  # the table does not exist yet
        return 0
    finally:
        database.close()
    return int(count)


def interrupt_with_some_rows(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Send Ctrl-C once the results file has rows; returns standard output and error."""
    deadline = time.monotonic() + 60
    while not stored_rows():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


@pytest.mark.parametrize("csv", [True, False])
def test_a_stopped_run_is_resumed_as_if_nothing_had_happened(tmp_path: Path, csv: bool) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    output = ["--csv", "-"] if csv else []
    process = start("run", str(scenario), *output)
    out, err = interrupt_with_some_rows(process)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted: finished runs are kept: the same command goes on from there" in err
    table = err if csv else out
    assert "throughput_per_slot" in table  # the table of finished runs
    if csv:
        assert out == ""
    kept = stored_rows()
    assert 0 < kept < 300
    if not csv:
        return

    resumed = start("run", str(scenario), "--csv", "-")
    resumed_out, _ = resumed.communicate(timeout=120)
    assert resumed.returncode == 0
    assert stored_rows() == 300
    assert resumed_out == cf.run(scenario, cache=False).to_csv()


def test_a_stopped_figure_says_what_is_finished() -> None:
    long = ["--set", "run.duration=2000000 slots", "--method", "simulation"]
    process = start("paper", "tcp-markov", "fig4", "--csv", "-", *long)
    out, err = interrupt_with_some_rows(process)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "throughput_sim" in err
