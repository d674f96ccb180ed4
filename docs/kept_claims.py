"""Stored verdicts on claims of papers, from full runs with three seeds under each reading.

``papers/KEY-claims.csv`` has a row for each claim and reading. Its digest covers everything that determines
the verdict: the checks, the scenarios of their figures with the keys that the reading sets, the results
version and the rules of judging. ``python scripts/judge_papers.py KEY`` judges missing and stale rows,
reading by reading; tests fail while a row is stale, or a reading has only some of its rows.
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
    """File with the stored verdicts on a paper."""
    return Path(__file__).parent / "papers" / f"{key}-claims.csv"


def kept(key: str) -> dict[tuple[str, str], Row]:
    """Stored rows of a paper, by claim and reading."""
    file = kept_file(key)
    rows = cf.store.Table.read(file).records() if file.exists() else []
    return {(str(row["claim"]), str(row["reading"])): row for row in rows if "digest" in row}


def digest(there: Figures, claim: Mapping[str, Any], reading: Reading) -> str:
    """Digest of everything that determines a verdict: a letter and twelve hexadecimal digits."""
    beside = ("claims", "readings")
    scenarios = {path.stem: path for path in there.folder.glob("*.toml") if path.stem not in beside}
    names: set[str] = set()
    for check in claim.get("checks", []):
        # A paper-specific check that names no figure may depend on all of them.
        names |= {check["figure"], *check.get("beside", {}).values()} if "figure" in check else {*scenarios}
    figures = {
        name: [_contents(scenarios[name]), reading.of(name)] for name in sorted(names & scenarios.keys())
    }
    decides = [claim.get("checks", []), figures, reading.methods, cf.reference.RESULTS_VERSION, RULES]
    text = json.dumps(decides, sort_keys=True, default=str)
    # The letter in front prevents that a digest such as 52e145937090 is read as a number.
    return "d" + hashlib.sha256(text.encode()).hexdigest()[:12]


def _contents(scenario: Path) -> dict[str, Any]:
    with open(scenario, "rb") as file:
        found = tomllib.load(file)
    return {name: part for name, part in found.items() if name != "title"}


def stale(key: str) -> dict[tuple[str, str], str]:
    """Claims and readings whose rows are missing or have another digest, each with the current digest."""
    there, rows = PAPERS[key].SET, kept(key)
    wanted = {
        (claim["id"], reading.name): digest(there, claim, reading)
        for reading in there.readings().listed
        for claim in there.listed()
    }
    return {place: new for place, new in wanted.items() if rows.get(place, {}).get("digest") != new}


def kept_readings(key: str) -> list[str]:
    """Readings with stored verdicts; the reading of the paper's figures comes first."""
    found = {name for _, name in kept(key)}
    return [reading.name for reading in PAPERS[key].SET.readings().listed if reading.name in found]


def judge(
    key: str,
    seeds: Sequence[int] = SEEDS,
    jobs: int | None = None,
    progress: bool = False,
    only: str | None = None,
) -> int:
    """Judge claims whose verdicts are stale, or lack one of the seeds; returns the number of new verdicts.

    The table is written after each reading (only ``only``, if given) and seed; the first reading is judged
    with all seeds first.
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
    """Row of a verdict with its first seed and its numbers."""
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
    """Write the existing rows of claims and readings, in their order."""
    there = PAPERS[key].SET
    places = [(claim["id"], reading.name) for reading in there.readings().listed for claim in there.listed()]
    table = cf.store.Table.of(COLUMNS, (rows[place] for place in places if place in rows))
    kept_file(key).write_text(table.to_csv(), encoding="utf-8")


def verdicts_of(row: Row) -> list[str]:
    """Verdicts of a row, one per seed."""
    return str(row["verdicts"]).split(BETWEEN)


def seeds_of(row: Row) -> list[int]:
    """Seeds with which a row was judged; empty for an empty row."""
    return [int(seed) for seed in str(row.get("seeds", "")).split()]


def show(key: str, gallery: Path) -> None:
    """Write the tables of a paper's page into the gallery: claims, scores of readings, and claims that depend
    on the reading.
    """
    gallery.mkdir(exist_ok=True)
    shown = {"claims": claims_table, "scores": scores_table, "turns": turns_table}
    for name, table in shown.items():
        (gallery / f"{key}-{name}.csv").write_text(table(key).to_csv(), encoding="utf-8")


def claims_table(key: str) -> cf.store.Table:
    """Claims of a paper under the reading of its figures, for its page."""
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
    """The verdict in words, with the seeds whose verdict differs."""
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
    """Claims whose verdict depends on the reading, with the verdict under each: yes, partly, no, or ? if
    undecided.

    The verdict is that of the first seed; a star marks verdicts on which the seeds disagree.
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
    """Number of claims of a paper with each verdict under each reading, and what each reading sets.

    If seeds disagree, a cell has the smallest and the largest number.
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
