"""Figures of a paper that are scenarios: axes named as columns, and checks of claims on their curves."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crossfade import api
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.papers import verdicts
from crossfade.papers.figure import Along, Figure
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Curves, FigurePoint, Outcome, Verdict
from crossfade.results.interrupted import Interrupted
from crossfade.results.results import Point, Results
from crossfade.results.rows import value_at
from crossfade.tables import Cell, Table

SpecialCheck = Callable[[Mapping[str, Any], Options], list[Outcome]]
"""What a check of a paper's own kind finds."""


@dataclass(frozen=True)
class Axis:
    """A column that is an axis, and the key of a scenario that it stands for."""

    key: str
    # What a value asked for (one item of "a,b,c") is in the scenario; as it is where None.
    read: Callable[[Any], Any] | None = None
    # What stands in the column for the value of `shown` (the key itself where None).
    cell: Callable[[Any], Cell] = lambda value: value if isinstance(value, int | float | str) else None
    shown: str | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of a paper that are scenarios (``FOLDER/NAME.toml``), and its ``claims.toml``.

    ``values`` gives the columns of a point that are no axes; ``quick`` is set under ``--quick``.
    """

    folder: Path
    figures: Mapping[str, Figure]
    axes: Mapping[str, Axis]
    columns: list[str]
    values: Callable[[Point], dict[str, Cell]]
    quick: Mapping[str, Any]
    # What claims are about, unless they say, and how it is computed, unless a check needs runs.
    metric: str
    claims_methods: list[str]
    # What is set, and the axes of figures, under quick with method live, which takes as long as it lasts.
    quick_live: Mapping[str, Any] = field(default_factory=dict)
    live_axes: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    # Checks of the paper's own kinds.
    kinds: Mapping[str, SpecialCheck] = field(default_factory=dict)
    # Where the claims are, if not beside the scenarios.
    claims_file: Path | None = None

    def table(self, name: str, options: Options) -> Table:
        """The rows of a figure under its columns."""
        try:
            return self._rows(self.results(name, options))
        except Interrupted as error:
            raise error.with_table(self._rows) from None

    def results(self, name: str, options: Options) -> Results:
        """The results of a figure's scenario."""
        quick = self.quick if options.quick else {}
        over = options.over or {}
        if options.quick and "live" in (options.methods or ()):
            quick = {**quick, **self.quick_live}
            over = {**self.live_axes.get(name, {}), **over}
        asked = replace(options, set={**quick, **(options.set or {})}, over=self._over(name, over))
        return api.solve(self.folder / f"{name}.toml", asked)

    def axes_of(self, point: Point) -> dict[str, Cell]:
        """Where a point lies, in the figure's columns."""
        return {
            column: axis.cell(value_at(point.scenario, axis.shown or axis.key))
            for column, axis in self.axes.items()
        }

    def along(self, name: str) -> Along:
        """The axis of a figure."""
        found = self.figures[name].along
        assert found is not None, f"{name} is a table"
        return found

    def place(self, name: str, point: Point) -> str:
        """Where a point of a figure lies, as text."""
        along, axes = self.along(name), self.axes_of(point)
        others = (f"{column} {value}" for column, value in axes.items() if column != along.column)
        return ", ".join([along.words(along.place(axes)), *others])

    def claims(self, options: Options) -> list[Verdict]:
        """The verdicts on every claim of ``claims.toml``."""
        return [
            verdicts.judge(claim, lambda check: self._outcomes(check, options)) for claim in self.listed()
        ]

    def listed(self) -> list[dict[str, Any]]:
        """The claims as they are written down."""
        with open(self.claims_file or self.folder / "claims.toml", "rb") as file:
            found: list[dict[str, Any]] = tomllib.load(file)["claim"]
        return found

    def _rows(self, results: Results) -> Table:
        records: dict[str, dict[str, Cell]] = {}
        # Methods have columns of their own, or a row each.
        by_row = "method" in self.columns
        for point in results.points:
            place = json.dumps([point.axes, point.method if by_row else ""])
            record = records.setdefault(place, self.axes_of(point))
            record |= self.values(point)
        return Table.of(self.columns, records.values())

    def _over(self, figure: str, over: Mapping[str, Any]) -> dict[str, Any]:
        """Axes named as columns, as axes of the scenario."""
        axes: dict[str, Any] = {}
        for column, values in over.items():
            if column not in self.axes:
                raise ScenarioError(
                    f"over {column}: no axis of {figure} (its axes are {', '.join(self.axes)})"
                )
            axis = self.axes[column]
            axes[axis.key] = values if axis.read is None else [axis.read(value) for value in items(values)]
        return axes

    def _outcomes(self, check: Mapping[str, Any], options: Options) -> list[Outcome]:
        """The outcomes of one check; ``each`` repeats it with more columns of its curves fixed."""
        kind = check["kind"]
        if kind in self.kinds:
            return self.kinds[kind](check, options)
        # The figure as it is, and again under each of the settings that a check compares with it. Where the
        # analysis can tell, no interval blurs the answer.
        settings = check.get("settings", {})
        by_run = kind == "identical" or settings
        methods = ["simulation"] if by_run else options.methods or check.get("methods", self.claims_methods)
        points: list[FigurePoint] = []
        for setting, keys in ({"none": {}} | settings).items():
            changed = dict(options.set or {}) | (check.get("set", {}) if not options.quick else {}) | keys
            asked = replace(options, over=check.get("over", {}), set=changed, methods=methods)
            metrics = check.get("metrics", {"": check.get("metric", self.metric)})
            points += [
                FigurePoint(
                    self.axes_of(point) | {"setting": setting, "metric": name}, Sample.of(point, metric)
                )
                for point in self.results(check["figure"], asked).points
                for name, metric in metrics.items()
            ]
        curves = Curves(self.along(check["figure"]), points)
        outcomes = []
        for fixed in check.get("each", [{}]):
            plus, minus = (
                [dict(curve) | fixed for curve in check.get(sign, [])] for sign in ("plus", "minus")
            )
            outcomes += verdicts.compare(check, curves, plus, minus)
        return outcomes


