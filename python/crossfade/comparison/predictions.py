"""Predictions for other congestion controls on a fitted link, beside a replay of its record."""

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
# Runs of several links in all.
RUNS = 50
# The share of runs, each with a draw of its own, between the ends of an interval.
LEVEL = 0.9
# An interval goes at least so far either way, as a share of its value: what models of links leave out.
LEAST_HALF_WIDTH = 0.01
# Runs in which the other flows of a capture react.
REACTING_RUNS = 10
# Goodput above so many times the lower bound of the rate is beyond it.
BEYOND = 1.02


@dataclass(frozen=True)
class Predicted:
    """A metric of a congestion control: the mean of the runs, and a 90 % interval of one more.

    Where the record only bounds the rate of the link, ``is_range`` is true: ``low`` and ``high`` are then
    the ends of all runs, whose rates go from the bound to four times it, and ``value`` is no estimate;
    ``high`` is infinite where goodput goes beyond the bound, as nothing says how fast the link is.
    ``replay`` is what the replay of the record says, and ``reacting`` what is predicted if the other flows
    of the capture react as a CUBIC flow does; each None without one.
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
    """Run a fitted link (a scenario whose runs take draws) with each of several congestion controls.

    ``controls`` are values of ``tcp.congestion``, or ``quic``: QUIC's recovery with the control of the
    scenario. ``replay`` is the scenario of a replay of the record, ``reacting`` one in which the flow
    ``mine`` has the control and others react. Every run has a draw of its own, so that intervals hold what is
    not known of the link and what varies from run to run. Several links are ways in which one may have been,
    as of :meth:`crossfade.LinkFit.write_variants`: runs are divided among them. An interval is at least
    ``least`` of its value wide to either side, and the ends of a range go as far. Of a link whose rate is
    only known to be at least ``bound_bps`` it has all runs, and no upper end where goodput goes beyond the
    bound.
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
            # What models leave out is independent of what varies from run to run.
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
    """The interval that one more value of the same distribution is in with a probability.

    Below value k of n in order a share k / (n + 1) lies in the mean; where a level needs more values than
    there are, the ends of the sample.
    """
    count = len(ordered)

    def end(share: float) -> float:
        place = (share * (count + 1) - 1) / max(1, count - 1)
        return quantile(ordered, min(max(place, 0.0), 1.0))

    return end((1 - level) / 2), end((1 + level) / 2)


def _of_all(
    links: Sequence[str | PathLike[str]], control: str, options: RunOptions
) -> dict[str, list[float]]:
    """The values of all runs, divided among links."""
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
    """Runs in which one flow of two has the control."""
    keys: dict[str, Any] = dict(options.get("set") or {})
    if control == "quic":
        keys |= {"flows.mine.tcp": {"flavour": "quic"}}
        # The rules of TCP are then those of the other flow alone: QUIC takes none.
        if rules := tomllib.loads(Path(scenario).read_text(encoding="utf-8"))["tcp"].get("rfc"):
            keys |= {"tcp.rfc": None, "flows.others.tcp": {"rfc": rules}}
    else:
        keys["flows.mine.tcp.congestion"] = control
    return api.run(scenario, **{**options, "set": keys, "runs": REACTING_RUNS})


def _values(results: Results, of: str = "") -> dict[str, list[float]]:
    rows = [row.metrics() for row in results.points[0].rows]
    return {metric: [row[of + metric] for row in rows if of + metric in row] for metric in METRICS}
