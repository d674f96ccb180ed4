"""Results files and caches as an attacker could make them, by their content or by files beside them.

:func:`make` fills a folder with sound results files that have one hostile change each. Some refer to another
file, the victim, which no reader may touch.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from crossfade.results import plantable
from crossfade.results.file import ResultsFile
from tests.conftest import make_row, reseal

PAGE = 4096
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
RUNS = 40

Act = Callable[[Path, random.Random, Path], object]


def make(folder: Path, seed: int, victim: Path | None = None) -> list[Path]:
    """Write one hostile database of each kind into a folder, with a victim file if none is named; gives their
    paths.
    """
    draw = random.Random(seed)
    if victim is None:
        victim = folder / "victim.txt"
        victim.write_text("precious\n")
    template = folder / ".template.sqlite"
    _make_sound(template)
    made = []
    for name, act in KINDS.items():
        path = folder / f"{name.replace(' ', '-')}.sqlite"
        shutil.copy(template, path)
        act(path, draw, victim)
        made.append(path)
    template.unlink()
    return made


def points(count: int) -> list[dict[str, Any]]:
    return [{"axes": {"tcp.w_max": number + 1}, "id": f"{number:032x}"} for number in range(count)]


def description(**changes: Any) -> dict[str, Any]:
    """The description of a plan that matches the rows of the template file, with the named keys replaced."""
    return {
        "name": "strange",
        "title": "Strange",
        "text": "schema = 1\n",
        "overrides": {"set": [], "over": []},
        "scenario": {},
        "axes": ["tcp.w_max"],
        "points": points(2),
        "methods": ["simulation"],
        "stop": {"runs": RUNS},
        "seed": 1,
        "units": {"goodput_bps": "bit/s", "timeouts": "1"},
        "version": "0.0.7",
        "results_version": 7,
    } | changes


def _make_sound(path: Path) -> None:
    with ResultsFile.create(path) as file:
        file.add_plan(description())
        file.put(make_row(number, number / 7) for number in range(RUNS))


def journal(victim: Path, pages: list[tuple[int, bytes]] | None = None, of: int = 8) -> bytes:
    """A hot rollback journal whose super-journal is the victim (https://www.sqlite.org/fileformat2.html, 3).

    SQLite plays the pages back; then it deletes the super-journal, because no other journal names it.
    """
    header = JOURNAL_MAGIC + struct.pack(">5I", len(pages or []), 0, of, 512, PAGE)
    records = b"".join(
        struct.pack(">I", number)
        + page
        + struct.pack(">I", sum(page[at] for at in range(PAGE - 200, 0, -200)))
        for number, page in pages or []
    )
    name = os.fsencode(victim)
    locked = 0x4000_0000 // PAGE + 1
    end = struct.pack(">I", locked) + name + struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
    return header.ljust(512, b"\0") + records + end


def _beside(path: Path, part: str) -> Path:
    return path.with_name(path.name + part)


def _put_journal(path: Path, draw: random.Random, victim: Path) -> None:
    _beside(path, "-journal").write_bytes(journal(victim, of=path.stat().st_size // PAGE))


def _put_journal_with_pages(path: Path, draw: random.Random, victim: Path) -> None:
    pages = [(number, draw.randbytes(PAGE)) for number in (2, 3)]
    _beside(path, "-journal").write_bytes(journal(victim, pages, path.stat().st_size // PAGE))


def _put_journal_through_link(path: Path, draw: random.Random, victim: Path) -> None:
    real = path.with_suffix(".elsewhere")
    real.write_bytes(journal(victim, of=path.stat().st_size // PAGE))
    _beside(path, "-journal").symlink_to(real.name)


def _be_empty_with_journal(path: Path, draw: random.Random, victim: Path) -> None:
    path.write_bytes(b"")
    _put_journal(path, draw, victim)


def _link(part: str) -> Act:
    return lambda path, draw, victim: _beside(path, part).symlink_to(victim)


def _hard_link(part: str) -> Act:
    def act(path: Path, draw: random.Random, victim: Path) -> None:
        # A link to a copy of the victim, because a link to the victim would change the victim's time.
        copy = path.with_name("another.txt")
        shutil.copy(victim, copy)
        os.link(copy, _beside(path, part))

    return act


def _put(part: str, size: int, begin: bytes = b"") -> Act:
    return lambda path, draw, victim: _beside(path, part).write_bytes(begin + draw.randbytes(size))


def _pipe(part: str) -> Act:
    return lambda path, draw, victim: os.mkfifo(_beside(path, part))


def _folder(part: str) -> Act:
    return lambda path, draw, victim: _beside(path, part).mkdir()


def _log_of(*statements: str) -> Act:
    """Put a valid write-ahead log with an attacker's statements beside the database."""

    def act(path: Path, draw: random.Random, victim: Path) -> None:
        other = path.with_suffix(".other")
        shutil.copy(path, other)
        with closing(sqlite3.connect(other, isolation_level=None)) as database:
            database.execute("PRAGMA wal_autocheckpoint = 0")
            for statement in statements:
                database.execute(statement)
            shutil.copy(_beside(other, "-wal"), _beside(path, "-wal"))
        other.unlink()

    return act


def _both(*acts: Act) -> Act:
    def act(path: Path, draw: random.Random, victim: Path) -> None:
        for each in acts:
            each(path, draw, victim)

    return act


def _sql(*statements: str) -> Act:
    def act(path: Path, draw: random.Random, victim: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            for statement in statements:
                with suppress(sqlite3.Error):  # this SQLite may lack a module
                    database.execute(statement)

    return act


def _schema(kind: str, name: str, statement: str) -> Act:
    """Insert an entry into the schema table that SQLite itself would not create."""
    values = ", ".join(f"'{value.replace(chr(39), chr(39) * 2)}'" for value in (kind, name, name))
    quoted = statement.replace("'", "''")
    return _sql(
        "PRAGMA writable_schema = ON",
        f"INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ({values}, 0, '{quoted}')",
    )


def _header(at: int, *values: bytes) -> Act:
    def act(path: Path, draw: random.Random, victim: Path) -> None:
        data = bytearray(path.read_bytes())
        value = draw.choice(values)
        data[at : at + len(value)] = value
        path.write_bytes(data)

    return act


def _corrupt(path: Path, draw: random.Random, victim: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 10, 300))):
        data[draw.randrange(100, len(data))] = draw.randrange(256)
    path.write_bytes(data)


