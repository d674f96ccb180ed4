"""The command ``crossfade``: a thin layer over the functions of :mod:`crossfade`.

Exit codes: 0 done, 1 a comparison failed, 2 bad input (one line on standard error), 130 interrupted by
Ctrl-C.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from crossfade import __version__, api, fitting, plots, report
from crossfade.errors import CrossfadeError, CrossfadeWarning, Interrupted, ScenarioError
from crossfade.files import check_writable, write_bytes, write_text
from crossfade.papers import PAPERS, claims, find, verdict_table
from crossfade.papers import paper as paper_table
from crossfade.tables import Table

app = typer.Typer(
    name="crossfade", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text}: must be a whole number") from None


ScenarioArgument = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of one that comes with crossfade."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key (--set tcp.w_max=6). May be given several times."
    ),
]
OverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="KEY=VALUES",
        help="Run over values of a key: a,b,c or start:stop:step or log:start:stop:points. "
        "Replaces the scenario's axis of that key. May be given several times.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="LIST",
        help="Methods, separated by commas: analysis (exact), analysis:bounds, analysis:paper-bounds, "
        "formula (Padhye), formula:square-root, simulation.",
    ),
]
RunsOption = Annotated[
    int | None, typer.Option("--runs", metavar="N", parser=_whole, help="Replications of each point.")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="SHARE",
        help="Run until the 95 % interval of the goodput is within this share of it (--precision 1%).",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="S", parser=_whole, help="The seed of all random streams.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        parser=_whole,
        help="Threads (default: all cores). Results do not depend on it.",
    ),
]
CsvOption = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Write the exact numbers as CSV; - is standard output."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a figure: FILE ends in .png, .pdf or .svg."),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Compute every run, and keep none in the user's cache.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no table and no progress.")]
XOption = Annotated[
    str | None, typer.Option("--x", metavar="COLUMN", help="What runs along the figure's x axis.")
]
YOption = Annotated[
    str | None,
    typer.Option(
        "--y", metavar="COLUMN", help="The metric on the figure's y axis, or the ratio of two (A/B)."
    ),
]
LogYOption = Annotated[bool, typer.Option("--log-y", help="Make the figure's y axis logarithmic.")]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMNS", help="What tells the figure's curves apart, by commas."),
]


def _print_version(asked: bool) -> None:
    if asked:
        print(f"crossfade {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def crossfade(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Cross-layer evaluation of transport protocols over fading wireless links.

    \b
    crossfade run quickstart                   three TCPs over a slowly fading link, in seconds
    crossfade run quickstart --plot out.png    the same as a figure
    crossfade paper tcp-markov fig2            a figure of a paper, computed anew
    crossfade COMMAND --help                   what a command takes, with examples
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    scenario: ScenarioArgument,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON instead of a table.")
    ] = False,
    csv: CsvOption = None,
    plot: PlotOption = None,
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    log_y: LogYOption = False,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write every event of the first run of each point as CSV (at most 20 points).",
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            metavar="FILE",
            help="Write what the senders' network interfaces see in the first run as a pcap file, for "
            "Wireshark and tshark (a scenario of one point).",
        ),
    ] = None,
    ipv6: Annotated[bool, typer.Option("--ipv6", help="Let --pcap write IPv6.")] = False,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a scenario and print each metric with its 95 % interval.

    Finished runs are kept in the user's cache: the same run again is instant, and one that was stopped by
    Ctrl-C goes on where it was.

    \b
    crossfade run quickstart --plot throughput.png
    crossfade run quickstart --set tcp.w_max=6 --over channel.p_e=log:0.001:0.1:5 --csv -
    crossfade run my.toml --precision 1% --json
    """
    outputs = _Outputs(csv, plot, json)
    assignments, axes = _assignments("--set", set), _axes(over)
    if events is not None:
        check_writable(events)
        write_text(events, api.events(scenario, set=assignments, over=axes, seed=seed))
    if pcap is not None:
        check_writable(pcap)
        write_bytes(pcap, api.pcap(scenario, set=assignments, over=axes, seed=seed, ipv6=ipv6))
    try:
        results = api.run(
            scenario,
            set=assignments,
            over=axes,
            runs=runs,
            precision=precision,
            seed=seed,
            methods=_methods(method),
            jobs=jobs,
            cache=not no_cache,
            progress=not quiet,
        )
    except Interrupted as error:
        report.print_results(error.results, report.console(stderr=outputs.on_stdout))
        raise _stop(error, kept=not no_cache) from None
    if json:
        print(results.to_json())
    elif not (quiet or outputs.on_stdout):
        report.print_results(results, report.console(), y)
    report.print_warnings(results.warnings, report.console(stderr=True))
    outputs.write(results.table(), x, y, by, results.title, log_y)


