"""Stored verdicts on papers' claims: they belong to the current checks, and unmet claims have a reason."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.papers import PAPERS
from crossfade.papers.reading import Override, Reading
from tests.conftest import long_form

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

kept_claims = import_module("kept_claims")
KEPT = [key for key in PAPERS if kept_claims.kept(key)]


def test_what_is_kept_was_judged_by_these_checks() -> None:
    for key in KEPT:
        readings = kept_claims.kept_readings(key)
        stale = [f"{claim} under {name}" for claim, name in kept_claims.stale(key) if name in readings]
        assert not stale, f"python scripts/judge_papers.py {key}: {', '.join(stale)}"
        there = PAPERS[key].SET
        assert readings[0] == there.readings().listed[0].name
        assert kept_claims.kept(key).keys() == {
            (claim["id"], name) for claim in there.listed() for name in readings
        }


def test_what_does_not_hold_says_why() -> None:
    for key in KEPT:
        there, rows = PAPERS[key].SET, kept_claims.kept(key)
        first = there.readings().listed[0].name
        for claim in there.listed():
            verdicts = set(kept_claims.verdicts_of(rows[claim["id"], first]))
            assert ("because" in claim) == bool(verdicts - {"holds", "not judged"}), (claim["id"], verdicts)


def test_pages_name_the_best_reading_and_have_the_scores_of_all() -> None:
    for key in KEPT:
        if len(readings := kept_claims.kept_readings(key)) < 2:
            continue
        page = (kept_claims.kept_file(key).parent / f"{key}.md").read_text(encoding="utf-8")
        name, tried = kept_claims.best(key)
        assert f"best single reading is `{name}`, of {tried} settings tried" in " ".join(page.split())
        scores = kept_claims.scores_table(key)
        assert scores.cells("reading") == readings
        for row in [*scores.records(), *kept_claims.turns_table(key).records()]:
            assert f"| {' | '.join(str(cell) for cell in row.values())} |" in page, (key, row)


def test_scores_count_the_verdicts_of_each_seed() -> None:
    for key in KEPT:
        claims = len(PAPERS[key].SET.listed())
        for row in kept_claims.scores_table(key).records():
            columns = [str(row[name]).split(" to ") for name in kept_claims.SCORES]
            fewest, most = (sum(int(cell[end]) for cell in columns) for end in (0, -1))
            judged = claims - sum(not claim.get("checks") for claim in PAPERS[key].SET.listed())
            assert fewest <= judged <= most, (key, row)


# A claim of each paper that is judged quickly.
QUICK = {"tcp-markov": "states-x-and-y", "tcp-rlp": "overhead", "wipemu": "spike-shifts-right"}


@pytest.mark.parametrize("key", [long_form(key) if key == "wipemu" else key for key in QUICK if key in KEPT])
def test_a_kept_row_comes_out_again(key: str) -> None:
    claim = QUICK[key]
    row = kept_claims.kept(key)[claim, PAPERS[key].SET.readings().listed[0].name]
    (found,) = cf.papers.claims(key, only=[claim], seed=1)
    assert kept_claims.verdicts_of(row)[0] == found.verdict
    assert (row["points"], row["holding"]) == (found.points, found.holding)
    assert row["ours"] == pytest.approx(found.worst.value, rel=1e-9)


def test_a_digest_is_of_what_decides() -> None:
    there = PAPERS["tcp-rlp"].SET
    f, *_, h = there.readings().listed
    (claim,) = [one for one in there.listed() if one["id"] == "tcp-4800"]

    def of(changed: dict[str, Any] | None = None, reading: Reading = f) -> str:
        found: str = kept_claims.digest(there, claim | (changed or {}), reading)
        return found

    (check,) = claim["checks"]
    assert of() == of({"quote": "other words", "why": "another reason", "because": "misprint: none at all"})
    assert len({of(), of({"checks": [check | {"margin": 4900}]}), of(reading=h)}) == 3
    # A reading's settings for another figure do not change the digest of this claim.
    elsewhere = Reading("x", "elsewhere", (Override({"tcp.w_max": 2}, {}, ("fig5",)),))
    assert of(reading=elsewhere) == of()
    assert of(reading=Reading("x", "here", (Override({"tcp.w_max": 2}, {}, ("fig4",)),))) != of()