def _be_sparse(path: Path, draw: random.Random, victim: Path) -> None:
    os.truncate(path, 1 << 40)


def _plan(**changes: Any) -> Act:
    def act(path: Path, draw: random.Random, victim: Path) -> None:
        line = ("0" * 64, 1.0, json.dumps(description(**changes)), "[]")
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DELETE FROM plans")
            database.execute("INSERT INTO plans VALUES (?, ?, ?, ?, ?)", (*line, plantable.checksum(line)))

    return act


def _one_blob_many_times(path: Path, draw: random.Random, victim: Path) -> None:
    """Rows whose cells share the same overflow pages, so that the rows read are larger than the file."""
    size = 2_000_000
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM rows")
        # Each row begins in the table's page and continues in its own chain of overflow pages.
        for number in range(6):
            database.execute(
                "INSERT INTO rows VALUES (?, ?, 'simulation', 1, ?, 1, zeroblob(?), NULL, 7, '0', 0.25, 0)",
                (number.to_bytes(16, "big"), bytes(16), number, size),
            )
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rows'").fetchone()
    data = bytearray(path.read_bytes())
    at = (root - 1) * PAGE
    (cells,) = struct.unpack_from(">H", data, at + 3)
    first = None
    for cell in range(cells):
        (where,) = struct.unpack_from(">H", data, at + 8 + 2 * cell)
        start = at + where
        payload, here = _varint(data, start)
        _, here = _varint(data, here)
        least = (PAGE - 12) * 32 // 255 - 23
        local = least + (payload - least) % (PAGE - 4)
        local = local if local <= PAGE - 35 else least
        first = first or bytes(data[here + local : here + local + 4])
        data[here + local : here + local + 4] = first
    path.write_bytes(data)