@app.command()
def check(
    scenario: ScenarioArgument,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
) -> None:
    """Read a scenario, say what it would run, and run nothing.

    \b
    crossfade check quickstart
    crossfade check my.toml --over tcp.w_max=6,24
    """
    found = api.check(
        scenario,
        set=_assignments("--set", set),
        over=_axes(over),
        runs=runs,
        precision=precision,
        seed=seed,
        methods=_methods(method),
    )
    axes = "".join(f", {name}: {count}" for name, count in found.axes.items())
    points = f"{found.points} point{'s' if found.points > 1 else ''}"
    stop = ", ".join(f"{name} {value:g}" for name, value in found.stop.items())
    methods = ", ".join(found.methods)
    print(f"ok: {found.title or scenario}: {points}{axes} ({methods}; {stop}, seed {found.seed})")
    report.print_warnings(found.warnings, report.console(stderr=True))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors.

    \b
    crossfade schema > crossfade.schema.json
    """
    print(api.schema())


@app.command()
def explain(key: Annotated[str, typer.Argument(metavar="KEY", help="A dotted key of a scenario.")]) -> None:
    """Say what a key of a scenario means: type, unit, default, what is allowed.

    \b
    crossfade explain channel.fd_t
    crossfade explain tcp
    """
    print(api.explain(key))


@app.command()
def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with patterns.json and sends_*.csv(.gz).")
    ],
) -> None:
    """Replay golden traces and compare every row; exit 1 on any difference or where nothing was compared.

    \b
    crossfade verify golden/ns2
    """
    cases = api.verify(folder)
    failed = 0
    for case in cases:
        if case.difference is None:
            print(f"ok   {case.case} {case.rows} rows")
        else:
            failed += 1
            print(f"FAIL {case.case} {case.rows} rows, first difference: {case.difference}")
    print(f"{len(cases)} cases: {len(cases) - failed} identical, {failed} different")
    if failed or not cases:
        raise typer.Exit(1)


@app.command()
def paper(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY", help="A paper. Without it: what there is.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[FIGURE]]", help="A figure or table. Without it: the paper's claims."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Runs half as long, for a first look.")] = False,
    method: MethodOption = None,
    set: SetOption = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over", metavar="COLUMN=VALUES", help="Replace an axis, named as its column (p_e=0.01,0.1)."
        ),
    ] = None,
    runs: RunsOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compute a figure or table of a paper, or the verdicts on its claims.

    \b
    crossfade paper                                      what there is
    crossfade paper tcp-markov                           the claims, each with its verdict
    crossfade paper tcp-markov fig2 --plot fig2.png
    crossfade paper tcp-markov fig2 --over p_e=0.001,0.01,0.1 --over channel=iid,0.08 --csv -
    """
    if key is None:
        for listed in PAPERS.values():
            print(f"{listed.KEY}: {listed.CITATION}")
            for figure, caption in listed.FIGURES.items():
                print(f"  {figure:<8}{caption}")
        return
    outputs = _Outputs(csv, plot, json=False)
    chosen = find(key)
    options: dict[str, Any] = {
        "quick": quick,
        "set": _assignments("--set", set),
        "runs": runs,
        "seed": seed,
        "methods": _methods(method),
        "jobs": jobs,
        "cache": not no_cache,
        "progress": not quiet,
    }
    try:
        if name is None:
            if over or plot:
                raise ScenarioError(
                    f"{'--over' if over else '--plot'}: needs a figure ({', '.join(chosen.FIGURES)})"
                )
            verdicts = claims(key, **options)
            if not (quiet or outputs.on_stdout):
                report.print_verdicts(chosen, verdicts, report.console())
            outputs.write(verdict_table(verdicts), None, None, None, "")
        else:
            table = paper_table(key, name, over=_axes(over), **options)
            if not (quiet or outputs.on_stdout):
                report.print_table(table, chosen.FIGURES[name], report.console())
            outputs.write(table, None, None, None, chosen.FIGURES[name])
    except Interrupted as error:
        report.print_table(error.table, "what is finished", report.console(stderr=outputs.on_stdout))
        raise _stop(error, kept=not no_cache) from None


