"""Dependencies between the files of a crate, by paths in the code: a simple reader, not a compiler.

It follows ``crate::``, ``super::``, ``self::`` and the names of child modules, in ``use`` and elsewhere, and
resolves a re-exported name (``pub use``) to its origin. A re-export alone is no dependency. Tests
(``#[cfg(test)]``) are left out; macros and inline modules are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Module = tuple[str, ...]
"""The path of a module from the root of its crate, which is ``()``."""


@dataclass
class Source:
    """A file: paths it uses, names it re-exports, and its code without both."""

    used: list[Module]
    handed_on: dict[str, Module]
    handed_on_all: list[Module]
    code: str
    children: list[str] = field(default_factory=list)


def arrows_between_files(folder: Path) -> dict[str, set[str]]:
    """For each file in a crate's ``src``, the files whose items it names."""
    files = {_module(path.relative_to(folder)): path for path in sorted(folder.rglob("*.rs"))}
    tests = {test for module, path in files.items() for test in _test_children(module, path.read_text())}
    sources = {
        module: _read(module, path.read_text()) for module, path in files.items() if module not in tests
    }
    names = {module: files[module].relative_to(folder).as_posix() for module in sources}
    return {
        names[module]: {names[other] for other in _known(module, sources) if other != module}
        for module in sources
    }


def _module(path: Path) -> Module:
    parts = [*path.parent.parts, path.stem]
    return tuple(parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts)


def _known(module: Module, sources: dict[Module, Source]) -> Iterator[Module]:
    source = sources[module]
    # A re-exported name is a dependency if the file's own code uses it.
    said = [to for name, to in source.handed_on.items() if re.search(rf"\b{name}\b", source.code)]
    paths = [*source.used, *said, *_paths(module, source)]
    for path in paths:
        if (home := _home(path, sources)) is not None:
            yield home


def _paths(module: Module, source: Source) -> Iterator[Module]:
    """Paths in the code: ``crate::units::Bits``, ``super::Frame``, and of a child module ``frame::Frame``."""
    first = "|".join(["crate", "super", "self", *source.children])
    for match in re.finditer(rf"(?<![\w:])({first})((?:::\w+)+)", source.code):
        found = _absolute([match[1], *match[2].split("::")[1:]], module, source.children)
        if found is not None:
            yield found


def _home(path: Module, sources: dict[Module, Source], depth: int = 0) -> Module | None:
    """Module that defines the item of a path: the longest part that is a file, or the origin of a
    re-export.
    """
    module = path
    while module not in sources:
        if not module:
            return None
        module = module[:-1]
    rest, source = path[len(module) :], sources[module]
    if not rest or depth > 8:
        return module
    if rest[0] in source.handed_on:
        return _home((*source.handed_on[rest[0]], *rest[1:]), sources, depth + 1)
    item = re.compile(rf"\b(?:fn|struct|enum|trait|type|const|static)\s+{rest[0]}\b")
    for other in source.handed_on_all:
        if other in sources and item.search(sources[other].code):
            return other
    return module


def _read(module: Module, text: str) -> Source:
    code = without_tests(without_words(text))
    children = re.findall(r"\bmod\s+(\w+)\s*;", code)
    source = Source([], {}, [], "", children)

    def take(match: re.Match[str]) -> str:
        for name, parts in _use_tree(match[2]):
            path = _absolute(parts, module, children)
            if path is None:
                continue
            if match[1] is None:
                source.used.append(path)
            elif name == "*":
                source.handed_on_all.append(path)
            else:
                source.handed_on[name] = path
        return " "

    source.code = re.sub(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);", take, code)
    return source


def _absolute(parts: list[str], module: Module, children: list[str]) -> Module | None:
    """The path from the root of the crate; None for a path into another crate."""
    here = list(module)
    if parts[0] == "crate":
        return tuple(parts[1:])
    if parts[0] in children:
        return (*here, *parts)
    if parts[0] not in ("self", "super"):
        return None
    while parts and parts[0] in ("self", "super"):
        here = here[:-1] if parts[0] == "super" else here
        parts = parts[1:]
    return (*here, *parts)


def _use_tree(text: str, before: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Names that a ``use`` imports, each with its path: ``a::{b, c as d}`` imports b and d."""
    text = text.strip()
    head, brace, inner = text.partition("{")
    parts = (*before, *(part for part in re.split(r"::|\s+", head.strip().removesuffix("::")) if part))
    if brace:
        for item in _items(inner.rpartition("}")[0]):
            yield from _use_tree(item, parts)
        return
    path, _, alias = text.partition(" as ")
    full = [*before, *(part.strip() for part in path.split("::"))]
    if full[-1] in ("self", "*"):
        yield ("*" if full[-1] == "*" else alias.strip() or full[-2]), full[:-1]
    else:
        yield alias.strip() or full[-1], full


def _items(text: str) -> Iterator[str]:
    depth, item = 0, ""
    for letter in text:
        if letter == "," and depth == 0:
            yield item
            item = ""
        else:
            depth += (letter == "{") - (letter == "}")
            item += letter
    if item.strip():
        yield item


WORDS = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r"|b?r(?P<hashes>#*)\".*?\"(?P=hashes)"  # raw strings
    r"|b?\"(?:\\.|[^\"\\])*\""  # strings
    r"|b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n])'",  # characters, not lifetimes
    re.DOTALL,
)


def without_words(text: str) -> str:
    """Code without comments, and with empty string literals."""
    return WORDS.sub(lambda found: " " if found[0].startswith("/") else '""', text)


TEST = re.compile(r"#\[cfg\((?:test|all\(test[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*")


def without_tests(code: str) -> str:
    """Code without items that exist only for tests."""
    while (found := TEST.search(code)) is not None:
        code = code[: found.start()] + code[_end_of_item(code, found.end()) :]
    return code


def _end_of_item(code: str, at: int) -> int:
    """Index after the ``;`` or closing brace of the item that begins at ``at``."""
    depth = 0
    for index in range(at, len(code)):
        letter = code[index]
        depth += (letter in "{([") - (letter in "})]")
        if depth == 0 and letter in ";}":
            return index + 1
    return len(code)


def _test_children(module: Module, text: str) -> Iterator[Module]:
    """Modules in their own files that exist only for tests."""
    code = without_words(text)
    for found in TEST.finditer(code):
        child = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;").match(code, found.end())
        if child is not None:
            yield (*module, child[1])
