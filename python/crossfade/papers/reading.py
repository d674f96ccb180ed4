"""Readings of a paper (``readings.toml``): each decides in one way what the text leaves open.

A verdict always belongs to one reading; verdicts under several readings are never combined.
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
    """Scenario keys, and axes by their columns, that a reading sets in some figures (empty: in all)."""

    set: Mapping[str, Any]
    over: Mapping[str, Any]
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """One way to decide what a paper leaves open: name, justification from the text, and settings.

    ``methods`` replaces the methods by which curves of claims are computed, unless a check has its own.
    """

    name: str
    why: str
    overrides: tuple[Override, ...] = ()
    methods: tuple[str, ...] | None = None

    def of(self, figure: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Scenario keys and axes that the reading sets in a figure."""
        changed: dict[str, Any] = {}
        axes: dict[str, Any] = {}
        for override in self.overrides:
            if not override.figures or figure in override.figures:
                changed |= override.set
                axes |= override.over
        return changed, axes


@dataclass(frozen=True)
class Readings:
    """Readings of a paper; the first is that of its figures' scenarios.

    ``tried`` is the number of settings that were run to find these readings, ``how`` tells which settings.
    """

    listed: Sequence[Reading]
    tried: int
    how: str = ""

    def find(self, paper: str, name: str) -> Reading:
        """Reading with this name; ``ScenarioError`` names the known ones."""
        for reading in self.listed:
            if reading.name == name:
                return reading
        names = [reading.name for reading in self.listed]
        near = get_close_matches(name, names, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}"
        raise ScenarioError(f"reading {name}: no such reading of {paper} ({meant})")


AS_DRAWN = Reading("as-drawn", "the scenarios of the figures as they stand; no other reading is written down")


def read(path: Path) -> Readings:
    """Readings in a file; without the file only that of the figures' scenarios."""
    if not path.exists():
        return Readings([AS_DRAWN], tried=1)
    with open(path, "rb") as file:
        found = tomllib.load(file)
    listed: dict[str, Reading] = {}
    for table in found["reading"]:
        listed[table["name"]] = _reading(table, listed)
    return Readings(list(listed.values()), found.get("tried", len(listed)), found.get("how", ""))


def _reading(table: Mapping[str, Any], earlier: Mapping[str, Reading]) -> Reading:
    """Reading of one entry: the settings of the readings in ``with``, then its own."""
    overrides = [override for name in table.get("with", []) for override in earlier[name].overrides]
    own = [table, *table.get("only", [])]
    overrides += [
        Override(part.get("set", {}), part.get("over", {}), tuple(part.get("figures", ())))
        for part in own
        if "set" in part or "over" in part
    ]
    methods = table.get("methods")
    return Reading(table["name"], table["why"], tuple(overrides), None if methods is None else tuple(methods))
