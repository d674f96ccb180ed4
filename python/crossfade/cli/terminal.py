"""Tables for people, with rounded numbers; CSV and JSON have unrounded numbers."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from crossfade.cli.few import each_run, is_few, note
from crossfade.cli.layout import Column, print_fitted, print_whole
from crossfade.errors import one_line, visible
from crossfade.figures.choice import called
from crossfade.results.metrics import Metric
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.results.rows import PARTS
from crossfade.results.shown import shown, shown_unit
from crossfade.tables import Cell, Table, format_estimate, label
from crossfade.wording import between

if TYPE_CHECKING:
    from crossfade.comparison.best import Best, Decision
    from crossfade.comparison.compare import Comparison
    from crossfade.comparison.predictions import Predicted
    from crossfade.fitting import LinkFit, LinkTrace, MarkovFit
    from crossfade.papers import Matrix, Paper, Verdict

# Width in columns at which words break without a terminal; lines of numbers and values of axes have no limit.
WIDTH_WITHOUT_TERMINAL = 160

VERDICT_STYLES = {
    "holds": "green",
    "holds partly": "yellow",
    "does not hold": "red",
    "cannot be seen": "dim",
    "undecided": "dim",
    "nothing to tell": "dim",
    "not judged": "dim",
}
CHOICE_STYLES = {
    "best": "green",
    "within": "green",
    "higher": "green",
    "lower": "red",
    "no feasible choice": "red",
}


class SafeConsole(Console):
    """Console that removes control characters from texts, since titles, labels and names are untrusted."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def console(stderr: bool = False) -> Console:
    """Console on standard output (or error), with a fixed width if that is no terminal."""
    made = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and _asked_width() is None:
        made.width = WIDTH_WITHOUT_TERMINAL
    return made


