"""Cases under real programs: each run is made behind live links, and measured by captures of its hosts."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossfade import plans
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError, shortened
from crossfade.files import toml
from crossfade.plans.options import Options
from crossfade.quantities import in_common_unit
from crossfade.suite.captures import Delays, Transfer, quantile
from crossfade.suite.cases import Case, Live, Suite, load_suite
from crossfade.suite.harness import EVERY_S, Harness, Outcome
from crossfade.suite.running import SuiteResult, Tell, carry_out
from crossfade.suite.stacks import Stack
from crossfade.suite.targets import Target, seconds
from crossfade.suite.timeline import Timeline

# Entries of a report of the links, by the metric's name in targets.
OF_LINKS = {"queueing_delay_mean_s": "queueing_delay_mean_s"}
OF_TRANSFERS = ("completion_time_s", "goodput_bps", "recovery_s", "segment_loss_rate", "link_utilisation")
# Delays of packets between the hosts, by the metric's name in targets: kind of delay, and quantile.
OF_DELAYS = {
    "one_way_delay_p50_s": (Delays.one_way_s, 0.5),
    "one_way_delay_p95_s": (Delays.one_way_s, 0.95),
    "queueing_delay_p95_s": (Delays.queueing_s, 0.95),
    "rtt_p95_s": (Delays.round_trip_s, 0.95),
}
BUSY = 3.0
"""Number of runnable processes per processor above which other programs slow the tested ones."""

GIVES_UP = 2
"""Number of first runs without a successful transfer after which a case is not run again."""

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class Programs:
    """Real transport as a source of metrics."""

    def __init__(self, harness: Harness, runs: int, seed: int | None, tell: Tell | None = None) -> None:
        self.runs = runs
        self._harness = harness
        self._seed = seed
        self._tell = tell
        self._outcomes: dict[str, dict[int, Outcome]] = {}
        self._flags: dict[str, list[tuple[int, str]]] = {}
        self._busy: list[float] = []
        self._paths: dict[str, _Path] = {}
        self.has_worked = False

    def names(self) -> list[str]:
        congestion = self._harness.congestion
        return [self._harness.stack.name + (f" ({congestion})" if congestion else "")]

    def why_not(self, case: Case) -> str:
        return case.not_live

    def why_no_target(self, target: Target) -> str:
        if target.beside is not None:
            return "beside a simulated control"
        if "/" in target.metric or target.metric.rpartition(".")[0] not in ("", "main", "forward"):
            return "of flows that are simulated"
        name = target.metric.rpartition(".")[2]
        over_time = ("rtt_mean_s",) if target.window is not None else ()
        if name in (*OF_TRANSFERS, *OF_LINKS, *OF_DELAYS, *over_time):
            return ""
        return "no host of a live run can tell it"

    def problem(self, case: Case, tested: str) -> str:
        problems = [outcome.problem for outcome in self._outcomes[case.name].values()]
        return problems[0] if all(problems) else ""

    def warnings(self) -> list[str]:
        found = [f"case {case}, {line}" for case, flags in self._flags.items() for line in gathered(flags)]
        if busy := [number for number in self._busy if number > BUSY]:
            found.append(
                f"up to {max(busy):.3g} processes wanted each processor in {len(busy)} of {len(self._busy)} "
                "runs: what is slow may be the machine, and not the program"
            )
        return found

    def measure(self, case: Case, tested: str) -> list[Sample]:
        outcomes = self._run(case)
        return [self._sample(case, target, outcomes) for target in case.targets]

    def replay(self, case: Case, tested: str, run: int) -> tuple[str, dict[str, str]]:
        files = self._outcomes[case.name][run].files
        journal = files.get("journal")
        return shlex.join(["crossfade", "run", "--replay", journal]) if journal else "", files

    def _run(self, case: Case) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        scenario = live_scenario(case, self._harness.folder / case.name)
        document = tomllib.loads(scenario.read_text(encoding="utf-8"))
        self._paths[case.name] = _Path.of(document)
        for run in range(self.runs):
            outcome = self._outcome(case, run, scenario)
            found[run] = outcome
            if outcome.problem and self._tell is not None:
                self._tell(outcome.problem)
            if flags := outcome.report.get("flags", []):
                self._flags.setdefault(case.name, []).extend((run, flag) for flag in flags)
            self._busy.append(_busy(outcome.report))
            if len(found) == GIVES_UP and all(one.problem for one in found.values()):
                break
        self._outcomes[case.name] = found
        return found

    def _outcome(self, case: Case, run: int, scenario: Path) -> Outcome:
        """Outcome of a run.

        After a successful run, an error in a later one is the failure of that run only.
        """
        try:
            outcome = self._harness.run(case, run, self._seed, scenario)
        except ScenarioError as error:
            if not self.has_worked:
                raise
            return Outcome(None, {}, str(error))
        self.has_worked = self.has_worked or not outcome.problem
        return outcome

    def _sample(self, case: Case, target: Target, outcomes: Mapping[int, Outcome]) -> Sample:
        assert case.live is not None
        values: dict[int, float] = {}
        unfinished: set[int] = set()
        for run, outcome in outcomes.items():
            value, is_bound = _value(case.live, self._paths[case.name], target, outcome)
            if math.isfinite(value):
                values[run] = value
            if is_bound:
                unfinished.add(run)
        return Sample(values, unfinished=frozenset(unfinished & values.keys()))


@dataclass(frozen=True)
class _Path:
    """Facts about the path of a scenario: warm-up, and rate of a constant link (NaN for others)."""

    warmup_s: float
    rate_bps: float

    @staticmethod
    def of(document: Mapping[str, Any]) -> _Path:
        rate = document.get("link", {}).get("rate")
        found = in_common_unit(rate) if isinstance(rate, str) else None
        rate_bps = found[0] if found is not None else math.nan
        return _Path(seconds("run.warmup", document.get("run", {}).get("warmup", "0 s")), rate_bps)


def _value(live: Live, path: _Path, target: Target, outcome: Outcome) -> tuple[float, bool]:
    """Metric of one run (NaN if undefined), and True if the value is a lower bound."""
    name = target.metric.rpartition(".")[2]
    done = outcome.transfer if not outcome.problem else None
    if target.needs_samples:
        if done is not None:
            return _with_round_trips(done, outcome.delays).value(target)
        if target.recovery is not None:  # data that never arrived bounds the recovery by the time limit
            return live.limit_s, True
        return (0.0 if name == "goodput_bps" else math.nan), False
    if name == "completion_time_s" and live.lasts_s is None:
        return (live.limit_s, True) if done is None else (done.took_s, False)
    if done is None:
        return (0.0 if name in ("goodput_bps", "link_utilisation") else math.nan), False
    if name in ("goodput_bps", "link_utilisation"):
        return _rate(name, live, path, done), False
    if name in OF_DELAYS:
        metric, share = OF_DELAYS[name]
        return metric(outcome.delays, share, *_measured(live, path, done)), False
    if not outcome.report:
        return math.nan, False
    forward = outcome.report["directions"][0]
    if name == "segment_loss_rate":
        packets = forward["packets"]
        return ((forward["lost"] + forward["dropped"]) / packets if packets else math.nan), False
    value = forward.get(OF_LINKS.get(name, ""))
    return (math.nan if value is None else float(value)), False


def _busy(report: Mapping[str, Any]) -> float:
    """Number of processes per processor of the machine; 0 if the report has none."""
    return float(report.get("load", 0.0)) / float(report.get("processors", 1))


def gathered(flags: Sequence[tuple[int, str]]) -> list[str]:
    """Flags of a case with the numbers of their runs; flags that differ only in their first number are one.

    The flag with the largest number is shown: ``runs 0 and 2: forward: up to 8 % of packets were late``.
    """
    alike: dict[str, list[tuple[float, int, str]]] = {}
    for run, flag in flags:
        first = _NUMBER.search(flag)
        text = flag if first is None else flag[: first.start()] + "\0" + flag[first.end() :]
        alike.setdefault(text, []).append((float(first[0]) if first is not None else 0.0, run, flag))
    lines = []
    for found in alike.values():
        _, run, worst = max(found)
        if len(found) > 1:
            runs = [str(run) for _, run, _ in found]
            text = _NUMBER.sub(r"up to \g<0>", worst, count=1)
            lines.append(f"runs {', '.join(runs[:-1])} and {runs[-1]}: {text}")
        else:
            lines.append(f"run {run}: {worst}")
    return lines


def _measured(live: Live, path: _Path, done: Transfer) -> tuple[float, float]:
    """Measured time of a run: all of a transfer, or for an endless flow the time after the warm-up."""
    if live.lasts_s is None:
        return done.began_s, math.inf
    return done.began_s + path.warmup_s, done.began_s + live.lasts_s


def _rate(name: str, live: Live, path: _Path, done: Transfer) -> float:
    """Goodput in bit/s, or share of the link's rate that packets with all headers take."""
    if live.lasts_s is None and name == "goodput_bps":
        return 8.0 * live.size / done.took_s
    from_s, to_s = _measured(live, path, done)
    to_s = min(to_s, done.ended_s) if live.lasts_s is None else to_s
    size, data = done.bytes_between(from_s, to_s)
    if name == "goodput_bps":
        return 8.0 * data / (to_s - from_s)
    return 8.0 * size / (to_s - from_s) / path.rate_bps


