"""Commands about scenarios and keys: ``crossfade list``, ``copy``, ``check``, ``explain`` and others."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from json import dumps as as_json
from pathlib import Path
from typing import Annotated

import typer

from crossfade import api, plans
from crossfade.cli import messages, terminal
from crossfade.cli.facts import network_lines
from crossfade.cli.groups import Asked, grouped
from crossfade.cli.options import ScenarioArgument, WhereOption, read_conditions
from crossfade.errors import OutputError, ScenarioError, one_line, shortened
from crossfade.files import (
    check_output,
    profile_text,
    shipped_file,
    shipped_profiles,
    shipped_scenarios,
    shipped_suites,
    write_text,
)
from crossfade.files.kinds import RESULTS, SCENARIO, expect
from crossfade.plans import selection
from crossfade.plans.options import Options, PlanOptions
from crossfade.results import jsonschema
from crossfade.results.opening import is_results_file
from crossfade.suite.cases import load_suite
from crossfade.tables import label

# Largest number of printed lines about damage; the rest is counted.
MOST_LINES = 20
# Smallest memory in bytes that ``check`` reports for the rows of a point.
WORTH_A_WORD = 100e6


@grouped("jobs", "no_cache", "quiet")
def check(
    scenario: ScenarioArgument,
    asked: Asked,
    where: WhereOption = None,
    points: Annotated[
        bool, typer.Option("--points", help="List the points with their numbers (for --point).")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rewrite a damaged results file from its readable rows."),
    ] = False,
) -> None:
    """Check a scenario, and print what it would run.

    Nothing is run. A results file in place of a scenario is checked for damage; the exit code is 1 if there
    is any. With --repair the file keeps its readable rows, and the damaged file is kept as FILE.damaged;
    repeating the sweep computes the missing rows.

    \b
    crossfade check quickstart
    crossfade check my.toml --over tcp.w_max=6,24
    crossfade check quickstart --points --where tcp.variant=reno
    crossfade check my.sqlite
    crossfade check my.sqlite --repair
    """
    expect(scenario, [SCENARIO, RESULTS], ScenarioError)
    if is_results_file(scenario):
        if asked != Asked() or where or points:
            raise ScenarioError(f"{scenario}: a results file; only --repair goes with it")
        _check_results(Path(scenario), repair)
        return
    if repair:
        raise ScenarioError(f"--repair: {shortened(scenario)} is not a results file")
    conditions = read_conditions("--where", where)
    options = asked.options(PlanOptions)
    if points:
        _list_points(
            plans.load(scenario, Options(methods=asked.methods, **options | {"point": None})),
            asked.point,
            conditions,
        )
        return
    found = api.check(scenario, methods=asked.methods, **options, at=conditions or None)
    axes = "".join(f", {name}: {count}" for name, count in found.axes.items())
    count = f"{found.points} point{'s' if found.points > 1 else ''}"
    stop = ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, 'g')}"
        for name, value in found.stop.items()
    )
    methods = ", ".join(found.methods)
    megabytes = max(1.0, found.memory / 1e6)
    how = f"{methods}; {stop}, seed {found.seed}; up to {megabytes:,.0f} MB of memory a run"
    if found.memory_of_rows >= WORTH_A_WORD:
        how += f", and {found.memory_of_rows / 1e6:,.0f} MB to sum up a point"
    what = f"{found.title or scenario}: {count}{axes} ({how})"
    print(one_line(f"ok: {what}"))
    for line in network_lines(found.network, found.facts, found.scenario):
        print(one_line(line))
    terminal.print_warnings(found.warnings)


def _list_points(plan: plans.Plan, point: int | None, where: Mapping[str, str]) -> None:
    """Print a line for each point with its number and the values of its axes."""
    for number in selection.chosen_points(plan.description, point, where):
        axes = plan.description["points"][number]["axes"]
        values = ", ".join(f"{axis} = {label(value)}" for axis, value in axes.items())
        print(one_line(f"point {number}: {values or 'the only one'}"))


def _check_results(path: Path, repair: bool) -> None:
    """Print the damage of a results file, and repair the file if ``repair`` is true."""
    from crossfade.results.repair import inspect, mend  # imported here, since other commands do not need it

    found = inspect(path)
    for line in found.damage[:MOST_LINES]:
        print(one_line(f"damaged: {line}"))
    if (more := len(found.damage) - MOST_LINES) > 0:
        print(f"damaged: {more} more")
    rows, plans = f"{found.rows:,} row{'' if found.rows == 1 else 's'}", f"{found.plans} plan"
    counts = f"{rows}, {plans}{'' if found.plans == 1 else 's'}"
    if not found.damage:
        note = "" if found.has_checksums else " (an older file: a sweep or merge into it adds checksums)"
        print(one_line(f"ok: {path}: {counts}{note}"))
    elif not repair:
        messages.say(f"{path}: {counts} are sound; crossfade check {path} --repair drops the rest")
        raise typer.Exit(1)
    else:
        kept = mend(path)
        messages.say(f"wrote {path}: {counts}; what it was before is {kept}")


def list_scenarios(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER]", help="List only this folder: classics, papers/tcp-markov."),
    ] = None,
    suites: Annotated[
        bool, typer.Option("--suites", help="List the suites, for crossfade suite NAME.")
    ] = False,
    profiles: Annotated[
        bool,
        typer.Option("--profiles", help='List the profiles of links, for link = "profile:NAME".'),
    ] = False,
) -> None:
    """List the scenarios that come with crossfade, with their titles.

    \b
    crossfade list
    crossfade list classics
    crossfade list --suites
    crossfade list --profiles
    """
    if suites or profiles:
        if folder is not None or (suites and profiles):
            raise ScenarioError(
                "list: FOLDER, --suites and --profiles contradict each other; give one of them"
            )
        _print_titles(
            {name: load_suite(name).title for name in shipped_suites()}
            if suites
            else {name: tomllib.loads(profile_text(name))["profile"]["title"] for name in shipped_profiles()}
        )
        return
    names = [name for name in shipped_scenarios() if folder is None or f"{name}/".startswith(f"{folder}/")]
    if not names and folder is not None:
        shipped_file(folder)  # raises an error that names the nearest shipped scenario
    texts = {name: shipped_file(name).read_text(encoding="utf-8") for name in names}
    _print_titles({name: tomllib.loads(text).get("title", "") for name, text in texts.items()})


def _print_titles(titles: Mapping[str, str]) -> None:
    """Print a line for each name, with its title."""
    width = max(map(len, titles))
    for name, title in titles.items():
        print(f"{name:{width}}  {title}".rstrip())


def copy(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A scenario that comes with crossfade.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write (default: NAME.toml without its folder, in the current folder).",
        ),
    ] = None,
) -> None:
    """Copy a scenario that comes with crossfade, to make it your own.

    The files that the scenario reads (such as a trace) are copied beside it. Existing files are not
    overwritten.

    \b
    crossfade copy quickstart
    crossfade copy classics/bufferbloat --out mine.toml
    """
    source = shipped_file(name)
    target = out or Path(source.name)
    files = {target: source.read_text(encoding="utf-8")}
    files |= {target.parent / file: text for file, text in plans.load(source).files.items()}
    for file in files:
        if os.path.exists(file):
            raise OutputError(f"{shortened(file)}: is there already; --out gives another name")
        check_output(file)
    for file, text in files.items():
        write_text(file, text)
        messages.say(f"wrote {file}")


def schema(
    results: Annotated[
        bool, typer.Option("--results", help="Schema of what run --json and export --to json write.")
    ] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Schema of what compare --json writes.")] = False,
    best: Annotated[bool, typer.Option("--best", help="Schema of what best --json writes.")] = False,
) -> None:
    """Print the JSON Schema of a scenario, or of what --json writes.

    Editors complete and check scenarios with it; other programs check results, comparisons and decisions.

    \b
    crossfade schema > crossfade.schema.json
    crossfade schema --results > results.schema.json
    crossfade schema --best > best.schema.json
    """
    known = {"--results": jsonschema.RESULTS, "--compare": jsonschema.COMPARE, "--best": jsonschema.BEST}
    asked = [name for name, given in zip(known, (results, compare, best), strict=True) if given]
    if len(asked) > 1:
        raise ScenarioError(f"{' and '.join(asked)}: give one of them")
    print(as_json(known[asked[0]], indent=2) if asked else api.schema())


def explain(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A dotted key of a scenario, or the name of a metric.")
    ],
) -> None:
    """Explain a key of a scenario, or a metric.

    \b
    crossfade explain channel.fd_t
    crossfade explain tcp
    crossfade explain rtt_p95_s
    """
    print(api.explain(key))


def metrics(
    json: Annotated[
        bool, typer.Option("--json", help="Print name, unit, label and meaning as JSON instead of a table.")
    ] = False,
) -> None:
    """List all metrics, with their units and their labels in figures.

    \b
    crossfade metrics
    crossfade metrics --json
    crossfade explain energy_per_packet    the meaning of one metric
    """
    found = api.metrics()
    if json:
        print(as_json([asdict(metric) for metric in found], indent=2, ensure_ascii=False))
    else:
        terminal.print_metrics(found, terminal.console())