def _asked_width() -> int | None:
    """Width in the environment variable ``COLUMNS``; None without it."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _room(to: Console) -> int | None:
    """Width into which a table must fit; None for a pipe or a file."""
    return to.width if to.is_terminal or _asked_width() is not None else None


def print_results(
    results: Results, to: Console, drawn: str | None = None, only: Sequence[str] | None = None
) -> None:
    """Print all metrics of a single point, or as many main metrics of a sweep as have room.

    ``drawn`` are the metrics of the figure, or ratios of two; they come first. ``only`` are the requested
    metrics, in place of all others.
    """
    if not results.points:
        return
    if only is not None:
        only = results.chosen(only)
        if results.axes:
            # Requested metrics are shown even if they are wider than the terminal.
            print_fitted(to, _title(results.title, ", ".join(results.methods)), _sweep(results, only), None)
        else:
            _print(to, _title(results.title, _how(results)), _point(results, only))
        _print_note(results, to)
        return
    if not results.axes:
        _print(to, _title(results.title, _how(results)), _point(results, results.metrics))
        _print_note(results, to)
        for point in results.points:
            _print_parts(point, to)
        return
    wanted = [*(name.strip() for name in re.split("[,/]", drawn or "")), *results.main_metrics]
    known = {*results.metrics, *results.parts}
    metrics = [name for name in dict.fromkeys(wanted) if name in known]
    title = _title(results.title, f"{', '.join(results.methods)}, {_intervals(results.points)}")
    print_fitted(to, title, _sweep(results, metrics), _room(to))
    _print_note(results, to)


def _intervals(points: Sequence[Point]) -> str:
    """Heading of the estimates in a table: means with intervals, or with each run."""
    random = [point for point in points if point.runs]
    if random and all(map(is_few, random)):
        return "mean (each run)"
    return "mean ± 95 %, or (each run)" if any(map(is_few, random)) else "mean ± 95 %"


def _print_note(results: Results, to: Console) -> None:
    if text := note(results.points):
        to.print(text, soft_wrap=True)


def _estimate(point: Point, name: str, estimate: Mapping[str, Any] | None, factor: float) -> str:
    """Text of a metric at a point: its mean with the interval, or with the value of each of a few runs."""
    if estimate is None or not is_few(point) or estimate.get("at_least"):
        return shown(estimate, factor, point.runs)
    return each_run(point, name, estimate["value"], factor)


def print_some_results(results: Results, to: Console, most: int) -> None:
    """Like :func:`print_results`, but for more than ``most`` points only ranges of the main metrics."""
    if len(results.points) <= most:
        print_results(results, to)
        return
    grid = _grid()
    for name in ("metric", "method", "points", "lowest", "highest", "unit"):
        is_number = name in ("points", "lowest", "highest")
        grid.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    for name in results.main_metrics:
        for method in results.methods:
            if (name, method) in results.main_values:
                of_rows, values = results.main_values[name, method]
                unit, factor = shown_unit([{"unit": of_rows, "value": value} for value in values])
                ends = (f"{min(values) / factor:.4g}", f"{max(values) / factor:.4g}")
                grid.add_row(name, method, str(len(values)), *ends, unit)
    _print(to, _title(results.title, f"{len(results.points)} points"), grid)


def _print_parts(point: Point, to: Console) -> None:
    """Print tables of the parts of a point that have names or numbers, a line for each part."""
    for kind in PARTS:
        parts = getattr(point, kind.list)
        if kind.is_numbered:
            parts = [{"name": str(part[kind.name]), **part} for part in parts]
        rows = [part for part in parts if part["name"]]
        names = [name for name in kind.shown if any(name in row for row in rows)]
        if not rows or not names:
            continue
        grid = _grid()
        grid.add_column(kind.list)
        units = {name: shown_unit([row[name] for row in rows if name in row]) for name in names}
        for name in names:
            grid.add_column(_heading(name, units[name][0]), justify="right", no_wrap=True)
        for row in rows:
            count = f" x {row['count']}" if row.get("count", 1) > 1 else ""
            cells = [
                _estimate(point, f"{row['name']}.{name}", row.get(name), units[name][1]) for name in names
            ]
            grid.add_row(f"{row['name']}{count}", *cells)
        print_whole(to, grid)


def _how(results: Results) -> str:
    """Methods of a single point, with their numbers of runs."""
    return ", ".join(
        f"{point.runs} {'run' if point.runs == 1 else 'runs'}, {point.method}" if point.runs else point.method
        for point in results.points
    )


def _point(results: Results, metrics: Sequence[str]) -> Grid:
    grid = _grid()
    grid.add_column("metric", no_wrap=True)
    for point in results.points:
        solved = "value" if not point.runs else _intervals([point])
        grid.add_column(point.method if len(results.points) > 1 else solved, justify="right", no_wrap=True)
    grid.add_column("unit")
    for name in metrics:
        found = [(point.metrics | point.parts).get(name) for point in results.points]
        unit, factor = shown_unit([vars(estimate) for estimate in found if estimate is not None])
        cells = [
            _estimate(point, name, None if estimate is None else vars(estimate), factor)
            for point, estimate in zip(results.points, found, strict=True)
        ]
        grid.add_row(name, *cells, unit)
    return grid


def _sweep(results: Results, metrics: Sequence[str]) -> list[Column]:
    """Columns for the table of a sweep: axes, method, runs, and metrics with intervals."""
    points = [point.metrics | point.parts for point in results.points]
    units = {name: shown_unit([vars(found[name]) for found in points if name in found]) for name in metrics}
    columns = [
        Column(
            head, [_labelled(results, point.axes[axis]) for point in results.points], is_axis=True, key=axis
        )
        for axis, head in zip(results.axes, _heads(results.axes), strict=True)
    ]
    if len(results.methods) > 1:
        columns.append(Column("method", [point.method for point in results.points]))
    runs = [str(point.runs) if point.runs else "-" for point in results.points]
    columns.append(Column("runs", runs, is_right=True))
    for name in metrics:
        cells = [
            _estimate(point, name, vars(found[name]) if name in found else None, units[name][1])
            for point, found in zip(results.points, points, strict=True)
        ]
        columns.append(Column(_heading(name, units[name][0]), cells, is_metric=True))
    return columns


def _labelled(results: Results, value: Any) -> str:
    """Value of an axis, with the label of the scenario's figure."""
    cell = label(value)
    return _axis_cell(called(cell, results.figure.labels))


def _heading(name: str, unit: str) -> str:
    """Heading of a column: its metric, and below it the unit of its values."""
    return f"{name}\n{unit}" if unit else name


def print_metrics(metrics: Sequence[Metric], to: Console) -> None:
    """Print each metric with its unit and its title in figures."""
    grid = _grid()
    for name in ("metric", "unit", "words"):
        grid.add_column(name, no_wrap=name == "metric")
    for metric in metrics:
        grid.add_row(metric.name, "" if metric.unit == "1" else metric.unit, metric.words)
    _print(to, "Metrics (crossfade explain NAME says what one counts)", grid)


