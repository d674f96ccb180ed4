"""Command ``crossfade suite``: conditions with targets, for simulated controls and real programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli import completion, messages, terminal
from crossfade.cli.options import JsonOption, QuietOption, SeedOption, whole
from crossfade.errors import ScenarioError, one_line, shortened
from crossfade.files import check_outputs, read_text, write_text
from crossfade.quantities import UNITS, in_numbers
from crossfade.suite import baseline as baselines
from crossfade.suite.cases import load_suite
from crossfade.suite.junit import junit as junit_text
from crossfade.suite.page import page
from crossfade.suite.programs import run_programs
from crossfade.suite.running import SuiteResult, read_rows, run_suite
from crossfade.suite.stacks import PORT, Stack, known_stack, own_stack
from crossfade.tables import Cell, Table


def suite(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="A suite that comes with crossfade (crossfade list --suites), a folder or a file.",
            autocompletion=completion.suites,
        ),
    ],
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="LIST",
            help="Simulated congestion controls, by commas: cubic, bbr-v3, mine.rs, mine.py, quic:cubic.",
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="COMMAND",
            help="Shell command of a real client, for --server. It fetches $CROSSFADE_FILE from "
            "$CROSSFADE_SERVER:$CROSSFADE_PORT into $CROSSFADE_DOWNLOAD.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="COMMAND",
            help="Shell command of a real server, for --client. It listens on $CROSSFADE_PORT and serves the "
            "folder $CROSSFADE_ROOT.",
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack",
            metavar="NAME",
            help="Known client and server: curl, iperf3, aioquic, quinn or quic-go.",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", metavar="PORT", parser=whole, help="Port of --server, as $CROSSFADE_PORT."),
    ] = PORT,
    congestion: Annotated[
        str | None,
        typer.Option(
            "--congestion",
            metavar="NAME",
            help="The kernel's congestion control, for real programs over TCP.",
        ),
    ] = None,
    qlog: Annotated[
        bool,
        typer.Option(
            "--qlog", help="Expect a qlog of client and server in $QLOGDIR; a missing one is an error."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="New folder for journals, logs and qlogs of real programs (default: suite-SUITE).",
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", help="Run only this case. May be given several times."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            metavar="N",
            parser=whole,
            help="Number of runs of each case (default: as the suite says).",
        ),
    ] = None,
    seed: SeedOption = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", parser=whole, help="Number of threads (default: all cores)."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="OLD",
            help="Rows of an earlier build (--json of this command), which are compared case by case.",
        ),
    ] = None,
    margin: Annotated[
        str,
        typer.Option(
            "--margin",
            metavar="SHARE",
            help="Largest worsening against the baseline that is tolerated, as a share of the old value.",
        ),
    ] = "2 %",
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the verdicts as a page (.html).")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the user's cache of finished runs.")
    ] = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run named conditions with targets, and judge them.

    A target is a limit on a metric, judged by the 95 % interval of the metric's mean over the runs; all
    intervals of a suite hold together. The exit code is 1 if a case fails, or is worse than the baseline, but
    not if it is too close to call. Of a target that fails, the worst run is named with the command that
    repeats it.

    \b
    crossfade suite interop --control cubic
    crossfade suite interop --control cubic,mine.rs --junit verdicts.xml --report verdicts.html
    crossfade suite interop --control mine.rs --json > old.json
    crossfade suite interop --control new.rs --baseline old.json
    crossfade suite interop --stack curl --case goodput
    crossfade suite interop --server 'my-server -p $CROSSFADE_PORT' --client my-client
    """
    found = load_suite(name)
    check_outputs([junit, report])
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise ScenarioError(f"--report {shortened(report)}: must end in .html")
    real = _stack(control, client, server, stack, port, qlog)
    share = _share(margin)
    old = None if baseline is None else read_rows(read_text(baseline, ScenarioError), str(baseline))
    tell = None if quiet else messages.say
    if real is None:
        assert control is not None
        if congestion is not None:
            raise ScenarioError(f"--congestion {shortened(congestion)}: is for real programs; see --control")
        result = run_suite(
            found,
            control,
            cases=case or (),
            runs=runs,
            seed=seed,
            jobs=jobs,
            cache=not no_cache,
            tell=tell,
        )
    else:
        folder = out or Path(f"suite-{found.name}")
        result = run_programs(
            found, real, folder, cases=case or (), runs=runs, seed=seed, congestion=congestion, tell=tell
        )
    pairs = [] if old is None else baselines.compare_with(result, old, share)
    _show(result, pairs, json, quiet)
    for file, text in ((junit, junit_text), (report, page)):
        if file is not None:
            write_text(file, text(result, pairs))
            messages.say(f"wrote {os.fspath(file)}")
    return 1 if result.failed or any(pair.verdict == "worse" for pair in pairs) else 0


def _stack(
    control: str | None, client: str | None, server: str | None, stack: str | None, port: int, qlog: bool
) -> Stack | None:
    """Requested real transport; None if a simulated control is requested."""
    given = [name for name, value in (("--control", control), ("--stack", stack)) if value is not None]
    given += ["--client and --server"] if client is not None or server is not None else []
    if len(given) != 1:
        what = " and ".join(given) or "nothing"
        raise ScenarioError(f"suite: one of --control, --stack, --client with --server; {what} given")
    if port != PORT and client is None:
        raise ScenarioError(f"--port {port}: is that of --client and --server, which are not given")
    if qlog and client is None:
        raise ScenarioError("--qlog: is asked of --client and --server, which are not given")
    if control is not None:
        return None
    if stack is not None:
        return known_stack(stack)
    if client is None or server is None:
        raise ScenarioError("suite: --client and --server go together")
    return own_stack(client, server, port, qlog)


def _show(result: SuiteResult, pairs: list[baselines.Pair], json: bool, quiet: bool) -> None:
    """Print verdicts as a table or JSON, and on standard error failures and how to repeat them."""
    if json:
        messages.write_out(result.to_json() + "\n")
    elif not quiet:
        terminal.print_table(_table(result), _title(result), terminal.console())
        for name, why in result.skipped:
            print(one_line(f"not run: {name} ({why})"))
    for row in result.failed:
        again = f"; run {row.worst_run} is the worst, repeated by: {row.replay}" if row.replay else ""
        messages.say(f"failed: {row.case}, {row.tested}: {row.target}{again}")
    for pair in pairs:
        again = f"; worst in run {pair.worst_run}" if pair.worst_run is not None else ""
        messages.say(f"baseline ({pair.verdict}): {pair.tested}: {pair.words}{again}")
    terminal.print_warnings(result.warnings)


def _table(result: SuiteResult) -> Table:
    columns = ["case", "tested", "target", "found", "verdict", "note"]
    rows: list[list[Cell]] = [
        [row.case, row.tested, row.target, row.found, row.verdict, row.note or None] for row in result.rows
    ]
    return Table(columns, rows)


def _title(result: SuiteResult) -> str:
    counts = ", ".join(f"{count} {word}" for word, count in result.counts().items())
    each = f"95 % interval of {result.runs} runs, all together"
    return f"{result.suite.title}: {counts} ({each})"


def _share(text: str) -> float:
    found = in_numbers([text])
    if found is not None and found[1] in ("", "%"):
        value = found[0][0] * float(UNITS[found[1]][1])
        if 0.0 <= value < 1.0:
            return value
    raise ScenarioError(f"--margin {shortened(text)}: must be a share such as 2 %")
