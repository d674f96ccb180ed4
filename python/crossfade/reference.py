"""Keys, metrics, schema, golden data, citation: a file of its own, as each public module is one."""

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