def print_table(table: Table, title: str, to: Console) -> None:
    """Print a paper's table without empty columns, with intervals beside their values."""
    interval_of = {"ci95": "throughput_sim"}
    shown = [
        name
        for name in table.columns
        if name not in interval_of and any(cell is not None for cell in table.cells(name))
    ]
    intervals = {value: name for name, value in interval_of.items() if name in table.columns}
    grid = _grid()
    for name in shown:
        grid.add_column(name, justify="right" if name in intervals else "left")
    for record in table.records():
        grid.add_row(*(_cell(record[name], record.get(intervals.get(name, ""))) for name in shown))
    _print(to, title, grid)


def print_verdicts(paper: Paper, verdicts: Sequence[Verdict], to: Console) -> None:
    """Print a paper's claims with their verdicts and the points that speak most against them."""
    grid = _grid()
    grid.add_column("claim", ratio=5)
    grid.add_column("figure")
    grid.add_column("verdict")
    grid.add_column("ours", ratio=4)
    for verdict in verdicts:
        judged = f"{verdict.computed}: {verdict.tolerance} ({verdict.why})"
        if not verdict.outcomes:
            judged = verdict.why
        quote = Text(f"“{verdict.quote}”\n").append(judged, style="dim")
        if verdict.because and verdict.verdict != "holds":
            quote.append(f"\n{verdict.because}")
        grid.add_row(
            quote, verdict.figure, Text(verdict.verdict, VERDICT_STYLES[verdict.verdict]), str(verdict)
        )
        grid.add_section()
    _print(to, paper.CITATION, grid)
    found = {word: sum(verdict.verdict == word for verdict in verdicts) for word in VERDICT_STYLES}
    always = ("holds", "holds partly", "does not hold", "undecided")
    counts = [f"{count} {word}" for word, count in found.items() if count or word in always]
    to.print(f"{len(verdicts)} claims: {', '.join(counts)}")


# Signs for verdicts in a narrow column.
MARKS = {"holds": "+", "holds partly": "±", "does not hold": "−", "cannot be seen": "~", "undecided": "?"}


def print_matrix(paper: Paper, matrix: Matrix, to: Console) -> None:
    """Print a paper's claims by its readings, a line about each reading, and the best one."""
    grid = _grid()
    grid.add_column("claim")
    for name in matrix.verdicts:
        grid.add_column(name, no_wrap=True)
    for judged in zip(*matrix.verdicts.values(), strict=True):
        cells = [
            Text(f"{MARKS.get(one.verdict, ' ')} {one.holding}/{one.points}", VERDICT_STYLES[one.verdict])
            for one in judged
        ]
        grid.add_row(judged[0].claim, *cells)
    _print(to, paper.CITATION, grid)
    to.print(
        "+ holds, ± holds partly, − does not hold, ? undecided, ~ cannot be seen; points that hold of all"
    )
    for reading in matrix.readings.listed:
        to.print(f"{reading.name}: {matrix.score_words(reading.name)}; {reading.why}")
    to.print(matrix.words)


def print_fit(fit: MarkovFit, to: Console) -> None:
    """Print a fitted chain with its intervals, its tests, and their explanation."""
    grid = _grid()
    for name in ("parameter", "value", "95 % interval"):
        grid.add_column(name, justify="left" if name == "parameter" else "right")
    for name in ("p_gg", "p_bb", "p_e", "mean_burst"):
        interval = getattr(fit, name)
        # Two significant digits of the narrower side of the interval set the decimal places.
        half = min(interval.value - interval.low, interval.high - interval.value) or interval.high
        digits = max(0, 1 - math.floor(math.log10(half)))
        grid.add_row(
            name, f"{interval.value:.{digits}f}", f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
        )
    assumed = " (up to the last loss: no total is given)" if fit.packets_assumed else ""
    _print(to, f"{fit.source}: {fit.packets} packets{assumed}, {fit.losses} lost", grid)
    grid = _grid()
    for name in ("hypothesis", "chi-square", "freedom", "p-value"):
        grid.add_column(name, justify="left" if name == "hypothesis" else "right")
    tests = {
        "losses are independent": fit.independence,
        "the packet before last does not matter": fit.first_order,
        f"the {fit.good_runs.runs} good runs are geometric": fit.good_runs.test,
        f"the {fit.bad_runs.runs} bad runs are geometric": fit.bad_runs.test,
    }
    for hypothesis, test in tests.items():
        if test is None:
            grid.add_row(hypothesis, "-", "-", "too few to test")
        else:
            grid.add_row(
                hypothesis,
                f"{test.statistic:.1f}",
                str(test.freedom),
                f"{test.p_value:.2g}" if test.p_value > 1e-300 else "< 1e-300",
            )
    to.print(grid)
    to.print(Text(fit.explanation), soft_wrap=True)


