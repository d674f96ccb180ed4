"""Figures of a paper that are scenarios: axes named as columns, and checks of claims on their curves."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crossfade import api
from crossfade.errors import Interrupted, ScenarioError
from crossfade.papers import verdicts
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome, Sample, Verdict
from crossfade.results import Point, Results
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
    """The figures of a paper: ``FOLDER/NAME.toml`` each, and ``FOLDER/claims.toml`` for what is said of them.

    ``values`` gives the columns of a point that are no axes; ``quick`` is set under ``--quick``.
    """

    folder: Path
    axes: Mapping[str, Axis]
    columns: list[str]
    values: Callable[[Point], dict[str, Cell]]
    quick: Mapping[str, Any]
    # What claims are about, unless they say, and how it is computed, unless a check needs runs.
    metric: str
    claims_methods: list[str]
    # Checks of the paper's own kinds.
    kinds: Mapping[str, SpecialCheck] = field(default_factory=dict)

    def table(self, name: str, options: Options) -> Table:
        """The rows of a figure under its columns."""
        try:
            return self._rows(self.results(name, options))
        except Interrupted as error:
            raise Interrupted(error.results, self._rows(error.results)) from None

    def results(self, name: str, options: Options) -> Results:
        """The results of a figure's scenario."""
        return api.run(
            self.folder / f"{name}.toml",
            set=dict(self.quick if options.quick else {}) | dict(options.set),
            over=self._over(name, options.over),
            runs=options.runs,
            seed=options.seed,
            methods=options.methods,
            jobs=options.jobs,
            cache=options.cache,
            progress=options.progress,
        )

    def axes_of(self, point: Point) -> dict[str, Cell]:
        """Where a point lies, in the figure's columns."""
        return {
            column: axis.cell(_lookup(point, axis.shown or axis.key)) for column, axis in self.axes.items()
        }

    def place(self, point: Point) -> str:
        """The same as a text."""
        axes = self.axes_of(point)
        others = (f"{column} {value}" for column, value in axes.items() if column != "p_e")
        return ", ".join([f"p_e {axes['p_e']:.3g}", *others])

    def claims(self, options: Options) -> list[Verdict]:
        """The verdicts on every claim of ``claims.toml``."""
        with open(self.folder / "claims.toml", "rb") as file:
            found = tomllib.load(file)["claim"]
        return [verdicts.judge(claim, lambda check: self._outcomes(check, options)) for claim in found]

    def _rows(self, results: Results) -> Table:
        records: dict[str, dict[str, Cell]] = {}
        for point in results.points:
            record = records.setdefault(json.dumps(point.axes), self.axes_of(point))
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
        methods = ["simulation"] if by_run else options.methods or self.claims_methods
        samples = []
        for setting, keys in ({"none": {}} | settings).items():
            changed = dict(options.set) | (check.get("set", {}) if not options.quick else {}) | keys
            asked = replace(options, over=check.get("over", {}), set=changed, methods=methods)
            points = self.results(check["figure"], asked).points
            metrics = check.get("metrics", {"": check.get("metric", self.metric)})
            samples += [
                self._sample(point, {"setting": setting, "metric": name}, metric)
                for point in points
                for name, metric in metrics.items()
            ]
        outcomes = []
        for fixed in check.get("each", [{}]):
            plus, minus = (
                [dict(curve) | fixed for curve in check.get(sign, [])] for sign in ("plus", "minus")
            )
            outcomes += verdicts.compare(check, samples, plus, minus)
        return outcomes

    def _sample(self, point: Point, more: dict[str, Cell], metric: str) -> Sample:
        columns = self.axes_of(point) | more
        p_e = float(str(columns["p_e"]))
        if point.method == "simulation":
            return Sample(columns, p_e, point.samples(metric))
        return Sample(columns, p_e, [point.value(metric)], is_exact=True)


def channel_axis() -> Axis:
    """The column ``channel``: ``iid``, or the ``fd_t`` of a Markov channel."""
    return Axis("channel", read=_channel, cell=_channel_cell)


def _channel(value: Any) -> dict[str, Any]:
    if value == "iid":
        return {"model": "iid"}
    return {"model": "markov", "fd_t": real("channel", value, "iid or an fd_t")}


def _channel_cell(value: Any) -> Cell:
    model, fd_t = value.get("model"), value.get("fd_t")
    cell: Cell = fd_t if model == "markov" and fd_t is not None else model
    return cell


def of_formula(name: str, axes: Mapping[str, list[float]], options: Options) -> dict[str, list[float]]:
    """The axes of a table that has no scenario, with those that ``over`` replaces."""
    names = ", ".join(axes)
    if options.set:
        raise ScenarioError(f"{next(iter(options.set))} (set): {name} has no scenario; its axes are {names}")
    found = dict(axes)
    for column, values in options.over.items():
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


def find(paper: str, name: str, figures: Mapping[str, str]) -> None:
    """Raise ``ScenarioError`` for a figure or table that there is not."""
    if name not in figures:
        raise ScenarioError(f"{paper} {name}: no such figure or table (there are: {', '.join(figures)})")


def _lookup(point: Point, key: str) -> Any:
    """The value of a dotted key at a point."""
    value: Any = point.scenario
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