def _with_round_trips(done: Transfer, delays: Delays) -> Timeline:
    """Timeline of a run, with the mean round-trip time of arrivals in each interval."""
    back = quantile([delay for _, delay in delays.back], 0.5)
    sums: dict[int, list[float]] = {}
    for time_s, delay in delays.data:
        sums.setdefault(int(time_s / EVERY_S), []).append(delay + back)
    series = [((n + 1) * EVERY_S, math.fsum(found) / len(found)) for n, found in sorted(sums.items())]
    return Timeline({**done.line.series, "rtt_mean_s": series, "main.rtt_mean_s": series})


def live_scenario(case: Case, folder: Path) -> Path:
    """Write a case's scenario for real programs into a folder, with the files that it names.

    The flow under test is outside traffic (``traffic = "outside"``), and all other flows are simulated; a
    flow that is alone is left out.
    """
    plan = plans.load(case.scenario, Options(set=case.set))
    document = tomllib.loads(plan.text)
    for key, value in case.set.items():
        _set(document, key.split("."), value)
    flows = document.get("flows", {})
    mine = [key.split(".")[1] for key in case.under_test if key.startswith("flows.")] or list(flows)[:1]
    if len(flows) > len(mine):
        outside = {flow: {"traffic": "outside", **_place(flows[flow])} for flow in mine}
        document["flows"] = {**flows, **outside}
    else:
        document.pop("flows", None)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in plan.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "scenario.toml"
    path.write_text(toml.document(document), encoding="utf-8")
    return path


