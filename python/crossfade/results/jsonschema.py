"""JSON Schemas (draft 2020-12) of the lists that commands write as JSON."""

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

DRAFT = "https://json-schema.org/draft/2020-12/schema"

RESULTS: dict[str, Any] = {
    "$schema": DRAFT,
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
            "wlan_links": {"type": "array", "items": _PART},
            "loss_windows": {"type": "array", "items": {"type": "number"}},
            "residual": {"type": "array", "items": ESTIMATE},
            "combined": {"type": "array", "items": ESTIMATE},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "provenance": {"type": "object", "required": ["version", "results_version", "overrides"]},
        },
        "additionalProperties": False,
    },
}


def _kind(name: str, description: str, required: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Schema of an object whose keys are all required."""
    properties = {"kind": {"const": name}, **required, **more}
    return {
        "type": "object",
        "description": description,
        "required": list(properties),
        "properties": properties,
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_WORD = {"type": ["string", "null"]}
_WORDS = {"type": "array", "items": _TEXT}
_AXES = {"type": "object", "description": "Values of the axes that are not compared, by dotted key."}
_METRIC = {
    "metric": _TEXT,
    "unit": {"type": "string", "description": "The unit of the metric; 1 of a pure number."},
}
_ALONG = {
    "axis": {"type": "string", "description": "The dotted key of the axis."},
    "axis_unit": {"type": "string", "description": "The unit of x, from and to; empty of a pure number."},
}
_WARNINGS = {"warnings": {**_WORDS, "description": "What holds of all that was found."}}
_PAIR = {"axes": _AXES, "first": _TEXT, "second": _TEXT}
_RUN = {"type": ["integer", "null"], "minimum": 0}
_COMPARED = {**_METRIC, "by": {**_WORDS, "description": "The axes whose values are compared."}}

COMPARE: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "Results of crossfade: compare --json",
    "type": "array",
    "description": "First a difference for each point and pair of choices, then the crossings of curves.",
    "items": {
        "oneOf": [
            _kind(
                "difference",
                "The first choice less the second, run by run.",
                _COMPARED | _PAIR,
                {
                    "difference": {**_NUMBER, "description": "Mean, in the unit of the metric."},
                    "ci95": {**_NUMBER, "description": "Half-width of its interval; null of a single run."},
                    "pairs": {"type": "integer", "minimum": 0, "description": "Runs that both have."},
                    "verdict": {
                        "enum": ["higher", "lower", "too close to call", "equal", "cannot tell"],
                        "description": "Of the first.",
                    },
                    "worst_run": {**_RUN, "description": "Run in which the first is worst."},
                    "worst_difference": _NUMBER,
                    **_WARNINGS,
                },
            ),
            _kind(
                "crossing",
                "Where two curves cross or touch along an axis.",
                _COMPARED | _PAIR | _ALONG,
                {
                    "x": {**_NUMBER, "description": "Where they cross; null where they touch."},
                    "low": {**_NUMBER, "description": "From here on; null from the start of the axis on."},
                    "high": {**_NUMBER, "description": "To here; null to the end of the axis."},
                    "before": {**_WORD, "description": "The first is higher or lower there."},
                    "after": _WORD,
                    **_WARNINGS,
                },
            ),
        ]
    },
}

_CHOICE = {
    "type": ["object", "null"],
    "description": "Values of the chosen axes by dotted key; null where no choice keeps to the constraints.",
}
_ASKED = {
    **_METRIC,
    "lowest": {"type": "boolean", "description": "Whether the lowest is the best."},
    "within": {**_NUMBER, "description": "Share of --within; null without it."},
    "subject_to": _WORDS,
    "method": _TEXT,
    "axes": _AXES,
}

BEST: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "Results of crossfade: best --json",
    "type": "array",
    "description": "First a decision for each point of the other axes, then the ranges of axes.",
    "items": {
        "oneOf": [
            _kind(
                "decision",
                "The choice at one point.",
                _ASKED | {"choice": _CHOICE},
                {
                    "value": {**_NUMBER, "description": "The metric of the choice."},
                    "ci95": _NUMBER,
                    "at_least": {"type": "boolean", "description": "The value is a lower bound."},
                    "runner_up": {**_WORD, "description": "The next best; with within the best."},
                    "margin": {**_NUMBER, "description": "Advantage over the runner-up."},
                    "margin_ci95": _NUMBER,
                    "verdict": {
                        "enum": [
                            *("best", "within", "equal", "too close to call"),
                            *("constraint uncertain", "no feasible choice"),
                        ]
                    },
                    "rivals": {**_WORDS, "description": "Choices that may be as good."},
                    "uncertain": {**_WORDS, "description": "Constraints that may not be kept."},
                    "worst_run": _RUN,
                    **_WARNINGS,
                },
            ),
            _kind(
                "range",
                "A range of an axis, and the choice to use there.",
                _ASKED | _ALONG,
                {
                    "from": {"type": "number"},
                    "to": {"type": "number"},
                    "choice": _CHOICE,
                    "to_low": {**_NUMBER, "description": "Interval of to; null at the end of the axis."},
                    "to_high": _NUMBER,
                    "because": {"type": "string", "description": "What changes there; empty at the end."},
                    **_WARNINGS,
                },
            ),
        ]
    },
}
