"""A point of results: its metrics with their intervals, and its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crossfade.errors import visible
from crossfade.results.beside import AT_LEAST, INTERVAL, RUNS
from crossfade.results.rows import PREFIXES, Row, names_of
from crossfade.tables import format_estimate, label

Metrics = dict[str, "Estimate"]


@dataclass(frozen=True)
class Estimate:
    """Estimate of one metric at one point: its mean over runs, with intervals.

    Attributes
    ----------
    value : float or None
        Mean over the runs, in ``unit``; None if the metric is undefined, such as a mean over no packets.
    ci95 : float or None
        Half-width of the two-sided 95 % Student interval; None for fewer than two runs, for a method without
        randomness, and for events that are too rare.
    low, high : float or None
        Ends of a 95 % interval that also covers rare events, shares near their bound and skewed runs; it is
        never narrower than Student's, and is cut at the bounds of the metric.
    n : int
        Number of runs in which the metric is defined; 0 for a method without randomness.
    method : str
        Name of the method.
    unit : str
        Unit of the values; ``1`` for a pure number.
    at_least : bool
        True if ``value`` is only a lower bound, because flows were unfinished when their runs ended: then
        there is no ``high`` and no ``ci95``.

    Examples
    --------
    >>> import crossfade as cf
    >>> print(cf.store.Estimate(0.95, 0.01, 0.94, 0.96, 10, "simulation", "1"))
    0.950 ± 0.010
    """

    value: float | None
    ci95: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    unit: str
    at_least: bool = False

    def __str__(self) -> str:
        return format_estimate(self.value, self.ci95, self.low, self.high, at_least=self.at_least)


@dataclass(frozen=True)
class Point:
    """One point of a sweep (the only one without a sweep) by one method.

    Attributes
    ----------
    axes : dict
        Values of the axes by dotted key, as written in the scenario.
    scenario : dict
        All keys of the scenario at this point, defaults included.
    method : str
        Name of the method.
    runs : int
        Number of runs; 0 for a method without randomness.
    metrics : dict of str to Estimate
        Metrics of the whole network, by name.
    parts : dict of str to Estimate
        Metrics of named flows and of links, by names such as ``cubic.goodput_bps`` or
        ``reverse.queue_drops``.
    flows, links, nodes, users : list of dict
        Metrics of each flow and link, of each node of a mesh, and of each user of a cell.
    stations : list of dict
        Metrics of each station of a Wi-Fi network.
    wlan_links : list of dict
        Metrics of each link of multi-link devices of a Wi-Fi network.
    warnings : list of str
        Reasons to doubt the results.
    loss_windows : list of float
        Probabilities of a window of 1, 2, ... segments at the first loss of a cycle, by exact analysis.
    rows : sequence of Row
        Rows of the runs that count, in order; more than 50,000 are read from the store at each iteration.
    snr_db : float or None
        Mean signal-to-noise ratio in dB: rho of a physical layer, or that of a transport block.
    block : dict or None
        Transport block of method phy: bits, code blocks, symbols, modulation and code rate.
    residual, combined : list of Estimate
        Shares of frames that are not accepted after 1, 2, ... transmissions, and for which the combination
        of as many receptions fails, by method phy.

    Examples
    --------
    >>> import crossfade as cf
    >>> (point,) = cf.run("quickstart", point=0, methods=["formula"]).points
    >>> point.axes
    {'tcp.variant': 'tahoe', 'channel.p_e': 0.001}
    """

    axes: dict[str, Any]
    scenario: dict[str, Any]
    method: str
    runs: int
    metrics: Metrics
    parts: Metrics
    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    warnings: list[str]
    loss_windows: list[float]
    rows: Sequence[Row]
    nodes: list[dict[str, Any]] = field(default_factory=list)
    users: list[dict[str, Any]] = field(default_factory=list)
    stations: list[dict[str, Any]] = field(default_factory=list)
    snr_db: float | None = None
    block: dict[str, Any] | None = None
    residual: list[Estimate] = field(default_factory=list)
    combined: list[Estimate] = field(default_factory=list)
    wlan_links: list[dict[str, Any]] = field(default_factory=list)

    def __repr__(self) -> str:
        where = ", ".join(f"{axis} = {label(value)}" for axis, value in self.axes.items())
        runs = f", {self.runs} runs" if self.runs else ""
        return visible(
            f"<Point {where + ': ' if where else ''}{self.method}{runs}, {len(self.metrics)} metrics>"
        )

    def value(self, name: str) -> float:
        """Mean of a metric over the runs.

        Parameters
        ----------
        name : str
            Name of the metric, also of a flow or link (``"cubic.goodput_bps"``).

        Returns
        -------
        float
            Mean in the unit of the metric; NaN if it is undefined, or the method does not give it.
        """
        found = self.metrics.get(name, self.parts.get(name))
        return math.nan if found is None or found.value is None else found.value

    def samples(self, name: str) -> list[float]:
        """Value of a metric in each run.

        Run r of every point has the same random numbers, so that points can be compared run by run.

        Parameters
        ----------
        name : str
            Name of the metric, also of a flow or link.

        Returns
        -------
        list of float
            Values in the order of the runs; NaN if the metric is undefined in a run.
        """
        held = {known for names in {row.names for row in self.rows} for known in names_of(names)}
        # Rows name metrics of a flow, node or user with the kind of the part (flow:near.goodput_bps).
        spelled = next((key for prefix in ("", *PREFIXES.values()) if (key := prefix + name) in held), name)
        return [row.value(spelled) for row in self.rows]


def each_run(point: Point, name: str) -> str:
    """Value of a metric in each run that has it, as text."""
    return " ".join(repr(value) for value in point.samples(name) if not math.isnan(value))


def numbered_parts(point: Point) -> dict[str, list[dict[str, Any]]]:
    """Numbered parts of a point (nodes, users, stations, Wi-Fi links), by kind."""
    return {
        "node": point.nodes,
        "user": point.users,
        "station": point.stations,
        "wlan_link": point.wlan_links,
    }


def part_metric(point: Point, name: str) -> Mapping[str, Any]:
    """Metric of a node, user, station or Wi-Fi link at a point, by its name (``user:0.user_goodput_bps``)."""
    part, _, metric = name.rpartition(".")
    kind, _, number = part.partition(":")
    parts = numbered_parts(point)[kind]
    found: Mapping[str, Any] = next((of for of in parts if str(of[kind]) == number), {}).get(metric, {})
    return found


def cells_of(point: Point) -> dict[str, float | None]:
    """Values and intervals of the metrics of a point, by column."""
    return {
        f"{name}{end}": cell
        for name, estimate in (point.metrics | point.parts).items()
        for end, cell in zip(
            ("", *INTERVAL, RUNS, AT_LEAST),
            (
                estimate.value,
                estimate.ci95,
                estimate.low,
                estimate.high,
                estimate.n,
                int(estimate.at_least),
            ),
            strict=True,
        )
    }


def point_object(point: Point, seed: int, provenance: dict[str, Any]) -> dict[str, Any]:
    """A point as a JSON object, as ``crossfade schema --results`` describes it."""

    def ends(metric: Estimate) -> dict[str, Any]:
        names = ("value", "ci95", "low", "high", "unit")
        found = {name: getattr(metric, name) for name in names} | {"runs": metric.n}
        return found | ({"at_least": True} if metric.at_least else {})

    return {
        "scenario": point.scenario,
        "axes": point.axes,
        "method": point.method,
        "seed": seed,
        "runs": point.runs,
        "metrics": {name: ends(metric) for name, metric in point.metrics.items()},
        "flows": point.flows,
        "links": point.links,
        **({"nodes": point.nodes} if point.nodes else {}),
        **({"users": point.users} if point.users else {}),
        **({"stations": point.stations} if point.stations else {}),
        **({"wlan_links": point.wlan_links} if point.wlan_links else {}),
        **({"loss_windows": point.loss_windows} if point.loss_windows else {}),
        **({"residual": [ends(share) for share in point.residual]} if point.residual else {}),
        **({"combined": [ends(share) for share in point.combined]} if point.combined else {}),
        "warnings": point.warnings,
        "provenance": provenance,
    }
