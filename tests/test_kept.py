"""Files of earlier versions stay readable: a results file, a scenario and a journal of each version."""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import _crossfade
from tests.conftest import Cli

KEPT = Path(__file__).parent / "data" / "kept"
VERSIONS = sorted(int(folder.name) for folder in KEPT.iterdir() if folder.is_dir())
FILES = [version for version in VERSIONS if (KEPT / str(version) / "results.sqlite").exists()]
JOURNALS = [version for version in VERSIONS if (KEPT / str(version) / "live.cfj").exists()]
# Results versions written in each file format.
FORMATS = {1: range(2, 4), 2: range(4, 12), 3: range(12, 100)}


def rows(path: Path) -> list[tuple[int, bytes, bytes]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute('SELECT results_version, key, "values" FROM rows ORDER BY key').fetchall()


def exported(folder: Path) -> list[dict[str, str]]:
    """Export made by the program that wrote the file."""
    return list(csv.DictReader((folder / "results.csv").read_text().splitlines()))


def test_the_files_of_this_version_are_kept_and_those_of_every_format() -> None:
    assert max(FILES) == max(JOURNALS) == _crossfade.RESULTS_VERSION
    formats = set()
    for version in FILES:
        with closing(sqlite3.connect(KEPT / str(version) / "results.sqlite")) as database:
            (number,) = database.execute("PRAGMA user_version").fetchone()
        assert version in FORMATS[number]
        formats.add(number)
    assert formats == set(FORMATS)


@pytest.mark.parametrize("version", FILES)
def test_a_results_file_says_what_its_own_program_said_of_it(version: int) -> None:
    path = KEPT / str(version) / "results.sqlite"
    before = rows(path)
    assert {row[0] for row in before} == {version}
    results = cf.store.load(path)
    assert results.provenance["results_version"] == version
    assert results.axes == ["tcp.variant", "channel.p_e"]
    now = list(csv.DictReader(results.table().to_csv().splitlines()))
    then = exported(path.parent)
    assert len(then) == 8
    for one, other in zip(now, then, strict=True):
        assert {name: one[name] for name in other} == other
    assert rows(path) == before, "reading changes nothing"


@pytest.mark.parametrize("version", FILES)
def test_a_scenario_means_what_it_meant(version: int, tmp_path: Path, cli: Cli) -> None:
    """Rows of today's program have the keys and values of the old file: no version changed these metrics of
    this scenario.
    """
    folder = KEPT / str(version)
    copy = tmp_path / "results.sqlite"
    shutil.copy(folder / "results.sqlite", copy)
    old = rows(copy)
    scenario = str(folder / "scenario.toml")
    done = cli("sweep", scenario, "--method", "simulation,analysis", "--out", copy, "--quiet")
    assert done.code == 0, done.err
    new = rows(copy)
    assert set(old) <= set(new)
    assert {row[0] for row in new} == {version, _crossfade.RESULTS_VERSION}
    results = cf.store.load(copy)
    assert results.provenance["results_version"] == _crossfade.RESULTS_VERSION
    then = {(row["tcp.variant"], row["channel.p_e"], row["method"]): row for row in exported(folder)}
    now = list(csv.DictReader(results.table().to_csv().splitlines()))
    assert len(now) == len(then) == 8
    for row in now:
        was = then[row["tcp.variant"], row["channel.p_e"], row["method"]]
        for name in ("throughput_per_slot", "transmissions_per_slot", "retransmissions", "timeouts"):
            assert (row[name] == "") == (was[name] == ""), name
            if was[name]:
                assert float(row[name]) == pytest.approx(float(was[name]), rel=1e-7), name


@pytest.mark.parametrize("version", JOURNALS)
def test_a_journal_is_read(version: int, cli: Cli) -> None:
    path = KEPT / str(version) / "live.cfj"
    done = cli("run", "--replay", path)
    assert len(done.out.splitlines()) == 2
    assert all(line.endswith(": identical") for line in done.out.splitlines())
    assert not re.search(r"\b0 (packets|arrived)", done.out)
    # The stored runs lost packets, which are dated later since version 12.
    assert re.search(r"^forward: .* [1-9]\d* lost, ", done.out)
    today = _crossfade.RESULTS_VERSION
    warning = f"warning: recorded with results version {version}; this is {today}, which may differ\n"
    assert (done.code, done.err) == (0, "" if version == today else warning)
