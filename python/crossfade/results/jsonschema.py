"""The JSON Schema (draft 2020-12) of results as JSON."""

from __future__ import annotations

from typing import Any

_NUMBER = {"type": ["number", "null"]}

ESTIMATE: dict[str, Any] = {
    "type": "object",
    "description": "Mean over the runs, in the unit of the metric; null where it is undefined.",
    "required": ["value", "ci95", "low", "high", "unit", "runs"],
    "properties": {
        "value": _NUMBER,
        "ci95": {**_NUMBER, "description": "Half-width of the 95 % Student interval."},
        "low": {**_NUMBER, "description": "Lower end of the 95 % interval that holds for rare events, too."},
        "high": {**_NUMBER, "description": "Upper end of that interval."},
        "unit": {"type": "string", "description": "1 of a pure number."},
        "runs": {"type": "integer", "minimum": 0, "description": "Runs in which it is defined."},
        "at_least": {"const": True, "description": "It is a lower bound: flows were unfinished."},
    },
    "additionalProperties": False,
}

_PART = {"type": "object", "description": "Words and numbers of the part, and its metrics as estimates."}

RESULTS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Results of crossfade: run --json, export --to json",
    "type": "array",
    "description": "An object for each point of the sweep and method, also where there is but one.",
    "items": {
        "type": "object",
        "required": [
            *("scenario", "axes", "method", "seed", "runs", "metrics", "flows", "links"),
            *("warnings", "provenance"),
        ],
        "properties": {
            "scenario": {"type": "object", "description": "All keys, defaults filled in (crossfade schema)."},
            "axes": {
                "type": "object",
                "description": "Values of the axes by dotted key; empty of one point.",
            },
            "method": {"type": "string"},
            "seed": {"type": "integer"},
            "runs": {"type": "integer", "minimum": 0, "description": "0 of a method without randomness."},
            "metrics": {"type": "object", "additionalProperties": ESTIMATE},
            "flows": {"type": "array", "items": _PART},
            "links": {"type": "array", "items": _PART},
            "nodes": {"type": "array", "items": _PART},
            "users": {"type": "array", "items": _PART},
            "stations": {"type": "array", "items": _PART},
            "loss_windows": {"type": "array", "items": {"type": "number"}},
            "residual": {"type": "array", "items": ESTIMATE},
            "combined": {"type": "array", "items": ESTIMATE},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "provenance": {"type": "object", "required": ["version", "results_version", "overrides"]},
        },
        "additionalProperties": False,
    },
}