def print_link_fit(fit: LinkFit, to: Console) -> None:
    """Print a fitted link: its parameters with intervals and verdicts, and what the record does not show."""
    from crossfade.fitting.parameters import BOUNDED_ABOVE  # here, since other commands do not need it

    grid = _grid()
    for name in ("parameter", "value", "90 % interval", "unit", "verdict"):
        grid.add_column(name, justify="right" if name in ("value", "90 % interval") else "left")
    units = {"rate": ("Mbit/s", 1e6), "delay": ("ms", 1e-3), "queue": ("packets", 1.0), "loss": ("%", 1e-2)}
    for name, (unit, size) in units.items():
        of = fit.parameters[name]
        value, low, high = (f"{number / size:.4g}" for number in (of.value, of.low, of.high))
        if of.verdict == "bounded":
            value, between = f"<= {high}" if name in BOUNDED_ABOVE else f">= {value}", ""
        elif of.verdict == "not identified" and name != "delay":
            value, between = "-", ""
        else:
            between = f"{low} to {high}"
        grid.add_row(name, value, between, unit, of.verdict)
    found = fit.found
    lost = f"{found['random_losses']} lost at random, {found['congestive_losses']} at a full queue"
    seen = f"{found['packets']} packets in {found['lasts_s']:.1f} s, {lost}"
    _print(to, f"{fit.source}: model {fit.model}; {seen}", grid)
    waited = found["waited_share"]
    of_queue = "" if waited is None else f"; {waited * 100:.3g} % of the packets waited in the queue"
    to.print(Text(f"{fit.flow}{of_queue}"), soft_wrap=True)
    for warning in fit.warnings:
        to.print(Text(f"- {warning}"), soft_wrap=True)


def print_predictions(rows: Sequence[Predicted], fit: LinkFit, to: Console) -> None:
    """Print the predictions for each control on the fitted link, and the values of a replay of the record."""
    grid = _grid()
    react = [row.reacting for row in rows if row.reacting is not None]
    names = ["control", "metric", "predicted", "90 % interval", "replay", "unit"]
    for name in names[:-2] + ["if others react"] * bool(react) + names[-2:]:
        grid.add_column(name, justify="left" if name in ("control", "metric", "unit") else "right")
    units = {"goodput_bps": ("Mbit/s", 1e6), "rtt_p95_s": ("ms", 1e-3)}
    for row in rows:
        unit, size = units[row.metric]
        numbers = (row.value, row.low, row.high, row.replay, row.reacting)
        value, low, high, replay, reacting = ("-" if x is None else f"{x / size:.4g}" for x in numbers)
        between = f"{low} or more" if row.high == math.inf else f"{low} to {high}"
        value = "range" if row.is_range else value
        grid.add_row(row.control, row.metric, value, between, *([reacting] * bool(react)), replay, unit)
    _print(to, f"Predicted for the link of {fit.source}; a replay of the record beside it", grid)


# Printed lines of a recording's summary by its keys: words, unit, and size of the unit in SI.
RECORDED = {
    "rate_bps": ("capacity", "Mbit/s", 1e6),
    "sent_bps": ("sent", "Mbit/s", 1e6),
    "arrived_bps": ("arrived", "Mbit/s", 1e6),
    "delay_s": ("delay", "ms", 1e-3),
    "loss": ("loss", "%", 1e-2),
}
AFTER = {"loop": "begins again", "hold": "its last values hold", None: "what follows is not said"}


def print_trace(found: LinkTrace, to: Console) -> None:
    """Print each recording: its format and duration, and rates, delays and losses over windows of time."""
    for row in found.summary():
        grid = _grid()
        for name in ("", "unit", "mean", "min", "5 %", "median", "95 %", "max"):
            grid.add_column(name, justify="left" if name in ("", "unit") else "right")
        for name, (word, unit, size) in RECORDED.items():
            if (of_windows := row[name]) is not None:
                values = (of_windows[key] for key in ("mean", "min", "p5", "p50", "p95", "max"))
                grid.add_row(word, unit, *(f"{value / size:.4g}" for value in values))
        way = "" if row["direction"] == "both" else f", {row['direction']}"
        after = AFTER.get(row["at_end"], f"played {row['at_end']} times")
        lasts = f"{row['lasts_s']:.10g} s, {after}" if row["lasts_s"] else "constant"
        _print(to, f"{row['file']}{way}: {row['title']} ({row['format']}), {lasts}", grid)
        to.print(Text("; ".join(_of_recording(row))), soft_wrap=True)


