"""Shared fixtures: a cache for tests, small scenarios, and the command line without a process."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sqlite3
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

import crossfade as cf
from crossfade.cli.app import main
from crossfade.results import plantable, rowtables
from tests.longest_first import LongestFirst
from tests.quick import Quick
from tests.results.writers import make_row as make_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# No deadline: benchmarks measure speed, not tests. Examples are the same in every run, so that a change fails
# only by its own effects; tests/trials/properties.py tries other examples.
AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("crossfade", AT_ANY_SPEED, derandomize=True)
settings.register_profile("hunt", AT_ANY_SPEED, max_examples=5_000)
settings.load_profile("crossfade")

CACHES = itertools.count()

SMALL = """\
schema = 1
title = "A small scenario"
run = { duration = "2000 slots", runs = 10 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"""

SWEEP = (
    SMALL
    + """
[sweep]
"tcp.variant" = ["tahoe", "reno"]
"channel.p_e" = [0.01, 0.1]
"""
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Quick(config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked ``long``, unless ``make test-long`` runs them."""
    if "CROSSFADE_LONG" not in os.environ:
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while files are loaded, and leave what they hold out of all later collections of it.

    Each of these would go through all modules and tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # Few objects are freed by a collection alone, and one after each 700 new ones takes noticeable time.
        gc.set_threshold(50_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than processors, since the worker of the live tests mostly waits for its links."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LongestFirst | None:
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number and the reasons of skipped tests, such as missing programs."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section(f"SKIPPED: {len(skipped)} of the Python tests")
    for reason, times in sorted(reasons.items()):
        terminalreporter.write_line(f"SKIPPED: {times} x {reason}")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


def long_form(*values: Any, id: str | None = None) -> Any:
    """A case of a parametrised test that runs in its long form alone (``make test-long``)."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)


def svg_words(file: Path) -> list[str]:
    """All texts of an SVG figure; mathematics appears as its source ($f_d T$)."""
    # matplotlib writes mathematics letter by letter, after a comment with its source.
    pattern = r"<!-- (.*?) -->\s*<g[^>]*>\s*<text>|<text[^>]*>([^<]+)</text>"
    found = re.findall(pattern, file.read_text())
    return [unescape(spelled or text) for spelled, text in found]


def points(line: Line2D) -> list[tuple[float, float]]:
    """Points of a curve in a figure."""
    import numpy as np

    return [(x, y) for x, y in np.asarray(line.get_xydata(), dtype=float).tolist()]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures saved during the test, in order, so that a test can inspect their axes."""
    from matplotlib.figure import Figure

    saved: list[Figure] = []
    save = Figure.savefig

    def savefig(self: Figure, *arguments: Any, **options: Any) -> None:
        saved.append(self)
        save(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return saved


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty cache folder, different for every test."""
    # A number of its own, since pytest would read the whole folder for the next free one.
    folder = tmp_path_factory.mktemp(f"cache-{next(CACHES)}", numbered=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def cache_of_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache-of-module")


@pytest.fixture
def shared_cache(cache_folder: Path, cache_of_module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache folder for all tests of a file that ask for it, since they simulate the same runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_of_module))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Function that runs the command line in this process, as ``cli("run", "quickstart")``, without pytest's
    terminal width.
    """
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def expect_one_line(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("error: ")
    for part in parts:
        assert part in lines[0], lines[0]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """File with a scenario of one point."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """File with a scenario of four points."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


def reseal(database: sqlite3.Connection) -> None:
    """Recompute the checksums of all rows and plans of a database (a cache has no plans) after changes."""
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'plans'").fetchone():
        for plan in database.execute("SELECT id, added, description, warnings FROM plans").fetchall():
            database.execute(
                "UPDATE plans SET checksum = ? WHERE id = ?", (plantable.checksum(plan), plan[0])
            )
    sets = dict(database.execute("SELECT id, names FROM metric_sets"))
    for number, *line in database.execute(f"SELECT rowid, {rowtables.COLUMNS} FROM rows").fetchall():
        found = rowtables.checksum(tuple(line), sets[line[5]])
        database.execute("UPDATE rows SET checksum = ? WHERE rowid = ?", (found, number))


Mount = Callable[[int], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Function that mounts a small disk of some KiB, as ``mount(256)``; skips the test if mounting is not
    allowed.
    """
    mounted: list[Path] = []

    def make(size_kib: int) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as reason:
            pytest.skip(f"no small disk to fill: {reason}")
        if done.returncode != 0:
            pytest.skip(f"no small disk to fill: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def events_text(scenario: Any, **options: Any) -> str:
    """Events of a run as CSV text, as ``crossfade run --events`` writes them."""
    return _written(lambda file: cf.runs.write_events(file, scenario, **options))


def link_events_text(scenario: Any, **options: Any) -> str:
    """Link events of a run as CSV text, as ``crossfade run --link-events`` writes them."""
    return _written(lambda file: cf.runs.write_events(file, scenario, of_links=True, **options))


def samples_text(scenario: Any, every: str | None = None, **options: Any) -> str:
    """Samples of a run as CSV text, as ``crossfade run --samples`` writes them."""
    return _written(lambda file: cf.runs.write_samples(file, scenario, every, **options))


def _written(write: Callable[[Path], None]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "written.csv"
        write(file)
        return file.read_text(encoding="utf-8")