def _place(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a flow that place its user in the network, without those of its traffic."""
    return {key: flow[key] for key in ("station", "radio") if key in flow}


def _set(table: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        table = table.setdefault(name, {})
    if isinstance(value, Mapping) and isinstance(table.get(path[-1]), dict):
        table[path[-1]] |= value
    else:
        table[path[-1]] = value


def run_programs(
    suite: str | Suite,
    stack: Stack,
    out: Path,
    *,
    cases: Sequence[str] = (),
    runs: int | None = None,
    seed: int | None = None,
    congestion: str | None = None,
    tell: Tell | None = None,
) -> SuiteResult:
    """Run a suite with a real transport, and judge each target by its interval.

    Files of the runs go to the new folder ``out``: journals, logs, qlogs, reports of the links. The seed and
    the number of a run decide the links' behaviour, so that two builds meet the same losses. ``congestion``
    is the congestion control of the kernel's TCP on both hosts. Raises :class:`ScenarioError` with one line
    if a program does not do its part.
    """
    found = (load_suite(suite) if isinstance(suite, str) else suite).chosen(cases)
    number = found.runs if runs is None else runs
    if number < 1:
        raise ScenarioError(f"runs = {number}: must be at least 1")
    if out.exists():
        raise ScenarioError(f"{shortened(out)}: is there already; --out gives another folder")
    if not out.parent.is_dir():
        raise ScenarioError(f"{shortened(out)}: cannot be made (there is no folder {shortened(out.parent)})")
    out.mkdir()
    harness = Harness(stack, out.resolve(), congestion)
    source = Programs(harness, number, seed, tell)
    try:
        result = carry_out(found, source, 1 if seed is None else seed, tell)
    except ScenarioError as error:
        # Without a successful run only logs that the error names are kept.
        if not source.has_worked and str(out.resolve()) not in str(error):
            shutil.rmtree(out)
        raise
    harness.remove_content()
    return result
