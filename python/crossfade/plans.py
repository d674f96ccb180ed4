"""From a scenario to a plan, and from the rows of a plan to results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

from crossfade import _crossfade, errors
from crossfade.files import read_scenario
from crossfade.results import Estimate, Point, Results
from crossfade.rows import Row

Scenario = str | PathLike[str]
"""A scenario file, the name of a shipped scenario, or (with a line break in it) the TOML text itself."""

Values = Mapping[str, Any]
"""Dotted keys and what they are set to, or run over (a list, an array, or a range as text)."""

# More threads than any machine has cores; a larger number is a slip of the pen.
MOST_JOBS = 1024


@dataclass(frozen=True)
class Plan:
    """What a scenario asks to be run, and how it was read: the same three make the same plan anywhere."""

    name: str
    text: str
    overrides: dict[str, Any]
    core: _crossfade.Plan

    @cached_property
    def description(self) -> dict[str, Any]:
        """What :meth:`_crossfade.Plan.describe` says."""
        found: dict[str, Any] = json.loads(self.core.describe())
        return found

    @property
    def title(self) -> str:
        """The scenario's own words, empty where it has none."""
        return self.description["scenario"].get("title") or ""

    def results(self, rows: Mapping[str, Row], complete: bool) -> Results:
        """The results of rows (by key); where not ``complete``, without the points that have none."""
        summary = json.loads(self.core.summarise(list(rows.values())))
        _refuse_methods_without_result(summary)
        return Results(
            title=self.title,
            methods=self.description["methods"],
            seed=self.description["seed"],
            points=[_point(found, rows) for found in summary if complete or found["complete"]],
            provenance={
                "version": _crossfade.__version__,
                "results_version": _crossfade.RESULTS_VERSION,
                "overrides": {name: dict(self.overrides[name]) for name in ("set", "over")},
            },
            complete=complete,
            axes=self.description["axes"],
        )


def load(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
) -> Plan:
    """Read a scenario with what is asked for on top of it; :class:`ScenarioError` where it is wrong."""
    name, text = read_scenario(scenario)
    overrides = {
        "set": list(_plain(set).items()),
        "over": list(_plain(over).items()),
        "runs": runs,
        "precision": precision,
        "seed": seed,
        "methods": None if methods is None else list(methods),
    }
    return read(name, text, overrides)


def read(name: str, text: str, overrides: dict[str, Any]) -> Plan:
    """The plan of a scenario's text and of the overrides that :func:`load` made."""
    with translated_errors():
        return Plan(name, text, overrides, _crossfade.Plan.load(text, name, json.dumps(overrides)))


def check_jobs(jobs: int | None) -> None:
    """:class:`ScenarioError` for a number of threads that cannot be meant."""
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise errors.ScenarioError(f"jobs = {jobs}: must be at least 1 and at most {MOST_JOBS}")


@contextmanager
def translated_errors() -> Iterator[None]:
    """The extension's errors as this package's own."""
    try:
        yield
    except _crossfade.ScenarioError as error:
        raise errors.ScenarioError(str(error)) from None
    except _crossfade.GoldenError as error:
        raise errors.GoldenError(str(error)) from None


def _plain(values: Values | None) -> dict[str, Any]:
    """Values as JSON has them (numpy arrays and numbers become lists and numbers)."""
    return {key: _plain_value(key, value) for key, value in (values or {}).items()}


def _plain_value(key: str, value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {inner: _plain_value(f"{key}.{inner}", item) for inner, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain_value(key, item) for item in value]
    if value is not None and not isinstance(value, str | int | float | bool):
        raise errors.ScenarioError(
            f"{key} = {value!r}: must be a number, a text, true or false, a list or a table"
        )
    if isinstance(value, float) and value - value != 0.0:
        raise errors.ScenarioError(f"{key} = {value}: must be a finite number")
    return value


def _point(found: dict[str, Any], rows: Mapping[str, Row]) -> Point:
    """A point of the results, from a point of the core's summary."""
    runs, method = found["runs"], found["method"]

    def estimates(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
        return {
            name: Estimate(metric["value"], metric["ci95"], runs, method, metric["unit"])
            for name, metric in metrics.items()
            if isinstance(metric, dict)
        }

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
        flows=found["flows"],
        links=found["links"],
        warnings=found["warnings"],
        loss_windows=found["loss_windows"],
        rows=[rows[key] for key in found["rows"]],
    )


def _refuse_methods_without_result(summary: list[dict[str, Any]]) -> None:
    """A method that was refused at every point (its states fit nowhere) was asked for by mistake."""
    for method in dict.fromkeys(found["method"] for found in summary):
        all_found = [found for found in summary if found["method"] == method]
        refused = f"no {method}: "
        reasons = [text for text in all_found[0]["warnings"] if text.startswith(refused)]
        if reasons and not any(found["metrics"] or not found["complete"] for found in all_found):
            raise errors.ScenarioError(reasons[0].removeprefix(refused))
