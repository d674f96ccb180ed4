"""Plans: the points and runs that a scenario requests, with the overrides of a command or a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.errors import shortened
from crossfade.figures.wanted import OVER_TIME, Wanted
from crossfade.files import controls, read_scenario, toml
from crossfade.files.version import version
from crossfade.plans.options import AS_WRITTEN, Described, Options, ScenarioLike, classes, plain
from crossfade.plans.selection import chosen
from crossfade.results import datasets, making
from crossfade.results.metrics import near_metrics, not_metrics
from crossfade.results.plantable import StoredPlan
from crossfade.results.results import Results

OnPoints = Callable[[int, int], object]
"""Progress of reading a plan: called now and then with the number of points read, and the number of all
points.
"""

# Number of points from which on a message announces that a plan is being read; this many take about one
# second.
MANY_POINTS = 10_000


@dataclass(frozen=True)
class Plan:
    """Points and runs that a scenario requests, with the source text, which gives the same plan on any
    machine.

    ``files`` has the contents of the files that the scenario names, by name.
    """

    name: str
    text: str
    overrides: dict[str, Any]
    files: dict[str, str]
    core: _crossfade.Plan
    run: int = 0
    """Number of the run that views of single runs show, counted from 0."""

    @cached_property
    def description(self) -> dict[str, Any]:
        """Description of the plan by the core: :meth:`_crossfade.Plan.describe`."""
        found: dict[str, Any] = json.loads(self.core.describe())
        return found

    @property
    def title(self) -> str:
        """Title of the scenario, shortened if it is long; empty if it has none."""
        return shortened(self.description["scenario"].get("title") or "")

    @cached_property
    def figure(self) -> Wanted:
        """The scenario's table ``figure``."""
        return Wanted.read(self.description["scenario"])

    @cached_property
    def stored(self) -> dict[str, Any]:
        """Part of the plan that a results file stores, as plain values."""
        kept = ("scenario", "axes", "points", "methods", "stop", "seed", "units")
        return {
            "name": self.name,
            "title": self.title,
            "text": self.text,
            "overrides": self.overrides,
            "files": self.files,
            **{name: self.description[name] for name in kept},
            "version": version(),
            "results_version": _crossfade.RESULTS_VERSION,
        }


def tell_of_many(say: Callable[[str], object], done: int, points: int) -> None:
    """Announce the number of points of a large plan before it is read; meant for ``on_points`` of
    :func:`load`.
    """
    if done == 0 and points >= MANY_POINTS:
        say(f"reading {points:,} points")


def load(scenario: ScenarioLike, options: Options = AS_WRITTEN, on_points: OnPoints | None = None) -> Plan:
    """Read a scenario, changed by ``options``, as a plan of runs; raises :class:`ScenarioError` for a wrong
    one.
    """
    name, text, read_file, options = written(scenario, options)
    held = options.classes()

    def attached(file: str) -> str:
        return held[file] if file in held else read_file(file)

    plan = read(name, text, options.overrides(), attached, on_points)
    if options.point is not None or options.at:
        over = chosen(plan.description, options.point, options.at)
        plan = read(name, text, options.overrides() | {"over": over}, attached)
    _check_figure(plan)
    return replace(plan, run=options.run)


def written(
    scenario: ScenarioLike, options: Options = AS_WRITTEN
) -> tuple[str, str, Callable[[str], str], Options]:
    """Name and text of a scenario, a reader of the files that it names, and the options with those of the
    scenario object.
    """
    if isinstance(scenario, Described):
        return scenario.name, scenario.text, scenario.read_file, options.above(scenario.asked)
    if not isinstance(scenario, Mapping):
        return *read_scenario(scenario), options
    held = classes(scenario.items())
    name, text, read_file = read_scenario(toml.document(plain(scenario)))

    def attached(file: str) -> str:
        return held[file] if file in held else read_file(file)

    return name, text, attached, options


