"""Cases under simulated congestion controls; run r of a case has the same random numbers for all controls."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from crossfade import api
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError, shortened
from crossfade.files.toml import inline
from crossfade.results.points import Point
from crossfade.suite.cases import Case
from crossfade.suite.controls import Control
from crossfade.suite.targets import SHARE, Target
from crossfade.suite.timeline import Series, Timeline, added
from crossfade.suite.verdicts import quotient

SAMPLES = ("goodput_bps", "rtt_mean_s", "queue_packets", "capacity_bps")


@dataclass
class Simulated:
    """Runs of cases under simulated controls, each made once."""

    runs: int
    seed: int | None = None
    jobs: int | None = None
    cache: bool = True
    _points: dict[tuple[str, str], Point] = field(default_factory=dict)
    _timelines: dict[tuple[str, str, float], list[Timeline]] = field(default_factory=dict)

    def check(self, case: Case, control: Control) -> None:
        """Raise :class:`ScenarioError` for a case that cannot be run with a control."""
        keys = keys_of(case, control)
        api.check(case.scenario, set=keys, methods=["simulation"], runs=self.runs, seed=self.seed)

    def measure(self, case: Case, control: Control) -> list[Sample]:
        """Metric of each target of a case, by run."""
        return [self._target(case, control, target) for target in case.targets]

    def _target(self, case: Case, control: Control, target: Target) -> Sample:
        found = self._sample(case, control, target)
        if target.beside is None or not found.values:
            return found
        return quotient(found, self._sample(case, Control(target.beside), target))

    def _sample(self, case: Case, control: Control, target: Target) -> Sample:
        if target.needs_samples:
            return self._over_time(case, control, target)
        point = self._point(case, control)
        if target.metric.rpartition(".")[2] == SHARE:
            return _share(point, target.metric.rpartition(".")[0], case.name)
        first, slash, second = target.metric.partition("/")
        found = self._metric(point, first.strip(), case)
        return quotient(found, self._metric(point, second.strip(), case)) if slash else found

    @staticmethod
    def _metric(point: Point, name: str, case: Case) -> Sample:
        known = [*point.metrics, *point.parts]
        found = Sample.of(point, name)
        if name not in known and not found.values:
            raise ScenarioError(
                f"case {case.name}: metric {shortened(name)}: this scenario has none of that name"
            )
        return found

    def _point(self, case: Case, control: Control) -> Point:
        place = (case.name, control.name)
        if place not in self._points:
            results = api.run(
                case.scenario,
                set=keys_of(case, control),
                methods=["simulation"],
                runs=self.runs,
                seed=self.seed,
                jobs=self.jobs,
                cache=self.cache,
            )
            self._points[place] = _only(results.points, case)
        return self._points[place]

    def _over_time(self, case: Case, control: Control, target: Target) -> Sample:
        found = [one.value(target) for one in self._lines(case, control, target.every_s)]
        values = {run: value for run, (value, _) in enumerate(found) if not math.isnan(value)}
        bounds = frozenset(run for run, (_, is_bound) in enumerate(found) if is_bound)
        return Sample(values, unfinished=bounds)

    def _lines(self, case: Case, control: Control, every_s: float) -> list[Timeline]:
        place = (case.name, control.name, every_s)
        if place not in self._timelines:
            point = self._point(case, control)
            names = [str(flow["name"]) for flow in point.flows for _ in range(int(flow["count"]))]

            def look(run: int) -> Timeline:
                text = io.StringIO()
                api.stream_samples(
                    text.write,
                    case.scenario,
                    f"{every_s * 1e3:g} ms",
                    set=keys_of(case, control),
                    seed=self.seed,
                    run=run,
                )
                return _timeline(text.getvalue(), names)

            with ThreadPoolExecutor(self.jobs) as pool:
                self._timelines[place] = list(pool.map(look, range(self.runs)))
        return self._timelines[place]


def keys_of(case: Case, control: Control) -> dict[str, Any]:
    """Keys of a case's scenario, with those that select the control."""
    return {**case.set, **control.keys(case.under_test)}


def trace_command(case: Case, control: Control, seed: int | None, run: int) -> str:
    """Command that repeats a run and writes all its events."""
    keys = keys_of(case, control)
    if None in keys.values():  # a key can be removed only from Python, not on the command line
        options = f"set={keys!r}, run={run}" + (f", seed={seed}" if seed is not None else "")
        call = f"import crossfade as cf; cf.runs.write_events('run{run}.csv', {case.scenario!r}, {options})"
        return shlex.join(["python", "-c", call])
    words = ["crossfade", "run", case.scenario]
    for key, value in keys.items():
        words += ["--set", f"{key}={_written(value)}"]
    words += ["--seed", str(seed)] if seed is not None else []
    return shlex.join([*words, "--run", str(run), "--events", f"run{run}.csv"])


def _written(value: Any) -> str:
    """Value in the form of the command line."""
    is_plain = isinstance(value, str) and api.parse_value(value) == value
    return value if is_plain else inline(value)


def _only(points: Sequence[Point], case: Case) -> Point:
    if len(points) != 1:
        axes = ", ".join(points[0].axes)
        raise ScenarioError(
            f"case {case.name}: scenario {shortened(case.scenario)} has {len(points)} points; set {axes}"
        )
    return points[0]


def _share(point: Point, flow: str, case: str) -> Sample:
    """Share of one flow in the goodput of all flows, by run."""
    names = [f"{one['name']}.goodput_bps" for one in point.flows]
    if f"{flow}.goodput_bps" not in names:
        raise ScenarioError(f"case {case}: metric {flow}.{SHARE}: no flow of that name ({', '.join(names)})")
    total = [0.0] * point.runs
    for name in names:
        for run, value in enumerate(point.samples(name)):
            total[run] += value
    own = point.samples(f"{flow}.goodput_bps")
    runs = [row.run for row in point.rows]
    pairs = zip(runs, own, total, strict=True)
    return Sample({run: value / all_of for run, value, all_of in pairs if all_of > 0.0})


def _timeline(text: str, names: Sequence[str]) -> Timeline:
    """Timeline from the samples of a run in CSV; ``names`` are those of the flows by number."""
    found: dict[str, list[list[tuple[float, float]]]] = {}
    series: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for record in csv.DictReader(io.StringIO(text)):
        part = f"flow {record['flow']}" if record["flow"] else record["link"]
        for metric in SAMPLES:
            if record[metric]:
                series.setdefault((part, metric), []).append((float(record["time_s"]), float(record[metric])))
    for (part, metric), one in series.items():
        number = part.removeprefix("flow ")
        if number == part:
            found.setdefault(f"{part}.{metric}", []).append(one)
            continue
        name = names[int(number)] if int(number) < len(names) else ""
        found.setdefault(metric, []).append(one)
        if name:
            found.setdefault(f"{name}.{metric}", []).append(one)
    return Timeline({name: _together(name, all_of) for name, all_of in found.items()})


def _together(name: str, series: Sequence[Series]) -> Series:
    """Sum of several flows' goodputs; for other quantities their mean."""
    whole = added(series)
    if len(series) == 1 or name.endswith("goodput_bps"):
        return whole
    counts = Counter(time_s for one in series for time_s, _ in one)
    return [(time_s, value / counts[time_s]) for time_s, value in whole]
