"""Results files written by SQL alone: formats that readers must support."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import crossfade as cf
from crossfade.results import arrays, datasets
from tests.later import xarray as xr

SCHEMA = """
PRAGMA application_id = 0x43465253;
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS plans (id TEXT PRIMARY KEY, added REAL NOT NULL, description TEXT NOT NULL,
    warnings TEXT NOT NULL DEFAULT '[]');
CREATE TABLE IF NOT EXISTS metric_sets (id INTEGER PRIMARY KEY, names TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS rows (key BLOB NOT NULL UNIQUE, point BLOB NOT NULL, method TEXT NOT NULL,
    seed INTEGER NOT NULL, run INTEGER NOT NULL, metric_set INTEGER NOT NULL REFERENCES metric_sets,
    "values" BLOB NOT NULL, failure TEXT, results_version INTEGER NOT NULL, version TEXT NOT NULL,
    seconds REAL NOT NULL);
"""

UNITS = {
    "goodput_bps": "bit/s",
    "timeouts": "1",
    "rtt_mean_s": "s",
    "queue_drops": "packets",
    "queueing_delay_p95_s": "s",
}


class Made(NamedTuple):
    """A row to write: number of a point, run, and values of metrics or the reason of a failure."""

    point: int
    run: int
    metrics: Mapping[str, float]
    method: str = "simulation"
    failure: str | None = None
    seed: int = 1


def crossed(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the axes, the first axis varying slowest; keys joined by a comma vary together."""
    points: list[dict[str, Any]] = []
    for values in product(*axes.values()):
        point: dict[str, Any] = {}
        for keys, value in zip(axes, values, strict=True):
            names = keys.split(",")
            point |= dict(zip(names, value if len(names) > 1 else [value], strict=True))
        points.append(point)
    return points


def add_plan(
    path: Path,
    axes: Mapping[str, Sequence[Any]],
    *,
    ids: Sequence[int] | None = None,
    warnings: Sequence[str] = (),
    added: float = 0.0,
    **changes: Any,
) -> dict[str, Any]:
    """Write a plan with these axes; its points have the numbers 0, 1, ... or those of ``ids``. Returns its
    description.
    """
    points = crossed(axes)
    numbers = range(len(points)) if ids is None else ids
    description = {
        "name": "by-hand",
        "title": "By hand",
        "text": "schema = 1\n",
        "overrides": {"set": [["tcp.w_max", 6]], "over": []},
        "scenario": {},
        "axes": [name for keys in axes for name in keys.split(",")],
        "points": [
            {"axes": point, "id": f"{number:032x}"} for number, point in zip(numbers, points, strict=True)
        ],
        "methods": ["simulation"],
        "stop": {"runs": 2},
        "seed": 1,
        "units": UNITS,
        "version": "0.0.7",
        "results_version": 7,
    } | changes
    text = json.dumps(description)
    identity = hashlib.sha256(text.encode()).hexdigest()
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(SCHEMA)
        database.execute(
            "INSERT INTO plans VALUES (?, ?, ?, ?)", (identity, added, text, json.dumps(list(warnings)))
        )
    return description


def add_rows(path: Path, rows: Iterable[Made]) -> None:
    """Write rows in the given order."""
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(SCHEMA)
        for row in rows:
            names = "\n".join(sorted(row.metrics))
            database.execute("INSERT OR IGNORE INTO metric_sets (names) VALUES (?)", (names,))
            (number,) = database.execute("SELECT id FROM metric_sets WHERE names = ?", (names,)).fetchone()
            key = hashlib.md5(repr((row.point, row.run, row.method, row.seed)).encode()).digest()
            values = struct.pack(
                f"<{len(row.metrics)}d", *(row.metrics[name] for name in sorted(row.metrics))
            )
            database.execute(
                "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, 7, '0.0.7', 0.25)",
                (
                    key,
                    row.point.to_bytes(16, "big"),
                    row.method,
                    row.seed - 2**64 if row.seed >= 2**63 else row.seed,
                    row.run,
                    number,
                    values,
                    row.failure,
                ),
            )


def wide(path: Path, *, plan: int | None = None, per_run: bool = False) -> xr.Dataset:
    """Dataset of a results file in the layout of NetCDF files: one variable for each column of a table."""
    rows = datasets.read_plan(path, plan)
    return (arrays.per_run if per_run else arrays.of_estimates)(rows, wide=True)


def wide_of(results: cf.store.Results) -> xr.Dataset:
    """Dataset of results in memory in the layout of NetCDF files."""
    with pytest.warns(DeprecationWarning, match="goes with the next release"):
        return results.to_xarray(layout="wide")
