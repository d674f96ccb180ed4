"""Metrics of the core's registry: names, units, titles and meanings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from crossfade.results.beside import BESIDE
from crossfade.wording import registry


@dataclass(frozen=True)
class Metric:
    """Description of a metric of results. Its ``str`` is the text that ``crossfade explain`` prints.

    Attributes
    ----------
    name : str
        Name of the metric's column.
    unit : str
        Unit of the values; ``1`` for a pure number.
    words : str
        Title in figures.
    meaning : str
        Definition, in sentences.
    direction : {"higher", "lower"} or None
        Direction in which the metric improves; None if there is none.
    ratio : dict or None
        For a metric that is a quotient over all runs: ``of`` names the numerator among the metrics of rows
        (None: the metric itself times ``over``), ``over`` those whose sum is the denominator. None for other
        metrics.

    Examples
    --------
    >>> import crossfade as cf
    >>> metric = next(one for one in cf.reference.metrics() if one.name == "rtt_p95_s")
    >>> metric.unit, metric.direction
    ('s', 'lower')
    """

    name: str
    unit: str
    words: str
    meaning: str
    direction: str | None = None
    ratio: dict[str, Any] | None = None

    def __str__(self) -> str:
        unit = "a number" if self.unit == "1" else f"in {self.unit}"
        better = f"; {self.direction} is better" if self.direction else ""
        return f"{self.name}: a metric, {unit}{better}\n\n{self.words}. {self.meaning}"


@lru_cache(maxsize=1)
def _registry() -> dict[str, Metric]:
    return {found["name"]: Metric(**found) for found in registry()}


def metrics() -> list[Metric]:
    """All metrics that results may have.

    Returns
    -------
    list of Metric
        The metrics, in the order of tables.

    Examples
    --------
    >>> import crossfade as cf
    >>> len([metric for metric in cf.reference.metrics() if metric.unit == "bit/s"]) > 3
    True
    """
    return list(_registry().values())


def metric_of(column: str) -> Metric | None:
    """Metric of a column, also for a column of a flow or link (``reverse.queue_drops``)."""
    return _registry().get(column.rpartition(".")[2])


def near_metrics(name: str) -> str:
    """Similar names of metrics as a question; empty if there are none."""
    part, dot, last = name.rpartition(".")
    # A part of a name (goodput) matches as well as a misspelt name.
    known = [*_registry()]
    meant = [metric for metric in known if last and metric.startswith(f"{last}_")]
    meant = [*meant, *(near for near in get_close_matches(last, known, n=3) if near not in meant)]
    return f"did you mean {' or '.join(f'{part}{dot}{metric}' for metric in meant[:3])}?" if meant else ""


def not_metrics(y: str | None) -> list[str]:
    """Names in a list of metrics, or of ratios of two, that are unknown; names of intervals are known."""

    def metric(column: str) -> str:
        for end in BESIDE:
            column = column.removesuffix(end)
        return column

    names = [] if y is None else [name.strip() for name in re.split("[,/]", y)]
    return [name for name in names if metric_of(metric(name)) is None]