@app.command()
def fit(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="What was lost: 0/1 a packet, or the lost numbers.")
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="How to read it: auto, bits (0/1 a packet) or lost (numbers)."
        ),
    ] = "auto",
    packets: Annotated[
        int | None,
        typer.Option(
            "--packets", metavar="N", parser=_whole, help="Packets in all, where lost ones are listed."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the fit as JSON instead of a table.")] = False,
    plot: PlotOption = None,
) -> None:
    """Fit the two-state Markov channel to a loss trace, and say whether such a chain will do.

    \b
    crossfade fit losses.txt
    crossfade fit lost-numbers.txt --packets 100000 --plot runs.png
    """
    if plot is not None:
        plots.check_plot_file(plot)
    found = fitting.fit(trace, format, packets)
    if json:
        print(found.to_json())
    else:
        report.print_fit(found, report.console())
    if plot is not None:
        found.plot(plot, title=trace.name)
        print(f"wrote {plot}", file=sys.stderr)


@app.command()
def plot(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A CSV file written by --csv or --events.")
    ],
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    log_y: LogYOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="The figure: .png, .pdf or .svg (default: RESULTS as .png)."
        ),
    ] = None,
) -> None:
    """Draw a results table: simulation as marks with 95 % intervals. Draw events: the sender over time.

    \b
    crossfade run quickstart --csv results.csv
    crossfade plot results.csv --y timeouts --out timeouts.pdf
    crossfade run classics/slow-start --events events.csv
    crossfade plot events.csv              cwnd and ssthresh
    crossfade plot events.csv --y seq      the time-sequence plot
    """
    file = out or results.with_suffix(".png")
    api.plot(results, file, x=x, y=y, by=by, log_y=log_y)
    print(f"wrote {file}", file=sys.stderr)


class _Outputs:
    """The files that a command writes, looked at before anything runs."""

    def __init__(self, csv: str | None, plot: Path | None, json: bool) -> None:
        if json and csv == "-":
            raise ScenarioError("--json and --csv -: both want standard output")
        if csv not in (None, "-"):
            check_writable(Path(str(csv)))
        if plot is not None:
            plots.check_plot_file(plot)
        self._csv = csv
        self._plot = plot
        self.on_stdout = json or csv == "-"

    def write(
        self, table: Table, x: str | None, y: str | None, by: str | None, title: str, log_y: bool = False
    ) -> None:
        """Write the table, and the figure of it."""
        if self._csv == "-":
            print(table.to_csv(), end="")
        elif self._csv is not None:
            write_text(Path(self._csv), table.to_csv())
            print(f"wrote {self._csv}", file=sys.stderr)
        if self._plot is not None:
            plots.plot(table, str(self._plot), x=x, y=y, by=by, title=title, log_y=log_y)
            print(f"wrote {self._plot}", file=sys.stderr)


def _assignments(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    return {key: api.parse_value(value) for key, value in _pairs(option, texts)}


def _axes(texts: Sequence[str] | None) -> dict[str, Any]:
    # A list in brackets is TOML (its items may be tables); anything else is a range, which the core reads.
    pairs = _pairs("--over", texts)
    return {
        key: api.parse_value(values) if values.lstrip().startswith("[") else values for key, values in pairs
    }


def _pairs(option: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            raise ScenarioError(f"{option} {text}: must be KEY=VALUE")
        yield key.strip(), value


def _methods(text: str | None) -> list[str] | None:
    return None if text is None else [method.strip() for method in text.split(",")]


def _stop(error: Interrupted, kept: bool) -> typer.Exit:
    """Say what a Ctrl-C left, and give what ends the command with code 130."""
    report.print_warnings(error.results.warnings, report.console(stderr=True))
    rest = (
        "finished runs are kept: the same command goes on from there"
        if kept
        else "nothing is kept (--no-cache)"
    )
    print(f"interrupted: {rest}", file=sys.stderr)
    return typer.Exit(130)


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show this package's warnings as one line each, and each once."""

    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, CrossfadeWarning):
            report.print_warnings([str(message)], report.console(stderr=True))
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("once", CrossfadeWarning)
        warnings.showwarning = show
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line (that of the process where None) and give its exit code."""
    try:
        with _shown_warnings():
            code = app(args=arguments, prog_name="crossfade", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CrossfadeError as error:
        return _fail(str(error))
    except typer.TyperException as error:  # an unknown command or option, a value of the wrong kind
        return _fail(error.format_message())
    except (KeyboardInterrupt, typer.Abort):
        return 130


def _fail(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def entry() -> None:
    """The process ``crossfade``."""
    if hasattr(signal, "SIGPIPE"):  # as every command in a pipe: end quietly when the reader has had enough
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a terminal that knows no "±" gets a "?" rather than a traceback
            stream.reconfigure(errors="replace")
    try:
        code = main()
        if sys.stdout is not None:  # it is where a shell closed it (>&-)
            sys.stdout.flush()
    except OSError as reason:  # standard output leads to a file, and its disk is full
        code = _fail(f"standard output: cannot be written ({reason.strerror})")
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # what is left unwritten would fail again at the exit
    sys.exit(code)
