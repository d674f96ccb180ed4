"""Predicted performance of other congestion controls on a fitted link, beside a replay of its record."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from statistics import fmean
from typing import Any, Unpack

from crossfade import api
from crossfade.errors import ScenarioError, shortened
from crossfade.figures.phases import quantile
from crossfade.plans.options import RunOptions
from crossfade.results.results import Results

METRICS = ("goodput_bps", "rtt_p95_s")
# Default number of runs, divided among the links if there are several.
RUNS = 50
# Coverage of a prediction interval; every run has its own draw of the link's parameters.
LEVEL = 0.9
# Smallest half-width of a prediction interval, as a share of the value: allowance for errors of the link
# model.
LEAST_HALF_WIDTH = 0.01
# Number of runs in which the other flows of a capture react.
REACTING_RUNS = 10
# A goodput above this multiple of the lower bound of the link's rate counts as beyond the bound.
BEYOND = 1.02


@dataclass(frozen=True)
class Predicted:
    """Prediction of a metric for a congestion control: mean over runs, and a 90 % interval for one more run.

    If the record gives only a lower bound of the link's rate, ``is_range`` is true: ``low`` and ``high`` are
    then the extremes of all runs, whose rates go from the bound to four times it, and ``value`` is no
    estimate. ``high`` is infinite if the goodput exceeds the bound, since the record does not limit the rate.
    ``replay`` is the value in a replay of the record, and ``reacting`` the prediction if the other flows of
    the capture react like a CUBIC flow; each is None if there is no such scenario.
    """

    control: str
    metric: str
    value: float
    low: float
    high: float
    replay: float | None
    is_range: bool = False
    reacting: float | None = None


def predict(
    link: str | PathLike[str] | Sequence[str | PathLike[str]],
    controls: Sequence[str],
    replay: str | PathLike[str] | None = None,
    reacting: str | PathLike[str] | None = None,
    least: float = LEAST_HALF_WIDTH,
    bound_bps: float | None = None,
    **options: Unpack[RunOptions],
) -> list[Predicted]:
    """Predict the metrics of each of several congestion controls on a fitted link.

    ``link`` is a scenario whose runs each draw the link's parameters, so that intervals cover both what is
    unknown about the link and what varies from run to run. Several links are alternative models of one link,
    such as those of :meth:`crossfade.LinkFit.write_variants`; runs are divided among them. ``controls`` are
    values of ``tcp.congestion``, or ``quic`` for QUIC's recovery with the congestion control of the scenario.
    ``replay`` is the scenario of a replay of the record. ``reacting`` is a scenario in which the flow
    ``mine`` has the control and the other flows react. An interval extends at least ``least`` times the value
    to either side, and the ends of a range are widened by this share. If only a lower bound ``bound_bps`` of
    the link's rate is known, the result is a range over all runs, without an upper end if the goodput exceeds
    the bound.
    """
    links = [link] if isinstance(link, (str, PathLike)) else list(link)
    if not controls:
        raise ScenarioError("predict: needs at least one congestion control")
    found = []
    for control in controls:
        of_link = _of_all(links, control, options)
        of_replay = {} if replay is None else _values(_run(replay, control, {**options, "runs": 3}))
        of_reacting = {} if reacting is None else _values(_mine(reacting, control, options), "flow:mine.")
        for metric in METRICS:
            values = sorted(of_link[metric])
            if not values:
                raise ScenarioError(
                    f"{shortened(fspath(links[0]))}: {metric} is defined in no run of {control}"
                )
            mean = fmean(values)
            is_range = bound_bps is not None
            low, high = (values[0], values[-1]) if is_range else between(values, LEVEL)
            if bound_bps is not None and metric == "goodput_bps" and high > BEYOND * bound_bps:
                high = math.inf
            replayed = sorted(of_replay.get(metric, []))
            beside = quantile(replayed, 0.5) if replayed else None
            # Model errors are independent of the variation between runs, so their squares add.
            if is_range:
                low, high = low * (1 - least), high * (1 + least)
            else:
                low = max(0.0, min(low, mean - math.hypot(mean - low, mean * least)))
                high = max(high, mean + math.hypot(high - mean, mean * least))
            of_mine = of_reacting.get(metric, [])
            if_react = fmean(of_mine) if of_mine else None
            found.append(Predicted(control, metric, mean, low, high, beside, is_range, if_react))
    return found


def between(ordered: Sequence[float], level: float) -> tuple[float, float]:
    """Interval that contains one more value of the same distribution with probability ``level``.

    On average a share k / (n + 1) of the distribution lies below the k-th smallest of n values. If ``level``
    needs more values than there are, the interval ends at the extremes.
    """
    count = len(ordered)

    def end(share: float) -> float:
        place = (share * (count + 1) - 1) / max(1, count - 1)
        return quantile(ordered, min(max(place, 0.0), 1.0))

    return end((1 - level) / 2), end((1 + level) / 2)


def _of_all(
    links: Sequence[str | PathLike[str]], control: str, options: RunOptions
) -> dict[str, list[float]]:
    """Values of each metric in all runs, which are divided among the links."""
    if len(links) == 1:
        return _values(_run(links[0], control, options))
    runs = options.get("runs") or RUNS
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number, link in enumerate(links):
        of_link = len(range(number, runs, len(links)))
        if of_link:
            seed = (options.get("seed") or 1) + number
            values = _values(_run(link, control, {**options, "runs": of_link, "seed": seed}))
            for metric in METRICS:
                found[metric] += values[metric]
    return found


def _run(scenario: str | PathLike[str], control: str, options: RunOptions | Mapping[str, Any]) -> Results:
    keys: dict[str, Any] = dict(options.get("set") or {})
    if control == "quic":
        keys |= {"tcp.flavour": "quic", "tcp.variant": None, "tcp.rfc": None}
    else:
        keys["tcp.congestion"] = control
    return api.run(scenario, **{**options, "set": keys})


def _mine(scenario: str | PathLike[str], control: str, options: RunOptions | Mapping[str, Any]) -> Results:
    """Results of runs in which the flow ``mine`` has the control, beside other flows that react."""
    keys: dict[str, Any] = dict(options.get("set") or {})
    if control == "quic":
        keys |= {"flows.mine.tcp": {"flavour": "quic"}}
        # QUIC takes no ``tcp.rfc`` rules, so they move to the other flow.
        if rules := tomllib.loads(Path(scenario).read_text(encoding="utf-8"))["tcp"].get("rfc"):
            keys |= {"tcp.rfc": None, "flows.others.tcp": {"rfc": rules}}
    else:
        keys["flows.mine.tcp.congestion"] = control
    return api.run(scenario, **{**options, "set": keys, "runs": REACTING_RUNS})


def _values(results: Results, of: str = "") -> dict[str, list[float]]:
    rows = [row.metrics() for row in results.points[0].rows]
    return {metric: [row[of + metric] for row in rows if of + metric in row] for metric in METRICS}
