"""Damaged, tampered and older results files: sound rows stay usable, and others are reported."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.results import plantable, rowtables
from crossfade.results.cache import cache_path
from crossfade.results.file import ResultsFile
from tests.conftest import SMALL, SWEEP, Cli, Mount, expect_one_line, make_row
from tests.results.results_files import Made, add_plan, add_rows


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results file of four points with ten runs each, with the scenario beside it."""
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(SWEEP)
    cf.sweep("my.toml")
    return Path("my.sqlite")


DAMAGE = [
    'UPDATE rows SET "values" = zeroblob(length("values")) WHERE rowid = 7',
    "UPDATE rows SET run = 11 WHERE rowid = 7",
    "UPDATE rows SET seed = 2 WHERE rowid = 7",
    "UPDATE rows SET point = zeroblob(16) WHERE rowid = 7",
    "UPDATE rows SET checksum = checksum + 1 WHERE rowid = 7",
    "UPDATE rows SET method = x'ff' WHERE rowid = 7",
    "UPDATE rows SET seconds = 'long' WHERE rowid = 7",
    "UPDATE rows SET failure = CAST(x'c328' AS TEXT) WHERE rowid = 7",
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_row_is_named_dropped_and_made_again(swept: Path, cli: Cli, damage: str) -> None:
    before = cf.store.load(swept).to_csv()
    assert cli("check", swept).out == "ok: my.sqlite: 40 rows, 1 plan\n"
    change(swept, damage)
    with pytest.warns(
        cf.errors.CrossfadeWarning, match=r"1 damaged row is left out \(row [0-9a-f]{32} .*--repair"
    ):
        results = cf.store.load(swept)
    assert sum(point.runs for point in results.points) == 39
    outcome = cli("check", swept)
    assert outcome.code == 1
    assert outcome.out.startswith("damaged: row ")
    assert outcome.out.count("\n") == 1
    assert cli("check", swept, "--repair").code == 0
    assert cli("check", swept).out == "ok: my.sqlite: 39 rows, 1 plan\n"
    assert Path("my.sqlite.damaged").exists()
    assert cf.sweep("my.toml").complete
    assert cf.store.load(swept).to_csv() == before


def test_pages_that_cannot_be_read_cost_the_rows_on_them(swept: Path, cli: Cli) -> None:
    data = bytearray(swept.read_bytes())
    with closing(sqlite3.connect(swept)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
    # Damage the header of a page of rows, a leaf of a table (https://www.sqlite.org/fileformat2.html, 1.6).
    leaves = [at for at in range(size, len(data), size) if data[at] == 13]
    data[leaves[-1] : leaves[-1] + 8] = b"\xff" * 8
    swept.write_bytes(data)
    outcome = cli("check", swept, "--repair")
    assert outcome.code == 0, outcome.err
    assert "cannot be read" in outcome.out
    assert 0 < sum(point.runs for point in cf.store.load(swept).points) < 40
    assert cf.sweep("my.toml").complete


def test_a_damaged_plan_is_no_plan(swept: Path, cli: Cli) -> None:
    cf.sweep("my.toml", runs=3)
    change(swept, "UPDATE plans SET description = replace(description, 'reno', 'tahoe') WHERE rowid = 2")
    expect_one_line(cli("export", swept, "--out", "-"), "is damaged", "--repair")
    with pytest.warns(cf.errors.CrossfadeWarning, match="is damaged"):
        assert len(cf.store.load(swept, plan=1).points) == 4
    assert cli("check", swept, "--repair").code == 0
    assert len(cf.store.load(swept).points[0].rows) == 10


def test_files_of_format_1_are_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    add_plan(path, {})
    add_rows(path, [Made(0, run, {"goodput_bps": float(run)}) for run in range(2)])
    old = path.read_bytes()
    assert cf.open_results(path)["goodput_bps"] == 0.5
    assert path.read_bytes() == old, "to read changes nothing"
    with ResultsFile.create(path) as file:
        file.put([make_row(9)])
        assert len(file.plans()) == 1
    assert cf.open_results(path)["goodput_bps"] == 0.5
    change(path, "UPDATE rows SET run = 5 WHERE run = 1")
    with pytest.warns(cf.errors.CrossfadeWarning, match="1 damaged row"):
        assert cf.open_results(path)["goodput_bps"] == 0.0


def test_files_of_format_2_are_read_and_continued(tmp_path: Path, cli: Cli) -> None:
    """Files of format 2 are read and extended: they have checksums, no distributions, and rows of results
    versions before 12.
    """
    path = tmp_path / "old.sqlite"
    add_plan(
        path, {}, units={"completion_time_s": "s", "completion_time_p95_s": "s", "rtt_pooled_p95_s": "s"}
    )
    metrics = {"completion_time_s": 9.0, "completion_time_p95_s": 9.0, "rtt_pooled_p95_s": 0.25}
    add_rows(path, [Made(0, run, {name: value + run for name, value in metrics.items()}) for run in range(2)])
    with closing(sqlite3.connect(path)) as database, database:
        rowtables.create_tables(database)
        plantable.seal_plans(database)
        database.execute("PRAGMA user_version = 2")
    old = path.read_bytes()

    def expect_the_old_rows() -> None:
        found = cf.open_results(path)
        assert found["completion_time_s"] == 9.5
        # Quantiles over all runs cannot be computed from values of single runs.
        assert "completion_time_p95_s" not in found or found["completion_time_p95_s"].isnull().all()
        assert "rtt_pooled_p95_s" not in found or found["rtt_pooled_p95_s"].isnull().all()
        assert "results version 7: completion times are those of the flows that finished" in str(
            found.warnings
        )

    expect_the_old_rows()
    assert cli("check", path).code == 0
    assert path.read_bytes() == old, "to read changes nothing"
    # New rows make the file format 3, which older programs refuse with one line; its old rows stay unchanged.
    with ResultsFile.create(path) as file:
        file.put([make_row(9)])
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (3,)
        versions = database.execute("SELECT DISTINCT results_version FROM rows ORDER BY 1").fetchall()
    assert versions == [(7,), (cf.reference.RESULTS_VERSION,)]
    expect_the_old_rows()
    # Bytes after the values of a row of format 2 are found by its checksum.
    change(path, 'UPDATE rows SET "values" = "values" || x\'01\' WHERE run = 1 AND results_version = 7')
    with pytest.warns(cf.errors.CrossfadeWarning, match="1 damaged row"):
        assert cf.open_results(path)["completion_time_s"] == 9.0


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS names FROM n"
FOREIGN: list[tuple[list[str], str]] = [
    (["DROP TABLE metric_sets", f"CREATE VIEW metric_sets AS {ENDLESS}"], "a view metric_sets"),
    ([f"CREATE VIEW other AS {ENDLESS}"], "a view other"),
    (["CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END"], "a trigger t"),
    (["DROP TABLE rows"], "no table rows"),
    (["ALTER TABLE plans DROP COLUMN warnings"], "columns of the table plans"),
    (["ALTER TABLE rows ADD COLUMN more INTEGER AS (run + 1)"], "columns of the table rows"),
]


@pytest.mark.parametrize(("statements", "problem"), FOREIGN)
def test_anything_but_the_tables_is_refused(
    swept: Path, cli: Cli, statements: list[str], problem: str
) -> None:
    change(swept, *statements)
    for command in (["check", swept], ["export", swept, "--out", "-"], ["sweep", "my.toml", "--out", swept]):
        expect_one_line(cli(*command), problem)


def broken(key: str, value: object) -> Callable[[dict[str, object]], None]:
    return lambda description: description.update({key: value})


DESCRIPTIONS = [
    ("units", broken("units", ["x"])),
    ("points", broken("points", [{"axes": {}, "id": "x"}])),
    ("stop", broken("stop", {"runs": "many"})),
    ("stop", broken("stop", {"count": 0, "metric": "frame_errors", "max_runs": 5})),
    ("stop", broken("stop", {"precision": 0.1, "max_runs": 30, "metric": 7})),
    ("seed", broken("seed", float("nan"))),
    ("title", broken("title", None)),
    ("version", lambda description: description.pop("version")),
    ("methods", lambda description: description.pop("methods")),
]


@pytest.mark.parametrize(("key", "breaks"), DESCRIPTIONS)
def test_a_plan_of_another_shape_is_one_line(
    tmp_path: Path, cli: Cli, key: str, breaks: Callable[[dict[str, object]], None]
) -> None:
    path = tmp_path / "old.sqlite"
    description = add_plan(path, {})
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0})])
    breaks(description)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE plans SET description = ?", (json.dumps(description),))
    expect_one_line(cli("export", path, "--out", "-"), "damaged", key if key != "seed" else "nan")