def _varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _resealed(path: Path, draw: random.Random, victim: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE rows SET failure = printf('%.3000000c', 'x') WHERE rowid = 3")
        reseal(database)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS names FROM n"
KINDS: dict[str, Act] = {
    "sound": lambda path, draw, victim: None,
    "journal": _put_journal,
    "journal of a log": _both(_log_of("DELETE FROM rows"), _put_journal),
    "journal with pages": _put_journal_with_pages,
    "journal through a link": _put_journal_through_link,
    "journal of an empty file": _be_empty_with_journal,
    "journal of noise": _put("-journal", 2000),
    "journal is empty": _put("-journal", 0),
    "journal is a pipe": _pipe("-journal"),
    "journal is a folder": _folder("-journal"),
    "journal is the victim": _link("-journal"),
    "log": _log_of("UPDATE rows SET run = run + 1000"),
    "log with a trigger": _log_of("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END"),
    "log with an index of noise": _both(_log_of("DELETE FROM rows"), _put("-shm", 32_768)),
    "log of noise": _put("-wal", 5000, bytes.fromhex("377f0682002de218")),
    "log of a lone byte": _put("-wal", 1),
    "log is the victim": _link("-wal"),
    "log is a hard link": _hard_link("-wal"),
    "log is a pipe": _pipe("-wal"),
    "log is a folder": _folder("-wal"),
    "log of an empty file": _both(_put("-wal", 5000), lambda path, draw, victim: path.write_bytes(b"")),
    "index is the victim": _link("-shm"),
    "index is a hard link": _hard_link("-shm"),
    "index and log are the victim": _both(_log_of("DELETE FROM rows"), _link("-shm")),
    "trigger": _sql("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END"),
    "view": _sql("DROP TABLE metric_sets", f"CREATE VIEW metric_sets AS {ENDLESS}"),
    "virtual table": _sql("DROP TABLE metric_sets", "CREATE VIRTUAL TABLE metric_sets USING fts5(id, names)"),
    "virtual table by hand": _schema(
        "table", "more", "CREATE VIRTUAL TABLE more USING csv(filename='/etc/passwd')"
    ),
    "generated column": _sql("ALTER TABLE rows ADD COLUMN more INTEGER AS (randomblob(900000000))"),
    "check": _sql(
        "DROP TABLE metric_sets",
        "CREATE TABLE metric_sets (id INTEGER PRIMARY KEY, names TEXT NOT NULL UNIQUE "
        "CHECK (length(randomblob(900000000)) > 0))",
    ),
    "index of an expression": _sql("CREATE INDEX i ON rows (abs(run))"),
    "index by hand": _schema("index", "sqlite_more", "CREATE INDEX sqlite_more ON rows (abs(run))"),
    "statement of 900 kB": _schema("table", "rows2", f"CREATE TABLE rows2 (x DEFAULT '{'x' * 900_000}')"),
    "name of 1 MB": _schema("table", "x" * 1_000_000, "CREATE TABLE x (y)"),
    "page size": _header(16, b"\0\0", b"\0\1", b"\2\0", b"\0\3", b"\x80\0", b"\xff\xff"),
    "mode": _header(18, b"\1\1", b"\2\3", b"\3\2", b"\xff\xff", b"\0\0"),
    "reserved bytes": _header(20, b"\x20", b"\xff"),
    "page count": _header(28, b"\x7f\xff\xff\xff", b"\0\0\0\1", b"\xff\xff\xff\xff"),
    "free list": _header(32, b"\0\0\0\2\0\0\0\1", b"\xff\xff\xff\xff\xff\xff\xff\xff"),
    "encoding": _header(56, b"\0\0\0\2", b"\0\0\0\3", b"\xff\xff\xff\xff"),
    "version": _header(60, b"\0\0\0\1", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"),
    "corrupt cells": _corrupt,
    "holes": _be_sparse,
    "one blob many times": _one_blob_many_times,
    "failure of 3 MB": _resealed,
    "blob of 50 MB": _sql('UPDATE rows SET "values" = zeroblob(50000000) WHERE rowid = 5'),
    "title of 8 MB": _plan(title="t" * 8_000_000),
    "name of 8 MB": _plan(name="n" * 8_000_000),
    "axes of 2 MB": _plan(axes=["a" * 2_000_000], points=[{"axes": {"a" * 2_000_000: 1}, "id": "0" * 32}]),
    "units of 2 MB": _plan(units={"goodput_bps": "u" * 2_000_000}),
    "method of 2 MB": _plan(methods=["m" * 2_000_000]),
    "plan of 300,000 points": lambda *given: _plan(points=points(300_000))(*given),
}


def strange_database(folder: Path, draw: random.Random, victim: Path) -> Path:
    """Write one hostile database of a random kind; some kinds refer to the victim's path."""
    template = folder / ".template.sqlite"
    _make_sound(template)
    name = draw.choice(list(KINDS))
    path = folder / "strange.sqlite"
    template.rename(path)
    KINDS[name](path, draw, victim)
    return path
