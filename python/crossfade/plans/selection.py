"""Selection of points of a sweep, by number or by values of axes: the result is axes with fewer values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures.choice import where
from crossfade.tables import Table, label

PLACE = " "


def chosen(
    description: Mapping[str, Any], point: int | None, at: Mapping[str, Any] | None
) -> list[tuple[str, Any]]:
    """Axes of a plan restricted to the values of the selected points, which replace the axes of the sweep.

    ``point`` is the number of a point, counted from 0; ``at`` has values of axes, compared as in
    :meth:`crossfade.store.Results.where`. Raises :class:`ScenarioError` if no point is left.
    """
    numbers = chosen_points(description, point, at)
    points = [description["points"][number]["axes"] for number in numbers]
    found = []
    for name in description["steps"]:
        keys = name.split(",")
        steps: list[list[Any]] = []
        for axes in points:
            if (step := [axes[key] for key in keys]) not in steps:
                steps.append(step)
        found.append((name, [step[0] for step in steps] if len(keys) == 1 else steps))
    return found


def chosen_points(
    description: Mapping[str, Any], point: int | None, at: Mapping[str, Any] | None
) -> list[int]:
    """Numbers of the selected points of a plan, all without a selection."""
    points, axes = description["points"], description["axes"]
    if point is not None and at:
        raise ScenarioError("point and where: give one of them, since each chooses points")
    if point is not None:
        if point >= len(points):
            last = f"0 to {len(points) - 1}" if len(points) > 1 else "0 alone"
            raise ScenarioError(f"point = {point}: no point of the plan (its points: {last})")
        return [point]
    if not at:
        return list(range(len(points)))
    for name in at:
        if (key := axis_of(name)) not in axes:
            known = ", ".join(axes) or "none: this is a single point"
            raise ScenarioError(f"where {shortened(key)}: no axis (axes: {shortened(known)})")
    rows = [[*(label(found["axes"][axis]) for axis in axes), place] for place, found in enumerate(points)]
    try:
        left = where(Table([*axes, PLACE], rows), at).cells(PLACE)
    except ResultsError as error:
        raise ScenarioError(str(error)) from None
    return [int(place or 0) for place in left]


def axis_of(name: str) -> str:
    """Name of the axis in a condition, which may end with a comparison (``channel.p_e<``)."""
    return re.split("[<>]", name)[0].strip()
