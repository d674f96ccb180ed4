"""What other congestion controls would do on a fitted link, beside what a replay of its record says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
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


@dataclass(frozen=True)
class Predicted:
    """A metric of a congestion control: the mean of the runs, and between which values 90 % of them are.

    ``replay`` is what the replay of the record says, None without one.
    """

    control: str
    metric: str
    value: float
    low: float
    high: float
    replay: float | None


def predict(
    link: str | PathLike[str] | Sequence[str | PathLike[str]],
    controls: Sequence[str],
    replay: str | PathLike[str] | None = None,
    least: float = LEAST_HALF_WIDTH,
    **options: Unpack[RunOptions],
) -> list[Predicted]:
    """Run a fitted link (a scenario whose runs take draws) with each of several congestion controls.

    ``controls`` are values of ``tcp.congestion``, or ``quic``: QUIC's recovery with the control of the
    scenario. ``replay`` is the scenario of a replay of the record. Every run has a draw of its own, so that
    intervals hold what is not known of the link and what varies from run to run. Several links are ways in
    which one may have been, as of :meth:`crossfade.LinkFit.write_variants`: runs are divided among them. An
    interval is at least ``least`` of its value wide to either side.
    """
    links = [link] if isinstance(link, (str, PathLike)) else list(link)
    if not controls:
        raise ScenarioError("predict: needs at least one congestion control")
    found = []
    for control in controls:
        of_link = _of_all(links, control, options)
        of_replay = {} if replay is None else _values(_run(replay, control, {**options, "runs": 3}))
        for metric in METRICS:
            values = sorted(of_link[metric])
            if not values:
                raise ScenarioError(
                    f"{shortened(fspath(links[0]))}: {metric} is defined in no run of {control}"
                )
            mean = fmean(values)
            low, high = (quantile(values, share) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
            replayed = sorted(of_replay.get(metric, []))
            beside = quantile(replayed, 0.5) if replayed else None
            low, high = min(low, mean * (1 - least)), max(high, mean * (1 + least))
            found.append(Predicted(control, metric, mean, low, high, beside))
    return found


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


def _values(results: Results) -> dict[str, list[float]]:
    rows = [row.metrics() for row in results.points[0].rows]
    return {metric: [row[metric] for row in rows if metric in row] for metric in METRICS}
