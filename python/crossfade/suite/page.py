"""Result of a suite as one self-contained HTML page, for readers who did not write the suite."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path

from markupsafe import Markup

from crossfade.errors import ScenarioError, visible
from crossfade.files import SCENARIOS
from crossfade.files.version import version
from crossfade.reports.page import packaged, templates
from crossfade.results.metrics import metric_of
from crossfade.suite.baseline import Pair
from crossfade.suite.cases import Case
from crossfade.suite.qlogs import beside_link
from crossfade.suite.running import Row, SuiteResult

# Content security policy: the page must not request anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"
# Metrics that only suites have, and their definitions.
OWN_METRICS = {
    "recovery_s": "Time from an event until the goodput is back at a level.",
    "share": "Goodput of the flow as a share of that of all flows.",
}
SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "too close to call": "? too close"}
STYLE = """
.pass { color: #1a6b2f; } .fail { color: #a11a1a; font-weight: bold; } .close { color: #7a5a00; }
.interval { vertical-align: middle; } td.why { color: #555; white-space: normal; min-width: 18em; }
"""


def page(result: SuiteResult, pairs: Sequence[Pair] = ()) -> str:
    """HTML text of the page. The worst run of each case of real programs is drawn from its qlog, if any."""
    suite, pictures = result.suite, _pictures(result)
    counts = ", ".join(f"{count} {word}" for word, count in result.counts().items())
    rows = {case.name: [row for row in result.rows if row.case == case.name] for case in suite.cases}
    return (
        templates()
        .get_template("suite.html")
        .render(
            policy=POLICY,
            version=version(),
            title=visible(f"{suite.title}: {', '.join(result.tested)}"),
            summary=visible(f"{counts}; {result.runs} runs of each case, seed {result.seed}"),
            css=Markup(packaged("report.css")),
            style=Markup(STYLE),
            warnings=[visible(text) for text in result.warnings],
            signs=SIGNS,
            suite=suite,
            result=result,
            pairs=pairs,
            cases=[
                (case, rows[case.name], Markup(pictures.get(case.name, "")))
                for case in suite.cases
                if rows[case.name]
            ],
            meanings=_meanings(result.rows),
            titles={case.name: _title(case) for case in suite.cases},
            drawn=_drawn,
            of_run=_of_run,
        )
    )


def _meanings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Metrics of the targets with their definitions, each once."""
    found: dict[str, str] = {}
    for row in rows:
        for part in row.metric.split("/"):
            name = part.strip().rpartition(".")[2]
            metric = metric_of(name)
            found[name] = OWN_METRICS.get(name) or (metric.meaning if metric is not None else "")
    return [(name, meaning) for name, meaning in sorted(found.items()) if meaning]


def _title(case: Case) -> str:
    """Title of a case's scenario; its name if the file is missing or has no title."""
    path = SCENARIOS / f"{case.scenario}.toml"
    try:
        text = (path if path.is_file() else Path(case.scenario)).read_text(encoding="utf-8")
        return str(tomllib.loads(text).get("title", case.name))
    except (OSError, ValueError):
        return case.name


def _pictures(result: SuiteResult) -> dict[str, str]:
    """Drawings of the worst runs, by the name of their case."""
    found: dict[str, str] = {}
    for row in result.rows:
        journal, qlog = row.files.get("journal"), row.files.get("server qlog")
        if journal and qlog and row.case not in found:
            try:
                found[row.case] = beside_link(Path(qlog), Path(journal))
            except ScenarioError as error:
                found[row.case] = f"<p>Not drawn: {_html(str(error))}</p>\n"
    return found


def _html(text: str) -> str:
    return escape(visible(text))


def _of_run(row: Row) -> str:
    value = row.values.get(row.worst_run) if row.worst_run is not None else None
    return "undefined" if value is None else f"{value:.4g} {'' if row.unit == '1' else row.unit}".strip()


def _drawn(row: Row) -> Markup:
    """Drawing of a row: its interval as a bar, its limit as a line, and the values of runs as dots."""
    if row.value is None:
        return Markup()
    half = row.half or 0.0
    marks = [row.value - half, row.value + half, row.limit, *row.values.values()]
    low, high = min(marks), max(marks)
    span = (high - low) or abs(high) or 1.0
    width, height = 160, 16

    def place(value: float) -> str:
        return f"{6 + (width - 12) * (value - low) / span:.1f}"

    dots = "".join(
        f'<circle cx="{place(value)}" cy="8" r="1.6" fill="#777"/>'
        for value in row.values.values()
        if math.isfinite(value)
    )
    label = f"{row.target}: {row.found}"
    return Markup(
        f'<svg class="interval" width="{width}" height="{height}" role="img" aria-label="{_html(label)}">'
        f'<line x1="{place(row.value - half)}" x2="{place(row.value + half)}" y1="8" y2="8" stroke="#1f5fa8" '
        f'stroke-width="4"/>{dots}'
        f'<line x1="{place(row.limit)}" x2="{place(row.limit)}" y1="1" y2="15" stroke="#a11a1a" '
        f'stroke-width="2"/></svg>'
    )
