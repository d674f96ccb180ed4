"""HTML page of results in one file: interactive figures, the table, and the provenance.

The page loads nothing from a network (its content security policy forbids it), and the same results give the
same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import ChainableUndefined, Environment, PackageLoader
from markupsafe import Markup

from crossfade import plans
from crossfade.errors import OutputError, ResultsError, shortened, visible
from crossfade.figures.choice import Choice, can_be_drawn, choose, has_values, prepared
from crossfade.figures.html import plotly_js
from crossfade.figures.wanted import Wanted
from crossfade.files import check_output, write_text
from crossfade.reports.charts import figures_data
from crossfade.reports.tables import comparisons, has_few_runs, table_of_metrics, table_of_rows
from crossfade.results import datasets
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.tables import Table
from crossfade.wording import html, method_words, typeset, without_symbols

# Second metric of a report by default: the first of these with values that differ.
SECOND_METRICS = [
    "rtt_p95_s",
    "completion_time_s",
    "frame_error_rate",
    "timeouts_per_slot",
    "energy_per_packet",
]
# Largest number of metric values on a page; beyond it, metrics of flows and links are left out.
MOST_VALUES = 300_000
# Largest number of runs of a file for which curves are compared run by run, since reading them is slow.
MOST_ROWS = 200_000

# Content security policy: no network access; images are allowed because plotly makes one to save a figure.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'"
)


@dataclass(frozen=True)
class Source:
    """Results with their stored description and the id of their plan (both empty if they are not from a
    file).
    """

    results: Results
    description: Mapping[str, Any]
    plan: str


def report(
    results: Results | str | PathLike[str],
    out: str | PathLike[str],
    *,
    plan: int | str | None = None,
    metrics: Sequence[str] | None = None,
    x: str | None = None,
    by: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
) -> None:
    """Write results, or those of a results file, as one interactive HTML page.

    The page has figures (hover for value, interval and number of runs; zoom; toggle curves; choose the
    metric), the table of results, the scenario with all settings of the run, and warnings. It is a single
    file of about 1.3 MB, mostly plotly.js, and needs no network.

    Parameters
    ----------
    results : Results or path
        Results, or a results file.
    out : path
        File to write, with the suffix ``.html``.
    plan : int or str, optional
        Plan of a results file that holds several, by number or id (default: the one run last).
    metrics : sequence of str, optional
        Metrics shown first, one figure each; also ratios of two (``"a.goodput_bps/b.goodput_bps"``). Default:
        those of the scenario's ``figure``, otherwise throughput or goodput and one more.
    x, by : str or sequence of str, optional
        As in :func:`crossfade.plot`; for an axis that a figure holds at one value, the page lets its reader
        choose the value.
    where : mapping, optional
        Conditions that select points (:meth:`Results.where`).

    Raises
    ------
    ResultsError
        If there is nothing to report, or a column does not exist.
    OutputError
        If the page cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.pages.report(cf.run("quickstart", methods=["formula"]), "quick.html")
    """
    path = Path(out)
    check_output(path, *([] if isinstance(results, Results) else [results]))
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{path}: cannot be written (a report ends in .html)")
    source = read_source(results, plan)
    source = replace(source, results=source.results.where(where)) if where else source
    write_text(path, page(source, metrics, x, by))


def read_source(results: Results | str | PathLike[str], plan: int | str | None) -> Source:
    """Results to report on, read if they are a file; :class:`ResultsError` if the file is no results file."""
    if isinstance(results, Results):
        return Source(results, {}, "")
    if not is_results_file(results) and os.path.isfile(results):
        raise ResultsError(f"{shortened(results)}: not a results file (crossfade sweep writes them)")
    from crossfade.results.planresults import results_of  # here: it imports numpy, which is slow

    rows = datasets.read_plan(results, plan)
    few = len(rows.values) <= MOST_ROWS
    found = plans.load_results(results, rows.plan.id) if few else results_of(rows)
    return Source(found, rows.plan.description, rows.plan.id)


def page(source: Source, metrics: Sequence[str] | None, x: str | None, by: str | Sequence[str] | None) -> str:
    """HTML text of the report."""
    results, table = source.results, source.results.drawn(metrics)
    if not table.rows:
        raise ResultsError("nothing to report: no run is finished")
    for name in metrics or []:
        with_it = prepared(table, name)
        with_it.cells(name)
        if not can_be_drawn(with_it, name):
            raise ResultsError(f"metric {name}: has no value in these results")
    varies = any(len(set(table.cells(axis))) > 1 for axis in results.axes)
    title = typeset(results.title or source.description.get("name") or "Results")
    shown = _interactive(results, table, metrics, x, by) if varies else {"results": table_of_metrics(results)}
    return (
        templates()
        .get_template("report.html")
        .render(
            policy=POLICY,
            version=results.provenance["version"],
            title=Markup(html(title)),
            plain_title=without_symbols(title),
            css=Markup(packaged("report.css")),
            summary=_summary(results),
            warnings=results.warnings,
            scenario=_scenario(source),
            provenance=_provenance(source),
            **shown,
        )
    )


def templates() -> Environment:
    """Template environment of the report, which escapes every text that is not marked as HTML."""
    environment = Environment(
        loader=PackageLoader("crossfade.reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=ChainableUndefined,
    )
    environment.filters["visible"] = visible
    return environment


def _interactive(
    results: Results,
    table: Table,
    metrics: Sequence[str] | None,
    x: str | None,
    by: str | Sequence[str] | None,
) -> dict[str, Any]:
    """Template values for a sweep: figures and table, first with the metrics of the scenario's own figure."""
    wanted = results.figure if results.figure.of == "results" else Wanted()
    drawn = [name for name in wanted.y or [] if _is_drawn(table, name)]
    asked = list(dict.fromkeys(metrics or drawn))
    table = prepared(table, asked[0] if asked else None)
    wanted = wanted.over(table, x, asked or None, by)
    choice = choose(table, wanted.x, asked[0] if asked else None, wanted.by, wanted.panels)
    # The page shows one panel at a time: axes of panels become held axes. A value that the scenario's figure
    # selects is shown first.
    held = {name: table.cells(name)[0] for name in choice.panels} | choice.held
    held |= {name: value for name, value in wanted.where.items() if name in held}
    choice = replace(choice, panels=[], held=held)
    shown = asked or _usual_metrics(table, choice)
    names = list(dict.fromkeys([*shown, *_metrics(results, table)]))
    data = figures_data(table, choice, names, shown, wanted)
    has_rows = any(point.rows for point in results.points)
    # Within a script, "<" could begin "</script>" or a comment.
    embedded = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {
        "figures": [_figure(data, name) for name in shown],
        "results": table_of_rows(table, data),
        "compared": comparisons(results, choice, shown[0]) if has_rows else None,
        "data": Markup(embedded.replace("<", "\\u003c")),
        "plotly": Markup(plotly_js()),
        "script": Markup(packaged("report.js")),
    }