def test_a_plan_that_says_nothing_of_axes_has_none(swept: Path) -> None:
    with closing(sqlite3.connect(swept)) as database, database:
        (line,) = database.execute("SELECT * FROM plans")
        description = json.loads(line[2])
        del description["overrides"]["over"]
        plan = (*line[:2], json.dumps(description), line[3])
        database.execute(
            "UPDATE plans SET description = ?, checksum = ?", (plan[2], plantable.checksum(plan))
        )
    assert cf.store.load(swept).provenance["overrides"]["over"] == {}


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"axes": 1e999}', "\0"])
def test_what_is_no_description_is_one_line(tmp_path: Path, cli: Cli, text: str) -> None:
    path = tmp_path / "old.sqlite"
    add_plan(path, {})
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE plans SET description = ?", (text,))
    expect_one_line(cli("report", path), "damaged")


def test_a_full_disk_does_not_stop_reading(swept: Path, mount: Mount) -> None:
    folder = mount(512)
    there = folder / "my.sqlite"
    there.write_bytes(swept.read_bytes())
    with open(folder / "big", "wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    assert cf.store.load(there).to_csv() == cf.store.load(swept).to_csv()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE rows SET seed = 'one', run = 'two'",
        "UPDATE rows SET key = randomblob(rowid), method = 7",
        "UPDATE metric_sets SET names = x'00'",
        'UPDATE rows SET "values" = 7',
        "DROP TABLE rows",
    ],
)
@pytest.mark.filterwarnings("ignore::crossfade.errors.CrossfadeWarning")
def test_a_tampered_cache_stops_no_run(damage: str) -> None:
    first = cf.run(SMALL).to_csv()
    path = cache_path()
    assert path is not None
    change(path, damage)
    assert cf.run(SMALL).to_csv() == first
    assert cf.run(SMALL).to_csv() == first
