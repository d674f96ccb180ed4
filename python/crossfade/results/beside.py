"""Suffixes of columns about the mean of a metric: a file of its own, since tables and arrays use it."""

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
"""Descriptions of the columns about the mean of a metric, by the suffix of their names."""
RUNS, AT_LEAST = "_runs", "_at_least"
"""Suffixes of the columns with the number of runs, and with 1 if the value is a lower bound, else 0."""
