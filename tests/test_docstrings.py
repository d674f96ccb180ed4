"""Docstrings of all public names are complete, in numpydoc's format, and their examples hold."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf

# Modules described on pages, whose examples are run there.
ELSEWHERE = ["errors", "teaching"]
SECTION = re.compile(r"^(?P<name>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


def public() -> Iterator[tuple[str, Any]]:
    """Every published function and class with its full name, once."""
    seen = set()
    for module in ["", *cf.MODULES]:
        if module in ELSEWHERE:
            continue
        there = importlib.import_module(f"crossfade.{module}") if module else cf
        for name in there.__all__:
            thing = getattr(there, name)
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                yield f"{module}.{name}".strip("."), thing


def methods(thing: type) -> Iterator[tuple[str, Any]]:
    """The public methods that a class defines itself."""
    for name, part in vars(thing).items():
        part = part.__func__ if isinstance(part, classmethod | staticmethod) else part
        if not name.startswith("_") and inspect.isfunction(part):
            yield name, part


def sections(text: str) -> dict[str, str]:
    """Text of each section of a docstring."""
    found = list(SECTION.finditer(text))
    ends = [*(match.start() for match in found), len(text)][1:]
    return {match["name"]: text[match.end() : end] for match, end in zip(found, ends, strict=True)}


def described(section: str) -> list[str]:
    """Names that a section of a docstring describes."""
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", section, re.MULTILINE)
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


def missing(thing: Any, needs_example: bool) -> Iterator[str]:
    """Missing parts of the docstring of a function."""
    text = inspect.cleandoc(thing.__doc__ or "")
    found = sections(text)
    if not text or text.startswith(("Parameters\n", "Returns\n")):
        yield "a summary"
    known = [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]
    there = described(found.get("Parameters", ""))
    yield from (f"parameter {name}" for name in known if name not in there)
    yield from (f"no parameter {name}" for name in there if name not in known)
    gives = thing.__annotations__.get("return", "something") not in (None, "None")
    if gives and not found.keys() & {"Returns", "Yields"}:
        yield "Returns"
    if needs_example:
        if known and "Raises" not in found:
            yield "Raises"
        if ">>>" not in found.get("Examples", ""):
            yield "Examples"


def lacking(thing: Any) -> Iterator[str]:
    """Missing parts of the docstrings of a function, or of a class and its methods."""
    if inspect.isfunction(thing):
        yield from missing(thing, needs_example=True)
        return
    text = inspect.cleandoc(thing.__doc__ or "")
    found = sections(text)
    if not text:
        yield "a docstring"
    is_error = issubclass(thing, BaseException)
    if not is_error and ">>>" not in text:
        yield "Examples"
    there = described(found.get("Attributes", "") + "\n" + found.get("Parameters", ""))
    if is_dataclass(thing):
        own = [field.name for field in fields(thing) if not field.name.startswith("_")]
        yield from (f"attribute {name}" for name in own if name not in there)
    elif not is_error and "__init__" in vars(thing):
        own = list(inspect.signature(thing).parameters)
        yield from (f"parameter {name}" for name in own if name not in there)
    for name, part in vars(thing).items():
        if isinstance(part, property | cached_property) and not name.startswith("_"):
            function = part.fget if isinstance(part, property) else part.func
            if not (function and function.__doc__):
                yield f"{name}: a docstring"
    for name, method in methods(thing):
        yield from (f"{name}: {what}" for what in missing(method, needs_example=False))


@pytest.mark.parametrize(("name", "thing"), list(public()))
def test_a_public_name_is_described_in_full(name: str, thing: Any) -> None:
    assert list(lacking(thing)) == []


def test_the_test_finds_what_is_missing() -> None:
    def bad(one: int, *, two: int = 0, **options: int) -> int:
        """Add.

        Parameters
        ----------
        one : int
            A number.
        three : int
            No parameter.
        """
        return one + two + len(options)

    found = ["parameter two", "parameter options", "no parameter three", "Returns", "Raises", "Examples"]
    assert list(lacking(bad)) == found
    assert list(lacking(type("Empty", (), {}))) == ["a docstring", "Examples"]


# Modules whose docstrings have examples: those that define public names.
def modules_with_examples() -> list[str]:
    places = {inspect.getmodule(thing).__name__ for _, thing in public()}  # type: ignore[union-attr]
    return sorted({*places, "crossfade"})


@pytest.mark.parametrize("name", modules_with_examples())
@pytest.mark.usefixtures("shared_cache")
def test_the_examples_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert not found.failed
