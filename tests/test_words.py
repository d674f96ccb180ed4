"""The words of scenario keys: a summary is a noun phrase that reads alone, in the terms of the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import crossfade as cf

# Terms that the field does not use, and the one that it does.
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


def test_descriptions_have_the_words_of_the_field() -> None:
    wrong = [
        f"{key}: {term} (say {better}): {text}"
        for key, text in dict.fromkeys(described(json.loads(cf.reference.schema())))
        for term, better in TERMS.items()
        if re.search(rf"\b{term}\b", text)
    ]
    assert wrong == []