def _of_recording(row: dict[str, Any]) -> Iterator[str]:
    """Further facts about a recording, for the line below its table."""
    window = f"windows of {row['window_s'] * 1e3:g} ms"
    yield f"{row['facts']} {'fact' if row['facts'] == 1 else 'facts'}, {window}"
    if row["unlimited"]:
        yield "some rates have no limit"
    for name, unit, size in (
        ("queue_packets", "packets", 1),
        ("queue_bytes", "bytes", 1),
        ("queue_s", "ms", 1e-3),
    ):
        if row[name] is not None:
            ends = dict.fromkeys(f"{end / size:g}" for end in row[name])
            yield f"queue of {' to '.join(ends)} {unit}"
    if row["also"]:
        yield f"also says {', '.join(row['also'])}"
    if row["clock_s"] >= 1e-3 and row["opportunities"] and row["lasts_s"]:
        together = row["opportunities"] / row["lasts_s"] * row["clock_s"]
        steps = f"times in steps of {row['clock_s'] * 1e3:g} ms"
        yield f"{steps}, {together:.3g} opportunities each: what is faster does not show"
    if row["delay_clock_s"] >= 1e-3:
        yield f"delays in steps of {row['delay_clock_s'] * 1e3:g} ms"
    for name, text in row["notes"].items():
        yield f"{name}: {text}"


def print_comparison(found: Comparison, to: Console) -> None:
    """Print the pairs under every condition, and where their curves cross or touch along each axis."""
    grid = _grid()
    _add_columns(grid, found.conditions)
    _add_columns(grid, ["first", "second"])
    grid.add_column("difference", justify="right", no_wrap=True)
    grid.add_column("the first is")
    unit, factor = shown_unit([{"value": pair.difference, "unit": found.unit} for pair in found.pairs])
    for pair in found.pairs:
        cells = [_axis_cell(cell) for cell in pair.condition.values()]
        difference = _in_unit(pair.difference, pair.ci95, factor)
        grid.add_row(*cells, pair.first, pair.second, difference, _styled(pair.verdict))
    _print(to, _title(_metric(found.metric, unit), "first less second, paired, mean ± 95 %"), grid)
    for axis, crossings in groupby(found.crossings, lambda at: (at.axis, at.unit, tuple(at.condition))):
        grid = _grid()
        _add_columns(grid, [*axis[2], "first", "second", "cross at", "not told apart", "before", "after"])
        for at in crossings:
            place, crossing = [_axis_cell(cell) for cell in at.condition.values()], at.crossing
            x = "-" if crossing.x is None else f"{crossing.x:.4g}"
            sides = (crossing.before or "-", crossing.after or "-")
            grid.add_row(*place, at.first, at.second, x, between(crossing.low, crossing.high), *sides)
        _print(to, f"Along {_metric(axis[0], axis[1])}", grid)


def print_best(found: Best, to: Console) -> None:
    """Print the choice under every condition, and where it changes along each axis."""
    goal = found.goal
    grid = _grid()
    _add_columns(grid, [*found.conditions, *found.choose])
    for name in (goal.metric, "ahead by", "of"):
        grid.add_column(name, justify="left" if name == "of" else "right", no_wrap=True)
    grid.add_column("verdict")
    unit, factor = shown_unit([{"value": at.value, "unit": found.unit} for at in found.decisions])
    for at in found.decisions:
        cells = [_axis_cell(cell) for cell in [*at.condition.values(), *_chosen(at.choice, found.choose)]]
        estimates = [
            f"{'at least ' * at.at_least}{shown(_value(found, at), factor)}",
            _in_unit(at.margin, at.margin_ci95, factor),
        ]
        verdict = _styled(at.verdict)
        close = dict.fromkeys(("equal", "too close to call"), at.rivals)
        doubts = {**close, "constraint uncertain": [*at.uncertain, *at.rivals]}
        if words := "; ".join(doubts.get(at.verdict, at.uncertain)):
            verdict.append(f": {words}")
        grid.add_row(*cells, *estimates, at.runner_up or "-", verdict)
    limits = [str(limit) for limit in goal.constraints]
    first = "" if found.within is None else f"first choice within {100 * found.within:g} % of the "
    aim = " subject to ".join(
        [
            f"{first}{'lowest' if goal.lowest else 'highest'} {_metric(goal.metric, unit)}",
            *filter(None, [", ".join(limits)]),
        ]
    )
    _print(to, _title(aim, f"{found.method}, mean ± 95 %"), grid)
    _print_switching(found, to)


