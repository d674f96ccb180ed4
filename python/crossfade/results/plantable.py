"""Table of plans in a results file, each plan with a checksum.

A line is valid if its checksum, its types and its description (:mod:`crossfade.results.description`) are.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from crossfade.results.description import read_description, read_warnings
from crossfade.wording import METHODS

TABLE = """CREATE TABLE IF NOT EXISTS plans (
    id TEXT PRIMARY KEY,
    added REAL NOT NULL,
    description TEXT NOT NULL,
    warnings TEXT NOT NULL DEFAULT '[]',
    checksum INTEGER NOT NULL
)"""

# Times from here on (the year 9999) are invalid.
LATEST = 253_402_300_800.0


def is_solved(method: str) -> bool:
    """True if a method has no randomness."""
    return method in METHODS and not METHODS[method].random


@dataclass(frozen=True)
class StoredPlan:
    """A plan as a results file keeps it.

    ``description`` has name, title, text (the scenario file), overrides, scenario (of the first point), axes,
    points ``[{"axes": {key: value}, "id"}]``, methods, stop, seed, units, version, results_version.
    """

    id: str
    added: float
    """Time of the last request for the plan, in seconds since 1970."""
    description: dict[str, Any]
    warnings: list[str]


def plan_id(description: Mapping[str, Any]) -> str:
    """Id of a plan: a hash of the runs that it requests, independent of the wording of the scenario file."""
    asked = {
        "axes": description["axes"],
        "points": [point["id"] for point in description["points"]],
        "methods": description["methods"],
        "stop": description["stop"],
        "seed": description["seed"],
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def merge_plan(database: sqlite3.Connection, plan: StoredPlan) -> None:
    """Add a plan of another file; a known plan only takes over the later time of request."""
    there = plan_of_id(database, plan.id)
    put_plan(database, plan if there is None else replace(there, added=max(there.added, plan.added)))


def put_plan(database: sqlite3.Connection, plan: StoredPlan) -> None:
    """Store a plan, replacing one with the same id."""
    line = (plan.id, float(plan.added), _json(plan.description), _json(plan.warnings))
    database.execute(
        "INSERT INTO plans VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET added = excluded.added, "
        "description = excluded.description, warnings = excluded.warnings, checksum = excluded.checksum",
        (*line, checksum(line)),
    )


def plan_of_id(database: sqlite3.Connection, identity: str) -> StoredPlan | None:
    """Plan with this id; None if it is missing or damaged."""
    for line in database.execute("SELECT * FROM plans WHERE id = ?", (identity,)).fetchall():
        with suppress(ValueError):
            return read_line(line)
    return None


def read_line(line: tuple[Any, ...]) -> StoredPlan:
    """Convert a line of the table of plans; ``ValueError`` if it is damaged."""
    identity, added, description, warnings, *sums = line
    if [type(cell) for cell in line] != [str, float, str, str, *[int] * len(sums)]:
        raise ValueError("wrong types")
    if sums and sums[0] != checksum(line[:4]):
        raise ValueError("its checksum is another")
    if not -LATEST < added < LATEST:
        raise ValueError(f"added: {added}")
    return StoredPlan(identity, added, read_description(description), read_warnings(warnings))


def checksum(line: tuple[str, float, str, str]) -> int:
    """CRC-32 of the content of a plan."""
    identity, added, description, warnings = line
    return zlib.crc32("\0".join((identity, repr(added), description, warnings)).encode())


def seal_plans(database: sqlite3.Connection) -> None:
    """Add checksums to the plans of an older file."""
    if any(column == "checksum" for _, column, *_ in database.execute("PRAGMA table_info(plans)")):
        return
    database.execute("ALTER TABLE plans ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
    for line in database.execute("SELECT id, added, description, warnings FROM plans").fetchall():
        with suppress(ValueError):
            read_line(line)
            database.execute("UPDATE plans SET checksum = ? WHERE id = ?", (checksum(line), line[0]))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
