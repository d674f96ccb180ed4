"""Figures of a paper that are scenarios: axes named as columns, and checks of claims on their curves."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crossfade import api
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.papers import gains, reading, verdicts
from crossfade.papers.checks import Curves, FigurePoint
from crossfade.papers.figure import Along, Figure
from crossfade.papers.options import Options
from crossfade.papers.reading import Readings
from crossfade.papers.verdicts import Outcome, Verdict
from crossfade.results.interrupted import Interrupted
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.results.rows import value_at
from crossfade.tables import Cell, Table

SpecialCheck = Callable[[Mapping[str, Any], Options], list[Outcome]]
"""Function that carries out a check of a kind that only one paper has."""


# Alternative keys for the speed of fading: one that is set replaces that of a reading.
GAINS = ("channel.fd_t", "channel.speed", "channel.block_length")


@dataclass(frozen=True)
class Axis:
    """A column that is an axis, and the scenario key that it stands for."""

    key: str
    # Converts a requested value (an item of "a,b,c") to that of the scenario; None: unchanged.
    read: Callable[[Any], Any] | None = None
    # Cell of the column for the scenario's value of `shown` (None: of the key itself).
    cell: Callable[[Any], Cell] = lambda value: value if isinstance(value, int | float | str) else None
    shown: str | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of a paper that are scenarios (``FOLDER/NAME.toml``), with its claims and readings.

    ``values`` gives the columns of a point that are not axes; ``quick`` are the keys set by ``--quick``.
    """

    folder: Path
    figures: Mapping[str, Figure]
    axes: Mapping[str, Axis]
    columns: list[str]
    values: Callable[[Point], dict[str, Cell]]
    quick: Mapping[str, Any]
    # Default metric of claims, and default methods unless a check needs runs.
    metric: str
    claims_methods: list[str]
    # Axes of figures under --quick, without curves that need longer runs.
    quick_axes: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    # Keys, and axes of figures, under --quick with method live, which runs in real time.
    quick_live: Mapping[str, Any] = field(default_factory=dict)
    live_axes: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    # Metric of a point by run, if the paper defines it differently from the results.
    sample: Callable[[Point, str], Sample] = Sample.of
    # Checks of kinds that only this paper has, by kind.
    kinds: Mapping[str, SpecialCheck] = field(default_factory=dict)
    # Folder of claims.toml and readings.toml; None: that of the scenarios.
    claims_folder: Path | None = None

    def table(self, name: str, options: Options) -> Table:
        """Rows of a figure under its columns."""
        try:
            return self.rows(self.results(name, options).points)
        except Interrupted as error:
            raise error.with_table(lambda results: self.rows(results.points)) from None

    def results(self, name: str, options: Options) -> Results:
        """Results of a figure's scenario."""
        return api.solve(self.path(name), self.asked(name, options))

    def path(self, name: str) -> Path:
        """Path of a figure's scenario."""
        return self.folder / f"{name}.toml"

    def asked(self, name: str, options: Options) -> Options:
        """Options for a figure's scenario, with axes by scenario keys.

        The caller's keys and axes take precedence over those of a reading, and these over ``quick``.
        """
        quick = self.quick if options.quick else {}
        read, axes = options.reading.of(name) if options.reading else ({}, {})
        short = self.quick_axes.get(name, {}) if options.quick else {}
        over = {**short, **axes, **(options.over or {})}
        if options.quick and "live" in (options.methods or ()):
            quick = {**quick, **self.quick_live}
            over = {**self.live_axes.get(name, {}), **over}
        keys = self._over(name, over)
        varied = {part for key in keys for part in key.split(",")}
        if not {*GAINS}.isdisjoint(options.set or {}):
            varied |= {*GAINS}
        read = {key: value for key, value in read.items() if key not in varied}
        return replace(options, set={**quick, **read, **(options.set or {})}, over=keys)

    def axes_of(self, point: Point) -> dict[str, Cell]:
        """Values of a point's axes, by the figure's columns."""
        return {
            column: axis.cell(value_at(point.scenario, axis.shown or axis.key))
            for column, axis in self.axes.items()
        }

    def along(self, name: str) -> Along:
        """Axis of a figure."""
        found = self.figures[name].along
        assert found is not None, f"{name} is a table"
        return found

    def place(self, name: str, point: Point) -> str:
        """Values of the axes of a figure's point, as text."""
        along, axes = self.along(name), self.axes_of(point)
        others = (f"{column} {value}" for column, value in axes.items() if column != along.column)
        return ", ".join([along.words(along.place(axes)), *others])

    def claims(self, options: Options, only: Sequence[str] | None = None) -> list[Verdict]:
        """Verdicts on the claims of ``claims.toml`` under the reading of the options, or else the first."""
        asked = replace(options, reading=options.reading or self.readings().listed[0])
        chosen = [claim for claim in self.listed() if only is None or claim["id"] in only]
        return [self.judge(claim, asked) for claim in chosen]

    def judge(self, claim: Mapping[str, Any], options: Options) -> Verdict:
        """Verdict on one claim."""
        return verdicts.judge(claim, lambda check: self._outcomes(check, options))

    def listed(self) -> list[dict[str, Any]]:
        """Claims as tables of ``claims.toml``."""
        with open(self._beside("claims.toml"), "rb") as file:
            found: list[dict[str, Any]] = tomllib.load(file)["claim"]
        return found

    def readings(self) -> Readings:
        """Readings of the paper, the first of which is that of its figures."""
        return reading.read(self._beside("readings.toml"))

    def _beside(self, name: str) -> Path:
        return (self.claims_folder or self.folder) / name

    def rows(self, points: Iterable[Point]) -> Table:
        """Table of points under the columns of the figures."""
        records: dict[str, dict[str, Cell]] = {}
        # Methods have either rows or columns of their own.
        by_row = "method" in self.columns
        for point in points:
            place = json.dumps([point.axes, point.method if by_row else ""])
            record = records.setdefault(place, self.axes_of(point))
            record |= self.values(point)
        return Table.of(self.columns, records.values())

    def _over(self, figure: str, over: Mapping[str, Any]) -> dict[str, Any]:
        """Axes named as columns, converted to axes of the scenario."""
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
        """Outcomes of one check; ``each`` repeats it with further columns of its curves fixed."""
        kind = check["kind"]
        if kind in self.kinds:
            return self.kinds[kind](check, options)
        curves = Curves(self.along(check["figure"]), list(self._points(check, options)))
        outcomes = []
        for fixed in check.get("each", [{}]):
            plus, minus = (
                [dict(curve) | fixed for curve in check.get(sign, [])] for sign in ("plus", "minus")
            )
            outcomes += gains.compare(check, curves, plus, minus)
        return outcomes

    def _points(self, check: Mapping[str, Any], options: Options) -> Iterator[FigurePoint]:
        """Points of a check; the column ``setting`` distinguishes its settings.

        They are those of its figure unchanged (``none``), those under each of its ``settings``, and those of
        the figures ``beside`` it. Analysis is preferred, since it has no intervals, but it has no settings.
        """
        settings = check.get("settings", {})
        by_run = check["kind"] == "identical" or settings
        read = options.reading.methods if options.reading else None
        usual = check.get("methods") or read or self.claims_methods
        methods = ["simulation"] if by_run else options.methods or usual
        parts = [(setting, check["figure"], keys) for setting, keys in ({"none": {}} | settings).items()]
        parts += [(setting, figure, {}) for setting, figure in check.get("beside", {}).items()]
        metrics = check.get("metrics", {"": check.get("metric", self.metric)})
        own = check.get("set", {}) if not options.quick else {}
        for setting, figure, keys in parts:
            changed = dict(options.set or {}) | own | keys
            asked = replace(options, over=check.get("over", {}), set=changed, methods=methods)
            for point in self.results(figure, asked).points:
                columns = self.axes_of(point) | {"setting": setting}
                for name, metric in metrics.items():
                    yield FigurePoint(columns | {"metric": name}, self.sample(point, metric))


