"""Synthetic results for tests: given values of each metric in each run of each point."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from crossfade.results.points import Estimate, Point
from crossfade.results.results import Results
from crossfade.results.rows import Row

Values = Mapping[str, float | Sequence[float | None]]
"""Metrics by name: in each run (None where undefined), or one exact value."""


def results(axes: str, points: Mapping[Any, Values]) -> Results:
    """Results over ``axes`` (names separated by spaces), with the values of the axes as keys of ``points``.

    Points with exact values are solved, the others are simulated. With several axes a key is a tuple.
    """
    keys = axes.split()
    made = [
        _point(dict(zip(keys, place if isinstance(place, tuple) else (place,), strict=True)), values)
        for place, values in points.items()
    ]
    methods_there = list(dict.fromkeys(point.method for point in made))
    return Results(title="", methods=methods_there, seed=1, points=made, provenance={}, axes=keys)


def _point(axes: dict[str, Any], values: Values) -> Point:
    exact = {name: value for name, value in values.items() if isinstance(value, int | float)}
    by_run = {name: value for name, value in values.items() if not isinstance(value, int | float)}
    runs = max((len(value) for value in by_run.values()), default=0)
    rows = []
    for run in range(runs):
        here = {name: of[run] for name, of in sorted(by_run.items()) if run < len(of) and of[run] is not None}
        packed = struct.pack(f"<{len(here)}d", *here.values())
        rows.append(Row("", "", "simulation", 1, run, "\n".join(here), packed, None, 0.0))
    method = "simulation" if runs else "analysis:exact"
    names = {**exact, **by_run}
    metrics = {
        name: Estimate(exact.get(name, 0.0), None, None, None, runs, method, "bit/s") for name in names
    }
    return Point(
        axes=axes,
        scenario={},
        method=method,
        runs=runs,
        metrics=metrics,
        parts={},
        flows=[],
        links=[],
        warnings=[],
        loss_windows=[],
        rows=rows,
    )
