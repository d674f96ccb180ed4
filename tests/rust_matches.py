"""Rust files that must be changed for every new variant of an enum, found by a simple reader, not a compiler.

A *site* is a ``match`` that names variants (``Queue::Red``, or ``Self::Red`` in an ``impl`` of the enum) and
has no wildcard arm, so that a new variant does not compile until it is added there. Tests are left out, and
so are variants renamed by a ``use``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.rust_modules import without_tests, without_words

PAIRS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
# Wildcard pattern: `_`, a name, or a tuple of these, among the alternatives of an arm.
ALL_OTHERS = re.compile(r"(?:^|\| )(?:_|[a-z]\w*|\((?:_|[a-z]\w*)(?:, (?:_|[a-z]\w*))*\))(?: \||$)")


def files_with_sites(sources: Path, enum: str) -> set[Path]:
    """Files in a folder of crates that contain a site of an enum."""
    return {
        path
        for path in sources.glob("*/src/**/*.rs")
        if enum in (text := path.read_text()) and has_site(without_tests(without_words(text)), enum)
    }


def has_site(code: str, enum: str) -> bool:
    """True if code, without comments and tests, contains a site of an enum."""
    named = re.compile(rf"\b{enum}::[A-Z]\w*")
    return any(
        any(named.search(pattern) for pattern in patterns)
        and not any(ALL_OTHERS.search(pattern) for pattern in patterns)
        for patterns in _matches(_with_own_name(code, enum))
    )


def _with_own_name(code: str, enum: str) -> str:
    """Code in which ``Self::`` is replaced by the name of the enum inside its ``impl`` blocks."""
    for found in reversed(list(re.finditer(rf"\bimpl\b[^{{;]*\b{enum}\b(?:<[^>]*>)?\s*\{{", code))):
        end = _end(code, found.end() - 1)
        code = code[: found.end()] + code[found.end() : end].replace("Self::", f"{enum}::") + code[end:]
    return code


def _matches(code: str) -> Iterator[list[str]]:
    """Patterns of the arms of each ``match``, without arms that have a guard."""
    for found in re.finditer(r"\bmatch\b", code):
        depth, at = 0, found.end()
        while at < len(code) and not (code[at] == "{" and depth == 0):
            depth += PAIRS.get(code[at], 0)
            at += 1
        yield [pattern for pattern in _patterns(code[at + 1 : _end(code, at) - 1]) if " if " not in pattern]


def _patterns(body: str) -> Iterator[str]:
    at = 0
    while (arrow := _next(body, at, "=>")) is not None:
        yield " ".join(body[at:arrow].split()).strip(", |")
        at = arrow + 2
        rest = body[at:]
        begin = at + len(rest) - len(rest.lstrip())
        if body[begin : begin + 1] == "{":
            at = _end(body, begin)
        else:
            comma = _next(body, at, ",")
            at = len(body) if comma is None else comma + 1


def _next(text: str, at: int, what: str) -> int | None:
    """First index from ``at`` on at which ``what`` occurs outside all brackets; None if it does not."""
    depth = 0
    for index in range(at, len(text)):
        if depth == 0 and text.startswith(what, index):
            return index
        depth += PAIRS.get(text[index], 0)
    return None


def _end(text: str, at: int) -> int:
    """Index after the bracket that closes the one at ``at``."""
    depth = 0
    for index in range(at, len(text)):
        depth += PAIRS.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)
