"""Endings of the names of columns beside a metric: a file of its own, since tables and arrays use it."""

from __future__ import annotations

INTERVAL = ("_ci95", "_ci95_low", "_ci95_high")
"""Suffixes of a metric's name for the columns of its interval."""
BESIDE = {
    "_ci95": "half-width of the 95 % interval of",
    "_ci95_low": "lower end of the 95 % interval of",
    "_ci95_high": "upper end of the 95 % interval of",
    "_runs": "number of runs with a value of",
    "_at_least": "whether it is a lower bound, of",
}
"""Columns beside that of a metric, with their descriptions."""
RUNS, AT_LEAST = "_runs", "_at_least"
"""Suffixes of the columns for the number of runs, and for whether a value is a lower bound (1) or not (0)."""
