"""Verdicts on claims of papers that are kept beside the pages: full runs, three seeds, each reading.

``papers/KEY-claims.csv`` has a row for each claim and reading. Its digest is of all that decides the
verdict: the checks, the scenarios of their figures with what the reading sets, the results version and the
rules of judging. ``python scripts/judge_papers.py KEY`` judges what is missing or stale, reading by reading;
the tests fail while a row is stale, or a reading has a part of its rows.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.papers import PAPERS, Verdict
from crossfade.papers.figures import Figures
from crossfade.papers.reading import Reading
from crossfade.papers.verdicts import RULES, verdict_table
from crossfade.tables import Cell

SEEDS = (1, 2, 3)
NUMBERS = ["points", "holding", "undecided", "unseen", "nothing_to_tell", "ours", "ci95", "at"]
COLUMNS = [
    "claim",
    "reading",
    "verdict",
    *NUMBERS,
    "seeds",
    "verdicts",
    "results_version",
    "digest",
    "command",
]
BETWEEN = "; "

Row = dict[str, Cell]


def kept_file(key: str) -> Path:
    """Where the verdicts on a paper are kept."""
    return Path(__file__).parent / "papers" / f"{key}-claims.csv"


def kept(key: str) -> dict[tuple[str, str], Row]:
    """The rows that are kept, by claim and reading."""
    file = kept_file(key)
    rows = cf.store.Table.read(file).records() if file.exists() else []
    return {(str(row["claim"]), str(row["reading"])): row for row in rows if "digest" in row}


def digest(there: Figures, claim: Mapping[str, Any], reading: Reading) -> str:
    """Of what decides a verdict: a letter and twelve hexadecimal digits."""
    beside = ("claims", "readings")
    scenarios = {path.stem: path for path in there.folder.glob("*.toml") if path.stem not in beside}
    names: set[str] = set()
    for check in claim.get("checks", []):
        # A check of a paper's own kind that names no figure may look at any.
        names |= {check["figure"], *check.get("beside", {}).values()} if "figure" in check else {*scenarios}
    figures = {
        name: [_contents(scenarios[name]), reading.of(name)] for name in sorted(names & scenarios.keys())
    }
    decides = [claim.get("checks", []), figures, reading.methods, cf.reference.RESULTS_VERSION, RULES]
    text = json.dumps(decides, sort_keys=True, default=str)
    # With a letter in front: 52e145937090 would be read as a number.
    return "d" + hashlib.sha256(text.encode()).hexdigest()[:12]


def _contents(scenario: Path) -> dict[str, Any]:
    with open(scenario, "rb") as file:
        found = tomllib.load(file)
    return {name: part for name, part in found.items() if name != "title"}


def stale(key: str) -> dict[tuple[str, str], str]:
    """The claims and readings whose rows are missing or of other checks, with the digests to be."""
    there, rows = PAPERS[key].SET, kept(key)
    wanted = {
        (claim["id"], reading.name): digest(there, claim, reading)
        for reading in there.readings().listed
        for claim in there.listed()
    }
    return {place: new for place, new in wanted.items() if rows.get(place, {}).get("digest") != new}


def kept_readings(key: str) -> list[str]:
    """The readings of which verdicts are kept, that of the figures first."""
    found = {name for _, name in kept(key)}
    return [reading.name for reading in PAPERS[key].SET.readings().listed if reading.name in found]


def judge(
    key: str,
    seeds: Sequence[int] = SEEDS,
    jobs: int | None = None,
    progress: bool = False,
    only: str | None = None,
) -> int:
    """Judge what is stale, or was not judged with one of the seeds yet; says how many verdicts that were.

    The table is written after each reading (``only`` one, if it is named) and seed, the first reading with
    all seeds first.
    """
    there, rows, wanted = PAPERS[key].SET, kept(key), stale(key)
    rows = {place: row for place, row in rows.items() if place not in wanted}
    first, *others = there.readings().listed
    count = 0
    for reading, seed in [*product([first], seeds), *((one, seed) for seed in seeds for one in others)]:
        missing = [
            claim["id"]
            for claim in there.listed()
            if seed not in seeds_of(rows.get((claim["id"], reading.name), {}))
        ]
        if not missing or only not in (None, reading.name):
            continue
        judged = cf.papers.claims(
            key, reading=reading.name, only=missing, seed=seed, jobs=jobs, progress=progress
        )
        for verdict in judged:
            place = (verdict.claim, reading.name)
            if place in rows:
                row = rows[place]
                row["seeds"] = f"{row['seeds']} {seed}"
                row["verdicts"] = f"{row['verdicts']}{BETWEEN}{verdict.verdict}"
            else:
                rows[place] = _row(key, verdict, reading, seed, wanted[place])
        count += len(judged)
        _write(key, rows)
    return count


def _row(key: str, verdict: Verdict, reading: Reading, seed: int, new: str) -> Row:
    """The verdict with a first seed and its numbers."""
    (record,) = verdict_table([verdict]).records()
    asked = f"--reading {reading.name} --claim {verdict.claim} --seed {seed}"
    return {name: record[name] for name in ("claim", "verdict", *NUMBERS)} | {
        "reading": reading.name,
        "seeds": str(seed),
        "verdicts": verdict.verdict,
        "results_version": cf.reference.RESULTS_VERSION,
        "digest": new,
        "command": f"crossfade paper {key} {asked}",
    }


def _write(key: str, rows: Mapping[tuple[str, str], Row]) -> None:
    """Write the rows of claims and readings that there are, in their order."""
    there = PAPERS[key].SET
    places = [(claim["id"], reading.name) for reading in there.readings().listed for claim in there.listed()]
    table = cf.store.Table.of(COLUMNS, (rows[place] for place in places if place in rows))
    kept_file(key).write_text(table.to_csv(), encoding="utf-8")


def verdicts_of(row: Row) -> list[str]:
    """The verdicts with each seed."""
    return str(row["verdicts"]).split(BETWEEN)


def seeds_of(row: Row) -> list[int]:
    """The seeds that a row was judged with: none that is not there."""
    return [int(seed) for seed in str(row.get("seeds", "")).split()]


def show(key: str, gallery: Path) -> None:
    """Write what the paper's page shows into the gallery: claims, scores of readings, and what these turn."""
    gallery.mkdir(exist_ok=True)
    shown = {"claims": claims_table, "scores": scores_table, "turns": turns_table}
    for name, table in shown.items():
        (gallery / f"{key}-{name}.csv").write_text(table(key).to_csv(), encoding="utf-8")


