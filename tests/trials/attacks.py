"""Deliberate damage to results files, after which a reader gives equal results, a warning, or a one-line
error.

``python -m tests.trials`` runs the long form of these trials, pytest a short one.
"""

from __future__ import annotations

import copy
import io
import json
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.cli.app import main
from crossfade.results import plantable
from crossfade.results.file import ResultsFile
from tests.conftest import SWEEP, reseal
from tests.sweeps.test_cluster_security import (
    addresses,
    open_ports,
    second_namespace,
    strangers,
    who_answers,
)

RUNS = 6


def make_results(folder: Path) -> Path:
    """Write a results file of four points and, beside it, its scenario; gives the path of the results
    file.
    """
    (folder / "trial.toml").write_text(SWEEP.replace("2000 slots", "200 slots"))
    cf.sweep(folder / "trial.toml", runs=RUNS, out=folder / "trial.sqlite")
    return folder / "trial.sqlite"


def command(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command line in this process; gives its exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def is_one_line(err: str) -> bool:
    """True if the standard error of a command is one error line, after any number of warnings."""
    *before, last = err.splitlines()
    return (
        last.startswith("error: ")
        and all(line.startswith("warning: ") for line in before)
        and "a bug in crossfade" not in last
        and len(last) < 1000
    )


def flipped_bits(source: Path, folder: Path, count: int, seed: int = 1) -> Counter[str]:
    """Read copies with one flipped bit each: no reader gives other numbers without a warning."""
    draw, found = random.Random(seed), Counter[str]()
    read = ("--to", "csv", "--runs", "--out", "-")
    whole = command("export", source, *read)
    assert whole[0] == 0
    data = source.read_bytes()
    for number in range(count):
        bit = draw.randrange(8 * len(data))
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path = folder / f"flipped-{number}.sqlite"
        path.write_bytes(damaged)
        code, out, err = command("export", path, *read)
        told = "warning: " in err
        if code == 0 and out == whole[1]:
            outcome = "the same numbers, with a warning" if told else "the same numbers"
        elif code == 0:
            # Attributes of every export format mark an unfinished file; a warning tells of damage.
            outcome = "fewer rows, with a warning" if told or unfinished(path) else "OTHER NUMBERS"
            assert set(out.splitlines()) <= set(whole[1].splitlines()), f"bit {bit}: a row that never was"
        else:
            outcome = "refused in one line" if code == 2 and is_one_line(err) else "BAD REFUSAL"
        assert outcome.islower() or outcome[0].islower(), f"bit {bit}: {outcome}: {err}"
        found[outcome] += 1
        path.unlink()
    return found


def unfinished(path: Path) -> bool:
    return any(text.startswith("unfinished") for text in cf.store.load(path).warnings)


NASTY: list[Any] = [
    *(None, "", "x", "\x1b[31m", "../x", -1, 0, 1, 2**31, 2**63 - 1, -(2**63), 0.5, -1e308, 1e308),
    *(b"", b"\0" * 7, b"\xff" * 8, b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\0\0\0\0\xf8\x7f", "9" * 5000),
    *("[" * 100_000, '{"a":' * 50_000, "NaN", "Infinity", "1e999", "[]", "{}", "null"),
]
NASTY_JSON: list[Any] = [
    *(None, True, "", "x", "0" * 32, "\x1b]0;x\x07", -1, 0, 1, 7, 2**63, 2**70, 10**400, 1e308, -0.5),
    *([], {}, [[]], [None], {"a": 1}, {"runs": 10**12}, {"runs": 0}, {"precision": 0.01, "max_runs": 20}),
    *(["simulation"] * 2, [[1, 2]], ["x" * 10_000]),
]
COLUMNS = {
    "plans": ["id", "added", "description", "warnings"],
    "metric_sets": ["id", "names"],
    "rows": [
        "key",
        "point",
        "method",
        "seed",
        "run",
        "metric_set",
        '"values"',
        "failure",
        "version",
        "seconds",
    ],
}
SCHEMES = [
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} ADD COLUMN extra TEXT",
    "DROP TABLE {table}; CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
    "FROM n) SELECT i AS id, i AS names FROM n",
    "DROP TABLE {table}; CREATE TABLE {table} (id)",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
    "CREATE VIEW v AS SELECT * FROM {table}",
    "CREATE INDEX i ON {table} (abs(rowid))",
    "DELETE FROM {table}",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = -7",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
]


def tamper(path: Path, draw: random.Random) -> str:
    """Change something at random in a results file, often with a correct checksum; gives a description of the
    change.
    """
    table = draw.choice(list(COLUMNS))
    with (
        closing(sqlite3.connect(path)) as database,
        suppress(sqlite3.Error, struct.error, ValueError, TypeError, KeyError, AttributeError),
    ):
        kind = draw.choice(["cell", "cell", "json", "json", "schema", "copy"])
        if kind == "schema":
            what = draw.choice(SCHEMES).format(table=table)
            database.executescript(what)
            return what
        if kind == "json":
            (line,) = database.execute("SELECT * FROM plans")
            description = json.loads(line[2])
            what = mutate(description, draw)
            changed = (line[0], line[1], json.dumps(description), line[3])
            set_plan(database, changed)
            return what
        if kind == "copy":
            what = "rows twice under other keys"
            database.execute(
                'INSERT INTO rows SELECT randomblob(16), point, method, seed, run, metric_set, "values", '
                "failure, results_version, version, seconds, checksum FROM rows"
            )
        else:
            column, value = draw.choice(COLUMNS[table]), draw.choice(NASTY)
            what = f"{table}.{column} = {value!r:.60}"
            some = "" if draw.random() < 0.3 else " WHERE rowid % 3 = 1"
            database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{some}", (value,))
        database.commit()
        if draw.random() < 0.7:
            if table == "plans":
                set_plan(database, database.execute("SELECT * FROM plans").fetchone()[:4])
            else:
                reseal(database)
        database.commit()
        return what
    return "nothing that SQLite would do"


def set_plan(database: sqlite3.Connection, line: tuple[Any, ...]) -> None:
    database.execute("DELETE FROM plans")
    database.execute("INSERT INTO plans VALUES (?, ?, ?, ?, ?)", (*line, plantable.checksum(line)))
    database.commit()


def mutate(description: dict[str, Any], draw: random.Random) -> str:
    """Replace or delete a random value within a plan's description; gives a text for the change."""
    place: Any = description
    path = []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        path.append(str(key))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.4:
            break
        place = inner
    if draw.random() < 0.2:
        del place[key]
        return f"without {'.'.join(path)}"
    place[key] = copy.deepcopy(draw.choice(NASTY_JSON))
    return f"{'.'.join(path)} = {place[key]!r:.60}"


def tampered_reads(source: Path, folder: Path, count: int, seed: int = 1) -> Counter[str]:
    """Read copies with a deliberate change: each read gives results or a one-line error within 30 s, never a
    traceback.
    """
    draw, found = random.Random(seed), Counter[str]()
    reads: list[Callable[[Path], tuple[str | Path, ...]]] = [
        lambda path: ("export", path, "--to", "csv", "--out", "-"),
        lambda path: ("export", path, "--to", "csv", "--runs", "--out", "-"),
        lambda path: ("check", path),
        lambda path: ("merge", path, "--out", path.with_suffix(".merged")),
        lambda path: ("merge", source, "--out", path),
        lambda path: ("report", path, "--out", path.with_suffix(".html")),
        lambda path: ("sweep", source.with_suffix(".toml"), "--runs", str(RUNS), "--quiet", "--out", path),
        lambda path: ("compare", path, "--by", "tcp.variant", "--csv", "-"),
    ]
    for number in range(count):
        path = folder / f"tampered-{number}.sqlite"
        shutil.copy(source, path)
        what = tamper(path, draw)
        read = draw.choice(reads)(path)
        began = time.process_time()
        try:
            code, _, err = command(*read)
        except BaseException as error:
            raise AssertionError(f"{read[0]} after {what}: {error!r}") from error
        # Processor time, because a busy machine lengthens wall-clock time.
        assert time.process_time() - began < 30, f"{read[0]} after {what}: too slow"
        assert code in (0, 1) or is_one_line(err), f"{read[0]} after {what}: {err}"
        assert "\x1b" not in err
        found[f"{read[0]}: status {code}"] += 1
        for left in folder.glob(f"{path.stem}.*"):
            left.unlink()
    return found


def killed_sweeps(source: Path, folder: Path, count: int, seed: int = 1) -> Counter[str]:
    """Kill sweeps into the same file at random times, then finish it: its rows equal those of an
    uninterrupted sweep.
    """
    draw, found = random.Random(seed), Counter[str]()
    scenario, target = source.with_suffix(".toml"), folder / "killed.sqlite"
    more = ["--set", "run.duration=20000 slots", "--runs", "40", "--jobs", "1", "--quiet"]
    assert command("sweep", scenario, *more, "--out", folder / "alone.sqlite")[0] == 0
    for _ in range(count):
        sweep = [sys.executable, "-m", "crossfade", "sweep", str(scenario), *more, "--out", str(target)]
        process = subprocess.Popen(sweep, stderr=subprocess.DEVNULL)
        began = time.monotonic()
        # Until the file exists, only the interpreter is starting.
        while process.poll() is None and not target.exists():
            assert time.monotonic() - began < 60
        with suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        found["finished before" if process.wait() == 0 else "killed"] += 1
        if target.stat().st_size and (kept := command("check", target))[0] != 0:
            assert is_one_line(kept[2]), kept[2]
    assert command("sweep", scenario, *more, "--out", target)[0] == 0
    read = ("--to", "csv", "--runs", "--out", "-")
    assert command("export", target, *read)[1] == command("export", folder / "alone.sqlite", *read)[1]
    return found


def cluster_ports() -> Counter[str]:
    """Try every port from a second network namespace, before and during a local cluster: the cluster opens
    none.
    """
    from distributed import Security

    found = Counter[str]()
    with second_namespace() as (namespace, host):
        before = open_ports(namespace, host)
        with cf.store.Cluster("local", 2) as cluster:
            while cluster.workers < 2:
                time.sleep(0.05)
            opened = open_ports(namespace, host) - before
            assert not opened, f"open to another machine: {opened}"
            found["ports tried from another machine: the cluster opens none"] = 65_535
            stranger = Security.temporary()
            for address in addresses(cluster):
                for other, security in strangers(address, stranger):
                    with suppress(OSError):
                        raise AssertionError(f"{who_answers(other, security, within_s=2.0)} answers")
                    found["addresses tried from here without the certificate: no answer"] += 1
    return found


def killed_merges(source: Path, folder: Path, count: int, seed: int = 1) -> Counter[str]:
    """Kill merges at random times: the sources stay unchanged, and the target is complete or absent."""
    draw, found = random.Random(seed), Counter[str]()
    other, target = folder / "other.sqlite", folder / "target.sqlite"
    cf.sweep(source.with_suffix(".toml"), runs=RUNS, seed=9, out=other)
    before = [path.read_bytes() for path in (source, other)]
    for _ in range(count):
        merge = [sys.executable, "-m", "crossfade", "merge", str(source), str(other), "--out", str(target)]
        began = time.monotonic()
        process = subprocess.Popen(merge, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.0, 2.0))
        # Half of the kills wait for the draft of the target, because until then only the interpreter is
        # starting.
        if draw.random() < 0.5:
            while process.poll() is None and not any(folder.glob(".crossfade-*")):
                assert time.monotonic() - began < 60
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert [path.read_bytes() for path in (source, other)] == before
        if target.exists():
            with ResultsFile.open(target) as file:
                assert len(file.plans()) == 2
                assert sum(1 for _ in file.lines()) == 8 * RUNS
        found["whole" if target.exists() else "not there"] += 1
        target.unlink(missing_ok=True)
    return found
