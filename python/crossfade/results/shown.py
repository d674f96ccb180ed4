"""Units and cells of results on a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from crossfade.errors import visible
from crossfade.tables import format_estimate
from crossfade.wording import readable_unit

# Keys of an estimate: its mean, the half-width of its interval, and the ends of the interval.
ENDS = ("value", "ci95", "low", "high")


def shown_unit(estimates: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Unit in which estimates of one metric are short (Mbit/s, ms), and its size in the metric's unit."""
    if not estimates:
        return "", 1.0
    values = [estimate["value"] for estimate in estimates if estimate["value"] is not None]
    unit, factor = readable_unit(estimates[0]["unit"], values)
    return {"1": "", "us": "µs"}.get(unit, unit), factor


def shown(estimate: Mapping[str, Any] | None, factor: float, runs: int = 0) -> str:
    """Estimate divided by ``factor`` as text, with its number of runs if below ``runs``; a dash for None."""
    if estimate is None:
        return "-"
    ends = [None if estimate[end] is None else estimate[end] / factor for end in ENDS]
    text = format_estimate(*ends, at_least=estimate.get("at_least", False))
    defined = estimate.get("n", estimate.get("runs", runs))
    return f"{text} in {defined} of {runs} runs" if 0 < defined < runs else text


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """HTML table for a notebook; all given texts are escaped."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{_text(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    head = f"<caption>{_text(caption)}</caption><thead>{line('th', columns)}</thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _text(cell: str) -> str:
    return escape(visible(cell)).replace("\n", "<br>")