def _check_figure(plan: Plan) -> None:
    """Raise :class:`ScenarioError` if the scenario's figure names no metric, or no axis or key; a key that is
    no axis any more is allowed.
    """
    figure = plan.figure
    if figure.of in OVER_TIME:
        return
    for name in not_metrics(",".join(figure.y)) if figure.y else []:
        hint = near_metrics(name) or "crossfade metrics lists all"
        raise errors.ScenarioError(f"figure.y = {shortened(name)}: no metric ({hint})")
    for name in figure.columns:
        if name in (*plan.description["axes"], "method", "runs") or not not_metrics(name):
            continue
        try:
            _crossfade.explain(name)
        except _crossfade.ScenarioError as error:
            raise errors.ScenarioError(f"figure: no axis and no metric: {error}") from None


def read(
    name: str,
    text: str,
    overrides: dict[str, Any],
    read_file: Callable[[str], str],
    on_points: OnPoints | None = None,
    control: Callable[[str, str | None, str], object] = controls.control,
) -> Plan:
    """The plan of a scenario's text, of overrides (:meth:`Options.overrides`), and of files, read by name.

    ``control`` makes the congestion control of a file that the scenario names as one.
    """
    files: dict[str, str] = {}

    def kept(file: str) -> str:
        files[file] = read_file(file)
        return files[file]

    try:
        with translated_errors():
            core = _crossfade.Plan.load(text, name, json.dumps(overrides), kept, on_points, control)
    except ValueError as error:  # such as a number of a thousand digits, or an unpaired surrogate
        raise errors.ScenarioError(shortened(str(error))) from None
    return Plan(name, text, overrides, files, core)


def load_results(path: str | PathLike[str], plan: int | str | None = None) -> Results:
    """Read a results file as :class:`Results`: points with estimates and their rows.

    All rows of the plan are kept in memory, about a kilobyte each; :func:`crossfade.open_results` reads them
    on demand.

    Parameters
    ----------
    path : path
        The results file.
    plan : int or str, optional
        Plan of a file that holds several, by number (the oldest is 1) or id (default: the one run last).

    Returns
    -------
    Results
        Points without a finished run are left out. If this version of crossfade reads the stored scenario
        differently, everything that needs the scenario (``Point.scenario``, ``flows``, ``links``) is empty;
        metrics of flows and links are still in ``Point.parts``.

    Raises
    ------
    ResultsError
        If the file cannot be read, or has no such plan.

    Examples
    --------
    >>> import crossfade as cf
    >>> _ = cf.sweep("quickstart", methods=["formula"], out="load.sqlite")
    >>> cf.store.load("load.sqlite")
    <Results 'Three TCPs over a slowly fading link': 27 points over tcp.variant, channel.p_e; formula>
    """
    from crossfade.results.planresults import results_of, warnings_of  # here: numpy is slow to import

    with datasets.no_collection():
        rows = datasets.read_plan(path, plan, with_rows=True)
        again = _read_again(rows.plan)
        if again is None:
            return results_of(rows)
        estimates = rows.estimates([rows.stop_metric])
        complete = bool(estimates.finished.all())
        results = making.of_groups(rows.plan.description, again.core, rows.by_point(), complete)
        return replace(results, file_warnings=warnings_of(rows, estimates))


def _read_again(stored: StoredPlan) -> Plan | None:
    """The plan that a file stores, read anew; None if another version made it, or it is no longer the
    same.
    """
    what = stored.description
    if what["results_version"] != _crossfade.RESULTS_VERSION:
        return None
    try:
        plan = read(what["name"], what["text"], what["overrides"], what["files"].__getitem__)
    except (errors.ScenarioError, KeyError, ValueError):  # ValueError: overrides of an unknown kind
        return None
    kept = ("axes", "points", "methods", "stop", "seed")
    return plan if all(plan.description[name] == what[name] for name in kept) else None


@contextmanager
def translated_errors() -> Iterator[None]:
    """Context in which errors of the compiled extension become this package's own errors."""
    try:
        yield
    except _crossfade.ScenarioError as error:
        raise errors.ScenarioError(str(error)) from None
    except _crossfade.ImpossibleResultError as error:
        raise errors.ImpossibleResultError(str(error)) from None
    except _crossfade.GoldenError as error:
        raise errors.GoldenError(str(error)) from None
