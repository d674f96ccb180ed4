"""Writers of results files and caches, to run in processes of their own: these load no test."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from crossfade.results import file as resultsfile
from crossfade.results.cache import SqliteStore
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row

ROOT = Path(__file__).parents[2]


def make_row(number: int, value: float = 0.0) -> Row:
    """A row of two metrics, the run of that number."""
    return Row(
        key=f"{number:032x}",
        point="00" * 16,
        method="simulation",
        seed=1,
        run=number,
        names="goodput_bps\ntimeouts",
        values=struct.pack("<2d", value, number),
        failure=None,
        seconds=0.25,
    )


def make_plan(seed: int = 1, **changes: Any) -> dict[str, Any]:
    """The description of a plan of two points."""
    return {
        "name": "scenario",
        "axes": ["tcp.w_max"],
        "points": [{"axes": {"tcp.w_max": 6}, "id": "00" * 16}, {"axes": {"tcp.w_max": 24}, "id": "01" * 16}],
        "methods": ["simulation"],
        "stop": {"runs": 10},
        "seed": seed,
    } | changes


def started(call: str, *arguments: object) -> subprocess.Popen[bytes]:
    """A process that calls a function of this module."""
    words = ", ".join(repr(str(one) if isinstance(one, Path) else one) for one in arguments)
    program = f"from tests.results import writers; writers.{call}({words})"
    return subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)


def fill_store(path: str, writer: int, count: int) -> None:
    """Put rows into a cache: every other one is one that the other writers put too."""
    store = SqliteStore(Path(path))
    for n in range(count):
        store.put([make_row(1000 * (writer + 1) + n), make_row(n)])
    store.close()


def fill(path: str, writer: int, count: int) -> None:
    """Put rows into a results file: every other one is one that the other writers put too."""
    resultsfile.COMMIT_EVERY_S = 0.005
    with ResultsFile.create(path) as file:
        file.add_plan(make_plan(seed=writer % 2))
        for n in range(count):
            file.put([make_row(1000 * (writer + 1) + n), make_row(n)])
            time.sleep(0.0005)


def fill_for_ever(path: str) -> None:
    """Put rows into a results file, and commit them often, until the process is killed."""
    resultsfile.COMMIT_EVERY_S = 0.01
    with ResultsFile.create(path) as file:
        for n in range(10**9):
            file.put([make_row(n)])
            time.sleep(0.0001)
