"""Readings of a paper: what its text leaves open, decided in one way (``readings.toml``).

A verdict is always of one reading: what holds under one and what holds under another is never added up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crossfade.errors import ScenarioError


@dataclass(frozen=True)
class Override:
    """Keys of scenarios, and axes by their columns, that a reading sets in some figures (none: in all)."""

    set: Mapping[str, Any]
    over: Mapping[str, Any]
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """One way to decide what a paper leaves open: its name, why the text can be read so, and what it sets.

    ``methods`` replaces the methods that curves of claims are computed by, unless a check names its own.
    """

    name: str
    why: str
    overrides: tuple[Override, ...] = ()
    methods: tuple[str, ...] | None = None

    def of(self, figure: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The keys and the axes that the reading sets in a figure."""
        changed: dict[str, Any] = {}
        axes: dict[str, Any] = {}
        for override in self.overrides:
            if not override.figures or figure in override.figures:
                changed |= override.set
                axes |= override.over
        return changed, axes


@dataclass(frozen=True)
class Readings:
    """The readings of a paper; the first is that of its figures as their scenarios stand.

    ``tried`` is how many settings were run before these were written down, ``how`` says of what.
    """

    listed: Sequence[Reading]
    tried: int
    how: str = ""

    def find(self, paper: str, name: str) -> Reading:
        """The reading of a name; ``ScenarioError`` names those there are."""
        for reading in self.listed:
            if reading.name == name:
                return reading
        names = [reading.name for reading in self.listed]
        near = get_close_matches(name, names, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}"
        raise ScenarioError(f"reading {name}: no such reading of {paper} ({meant})")


AS_DRAWN = Reading("as-drawn", "the scenarios of the figures as they stand; no other reading is written down")


def read(path: Path) -> Readings:
    """The readings in a file; where there is none, the figures as they stand."""
    if not path.exists():
        return Readings([AS_DRAWN], tried=1)
    with open(path, "rb") as file:
        found = tomllib.load(file)
    listed: dict[str, Reading] = {}
    for table in found["reading"]:
        listed[table["name"]] = _reading(table, listed)
    return Readings(list(listed.values()), found.get("tried", len(listed)), found.get("how", ""))


def _reading(table: Mapping[str, Any], earlier: Mapping[str, Reading]) -> Reading:
    """One entry: what the readings behind ``with`` set, then what it sets itself."""
    overrides = [override for name in table.get("with", []) for override in earlier[name].overrides]
    own = [table, *table.get("only", [])]
    overrides += [
        Override(part.get("set", {}), part.get("over", {}), tuple(part.get("figures", ())))
        for part in own
        if "set" in part or "over" in part
    ]
    methods = table.get("methods")
    return Reading(table["name"], table["why"], tuple(overrides), None if methods is None else tuple(methods))
