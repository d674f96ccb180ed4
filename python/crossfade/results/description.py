"""Description of a plan in a results file, checked once when read, so that readers may rely on its shape.

The checks are written by hand: there are a dozen shapes, half of the conditions are in no schema (each point
has every axis, an id has 32 hexadecimal digits), and a library of models would delay every command.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

# Keys from which the id of a plan is computed, and further keys that readers need.
ASKED = ("axes", "points", "methods", "stop", "seed")
TOLD = ("name", "title", "text", "overrides", "scenario", "units", "version", "results_version")

# Greatest number of points of a sweep: MOST_POINTS of crates/scenario/src/range.rs.
MOST_POINTS = 100_000
# Greatest length of the name of an axis or a method; keys that vary together form one name.
LONGEST_NAME = 1_000
MOST_RUNS = 10_000_000
# Greatest value of run.count.
MOST_COUNTED = 10**12
DEEPEST = 64
POINT_ID = re.compile("[0-9a-f]{32}")


def read_json(text: object) -> Any:
    """Parse JSON with finite numbers and limited nesting; ``ValueError`` otherwise."""
    if not isinstance(text, str):
        raise ValueError("not a text")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check_value(value, 0)
    return value


def read_description(text: object) -> dict[str, Any]:
    """Parse and check the description of a plan; ``ValueError`` says what is wrong."""
    found = read_json(text)
    if not isinstance(found, dict):
        raise ValueError("not a table")
    check_has(found, ASKED)
    for key, is_right in SHAPES.items():
        if key in found and not is_right(found[key]):
            raise ValueError(f"{key}: not what a sweep writes")
    axes = set(found["axes"])
    if not all(_is_point(point, axes) for point in found["points"]):
        raise ValueError("points: not what a sweep writes")
    return found


def read_warnings(text: object) -> list[str]:
    """Parse and check the list of warnings of a plan."""
    found: list[str] = read_json(text)
    if not _is_texts(found):
        raise ValueError("warnings: not a list of texts")
    return found


def check_has(description: dict[str, Any], keys: Sequence[str]) -> None:
    """Raise ``ValueError`` if a description lacks one of the keys."""
    for key in keys:
        if key not in description:
            raise ValueError(f"{key}: missing")


def _check_value(value: Any, depth: int) -> None:
    if isinstance(value, dict | list):
        if depth == DEEPEST:
            raise ValueError("nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            _check_value(inner, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value}: not a finite number")
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("a number beyond 64 bits")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_names(value: Any) -> bool:
    return (
        _is_texts(value)
        and all(value)
        and len(set(value)) == len(value)
        and all(len(name) <= LONGEST_NAME for name in value)
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_table_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_stop(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "runs" in value:
        return value.keys() == {"runs"} and _is_whole(value["runs"], 1, MOST_RUNS)
    if not _is_whole(value.get("max_runs"), 1, MOST_COUNTED):
        return False
    if "count" in value:
        named = value.keys() == {"count", "max_runs", "metric"} and _is_text(value["metric"])
        return named and _is_whole(value["count"], 1, MOST_COUNTED)
    precision = value.get("precision")
    return (
        value.keys() - {"metric"} == {"precision", "max_runs"}
        and _is_text(value.get("metric", ""))
        and isinstance(precision, float | int)
        and not isinstance(precision, bool)
        and precision > 0
    )


def _is_overrides(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(pairs, list)
        and all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)
        for pairs in (value.get("set", []), value.get("over", []))
    )


def _is_point(value: Any, axes: set[str]) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("axes"), dict)
        and value["axes"].keys() >= axes
        and isinstance(value.get("id"), str)
        and POINT_ID.fullmatch(value["id"]) is not None
    )


SHAPES: dict[str, Callable[[Any], bool]] = {
    "name": _is_text,
    "title": _is_text,
    "text": _is_text,
    "overrides": _is_overrides,
    "files": _is_table_of_texts,
    "scenario": _is_table,
    "axes": _is_names,
    "points": lambda value: isinstance(value, list) and 0 < len(value) <= MOST_POINTS,
    "methods": lambda value: _is_names(value) and bool(value),
    "stop": _is_stop,
    "seed": lambda value: _is_whole(value, 0, 2**64 - 1),
    "units": _is_table_of_texts,
    "version": _is_text,
    "results_version": lambda value: _is_whole(value, 0, 2**63 - 1),
}
