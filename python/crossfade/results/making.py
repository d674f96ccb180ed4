"""Construction of results: points with their estimates, from summaries of the core or of a file.

Rows come in three ways: known to a plan that runs (:func:`of_known`), in groups read from a file
(:func:`of_groups`), and as arrays, if the core cannot load a file's plan
(:mod:`crossfade.results.planresults`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from crossfade.errors import ScenarioError, shortened
from crossfade.figures.wanted import Wanted
from crossfade.results.manypoints import ManyPoints, ReadRows, RowsOnDemand, chunks
from crossfade.results.points import Estimate, Metrics, Point
from crossfade.results.results import Results
from crossfade.results.rows import PARTS, Row

if TYPE_CHECKING:
    import crossfade._crossfade as _crossfade

# Greatest number of rows of a point that are held in memory; a row takes a kilobyte.
MOST_ROWS_AT_ONCE = 50_000


def of_known(
    what: Mapping[str, Any],
    known: _crossfade.Known,
    read: ReadRows,
    complete: bool,
    *,
    at_once: bool = True,
) -> Results:
    """Results of the known rows of a plan; if not ``complete``, points without a row are left out.

    ``what`` is the plan's description as in a results file; ``read`` gives rows by key. If not ``at_once``,
    points are made on access, for which ``read`` must keep working.
    """

    def make(numbers: Sequence[int]) -> list[Point]:
        keys = known.keys(numbers)
        rows_of: Callable[[list[str]], Sequence[Row]]
        if len(keys) > MOST_ROWS_AT_ONCE:
            # Very many rows are read in portions.
            rows_of = partial(RowsOnDemand, read)
            parts = RowsOnDemand(read, keys).parts()
        else:
            rows = read(keys)
            rows_of = partial(_in_order, rows)
            parts = iter([list(rows.values())])
        found = json.loads(known.results(numbers, parts))
        return [point(of, rows_of(of["rows"])) for of in found if complete or of["complete"]]

    methods = what["methods"]
    many = ManyPoints(chunks(known.counts(), all=complete), make, len(methods) if complete else None)
    points = list(many) if at_once else many
    if complete:
        _refuse_methods_without_result(methods, points)
    return results(what, points, complete)


def of_groups(
    what: Mapping[str, Any], plan: _crossfade.Plan, groups: Sequence[Sequence[Row]], complete: bool
) -> Results:
    """Results of a plan from groups of rows: one group for each method of each point, in order."""
    summary: list[dict[str, Any]] = []
    plan.summarise_groups(groups, lambda text: summary.extend(json.loads(text)))
    points = [
        point(of, list(rows[: len(of["rows"])]))
        for of, rows in zip(summary, groups, strict=True)
        if of["rows"] and (complete or of["complete"])
    ]
    return results(what, points, complete)


def results(what: Mapping[str, Any], points: Sequence[Point], complete: bool, **more: Any) -> Results:
    """Results of a plan with the description ``what``; ``more`` are fields of results from files."""
    controls = {
        name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        for name, text in what.get("files", {}).items()
        if name.endswith((".py", ".rs"))
    }
    return Results(
        title=shortened(what["title"]),
        methods=what["methods"],
        seed=what["seed"],
        points=points,
        provenance={
            "version": what["version"],
            "results_version": what["results_version"],
            "overrides": {name: dict(what["overrides"].get(name, [])) for name in ("set", "over")},
            # Hashes of the user's own congestion controls.
            **({"controls": controls} if controls else {}),
        },
        complete=complete,
        axes=what["axes"],
        figure=Wanted.read(what["scenario"]),
        **more,
    )


def point(found: Mapping[str, Any], rows: Sequence[Row]) -> Point:
    """Point from its summary, in the form of :meth:`_crossfade.Known.results`, and the ``rows`` behind it.

    If the scenario is unknown, so are flows and links, and ``parts`` has their metrics by full name.
    """
    method = found["method"]

    def estimate(metric: Mapping[str, Any]) -> Estimate:
        return Estimate(
            method=method, **{"n" if name == "runs" else name: cell for name, cell in metric.items()}
        )

    def estimates(metrics: Mapping[str, Any]) -> Metrics:
        return {name: estimate(metric) for name, metric in metrics.items() if isinstance(metric, dict)}

    def of_parts(metrics: Metrics) -> Metrics:
        return {
            f"{part['name']}.{name}": estimate
            for part in [*found["flows"], *found["links"]]
            for name, estimate in estimates(part).items()
            # Metrics of the forward link and of a flow without a name are those of the whole network.
            if part["name"] and not (part["name"] == "forward" and name in metrics)
        }

    metrics = estimates(found["metrics"])
    return Point(
        axes=found["axes"],
        scenario=found.get("scenario", {}),
        method=method,
        runs=found["runs"],
        metrics=metrics,
        parts=estimates(found["parts"]) if "parts" in found else of_parts(metrics),
        **{kind.list: found.get(kind.list, []) for kind in PARTS},
        warnings=[*found.get("warnings", []), *_failed(method, rows)],
        loss_windows=found["loss_windows"],
        rows=rows,
        snr_db=found.get("snr_db"),
        block=found.get("block"),
        residual=[estimate(share) for share in found.get("residual", [])],
        combined=[estimate(share) for share in found.get("combined", [])],
    )


def _in_order(rows: Mapping[str, Row], keys: Sequence[str]) -> list[Row]:
    return [rows[key] for key in keys]


def _failed(method: str, rows: Sequence[Row]) -> list[str]:
    """Warning that live runs failed: the system refused them, or sockets used another TCP.

    The refusal of another method is known before any run, and is among the warnings of the point.
    """
    failures = [row.failure for row in rows if row.failure] if method == "live" else []
    if not failures:
        return []
    how_many = f"{len(failures)} of {len(rows)} runs of method live failed"
    return [f"{'no live' if len(failures) == len(rows) else how_many}: {failures[0]}"]


def _refuse_methods_without_result(methods: Sequence[str], points: Sequence[Point]) -> None:
    """Raise ``ScenarioError`` for a method that gave no result at any point (such as too many states)."""
    for method in methods:
        refused = f"no {method}: "
        first = next((point for point in points if point.method == method), None)
        reasons = [text for text in first.warnings if text.startswith(refused)] if first else []
        if reasons and not any(point.metrics for point in points if point.method == method):
            raise ScenarioError(reasons[0].removeprefix(refused))
