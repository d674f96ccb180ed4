"""What a plan's rows in a results file amount to: metrics as they are published, warnings, results."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from crossfade.errors import shortened
from crossfade.figures.wanted import Wanted
from crossfade.results.planrows import Estimates, PlanRows
from crossfade.results.plantable import is_solved
from crossfade.results.results import Estimate, Point, Results
from crossfade.results.rows import FLOW, LINKS, NUMBERED
from crossfade.wording import metric_name

# By an exact analysis: how often the first loss of a cycle finds a window of 1, 2, ... segments.
LOSS_WINDOW = "loss_window."


@dataclass(frozen=True)
class Metric:
    """A published metric: its name in results, its column among those of the rows, and its unit."""

    name: str
    column: int
    unit: str

    @property
    def long_name(self) -> str:
        """The name in words, as figures show it: ``reverse.link_goodput_bps`` is "Link goodput, reverse"."""
        return metric_name(self.name)[0]


def published(rows: PlanRows) -> list[Metric]:
    """The metrics that results show: those of the whole, of flows, of links; others serve warnings.

    Each group is in the order of the core's table, which a plan's ``units`` keep; flows are sorted by name,
    links stand as a packet takes them.
    """
    units: dict[str, str] = rows.plan.description["units"]
    ranks = {name: rank for rank, name in enumerate(units)}

    def rank(in_rows: str) -> tuple[int, int, str, int]:
        part, _, last = in_rows.removeprefix(FLOW).rpartition(".")
        kind = 1 if in_rows.startswith(FLOW) else 2 if part else 0
        place = list(LINKS).index(part) if kind == 2 and part in LINKS else len(LINKS)
        return kind, place, part, ranks[last]

    found = {}
    # Those of numbered parts (nodes, users) are too many for a table: they stand in what a run prints.
    for name in sorted(
        (name for name in rows.names if name.rpartition(".")[2] in units and not name.startswith(NUMBERED)),
        key=rank,
    ):
        metric = Metric(name.removeprefix(FLOW), rows.names.index(name), units[name.rpartition(".")[2]])
        found[metric.name] = metric  # a flow may be called as a link is: then the name is the link's
    return list(found.values())


def warnings_of(rows: PlanRows, found: Estimates) -> list[str]:
    """What the file warns of, and that results are missing or mean something else, if they do."""
    told = [*rows.plan.warnings, *_of_older_rows(rows)]
    unfinished = int((~found.finished).reshape(len(rows.points), -1).any(axis=1).sum())
    if not unfinished:
        return told
    which = f"{unfinished} of {len(rows.points)} points" if len(rows.points) > 1 else "the point"
    return [*told, f"unfinished: runs of {which} are missing (crossfade sweep goes on)"]


def _of_older_rows(rows: PlanRows) -> list[str]:
    """Rows of results versions before 12 do not say which flows were unfinished."""
    ends = {name.rpartition(".")[2] for name in rows.names}
    if "completion_time_s" not in ends or "flows_unfinished" in ends:
        return []
    version = rows.plan.description["results_version"]
    return [f"results version {version}: completion times are those of the flows that finished alone"]


def attributes_of(rows: PlanRows, found: Estimates) -> dict[str, str | int]:
    """What concerns a plan as a whole, as numbers and texts, which every format can hold."""
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
    """The results of a plan's rows; see :func:`load_results`."""
    description = rows.plan.description
    metrics, found = published(rows), rows.estimates()
    means, counts = found.means.tolist(), found.rows.tolist()
    intervals = [array.tolist() for array in (found.ci95, found.low, found.high)]
    number = {id: i for i, id in enumerate(rows.points)}
    windows = [i for i, name in enumerate(rows.names) if name.startswith(LOSS_WINDOW)]
    windows = [i for i in windows if re.fullmatch("[0-9]{1,9}", rows.names[i].removeprefix(LOSS_WINDOW))]
    windows.sort(key=lambda i: int(rows.names[i].removeprefix(LOSS_WINDOW)))

    def point(axes: dict[str, Any], group: int) -> Point:
        method, start = rows.methods[group % len(rows.methods)], rows.starts[group]
        runs = 0 if is_solved(method) else counts[group]
        estimates = {
            metric.name: Estimate(
                value,
                ci95,
                low,
                high,
                0 if is_solved(method) else int(found.defined[group][metric.column]),
                method,
                metric.unit,
                bool(found.at_least[group][metric.column]),
            )
            for metric in metrics
            if not math.isnan(value := means[group][metric.column])
            for ci95, low, high in [[_none_if_nan(array[group][metric.column]) for array in intervals]]
        }
        return Point(
            axes=axes,
            scenario={},
            method=method,
            runs=runs,
            metrics={name: estimate for name, estimate in estimates.items() if "." not in name},
            parts={name: estimate for name, estimate in estimates.items() if "." in name},
            flows=[],
            links=[],
            warnings=[],
            loss_windows=[means[group][i] for i in windows if not math.isnan(means[group][i])],
            rows=rows.rows[start : start + counts[group]],
        )

    groups = (
        (item["axes"], number[item["id"]] * len(rows.methods) + i)
        for item in description["points"]
        for i in range(len(rows.methods))
    )
    return Results(
        title=shortened(description["title"]),
        methods=rows.methods,
        seed=description["seed"],
        points=[point(axes, group) for axes, group in groups if counts[group]],
        provenance={
            "version": description["version"],
            "results_version": description["results_version"],
            "overrides": {name: dict(description["overrides"].get(name, [])) for name in ("set", "over")},
        },
        complete=bool(found.finished.all()),
        axes=description["axes"],
        file_warnings=warnings_of(rows, found),
        figure=Wanted.read(description["scenario"]),
    )