def channel_axis() -> Axis:
    """The column ``channel``: ``iid``, or the ``fd_t`` of a Markov channel."""
    return Axis("channel", read=_channel, cell=_channel_cell)


RAYLEIGH = "rayleigh "
"""What stands before the ``fd_t`` of a sampled fading process in place of the Markov channel."""


def _channel(value: Any) -> dict[str, Any]:
    if value == "iid":
        return {"model": "iid"}
    if str(value).startswith(RAYLEIGH):
        fd_t = str(value).removeprefix(RAYLEIGH)
        return {"model": "rayleigh", "fd_t": real("channel", fd_t, "an fd_t behind rayleigh")}
    return {"model": "markov", "fd_t": real("channel", value, "iid or an fd_t")}


def _channel_cell(value: Any) -> Cell:
    model, fd_t = value.get("model"), value.get("fd_t")
    if model == "rayleigh" and fd_t is not None:
        return f"{RAYLEIGH}{fd_t:g}"
    cell: Cell = fd_t if model == "markov" and fd_t is not None else model
    return cell


LIGHT_M_PER_S = 299_792_458.0


def speeds(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """The speed in km/h that makes an f_d T, at a carrier and a slot: about what is said."""
    outcomes = []
    for row in check["rows"]:
        doppler_hz = row["fd_t"] / check["slot_s"]
        speed = 3.6 * doppler_hz * LIGHT_M_PER_S / check["carrier_hz"]
        slack = check["tolerance"] - abs(speed / row["km_per_h"] - 1.0)
        where = f"fd_t {row['fd_t']:g} (said: {row['km_per_h']:g})"
        outcomes.append(Outcome(where, speed, None, slack >= 0.0, slack))
    return outcomes


def of_formula(name: str, axes: Mapping[str, list[float]], options: Options) -> dict[str, list[float]]:
    """The axes of a table that has no scenario, with those that ``over`` replaces."""
    names = ", ".join(axes)
    if options.set:
        raise ScenarioError(f"{next(iter(options.set))} (set): {name} has no scenario; its axes are {names}")
    found = dict(axes)
    for column, values in (options.over or {}).items():
        if column not in found:
            raise ScenarioError(f"over {column}: no axis of {name} (its axes are {names})")
        found[column] = [real(column, value) for value in items(values)]
    return found


def items(values: Any) -> list[Any]:
    """The values of an axis, one by one."""
    return values.split(",") if isinstance(values, str) else list(values)


def real(name: str, value: Any, allowed: str = "a number") -> float:
    """A value of an axis as a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"over {name} = {value}: must be {allowed}") from None


def find(paper: str, name: str, figures: Mapping[str, Figure]) -> None:
    """Raise ``ScenarioError`` for a figure or table that there is not."""
    if name not in figures:
        raise ScenarioError(f"{paper} {name}: no such figure or table (there are: {', '.join(figures)})")
