"""Results of a plan's rows in a results file: published metrics and warnings."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from crossfade.errors import shortened
from crossfade.results import making
from crossfade.results.planrows import Estimates, PlanRows
from crossfade.results.plantable import is_solved
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.results.rows import FLOW, LINKS, NUMBERED
from crossfade.wording import metric_name

# Prefix of the probabilities of a window of 1, 2, ... segments at the first loss of a cycle (exact analysis).
LOSS_WINDOW = "loss_window."


@dataclass(frozen=True)
class Metric:
    """A published metric: its name in results, the name of its column in rows, and its unit."""

    name: str
    column: int
    unit: str

    @property
    def long_name(self) -> str:
        """Title as in figures: that of ``reverse.link_goodput_bps`` is "Link goodput, reverse"."""
        return metric_name(self.name)[0]


def published(rows: PlanRows) -> list[Metric]:
    """Published metrics among those of the rows: of the whole network, of flows, and of links.

    Each group is in the order of the core's table, which a plan's ``units`` keep. Flows are sorted by name,
    links are in the order in which packets take them. Other metrics of rows serve only warnings.
    """
    units: dict[str, str] = rows.plan.description["units"]
    ranks = {name: rank for rank, name in enumerate(units)}

    def rank(in_rows: str) -> tuple[int, int, str, int]:
        part, _, last = in_rows.removeprefix(FLOW).rpartition(".")
        kind = 1 if in_rows.startswith(FLOW) else 2 if part else 0
        place = list(LINKS).index(part) if kind == 2 and part in LINKS else len(LINKS)
        return kind, place, part, ranks[last]

    found = {}
    # Metrics of numbered parts (nodes, users) are too many for a table.
    for name in sorted(
        (name for name in rows.names if name.rpartition(".")[2] in units and not name.startswith(NUMBERED)),
        key=rank,
    ):
        metric = Metric(name.removeprefix(FLOW), rows.names.index(name), units[name.rpartition(".")[2]])
        found[metric.name] = metric  # of a flow and a link with one name, the link has it
    return list(found.values())


def numbered(rows: PlanRows) -> list[Metric]:
    """Metrics of nodes, users and other numbered parts, named as in rows (``user:0.user_goodput_bps``)."""
    units: dict[str, str] = rows.plan.description["units"]
    ranks = {name: rank for rank, name in enumerate(units)}
    found = []
    for column, name in enumerate(rows.names):
        part, _, last = name.rpartition(".")
        number = part.partition(":")[2]
        if name.startswith(NUMBERED) and last in units and re.fullmatch("[0-9]{1,9}", number):
            found.append((ranks[last], int(number), Metric(name, column, units[last])))
    return [metric for *_, metric in sorted(found, key=lambda item: item[:2])]


def warnings_of(rows: PlanRows, found: Estimates) -> list[str]:
    """Warnings of the file, and of missing results or of another results version."""
    told = [*rows.plan.warnings, *_of_older_rows(rows)]
    unfinished = int((~found.finished).reshape(len(rows.points), -1).any(axis=1).sum())
    if not unfinished:
        return told
    which = f"{unfinished} of {len(rows.points)} points" if len(rows.points) > 1 else "the point"
    return [*told, f"unfinished: runs of {which} are missing (crossfade sweep goes on)"]


def _of_older_rows(rows: PlanRows) -> list[str]:
    """Warning that rows of results versions before 12 do not say which flows were unfinished."""
    ends = {name.rpartition(".")[2] for name in rows.names}
    if "completion_time_s" not in ends or "flows_unfinished" in ends:
        return []
    version = rows.plan.description["results_version"]
    return [f"results version {version}: completion times are those of the flows that finished alone"]


def attributes_of(rows: PlanRows, found: Estimates) -> dict[str, str | int]:
    """Facts about a plan as a whole, as numbers and texts, which every file format can hold."""
    description = rows.plan.description
    return {
        "title": shortened(description["title"]),
        **({"method": rows.methods[0]} if len(rows.methods) == 1 else {}),
        "seed": description["seed"],
        "stop": json.dumps(description["stop"]),
        "scenario": description["text"],
        "overrides": json.dumps(description["overrides"], ensure_ascii=False),
        "version": description["version"],
        "results_version": description["results_version"],
        "warnings": "\n".join(warnings_of(rows, found)),
    }


def _none_if_nan(number: float) -> float | None:
    return None if math.isnan(number) else number


def results_of(rows: PlanRows) -> Results:
    """Results of a plan's rows without the core, as :func:`crossfade.load_results` gives them."""
    description = rows.plan.description
    metrics_there, found = published(rows), rows.estimates()
    means, counts = found.means.tolist(), found.rows.tolist()
    intervals = [array.tolist() for array in (found.ci95, found.low, found.high)]
    number = {id: i for i, id in enumerate(rows.points)}
    windows = [i for i, name in enumerate(rows.names) if name.startswith(LOSS_WINDOW)]
    windows = [i for i in windows if re.fullmatch("[0-9]{1,9}", rows.names[i].removeprefix(LOSS_WINDOW))]
    windows.sort(key=lambda i: int(rows.names[i].removeprefix(LOSS_WINDOW)))

    def point(axes: dict[str, Any], group: int) -> Point:
        method, start = rows.methods[group % len(rows.methods)], rows.starts[group]
        metrics: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        for metric in metrics_there:
            if math.isnan(value := means[group][metric.column]):
                continue
            ends = (_none_if_nan(array[group][metric.column]) for array in intervals)
            metrics["." in metric.name][metric.name] = {
                "value": value,
                **dict(zip(("ci95", "low", "high"), ends, strict=True)),
                "runs": 0 if is_solved(method) else int(found.defined[group][metric.column]),
                "unit": metric.unit,
                "at_least": bool(found.at_least[group][metric.column]),
            }
        return making.point(
            {
                "axes": axes,
                "method": method,
                "runs": 0 if is_solved(method) else counts[group],
                "metrics": metrics[False],
                "parts": metrics[True],
                "loss_windows": [means[group][i] for i in windows if not math.isnan(means[group][i])],
            },
            rows.rows[start : start + counts[group]],
        )

    groups = (
        (item["axes"], number[item["id"]] * len(rows.methods) + i)
        for item in description["points"]
        for i in range(len(rows.methods))
    )
    points = [point(axes, group) for axes, group in groups if counts[group]]
    complete = bool(found.finished.all())
    return making.results(description, points, complete, file_warnings=warnings_of(rows, found))
