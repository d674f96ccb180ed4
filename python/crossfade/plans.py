"""From a scenario to a plan, and from the rows of a plan to results."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.errors import shortened
from crossfade.figures.wanted import OVER_TIME, Wanted
from crossfade.files import controls, read_scenario
from crossfade.results import datasets
from crossfade.results.cache import Cache, RowStore
from crossfade.results.manypoints import ManyPoints, ReadRows, RowsOnDemand, chunks
from crossfade.results.metrics import near_metrics, not_metrics
from crossfade.results.plantable import StoredPlan
from crossfade.results.results import Estimate, Point, Results
from crossfade.results.rows import PARTS, Row

Scenario = str | PathLike[str]
"""A scenario file, the name of a shipped scenario, or (with a line break in it) the TOML text itself."""

Values = Mapping[str, Any]
"""Dotted keys and what they are set to, or run over (a list, an array, or a range as text)."""


OnPoints = Callable[[int, int], object]
"""Takes how many points of a plan were read, and of how many, now and then while a plan is read."""

# To read so many takes a second.
MANY_POINTS = 10_000

# More in a list than any axis has: the core allows 100,000.
MOST_VALUES = 1_000_000
# A value of that many brackets was not meant.
MOST_DEPTH = 50

# The keys of more rows than this take longer to make than the rows of a store take to look through.
MANY_ROWS = 200_000
# To look a row up takes as long as to read some.
ROWS_FOR_A_KEY = 4
KEYS_AT_ONCE = 4096

# More rows of a point are not held: one takes a kilobyte.
MOST_ROWS_AT_ONCE = 50_000
# What a row takes in memory that is held, and besides while it is summed up; about, in bytes.
ROW_HELD = 1200
ROW_SUMMED_UP = 1200


class ViewOptions(TypedDict, total=False):
    """The keyword arguments of functions that look at single runs of a scenario.

    ``set`` changes keys (``{"tcp.w_max": 6}``; None takes a key out), ``over`` replaces or adds axes
    (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"`` and ``"start:stop:step"``), and ``seed``
    stands above that of the file.
    """

    set: Values | None
    over: Values | None
    seed: int | None


class PlanOptions(ViewOptions, total=False):
    """The keyword arguments of functions that plan runs.

    ``runs`` or ``precision`` (``"1 %"``) stand above the file's.
    """

    runs: int | None
    precision: str | None


class RunOptions(PlanOptions, total=False):
    """The keyword arguments of functions that run a scenario.

    ``jobs`` is the number of threads (all cores where None), on which results do not depend; with ``cache``
    finished runs are taken from the user's cache and kept there; ``progress`` shows a bar on standard error.
    """

    jobs: int | None
    cache: bool | Cache
    progress: bool


@dataclass(frozen=True)
class Options:
    """What is asked for on top of a scenario, and how it is carried out: :class:`RunOptions`, and methods."""

    set: Values | None = None
    over: Values | None = None
    runs: int | None = None
    precision: str | None = None
    seed: int | None = None
    methods: Sequence[str] | None = None
    jobs: int | None = None
    cache: bool | Cache = True
    progress: bool = False

    def classes(self) -> dict[str, str]:
        """The texts of the classes among the values, which are congestion controls, by the names of files."""
        texts: dict[str, str] = {}
        for key, value in [*(self.set or {}).items(), *(self.over or {}).items()]:
            for control in _classes(value):
                text = controls.text_of(control)
                if texts.setdefault(_file_of(control), text) != text:
                    raise errors.ScenarioError(f"{key}: two classes are called {control.__name__}")
        return texts

    def overrides(self) -> dict[str, Any]:
        """What of them makes another plan, as JSON has it and results files keep it."""
        return {
            "set": list(_plain(self.set or {}).items()),
            "over": list(_plain(self.over or {}).items()),
            "runs": self.runs,
            "precision": self.precision,
            "seed": self.seed,
            "methods": None if self.methods is None else list(self.methods),
        }


AS_WRITTEN = Options()


@dataclass(frozen=True)
class Plan:
    """What a scenario asks to be run, and what it was read from, which makes the same plan anywhere.

    ``files`` are the contents of the files that the scenario names, by name.
    """

    name: str
    text: str
    overrides: dict[str, Any]
    files: dict[str, str]
    core: _crossfade.Plan

    @cached_property
    def description(self) -> dict[str, Any]:
        """What :meth:`_crossfade.Plan.describe` says."""
        found: dict[str, Any] = json.loads(self.core.describe())
        return found

    @property
    def title(self) -> str:
        """The scenario's own words, or the first of many; empty where it has none."""
        return shortened(self.description["scenario"].get("title") or "")

    @cached_property
    def figure(self) -> Wanted:
        """What it says about its figure."""
        return Wanted.read(self.description["scenario"])

    def rows_in(self, store: RowStore) -> Iterator[Sequence[Row]]:
        """Rows of a store, some at a time; all that there are of this plan's are among them."""
        if self.core.rows() > min(MANY_ROWS, store.size() // ROWS_FOR_A_KEY):
            yield from store.scan()
            return
        keys = self.core.keys()
        for start in range(0, len(keys), KEYS_AT_ONCE):
            yield list(store.get(keys[start : start + KEYS_AT_ONCE]).values())

    def results(
        self, known: _crossfade.Known, read: ReadRows, complete: bool, *, at_once: bool = True
    ) -> Results:
        """The results of the rows that are known; where not ``complete``, without the points that have none.

        ``read`` gives rows by key. If not ``at_once``, points are made when somebody looks at them: ``read``
        must go on to work.
        """

        def make(numbers: Sequence[int]) -> list[Point]:
            keys = known.keys(numbers)
            rows_of: Callable[[list[str]], Sequence[Row]]
            if len(keys) > MOST_ROWS_AT_ONCE:
                # Of very many runs a part at a time.
                rows_of = partial(RowsOnDemand, read)
                parts = RowsOnDemand(read, keys).parts()
            else:
                rows = read(keys)
                rows_of = partial(_in_order, rows)
                parts = iter([list(rows.values())])
            found = json.loads(known.results(numbers, parts))
            return [_point(point, rows_of(point["rows"])) for point in found if complete or point["complete"]]

        counts, methods = known.counts(), self.description["methods"]
        many = ManyPoints(chunks(counts, all=complete), make, len(methods) if complete else None)
        points = list(many) if at_once else many
        if complete:
            _refuse_methods_without_result(methods, points)
        return self._results(points, complete, _crossfade.__version__)

    def results_of_groups(self, groups: Sequence[Sequence[Row]], complete: bool, version: str) -> Results:
        """The same from rows of each point by each method, in order, which ``version`` of crossfade made."""
        summary: list[dict[str, Any]] = []
        self.core.summarise_groups(groups, lambda text: summary.extend(json.loads(text)))
        found = [(point, rows[: len(point["rows"])]) for point, rows in zip(summary, groups, strict=True)]
        points = [
            _point(point, list(rows)) for point, rows in found if rows and (complete or point["complete"])
        ]
        return self._results(points, complete, version)

    def _results(self, points: Sequence[Point], complete: bool, version: str) -> Results:
        controls = {
            name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
            for name, text in self.files.items()
            if name.endswith((".py", ".rs"))
        }
        return Results(
            title=self.title,
            methods=self.description["methods"],
            seed=self.description["seed"],
            points=points,
            provenance={
                "version": version,
                "results_version": _crossfade.RESULTS_VERSION,
                "overrides": {name: dict(self.overrides.get(name, [])) for name in ("set", "over")},
                # Of congestion controls that are the user's own.
                **({"controls": controls} if controls else {}),
            },
            complete=complete,
            axes=self.description["axes"],
            figure=self.figure,
        )


def tell_of_many(say: Callable[[str], object], done: int, points: int) -> None:
    """Tell that a plan is large before it is read: for :func:`load`."""
    if done == 0 and points >= MANY_POINTS:
        say(f"reading {points:,} points")


def load(scenario: Scenario, options: Options = AS_WRITTEN, on_points: OnPoints | None = None) -> Plan:
    """Read a scenario with what is asked for on top of it; :class:`ScenarioError` where it is wrong."""
    name, text, read_file = read_scenario(scenario)
    classes = options.classes()

    def attached(file: str) -> str:
        return classes[file] if file in classes else read_file(file)

    plan = read(name, text, options.overrides(), attached, on_points)
    _check_figure(plan)
    return plan


def _check_figure(plan: Plan) -> None:
    """:class:`ScenarioError` for what no figure can show; an axis that was taken out of the sweep is none."""
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
    """The plan of a scenario's text, of :meth:`Options.overrides`, and of files by name.

    ``control`` says what a file is that the scenario names as a congestion control.
    """
    files: dict[str, str] = {}

    def kept(file: str) -> str:
        files[file] = read_file(file)
        return files[file]

    try:
        with translated_errors():
            core = _crossfade.Plan.load(text, name, json.dumps(overrides), kept, on_points, control)
    except ValueError as error:  # a number of a thousand digits, half a character
        raise errors.ScenarioError(shortened(str(error))) from None
    return Plan(name, text, overrides, files, core)


def load_results(path: str | PathLike[str], plan: int | str | None = None) -> Results:
    """A results file as :class:`Results`, as :func:`run` gave them: points with estimates and their rows.

    Points without a finished run are left out. All rows of the plan are held, a kilobyte each, which
    :func:`open_results` does not. ``plan`` is as in :func:`open_results`. Of a file whose plan
    this version of crossfade reads in another way, what only the scenario tells (``Point.scenario``,
    ``flows``, ``links``) is empty; the metrics of flows and links are in ``Point.parts``.
    """
    from crossfade.results.planresults import results_of, warnings_of  # here: numpy takes a while to load

    with datasets.no_collection():
        rows = datasets.read_plan(path, plan, with_rows=True)
        again = _read_again(rows.plan)
        if again is None:
            return results_of(rows)
        estimates = rows.estimates([rows.stop_metric])
        complete = bool(estimates.finished.all())
        results = again.results_of_groups(rows.by_point(), complete, rows.plan.description["version"])
        return replace(results, file_warnings=warnings_of(rows, estimates))


def _read_again(stored: StoredPlan) -> Plan | None:
    """The plan that a file keeps, None where it is not the same any more: another version made it."""
    what = stored.description
    if what["results_version"] != _crossfade.RESULTS_VERSION:
        return None
    try:
        plan = read(what["name"], what["text"], what["overrides"], what["files"].__getitem__)
    except (errors.ScenarioError, KeyError, ValueError):  # the last: overrides of an unknown kind
        return None
    kept = ("axes", "points", "methods", "stop", "seed")
    return plan if all(plan.description[name] == what[name] for name in kept) else None


def check_jobs(jobs: int | None) -> None:
    """:class:`ScenarioError` for a number of threads that cannot be meant."""
    if jobs is not None and not 1 <= jobs <= _crossfade.MOST_JOBS:
        raise errors.ScenarioError(f"jobs = {jobs}: must be at least 1 and at most {_crossfade.MOST_JOBS}")


def memory_of_rows(plan: Plan, held: bool = False) -> int:
    """Bytes that rows may take: those of a point while they are summed up, and all where they are ``held``.

    How many a stop rule will ask for is not known: then it says 0.
    """
    if "runs" not in plan.description["stop"]:
        return 0
    rows = plan.core.rows()
    return rows // len(plan.description["points"]) * ROW_SUMMED_UP + rows * ROW_HELD * held


def check_memory(plan: Plan, at_once: int = 1, held: bool = False) -> None:
    """:class:`ScenarioError` where runs, so many at once, may take more memory than ``run.memory`` allows.

    ``held`` says whether all rows are kept in memory until the end.
    """
    run, allowed = plan.core.memory()
    machine = _memory_of_machine()
    most = allowed if allowed is not None else machine // 2 if machine else None
    if most is None:
        return
    whose = f"{most:,} B are allowed" + ("" if allowed else " (half of this machine's)")
    if (rows := memory_of_rows(plan, held)) > most:
        file = "; crossfade sweep keeps them in a file" if held else "; fewer runs a point take less"
        raise errors.ScenarioError(f"run.memory: the rows may take {rows:,} B of memory, and {whose}{file}")
    if "simulation" not in plan.description["methods"] or run * at_once <= most:
        return
    what = "a run" if at_once == 1 else f"{at_once} runs at once"
    fewer = f"jobs = {int(most // run)}, " if most >= run else ""
    raise errors.ScenarioError(
        f"run.memory: {what} may take {int(run * at_once):,} B of memory, and {whose}; {fewer}shorter queues "
        "(link.queue.limit), fewer flows or a shorter run take less"
    )


def _memory_of_machine() -> int | None:
    """Bytes of memory that this process may come to have, None where nobody tells."""
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # a container's own limit; "max" is none
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    with suppress(ImportError):  # not on Windows
        import resource

        limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        found += [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min(found, default=None)


@contextmanager
def translated_errors() -> Iterator[None]:
    """The extension's errors as this package's own."""
    try:
        yield
    except _crossfade.ScenarioError as error:
        raise errors.ScenarioError(str(error)) from None
    except _crossfade.ImpossibleResultError as error:
        raise errors.ImpossibleResultError(str(error)) from None
    except _crossfade.GoldenError as error:
        raise errors.GoldenError(str(error)) from None


def _plain(values: Values) -> dict[str, Any]:
    """Values as JSON has them (numpy arrays and numbers become lists and numbers)."""
    return {key: _plain_value(key, value) for key, value in values.items()}


def _plain_value(key: str, value: Any, depth: int = 0) -> Any:
    if depth > MOST_DEPTH:
        raise errors.ScenarioError(
            f"{shortened(key)}: lists and tables in each other more than {MOST_DEPTH} deep"
        )
    values = getattr(value, "size", None)
    if values is None and isinstance(value, list | tuple | range):
        values = len(value)
    if isinstance(values, int) and values > MOST_VALUES:
        raise errors.ScenarioError(
            f"{shortened(key)}: {values:,} values are too many; at most {MOST_VALUES:,}"
        )
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {inner: _plain_value(f"{key}.{inner}", item, depth + 1) for inner, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain_value(key, item, depth + 1) for item in value]
    if isinstance(value, type) and key.endswith("congestion"):
        return f"{_file_of(value)}:{value.__name__}"
    if value is not None and not isinstance(value, str | int | float | bool):
        raise errors.ScenarioError(
            f"{shortened(key)} = {shortened(repr(value))}: must be a number, a text, true or false, a list "
            "or a table"
        )
    if isinstance(value, float) and value - value != 0.0:
        raise errors.ScenarioError(f"{key} = {value}: must be a finite number")
    return value


def _classes(value: Any) -> Iterator[type]:
    """The classes among values, however deep they lie."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, type):
            yield inner
        elif isinstance(inner, Mapping):
            waiting.extend(inner.values())
        elif isinstance(inner, list | tuple):
            waiting.extend(inner)


def _file_of(control: type) -> str:
    """The name that a class has as a file."""
    return f"{control.__name__}.py"


def _in_order(rows: Mapping[str, Row], keys: Sequence[str]) -> list[Row]:
    return [rows[key] for key in keys]


def _point(found: dict[str, Any], rows: Sequence[Row]) -> Point:
    """A point of the results, from a point of the core's summary."""
    runs, method = found["runs"], found["method"]

    def estimate(metric: Mapping[str, Any]) -> Estimate:
        return Estimate(
            method=method, **{"n" if name == "runs" else name: cell for name, cell in metric.items()}
        )

    def estimates(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
        return {name: estimate(metric) for name, metric in metrics.items() if isinstance(metric, dict)}

    metrics = estimates(found["metrics"])
    parts = {
        f"{part['name']}.{name}": estimate
        for part in [*found["flows"], *found["links"]]
        for name, estimate in estimates(part).items()
        # The wireless link is described by the metrics of the whole; so is a flow without a name.
        if part["name"] and not (part["name"] == "forward" and name in metrics)
    }
    return Point(
        axes=found["axes"],
        scenario=found["scenario"],
        method=method,
        runs=runs,
        metrics=metrics,
        parts=parts,
        **{kind.list: found.get(kind.list, []) for kind in PARTS},
        warnings=[*found["warnings"], *_failed(method, rows)],
        loss_windows=found["loss_windows"],
        rows=rows,
        snr_db=found.get("snr_db"),
        residual=[estimate(share) for share in found.get("residual", [])],
        combined=[estimate(share) for share in found.get("combined", [])],
    )


def _failed(method: str, rows: Sequence[Row]) -> list[str]:
    """Why live runs have no values: what the system refused, or sockets that used another TCP.

    What other methods refuse is known of the point before anything runs, and is among its warnings.
    """
    failures = [row.failure for row in rows if row.failure] if method == "live" else []
    if not failures:
        return []
    how_many = f"{len(failures)} of {len(rows)} runs of method live failed"
    return [f"{'no live' if len(failures) == len(rows) else how_many}: {failures[0]}"]


def _refuse_methods_without_result(methods: Sequence[str], points: Sequence[Point]) -> None:
    """A method that was refused at every point (its states fit nowhere) was asked for by mistake."""
    for method in methods:
        refused = f"no {method}: "
        first = next((point for point in points if point.method == method), None)
        reasons = [text for text in first.warnings if text.startswith(refused)] if first else []
        if reasons and not any(point.metrics for point in points if point.method == method):
            raise errors.ScenarioError(reasons[0].removeprefix(refused))