def channel_axis() -> Axis:
    """Column ``channel``: ``iid``, or the ``fd_t`` of a Markov channel."""
    return Axis("channel", read=_channel, cell=_channel_cell)


RAYLEIGH = "rayleigh "
"""Prefix of a value of column ``channel`` for a sampled fading process; the f_d T follows."""


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
    """Check that the speed in km/h of an f_d T, with a carrier and a slot, is about the stated one."""
    outcomes = []
    for row in check["rows"]:
        doppler_hz = row["fd_t"] / check["slot_s"]
        speed = 3.6 * doppler_hz * LIGHT_M_PER_S / check["carrier_hz"]
        slack = check["tolerance"] - abs(speed / row["km_per_h"] - 1.0)
        where = f"fd_t {row['fd_t']:g} (said: {row['km_per_h']:g})"
        outcomes.append(Outcome(where, speed, None, slack >= 0.0, slack))
    return outcomes


def of_formula(name: str, axes: Mapping[str, list[float]], options: Options) -> dict[str, list[float]]:
    """Axes of a table without a scenario; ``over`` replaces some of them."""
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
    """Values of an axis as a list."""
    return values.split(",") if isinstance(values, str) else list(values)


def real(name: str, value: Any, allowed: str = "a number") -> float:
    """Value of an axis as a number; ``ScenarioError`` for another value."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ScenarioError(f"over {name} = {value}: must be {allowed}") from None


def find(paper: str, name: str, figures: Mapping[str, Figure]) -> None:
    """Raise ``ScenarioError`` for an unknown figure or table."""
    if name not in figures:
        raise ScenarioError(f"{paper} {name}: no such figure or table (there are: {', '.join(figures)})")
