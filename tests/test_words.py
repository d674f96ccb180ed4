"""Summaries of scenario keys are noun phrases that read alone, in the terms of the field."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf

# Terms that the field does not use, each with the usual term.
TERMS = {
    r"way back": "reverse path",
    r"sent again": "retransmitted",
    r"repetitions?": "retransmission",
    r"who": "the thing itself",
    r"he": "the sender, the receiver",
    r"The same": "Like KEY, but",
    r"round trips?": "RTT",
}


def described(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every property of a schema with its description, and every word of a choice."""
    if isinstance(schema, list):
        for part in schema:
            yield from described(part, path)
    if not isinstance(schema, dict):
        return
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}".removeprefix("."), " ".join(part.get("description", "").split())
        yield from described(part, f"{path}.{name}")
    if "const" in schema:
        yield f"{path} = {schema['const']}".removeprefix("."), " ".join(schema.get("description", "").split())
    for key, part in schema.items():
        if key != "properties":
            yield from described(part, path)


def test_summaries_of_keys_are_short_and_read_alone() -> None:
    wrong = []
    for key, text in dict.fromkeys(described(json.loads(cf.reference.schema()))):
        summary = re.split(r"(?<=\.) ", text)[0]
        if " = " not in key and (len(summary.split()) < 4 or len(summary) > 90):
            wrong.append(f"{key}: {len(summary)} characters: {summary}")
    assert wrong == []


def test_no_description_hangs_on_what_it_describes() -> None:
    """No description begins like "Of the last one" or "Its last delay", which only the key beside it
    explains.
    """
    wrong = [
        f"{key}: {text}"
        for key, text in dict.fromkeys(described(json.loads(cf.reference.schema())))
        if re.match(r"(Of|Its?|Their|Those|That|They)\b", text)
    ]
    assert wrong == []


def test_descriptions_have_the_words_of_the_field() -> None:
    wrong = [
        f"{key}: {term} (say {better}): {text}"
        for key, text in dict.fromkeys(described(json.loads(cf.reference.schema())))
        for term, better in TERMS.items()
        if re.search(rf"\b{term}\b", text)
    ]
    assert wrong == []


def test_no_sentence_of_a_key_has_two_thats() -> None:
    wrong = [
        f"{key}: {sentence}"
        for key, text in dict.fromkeys(described(json.loads(cf.reference.schema())))
        for sentence in re.split(r"(?<=[.:;]) ", text)
        if len(re.findall(r"\bthat\b", sentence)) > 1 and not key.startswith(("nr", "wlan"))
    ]
    assert wrong == []


def test_the_check_finds_what_the_rules_forbid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
    check = import_module("check_words")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "crates" / "a" / "src").mkdir(parents=True)
    (tmp_path / "docs" / "page.md").write_text(
        "# Page\n\nOn 2026-11-22 nobody waited.\n\n`way back` is code.\n\nIt says that\nall that is.\n"
    )
    (tmp_path / "crates" / "a" / "src" / "lib.rs").write_text(
        "/// The same for others.\nfn a() {}\n// The way back, and a repetition.\n"
    )
    found = [line.partition(": ")[0] for line in check.findings()]
    assert sorted(found) == [
        "crates/a/src/lib.rs:1",
        "crates/a/src/lib.rs:3",
        "crates/a/src/lib.rs:3",
        "docs/page.md:3",
        "docs/page.md:3",
        "docs/page.md:7",
    ]
