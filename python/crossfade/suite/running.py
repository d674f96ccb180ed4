"""Execution of a suite: cases are run, targets judged, and the verdicts returned as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from crossfade.comparison.paired import Sample, each_of
from crossfade.errors import ScenarioError, shortened
from crossfade.results.shown import shown_unit
from crossfade.suite.cases import Case, Suite, load_suite
from crossfade.suite.controls import Control, read_controls
from crossfade.suite.simulated import Simulated, trace_command
from crossfade.suite.targets import Target
from crossfade.suite.verdicts import Word, judge, worst_of
from crossfade.tables import Table, format_estimate

Tell = Callable[[str], object]
"""Function that takes a line about the progress of a suite."""


@dataclass(frozen=True)
class Row:
    """Verdict on one target of a case for one tested control or program.

    ``value`` and ``half`` are the mean over the runs and the half-width of its interval, ``values`` the
    values by run number. ``replay`` is the command that repeats the ``worst_run``.
    """

    suite: str
    case: str
    clause: str
    tested: str
    target: str
    metric: str
    unit: str
    side: str
    limit: float
    why: str
    value: float | None
    half: float | None
    runs: int
    verdict: Word
    note: str
    worst_run: int | None
    replay: str
    values: dict[int, float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Files of the worst run (journal, report, qlogs) by their kind."""

    @property
    def found(self) -> str:
        """Value with its interval, in a suitable unit."""
        if self.value is None:
            return "undefined"
        unit, factor = shown_unit([{"value": self.value, "unit": self.unit}])
        half = None if self.half is None else self.half / factor
        return f"{format_estimate(self.value / factor, half)} {'' if unit == '1' else unit}".rstrip()


@dataclass(frozen=True)
class SuiteResult:
    """Outcome of a suite: its rows, and how they were made.

    Attributes
    ----------
    suite : Suite
        The suite that was run.
    tested : list of str
        Names of the tested controls or programs, in the order of the command.
    runs : int
        Number of runs (replications) of each case.
    seed : int
        Seed of all random streams.
    coverage : float
        Coverage of each interval, such that all hold together in 95 % of suites (Bonferroni).
    rows : list of Row
        Verdicts: a row for each case, target and tested control or program.
    skipped : list of (str, str)
        Names of the cases that were not run, and reasons.
    warnings : list of str
        Reasons to doubt the verdicts.

    Examples
    --------
    >>> import crossfade as cf
    >>> result = cf.suite.run("interop", "cubic", cases=["goodput"], runs=3)  # doctest: +SKIP
    >>> result.counts()  # doctest: +SKIP
    {'pass': 1, 'fail': 0, 'too close to call': 0}
    """

    suite: Suite
    tested: list[str]
    runs: int
    seed: int
    coverage: float
    """Coverage of each interval, so that all hold together in 95 % of suites (Bonferroni)."""
    rows: list[Row]
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Names of the cases that were not run, and reasons."""
    warnings: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Row]:
        """Rows whose verdict is ``fail``."""
        return [row for row in self.rows if row.verdict == "fail"]

    def verdict(self, case: str, tested: str) -> Word | None:
        """Verdict on a case: the worst verdict on its targets.

        Parameters
        ----------
        case : str
            Name of the case.
        tested : str
            Name of the control or program.

        Returns
        -------
        str or None
            ``"pass"``, ``"fail"`` or ``"too close to call"``; None if the case was not run.
        """
        found = [row.verdict for row in self.rows if row.case == case and row.tested == tested]
        return worst_of(found) if found else None

    def counts(self) -> dict[Word, int]:
        """Count the cases of each verdict, over all tested controls or programs.

        Returns
        -------
        dict of str to int
            Numbers of ``pass``, ``fail`` and ``too close to call``.
        """
        found: dict[Word, int] = {"pass": 0, "fail": 0, "too close to call": 0}
        for case in self.suite.cases:
            for tested in self.tested:
                if (word := self.verdict(case.name, tested)) is not None:
                    found[word] += 1
        return found

    def table(self) -> Table:
        """The verdicts as a table.

        Returns
        -------
        Table
            A row for each case, target and tested control.
        """
        columns = ["case", "target", "tested", "value", "half", "unit", "runs", "verdict", "note"]
        return Table.of(columns, ({name: getattr(row, name) for name in columns} for row in self.rows))

    def to_json(self) -> str:
        """Rows of the result as JSON text.

        Returns
        -------
        str
            A list with an object for each row; its ``values`` are pairs of run number and value.
        """
        return json.dumps([as_record(row) for row in self.rows], indent=2, ensure_ascii=False)


def as_record(row: Row) -> dict[str, Any]:
    """Row as a JSON object, with None for numbers that are not finite."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    found = {name: plain(value) for name, value in asdict(row).items()}
    found["values"] = [[run, plain(value)] for run, value in sorted(row.values.items())]
    return found


class Source(Protocol):
    """Source of the metrics of cases: simulated controls, or real programs."""

    runs: int

    def names(self) -> list[str]:
        """Names of the controls or programs under test, in order."""

    def why_not(self, case: Case) -> str:
        """Reason why a case cannot be run; empty if it can."""

    def measure(self, case: Case, tested: str) -> list[Sample]:
        """Metric of each target of a case, by run."""

    def replay(self, case: Case, tested: str, run: int) -> tuple[str, dict[str, str]]:
        """Command that repeats a run, and the files that are kept of the run."""

    def why_no_target(self, target: Target) -> str:
        """Reason why a target cannot be judged; empty if it can."""

    def problem(self, case: Case, tested: str) -> str:
        """Fault that every run of a case has, whatever its targets; empty if a run has none."""

    def warnings(self) -> list[str]:
        """Warnings about the runs."""