def _value(found: Best, at: Decision) -> dict[str, float | None]:
    """Value of a choice; with the ends of its interval if that is cut at the bounds of the metric."""
    value, half = at.value, at.ci95
    as_it_is: dict[str, float | None] = {"value": value, "ci95": half, "low": None, "high": None}
    if value is None or half is None or at.choice is None:
        return as_it_is
    axes = {**at.condition, **at.choice}
    same = (
        point
        for point in found.results.points
        if point.method == found.method
        and all(label(point.axes[key]) == cell for key, cell in axes.items() if key in point.axes)
    )
    point = next(same, None)
    of = None if point is None else (point.metrics | point.parts).get(found.goal.metric)
    most = math.inf
    # An upper side narrower than Student's half width shows that the interval was cut at the metric's bound.
    if of is not None and of.value is not None and of.ci95 is not None and of.high is not None:
        most = of.high if of.high < of.value + of.ci95 * (1 - 1e-9) else math.inf
    low, high = max(value - half, 0.0), min(value + half, most)
    is_cut = (low, high) != (value - half, value + half)
    return as_it_is | ({"low": low, "high": high} if is_cut else {})


def _print_switching(found: Best, to: Console) -> None:
    """Print the choice for each range of each axis."""
    for axis, ranges in groupby(found.ranges, lambda at: (at.axis, at.unit, tuple(at.condition))):
        grid = _grid()
        _add_columns(grid, [*axis[2], "from", "to", *found.choose, "change between", "because of"])
        for at in ranges:
            cells = [_axis_cell(cell) for cell in at.condition.values()]
            ends = [f"{at.start:.4g}", f"{at.end:.4g}"]
            change = between(at.end_low, at.end_high) if at.because else "-"
            chosen = [_axis_cell(cell) for cell in _chosen(at.choice, found.choose)]
            grid.add_row(*cells, *ends, *chosen, change, at.because or "-")
        _print(to, f"Along {_metric(axis[0], axis[1])}", grid)


def _in_unit(value: float | None, ci95: float | None, factor: float) -> str:
    """Text of a value with its half-width, divided by ``factor``."""
    return shown({"value": value, "ci95": ci95, "low": None, "high": None}, factor)


def _chosen(choice: dict[str, Cell] | None, keys: Sequence[str]) -> list[Cell]:
    return ["none"] * len(keys) if choice is None else list(choice.values())


def _metric(name: str, unit: str) -> str:
    return f"{name} in {unit}" if unit not in ("", "1") else name


def _styled(verdict: str) -> Text:
    return Text(verdict, CHOICE_STYLES.get(verdict, ""))


def _add_columns(grid: Grid, names: Sequence[str]) -> None:
    for name in _heads(names):
        grid.add_column(name, no_wrap=True)


def _heads(names: Sequence[str]) -> list[str]:
    """Headings of keys: the last part if it is unique, else the whole key."""
    short = [name.rsplit(".", 1)[-1] for name in names]
    return [name if short.count(name) == 1 else full for full, name in zip(names, short, strict=True)]


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings on standard error, one line each."""
    to = console(stderr=True)
    for text in warnings:
        to.print(Text(one_line(f"warning: {text}"), style="yellow"), soft_wrap=True)


def _print(to: Console, title: str, grid: Grid) -> None:
    to.print(Text(one_line(title), "bold"), soft_wrap=True)
    print_whole(to, grid)


def _grid() -> Grid:
    return Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")


def _title(title: str, detail: str) -> str:
    return f"{title} ({detail})" if title else detail


def _axis_cell(cell: Cell) -> str:
    return f"{cell:.12g}" if isinstance(cell, float) else str(cell)


def _cell(cell: Cell, interval: Cell) -> str:
    if isinstance(cell, float):
        return format_estimate(cell, interval) if isinstance(interval, float) else f"{cell:.6g}"
    return "" if cell is None else str(cell)
