"""Request for a figure: the table ``figure`` of a scenario, and the options that override it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crossfade.errors import ScenarioError, shortened
from crossfade.figures.choice import column_list
from crossfade.tables import Table

# Contents of a figure: metrics of all points, or a single run of each point over time.
OVER_TIME = ("events", "link-events")
KINDS = ("results", *OVER_TIME)
_CONDITION = re.compile(r"([^<>=]+)(<=|>=|<|>|=)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Wanted:
    """Figure as a scenario describes it (``crossfade explain figure``); None stands for a default."""

    of: str = "results"
    x: str | None = None
    y: list[str] | None = None
    by: list[str] | None = None
    panels: list[str] | None = None
    log_x: bool | None = None
    log_y: bool | None = None
    where: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def read(scenario: Mapping[str, Any]) -> Wanted:
        """Figure that a resolved scenario requests; entries that only another version knows are ignored."""
        said = scenario.get("figure")
        said = said if isinstance(said, dict) else {}
        labels = said.get("labels")
        return Wanted(
            of=said["of"] if said.get("of") in KINDS else "results",
            x=said["x"] if isinstance(said.get("x"), str) else None,
            y=_names(said.get("y")),
            by=_names(said.get("by")),
            panels=_names(said.get("panels")),
            log_x=_flag(said.get("log_x")),
            log_y=_flag(said.get("log_y")),
            where=dict(condition("figure.where", text) for text in _names(said.get("where")) or []),
            labels=labels if isinstance(labels, dict) else {},
        )

    @property
    def columns(self) -> list[str]:
        """Names of the axes and metrics of the figure."""
        return [name for name in (self.x, *(self.by or []), *(self.panels or [])) if name is not None]

    def over(
        self,
        table: Table,
        x: str | None = None,
        y: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        panels: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Wanted:
        """Copy with options in place of its own entries, and without columns that the table lacks.

        An axis that was removed from a sweep cannot be drawn along; columns given as options must exist.
        """
        asked_by, asked_panels = column_list(by), column_list(panels)
        taken = {x, *(asked_by or []), *(asked_panels or [])}

        def left(names: Sequence[str] | None) -> list[str] | None:
            kept = [name for name in names or [] if name in table.columns and name not in taken]
            return kept or None

        conditions = {
            name: value
            for name, value in self.where.items()
            if re.split("[<>]", name)[0].strip() in table.columns
        }
        return replace(
            self,
            x=x or next(iter(left([self.x] if self.x else None) or []), None),
            y=column_list(y) or self.y,
            by=asked_by if asked_by is not None else left(self.by),
            panels=asked_panels if asked_panels is not None else left(self.panels),
            where=dict(where) if where else conditions,
        )


def _names(said: Any) -> list[str] | None:
    found = [said] if isinstance(said, str) else said
    is_right = isinstance(found, list) and all(isinstance(name, str) for name in found)
    return found if is_right else None


def _flag(said: Any) -> bool | None:
    return said if isinstance(said, bool) else None


def condition(option: str, text: str) -> tuple[str, str]:
    """Column and value of ``KEY=VALUE``; another comparison stays at the end of the column."""
    found = _CONDITION.fullmatch(text)
    if found is None or not found[1].strip() or not found[3].strip():
        raise ScenarioError(f"{option} {shortened(text)}: must be KEY=VALUE (or <, <=, >, >=)")
    sign = "" if found[2] == "=" else found[2]
    return found[1].strip() + sign, found[3].strip()