def _is_drawn(table: Table, name: str) -> bool:
    """True if the results have values of a metric, or of both metrics of a ratio."""
    return all(part in table.columns and has_values(table, part) for part in map(str.strip, name.split("/")))


def _usual_metrics(table: Table, choice: Choice) -> list[str]:
    """Default metric of :func:`crossfade.plot`, and a second one whose values differ between points."""
    second = (name for name in SECOND_METRICS if name in table.columns and name != choice.y)
    return [
        choice.y,
        *(name for name in second if has_values(table, name) and len(set(table.cells(name))) > 1),
    ][:2]


def _metrics(results: Results, table: Table) -> list[str]:
    """Metrics with values to choose from; those of flows and links only if there is room for all."""
    found = [name for name in [*results.metrics, *results.parts] if has_values(table, name)]
    return (
        found if len(found) * len(table.rows) <= MOST_VALUES else [name for name in found if "." not in name]
    )


def _figure(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Template values of one figure: its caption and title; the script draws the figure."""
    marks = any(method["marks"] for method in data["methods"])
    few = "; no interval of fewer than five runs" if has_few_runs(data) else ""
    said = [f"marks: mean of the runs, with its 95 % interval{few}"] * marks
    said += ["lines and bands: analysis"] * any(not method["marks"] for method in data["methods"])
    metric, across = data["metrics"][name], data["x"]["label"]
    across = across[:1].lower() + across[1:] if across[1:2].islower() else across
    return {
        "name": name,
        "plain": Markup(metric["plain"]),
        "title": Markup(metric["title"]),
        "across": Markup(across),
        "said": "; ".join(said),
    }


def _summary(results: Results) -> str:
    """Numbers of points and runs, methods and seed, in one line."""
    points = len({json.dumps(point.axes, sort_keys=True) for point in results.points})
    runs = sum(point.runs for point in results.points)
    words = [f"{points} points" if points > 1 else "one point"]
    words += [", ".join(map(method_words, results.methods))]
    words += [f"{runs:,} runs", f"seed {results.seed}"] if runs else []
    return "; ".join(words)


def _scenario(source: Source) -> dict[str, str]:
    """The scenario: its text as written, and all keys with defaults as JSON."""
    resolved = source.description.get("scenario") or source.results.points[0].scenario
    return {
        "text": source.description.get("text") or "",
        "resolved": json.dumps(resolved, indent=2, ensure_ascii=False) if resolved else "",
    }


def _provenance(source: Source) -> dict[str, str]:
    """Provenance of the results: everything needed to compute them again."""
    results, description = source.results, source.description
    entries: dict[str, str] = {}
    if name := description.get("name"):
        entries["Scenario"] = str(name)
    overrides = results.provenance.get("overrides", {})
    for option, what in (("set", "Set by --set"), ("over", "Run over by --over")):
        if changed := overrides.get(option):
            entries[what] = "; ".join(f"{key} = {_value(value)}" for key, value in changed.items())
    entries["Methods"] = ", ".join(results.methods)
    runs = [point.runs for point in results.points if point.runs]
    if runs:
        entries["Seed"] = str(results.seed)
        entries["Stop rule"] = _stop(description.get("stop") or {}, runs)
        entries["Runs"] = f"{sum(runs):,}"
    entries["Plan"] = source.plan
    entries["crossfade"] = str(results.provenance["version"])
    entries["Results version"] = str(results.provenance["results_version"])
    return entries


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _stop(stop: Mapping[str, Any], runs: Sequence[int]) -> str:
    """Stop rule of each point's runs in words; the number of runs if the rule is unknown."""
    most, fewest = max(runs), min(runs)
    count = f"{fewest} runs a point" if fewest == most else f"{fewest} to {most} runs a point"
    last = f", after {stop['max_runs']} runs at the latest" if stop.get("max_runs") else ""
    if "count" in stop:
        return f"{stop['count']} {stop['metric']} in all{last} ({count})"
    if "precision" not in stop:
        return count
    of = f" of {stop['metric']}" if "metric" in stop else ""
    return f"95 % interval{of} within {100.0 * stop['precision']:.3g} % of the mean{last} ({count})"


def packaged(name: str) -> str:
    """Text of a file among the page's assets."""
    return (resources.files("crossfade.reports") / "assets" / name).read_text(encoding="utf-8")
