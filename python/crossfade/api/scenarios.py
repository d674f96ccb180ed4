"""Scenarios as objects: read once, changed without a file, run and displayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from os import PathLike
from typing import Any, Self, Unpack

from crossfade import errors, plans
from crossfade.api import solving
from crossfade.errors import visible
from crossfade.plans.options import AS_WRITTEN, Described, Options, RunOptions, Values
from crossfade.results.results import Results
from crossfade.results.shown import html_table
from crossfade.sweeps import sweep as sweeps
from crossfade.tables import label

# Largest number of values of an axis that is listed in full; a longer axis shows its first and last.
MOST_SHOWN = 8


class Scenario(Described):
    """A scenario as read: what is simulated, solved or emulated, and the axes of its sweep.

    It never changes: :meth:`with_` returns another scenario. Every function that takes the name of a scenario
    also takes such an object; its changes by :meth:`with_` take precedence over the text. A notebook shows
    the axes, the runs and the text.

    Parameters
    ----------
    source
        A file, the name of a shipped scenario, a text of TOML (with a line break in it), or a mapping with
        the keys of a scenario file, in which a dotted key addresses a key of a table (``{"tcp.w_max": 6}``).

    Raises
    ------
    ScenarioError
        If there is no such file, or a key is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> link = cf.Scenario.load("quickstart")
    >>> link
    <Scenario 'Three TCPs over a slowly fading link': 27 points over tcp.variant, channel.p_e; simulation>
    >>> exact = link.with_({"tcp.variant": "tahoe", "channel.p_e": 0.1}, methods=["analysis"])
    >>> round(exact.run().points[0].value("throughput_per_slot"), 3)
    0.701
    """

    def __init__(self, source: str | PathLike[str] | Mapping[str, Any]) -> None:
        self._read(*plans.written(source))

    def _read(self, name: str, text: str, read_file: Callable[[str], str], asked: Options) -> None:
        self.name = name
        """The name of the file or of the shipped scenario, ``scenario`` of a text or a mapping."""
        self.text = text
        """The text of TOML."""
        self.read_file = read_file
        self.asked = asked
        self._plan  # noqa: B018  # what is wrong is said now

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file, or a scenario that comes with the package.

        Parameters
        ----------
        path
            A file of TOML, or the name of a shipped scenario (``crossfade list`` names them).

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            If there is no such file, or a key is wrong.

        Examples
        --------
        >>> import crossfade as cf
        >>> cf.Scenario.load("quickstart").title
        'Three TCPs over a slowly fading link'
        """
        if isinstance(path, str) and "\n" in path:
            raise errors.ScenarioError("path: must be the name of a file; Scenario.from_toml reads a text")
        return cls(path)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a scenario from TOML text; files that it names are looked for in the working folder.

        Parameters
        ----------
        text
            Text of a scenario file.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            If the text is not TOML, or a key is wrong.

        Examples
        --------
        >>> import crossfade as cf
        >>> cf.Scenario.from_toml('''
        ... schema = 2
        ... run = { duration = "10 s", runs = 5 }
        ... channel = { model = "iid", p_e = 0.01 }
        ... link = { rate = "2 Mbit/s", packet_size = "1500 B" }
        ... tcp = { variant = "sack" }
        ... ''').methods
        ['simulation']
        """
        if not isinstance(text, str):
            raise errors.ScenarioError(f"text = {errors.shortened(repr(text))}: must be a text of TOML")
        return cls(text if "\n" in text else f"{text}\n")

    def with_(
        self,
        values: Values | None = None,
        *,
        over: Values | None = None,
        methods: Sequence[str] | None = None,
        runs: int | None = None,
        precision: str | None = None,
        seed: int | None = None,
    ) -> Self:
        """Another scenario: this one with some keys changed, other axes, or another stop rule.

        Parameters
        ----------
        values
            Dotted keys with their new values (``{"tcp.w_max": 6}``); None removes a key. A key that was an
            axis of the sweep no longer is one.
        over
            Axes to add or replace (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"`` and
            ``"start:stop:step"``).
        methods
            Names of methods (``["analysis", "simulation"]``).
        runs
            Number of runs of each point.
        precision
            Half-width of the 95 % interval at which no more runs are made, as a share of the mean (``"1
            %"``).
        seed
            Seed of all random numbers.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            If a key or a value is wrong; the message names what is allowed.

        Examples
        --------
        >>> import crossfade as cf
        >>> link = cf.Scenario.load("quickstart")
        >>> link.with_({"channel.p_e": 0.1}, over={"tcp.w_max": [6, 12, 24]}).axes
        {'tcp.variant': ['tahoe', 'reno', 'newreno'], 'tcp.w_max': [6, 12, 24]}
        """
        asked = Options(values, over, runs, precision, seed, methods)
        other = object.__new__(type(self))
        other._read(self.name, self.text, self.read_file, asked.above(self.asked))
        return other

    @cached_property
    def _plan(self) -> plans.Plan:
        return plans.load(self, AS_WRITTEN)

    @property
    def _swept(self) -> list[str]:
        return list(self._plan.description["axes"])

    @property
    def title(self) -> str:
        """Title of the scenario; empty if it has none."""
        return self._plan.title

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The axes of the sweep by their dotted keys, each with its values as tables show them."""
        at = [point["axes"] for point in self._plan.description["points"]]
        return {key: list(dict.fromkeys(label(axes[key]) for axes in at)) for key in self._swept}

    @property
    def points(self) -> int:
        """Number of points of the sweep."""
        return len(self._plan.description["points"])

    @property
    def methods(self) -> list[str]:
        """Names of the methods by which each point is solved or simulated, in the order given."""
        return list(self._plan.description["methods"])

    @property
    def warnings(self) -> list[str]:
        """Warnings about the scenario, one line each."""
        return list(self._plan.description["warnings"])

    def to_dict(self) -> dict[str, Any]:
        """All keys of the scenario with their defaults filled in; for a sweep, those of its first point.

        Returns
        -------
        dict
            Nested tables, as in a scenario file.

        Examples
        --------
        >>> import crossfade as cf
        >>> cf.Scenario.load("quickstart").to_dict()["tcp"]["w_max"]
        24
        """
        found: dict[str, Any] = self._plan.description["scenario"]
        return found

    def check(self) -> solving.Check:
        """Summary of the runs that the scenario requests, as :func:`crossfade.check` returns it; nothing is
        run.

        Returns
        -------
        Check
        """
        return solving.check(self)

    def run(self, **options: Unpack[RunOptions]) -> Results:
        """Solve or simulate every point by each method.

        Parameters
        ----------
        **options
            Those of :func:`crossfade.run`.

        Returns
        -------
        Results

        Raises
        ------
        ScenarioError
            If an option is wrong.
        Interrupted
            On Ctrl-C, with the results of the finished runs.

        Examples
        --------
        >>> import crossfade as cf
        >>> link = cf.Scenario.load("quickstart").with_(methods=["formula"])
        >>> link.run()
        <Results 'Three TCPs over a slowly fading link': 27 points over tcp.variant, channel.p_e; formula>
        """
        return solving.run(self, **options)

    def sweep(self, out: str | PathLike[str] | None = None, **options: Any) -> Results:
        """Run every point into a results file; finished runs that the file holds are not repeated.

        Parameters
        ----------
        out
            The results file (default: the scenario's name with the ending ``.sqlite``).
        **options
            Those of :func:`crossfade.sweep`.

        Returns
        -------
        Results

        Raises
        ------
        ScenarioError
            If an option is wrong.
        OutputError
            If the file cannot be written.
        Interrupted
            On Ctrl-C, with the results of the finished runs.
        """
        return sweeps.sweep(self, out=out, **options)

    def __repr__(self) -> str:
        return visible(f"<Scenario {self.title or self.name!r}: {self._size()}>")

    def _size(self) -> str:
        points = f"{self.points:,} point{'' if self.points == 1 else 's'}"
        return "; ".join([points + (f" over {', '.join(self._swept)}" if self._swept else ""), *self.methods])

    def _repr_html_(self) -> str:
        description = self._plan.description
        rows = [["name", self.name], ["network", description["network"]]]
        rows += [[key, _values(values)] for key, values in self.axes.items()]
        stop = "; ".join(f"{name} {value}" for name, value in description["stop"].items())
        rows += [["points", f"{self.points:,}"], ["methods", ", ".join(self.methods)], ["stop", stop]]
        rows += [["seed", str(description["seed"])]]
        rows += [[f"set {key}", str(label(value))] for key, value in (self.asked.set or {}).items()]
        rows += [["warning", text] for text in self.warnings]
        table = html_table(self.title or self.name, ["", ""], rows)
        text = f"<details><summary>TOML</summary><pre>{escape(visible(self.text))}</pre></details>"
        return f"<div>{table}{text}</div>"


def _values(values: Sequence[Any]) -> str:
    shown = [str(value) for value in values]
    if len(shown) > MOST_SHOWN:
        return f"{shown[0]} to {shown[-1]} ({len(shown)} values)"
    return ", ".join(shown)
