"""The result of a suite as one HTML page that needs nothing else, for whoever did not write the suite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from crossfade.errors import ScenarioError, visible
from crossfade.files.version import version
from crossfade.suite.baseline import Pair
from crossfade.suite.cases import Case
from crossfade.suite.qlogs import beside_link
from crossfade.suite.running import Row, SuiteResult

# Nothing may be asked for anywhere.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"
SIGNS = {"pass": "✓ pass", "fail": "✗ fail", "too close to call": "? too close"}
STYLE = """
.pass { color: #1a6b2f; } .fail { color: #a11a1a; font-weight: bold; } .close { color: #7a5a00; }
.interval { vertical-align: middle; } .why { color: #555; }
"""


def page(result: SuiteResult, pairs: Sequence[Pair] = ()) -> str:
    """The HTML text. Of real programs with a qlog, the worst run of each case is drawn beside its link."""
    suite, pictures = result.suite, _pictures(result)
    counts = ", ".join(f"{count} {word}" for word, count in result.counts().items())
    css = (resources.files("crossfade.reports") / "assets" / "report.css").read_text(encoding="utf-8")
    title = f"{suite.title}: {', '.join(result.tested)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="generator" content="crossfade {escape(version())}">
<title>{_html(title)}</title>
<style>
{css}{STYLE}</style>
</head>
<body>
<header>
<h1>{_html(title)}</h1>
<p class="summary">{_html(counts)}; {result.runs} runs of each case, seed {result.seed}</p>
</header>
{_warnings(result)}{_matrix(result)}{_pairs(pairs)}{_cases(result, pictures)}{_source(result)}
<footer>Made by crossfade {escape(version())}: crossfade suite {_html(suite.name)}.</footer>
</body>
</html>
"""


def _pictures(result: SuiteResult) -> dict[str, str]:
    """Drawings by the name of a case."""
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


def _mark(word: str | None) -> str:
    if word is None:
        return "<td>–</td>"
    kind = "close" if word.startswith("too") else word
    return f'<td class="{kind}">{SIGNS[word]}</td>'


def _matrix(result: SuiteResult) -> str:
    heads = "".join(f'<th scope="col">{_html(tested)}</th>' for tested in result.tested)
    lines = []
    for case in result.suite.cases:
        marks = "".join(_mark(result.verdict(case.name, tested)) for tested in result.tested)
        name = _html(case.name)
        lines.append(
            f'<tr><th scope="row"><a href="#{name}">{name}</a></th>{marks}'
            f"<td>{_html(case.clause)}</td></tr>\n"
        )
    return f"""<section aria-labelledby="verdicts">
<h2 id="verdicts">Verdicts</h2>
<p>A case passes if the whole interval of each of its targets keeps to the limit, and fails if that of one
lies beyond it. What is between is too close to call: more runs may tell. All intervals of this page hold
together with 95 % confidence.</p>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">Case</th>{heads}<th scope="col">From</th></tr></thead>
<tbody>
{"".join(lines)}</tbody>
</table></div>
</section>
"""


def _cases(result: SuiteResult, pictures: dict[str, str]) -> str:
    parts = []
    for case in result.suite.cases:
        rows = [row for row in result.rows if row.case == case.name]
        if rows:
            parts.append(_case(case, rows, pictures.get(case.name, "")))
    skipped = "".join(f"<li>{_html(name)}: {_html(why)}</li>\n" for name, why in result.skipped)
    if skipped:
        parts.append(f"<h3>Not run</h3>\n<ul>\n{skipped}</ul>\n")
    return f'<section aria-labelledby="cases">\n<h2 id="cases">Cases</h2>\n{"".join(parts)}</section>\n'


def _case(case: Case, rows: Sequence[Row], picture: str) -> str:
    heads = ("Target", "Tested", "Found", "Interval and limit", "Verdict", "Why this limit")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    lines = "".join(
        f"<tr><td>{_html(row.target)}</td><td>{_html(row.tested)}</td><td>{_html(row.found)}</td>"
        f"<td>{_drawn(row)}</td>{_mark(row.verdict)}"
        f'<td class="why">{_html(row.why)}{_html(f" ({row.note})" if row.note else "")}</td></tr>\n'
        for row in rows
    )
    again = "".join(
        f"<p>{_html(row.tested)}, {_html(row.target)}: run {row.worst_run} is the worst, "
        f"{_of_run(row)}. Replayed by:</p>\n<pre><code>{_html(row.replay)}</code></pre>\n{_files(row)}"
        for row in rows
        if row.verdict == "fail" and row.replay
    )
    left_out = f"<p>Left out: {_html(case.left_out)}</p>\n" if case.left_out else ""
    return f"""<h3 id="{_html(case.name)}">{_html(case.name)}</h3>
<p>{_html(case.clause)}; scenario <code>{_html(case.scenario)}</code>.</p>
{left_out}<div class="scroll" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{lines}</tbody>
</table></div>
{again}{picture}"""


def _of_run(row: Row) -> str:
    value = row.values.get(row.worst_run) if row.worst_run is not None else None
    return "undefined" if value is None else f"{value:.4g} {'' if row.unit == '1' else row.unit}".strip()


def _files(row: Row) -> str:
    items = "".join(
        f"<li>{_html(name)}: <code>{_html(file)}</code></li>\n" for name, file in row.files.items()
    )
    return f"<ul>\n{items}</ul>\n" if items else ""


def _drawn(row: Row) -> str:
    """The interval of a row as a bar and its limit as a line, over one scale; the values of runs as dots."""
    if row.value is None:
        return ""
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
    return (
        f'<svg class="interval" width="{width}" height="{height}" role="img" aria-label="{_html(label)}">'
        f'<line x1="{place(row.value - half)}" x2="{place(row.value + half)}" y1="8" y2="8" stroke="#1f5fa8" '
        f'stroke-width="4"/>{dots}'
        f'<line x1="{place(row.limit)}" x2="{place(row.limit)}" y1="1" y2="15" stroke="#a11a1a" '
        f'stroke-width="2"/></svg>'
    )


def _pairs(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    lines = "".join(
        f"<tr><td>{_html(pair.case)}</td><td>{_html(pair.tested)}</td><td>{_html(pair.target)}</td>"
        f"<td>{_html(pair.words)}</td><td>{pair.pairs}</td>"
        f'<td class="{"fail" if pair.verdict == "worse" else "pass"}">{pair.verdict}</td></tr>\n'
        for pair in pairs
    )
    heads = ("Case", "Tested", "Target", "Change", "Pairs of runs", "Verdict")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f"""<section aria-labelledby="baseline">
<h2 id="baseline">Beside the baseline, run by run</h2>
<div class="scroll" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{lines}</tbody>
</table></div>
</section>
"""


def _source(result: SuiteResult) -> str:
    suite = result.suite
    left = "".join(f"<li>{_html(text)}</li>\n" for text in suite.left_out)
    read = f"<p>Read: {_html(suite.read)}</p>\n" if suite.read else ""
    out = f"<p>Left out of it:</p>\n<ul>\n{left}</ul>\n" if left else ""
    return f"""<section aria-labelledby="source">
<h2 id="source">Where the cases come from</h2>
<p>{_html(suite.source)}</p>
{read}{out}</section>
"""


def _warnings(result: SuiteResult) -> str:
    items = "".join(f"<li>{_html(text)}</li>\n" for text in result.warnings)
    if not items:
        return ""
    head = '<section class="warnings" role="note">\n<h2>To be careful about</h2>'
    return f"{head}\n<ul>\n{items}</ul>\n</section>\n"