class Controls:
    """Simulated congestion controls as a source of metrics."""

    def __init__(self, controls: Sequence[Control], simulated: Simulated) -> None:
        self._by_name = {control.name: control for control in controls}
        self._simulated = simulated
        self.runs = simulated.runs

    def names(self) -> list[str]:
        return list(self._by_name)

    def why_not(self, case: Case) -> str:
        is_disturbed = case.live is not None and case.live.is_disturbed
        return "nothing that a simulated control sees: for real programs" if is_disturbed else ""

    def why_no_target(self, target: Target) -> str:
        return ""

    def measure(self, case: Case, tested: str) -> list[Sample]:
        return self._simulated.measure(case, self._by_name[tested])

    def replay(self, case: Case, tested: str, run: int) -> tuple[str, dict[str, str]]:
        return trace_command(case, self._by_name[tested], self._simulated.seed, run), {}

    def problem(self, case: Case, tested: str) -> str:
        return ""

    def warnings(self) -> list[str]:
        return []


def run_suite(
    suite: str | Suite,
    control: str | Sequence[Control],
    *,
    cases: Sequence[str] = (),
    runs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    cache: bool = True,
    tell: Tell | None = None,
) -> SuiteResult:
    """Run a suite with simulated congestion controls, and judge each target by its interval.

    Run r of a case has the same random numbers for all controls.

    Parameters
    ----------
    suite : str or Suite
        Name of a shipped suite, or a folder or file with a suite.
    control : str or sequence of Control
        Controls, separated by commas: ``"cubic,bbr-v3,mine.rs"``.
    cases : sequence of str
        Names of the cases to run (default: all).
    runs : int, optional
        Number of runs (replications) of each case (default: that of the suite).
    seed : int, optional
        Seed of all random streams.
    jobs : int, optional
        Number of threads (default: all cores).
    cache : bool
        True to take runs from the user's cache, and to add new runs to it.
    tell : callable, optional
        Function that is called with a line for each case as it is run.

    Returns
    -------
    SuiteResult
        A row for each case, target and control, with its verdict.

    Raises
    ------
    ScenarioError
        If the suite, a case or a control does not exist, or cannot be run.

    Examples
    --------
    >>> import crossfade as cf
    >>> result = cf.suite.run("interop", "cubic", cases=["goodput"], runs=3)  # doctest: +SKIP
    >>> result.verdict("goodput", "cubic")  # doctest: +SKIP
    'pass'
    """
    found = (load_suite(suite) if isinstance(suite, str) else suite).chosen(cases)
    controls = read_controls(control) if isinstance(control, str) else list(control)
    simulated = Simulated(found.runs if runs is None else runs, seed, jobs, cache)
    if simulated.runs < 1:
        raise ScenarioError(f"runs = {simulated.runs}: must be at least 1")
    for case in found.cases:  # errors are raised before any run
        if not (case.live is not None and case.live.is_disturbed):
            for one in controls:
                simulated.check(case, one)
    return carry_out(found, Controls(controls, simulated), 1 if seed is None else seed, tell)


def carry_out(suite: Suite, source: Source, seed: int, tell: Tell | None = None) -> SuiteResult:
    """Measure each case that a source can run, and judge its targets."""
    skipped = [(case.name, why) for case in suite.cases if (why := source.why_not(case))]
    can = [case for case in suite.cases if not source.why_not(case)]
    if not can:
        raise ScenarioError(f"suite {shortened(suite.name)}: no case of it can be run ({skipped[0][1]})")
    judged = {case.name: [not source.why_no_target(target) for target in case.targets] for case in can}
    statements = sum(sum(flags) for flags in judged.values()) * len(source.names())
    coverage = each_of(statements)
    rows: list[Row] = []
    for number, case in enumerate(can, 1):
        for tested in source.names():
            if tell is not None:
                tell(f"case {number} of {len(can)}: {case.name}, {tested}")
            samples = source.measure(case, tested)
            for target, sample, is_judged in zip(case.targets, samples, judged[case.name], strict=True):
                if is_judged:
                    rows.append(_row(suite, case, tested, target, sample, source, coverage))
    return SuiteResult(suite, source.names(), source.runs, seed, coverage, rows, skipped, source.warnings())


def _row(
    suite: Suite,
    case: Case,
    tested: str,
    target: Target,
    sample: Sample,
    source: Source,
    coverage: float,
) -> Row:
    found = judge(sample, target, coverage, source.runs)
    if problem := source.problem(case, tested):
        found = replace(found, verdict="fail", note=problem)
    replay, files = ("", {}) if found.worst_run is None else source.replay(case, tested, found.worst_run)
    return Row(
        suite=suite.name,
        case=case.name,
        clause=case.clause,
        tested=tested,
        target=target.words,
        metric=target.metric,
        unit=target.unit,
        side=target.side,
        limit=target.limit,
        why=target.why,
        value=found.value if math.isfinite(found.value) else None,
        half=found.half,
        runs=found.runs,
        verdict=found.verdict,
        note=found.note,
        worst_run=found.worst_run,
        replay=replay,
        values=dict(sample.values),
        files=files,
    )


def read_rows(text: str, name: str) -> list[Mapping[str, Any]]:
    """Rows that :meth:`SuiteResult.to_json` wrote; :class:`ScenarioError` for other texts."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ScenarioError(f"{shortened(name)}: no JSON of crossfade suite ({error})") from None
    keys = {"suite", "case", "tested", "target", "side", "unit", "values"}
    if not isinstance(found, list) or not all(isinstance(row, dict) and keys <= row.keys() for row in found):
        raise ScenarioError(f"{shortened(name)}: must be a list of rows, as crossfade suite --json prints it")
    return found
