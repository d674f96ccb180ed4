"""Terminal sessions of docs/five-minutes.md: each command runs as the page shows it, in an empty folder."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

FOLDER = Path(__file__).parent / "five-minutes"
# Number of rows of the sweep at which Ctrl-C is sent, and longest wait for them in seconds.
ROWS, PATIENCE_S = 1200, 120.0

KINDS = ["csv", "parquet"]

Process = subprocess.Popen[str]


def make_five_minutes(gallery: Path) -> None:
    """Run the commands of the page from top to bottom, and write their output to the gallery."""
    with tempfile.TemporaryDirectory() as name:
        terminal = Terminal(Path(name))
        shutil.copy(FOLDER / "fading.toml", name)

        def keep(title: str, *screens: str) -> None:
            (gallery / f"five-minutes-{title}.txt").write_text("\n".join(screens))

        def keep_file(file: str) -> None:
            where = gallery / "pages" if file.endswith(".html") else gallery
            shutil.copy(Path(name) / file, where / f"five-minutes-{file}")

        keep("check", terminal.run("crossfade check fading.toml"))
        keep("sweep", terminal.run("crossfade sweep fading.toml", lines=13))
        keep("plot", terminal.run("crossfade plot fading.sqlite --y goodput_bps"))
        keep_file("fading.png")
        best = "crossfade best fading.sqlite --choose tcp.variant"
        keep("best", terminal.run(best))
        again = "crossfade sweep fading.toml --runs 200"
        stopped = terminal.interrupted(again, lambda: rows(Path(name) / "fading.sqlite") > ROWS)
        keep("resume", stopped, terminal.run(again, lines=6))
        keep("best-again", terminal.run(best))
        keep("compare", terminal.run("crossfade compare fading.sqlite --by tcp.variant", lines=16))
        keep("report", terminal.run("crossfade report fading.sqlite"))
        keep_file("fading.html")
        switching = "--switching --csv switching.csv --quiet"
        keep("switching", terminal.run(f"{best} {switching}"))
        keep_file("switching.csv")
        keep("export", *(terminal.run(f"crossfade export fading.sqlite --to {kind}") for kind in KINDS))


def rows(file: Path) -> int:
    """Number of rows in a results file; 0 while it does not exist."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])


class Terminal:
    """Terminal that runs commands in a folder, and returns what it would show."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        cache = {"XDG_CACHE_HOME": str(folder / ".cache")}
        self._environment = os.environ | cache | {"PYTHONUNBUFFERED": "1", "COLUMNS": "110"}

    def run(self, command: str, lines: int | None = None) -> str:
        """Screen after a command, or only the first ``lines`` lines of its output; raises an error if the
        command fails.
        """
        output = self._finish(command, self._start(command), 0)
        cut = lines is not None and len(output) > lines
        return screen(command, [*output[:lines], " ..."] if cut else output)

    def interrupted(self, command: str, is_time: Callable[[], bool]) -> str:
        """Screen of a command that gets Ctrl-C once ``is_time`` returns true: the output before, and the last
        three lines.
        """
        process = self._start(command)
        end = time.monotonic() + PATIENCE_S
        while not is_time():
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise RuntimeError(f"{command}: {process.communicate()[0]}")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output = self._finish(command, process, 130)
        begun = 1 + next(i for i, line in enumerate(output) if line.startswith("about"))
        return screen(command, [*output[:begun], "^C", " ...", *output[-3:]])

    def _start(self, command: str) -> Process:
        program, *arguments = shlex.split(command)
        if program != "crossfade":
            raise ValueError(command)
        return subprocess.Popen(
            [sys.executable, "-m", "crossfade", *arguments],
            cwd=self._folder,
            env=self._environment,
            # A background job of a shell ignores Ctrl-C, and its child processes inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _finish(self, command: str, process: Process, expected: int) -> list[str]:
        """Lines of a command's output once it has ended; raises an error for another exit code than
        ``expected``.
        """
        output, _ = process.communicate(timeout=PATIENCE_S)
        if process.returncode != expected:
            raise RuntimeError(f"{command} ended with {process.returncode}: {output}")
        return [line.rstrip() for line in output.splitlines()]


def screen(command: str, lines: Sequence[str]) -> str:
    """A prompt with the command, followed by its output."""
    return "\n".join([f"$ {command}", *lines]) + "\n"
