"""The metrics that there are, from the core's registry: names, units, words, meanings."""

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
    """A metric that results may have. Its ``str`` is what ``crossfade explain`` prints.

    Attributes
    ----------
    name : str
        Name of its column.
    unit : str
        Its unit, ``1`` of a pure number.
    words : str
        What figures call it.
    meaning : str
        What it counts.
    direction : {"higher", "lower"} or None
        Its better side; None where there is none.
    ratio : dict or None
        Of what rows hold it is the quotient over all runs: ``of`` (None: its own value times ``over``) by the
        sum of ``over``; None of other metrics.

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
    """Every metric that a result may have.

    Returns
    -------
    list of Metric
        In the order of tables.

    Examples
    --------
    >>> import crossfade as cf
    >>> len([metric for metric in cf.reference.metrics() if metric.unit == "bit/s"]) > 3
    True
    """
    return list(_registry().values())


def metric_of(column: str) -> Metric | None:
    """The metric of a column; that of a flow or link (``reverse.queue_drops``) too."""
    return _registry().get(column.rpartition(".")[2])


def near_metrics(name: str) -> str:
    """The metrics that may have been meant, as a question; empty where none is near."""
    part, dot, last = name.rpartition(".")
    # Half a name (goodput) is as good as one with a slip in it.
    known = [*_registry()]
    meant = [metric for metric in known if last and metric.startswith(f"{last}_")]
    meant = [*meant, *(near for near in get_close_matches(last, known, n=3) if near not in meant)]
    return f"did you mean {' or '.join(f'{part}{dot}{metric}' for metric in meant[:3])}?" if meant else ""


def not_metrics(y: str | None) -> list[str]:
    """The names in a list of metrics, or of ratios of two, that are no metric; an interval counts as one."""

    def metric(column: str) -> str:
        for end in BESIDE:
            column = column.removesuffix(end)
        return column

    names = [] if y is None else [name.strip() for name in re.split("[,/]", y)]
    return [name for name in names if metric_of(metric(name)) is None]
