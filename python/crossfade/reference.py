"""Meaning of keys and metrics, the JSON Schema of scenarios, golden data, and how to cite crossfade."""

from crossfade._crossfade import RESULTS_VERSION
from crossfade.api import Check, GoldenCase, metrics, parse_value, schema, verify
from crossfade.files.version import cite
from crossfade.results.metrics import Metric

__all__ = [
    "RESULTS_VERSION",
    "Check",
    "GoldenCase",
    "Metric",
    "cite",
    "metrics",
    "parse_value",
    "schema",
    "verify",
]