def claims_table(key: str) -> cf.store.Table:
    """The claims of a paper for its page, under the reading of its figures."""
    there, rows = PAPERS[key].SET, kept(key)
    first = there.readings().listed[0].name
    shown: list[Row] = []
    for claim in there.listed():
        row = rows[claim["id"], first]
        because = claim.get("because", "") if row["points"] or row["nothing_to_tell"] else claim["why"]
        shown.append(
            {
                "quote": claim["quote"],
                "figure": claim["figure"],
                "verdict": _by_seeds(row),
                "points": _points(row),
                "because": because,
            }
        )
    return cf.store.Table.of(["quote", "figure", "verdict", "points", "because"], shown)


def _by_seeds(row: Row) -> str:
    """The verdict, and which seeds come to another one."""
    others = [
        f"seed {seed}: {verdict}"
        for seed, verdict in zip(seeds_of(row), verdicts_of(row), strict=True)
        if verdict != row["verdict"]
    ]
    return f"{row['verdict']} ({', '.join(others)})" if others else str(row["verdict"])


def _points(row: Row) -> str:
    if row["verdict"] == "not judged":
        return ""
    parts = [f"{row['holding']} of {row['points']}"]
    parts += [f"{row['undecided']} undecided"] if row["undecided"] else []
    return "; ".join(parts + ([f"{row['unseen']} cannot be seen"] if row["unseen"] else []))


SHORT = {"holds": "yes", "holds partly": "partly", "does not hold": "no"}


def turns_table(key: str) -> cf.store.Table:
    """The claims whose verdict hangs on the reading: yes, partly, no, or ? where it cannot be told.

    The verdict is that of the first seed; a star stands where the seeds do not agree.
    """
    there, rows, names = PAPERS[key].SET, kept(key), kept_readings(key)
    shown: list[Row] = []
    for claim in there.listed():
        by_seed = {
            name: [SHORT.get(word, "?") for word in verdicts_of(rows[claim["id"], name])] for name in names
        }
        if len({words[0] for words in by_seed.values()}) > 1:
            cells = {name: words[0] + "*" * (len(set(words)) > 1) for name, words in by_seed.items()}
            shown.append({"statement": claim["id"], **cells})
    return cf.store.Table.of(["statement", *names], shown)


SCORES = {
    "hold": ("holds",),
    "partly": ("holds partly",),
    "not": ("does not hold",),
    "cannot be told": ("undecided", "cannot be seen", "nothing to tell"),
}


def scores_table(key: str) -> cf.store.Table:
    """How many claims of a paper come to which verdict under each reading, and what the reading decides.

    Where seeds do not agree a cell has the fewest and the most.
    """
    there, rows = PAPERS[key].SET, kept(key)
    shown: list[Row] = []
    for reading in there.readings().listed:
        of = [row for (_, name), row in rows.items() if name == reading.name]
        if not of:
            continue
        seeds = sorted(set.intersection(*(set(seeds_of(row)) for row in of)))
        cells: Row = {"reading": reading.name}
        for column, words in SCORES.items():
            counts = [
                sum(verdicts_of(row)[seeds_of(row).index(seed)] in words for row in of) for seed in seeds
            ]
            same = min(counts) == max(counts)
            cells[column] = str(counts[0]) if same else f"{min(counts)} to {max(counts)}"
        shown.append(cells | {"seeds": str(len(seeds)), "decides": reading.why})
    return cf.store.Table.of(["reading", *SCORES, "seeds", "decides"], shown)


def best(key: str) -> tuple[str, int]:
    """The reading under which most claims hold in the mean of its seeds, and how many settings were tried.

    Of several the one with the fewest claims that do not hold.
    """
    readings, rows = PAPERS[key].SET.readings(), kept(key)

    def rank(name: str) -> tuple[float, float]:
        found = [verdicts_of(row) for (_, reading), row in rows.items() if reading == name]
        seeds = len(found[0])
        holding, failing = (
            sum(verdicts.count(word) for verdicts in found) / seeds for word in ("holds", "does not hold")
        )
        return holding, -failing

    return max(kept_readings(key), key=rank), readings.tried
