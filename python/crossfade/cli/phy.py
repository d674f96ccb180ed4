"""``crossfade phy``."""

from __future__ import annotations

from crossfade import api
from crossfade.cli import terminal
from crossfade.cli.options import (
    ByOption,
    CsvOption,
    JobsOption,
    MethodOption,
    NoCacheOption,
    Outputs,
    OverOption,
    PlotOption,
    QuietOption,
    RunsOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    XOption,
    YOption,
    read_assignments,
    read_axes,
    read_methods,
    stop,
)
from crossfade.results.frames import COLUMNS
from crossfade.results.interrupted import Interrupted
from crossfade.tables import Cell, Table, format_estimate


def phy(
    scenario: ScenarioArgument,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Error rates of frames against SNR: the physical layer alone.

    A row for each point and number of transmissions, with exact intervals: fer and ber, the residual that is
    not accepted after so many transmissions, the effective rate. A run is a batch of frames (run.frames); a
    point ends at run.frame_errors or run.max_frames.

    \b
    crossfade phy mimo-fer --plot fer.png
    crossfade phy mimo-fer --over channel.snr_db=0:30:1 --csv fer.csv
    crossfade phy mimo-fer --method phy,formula --csv -    closed forms beside it, where there are some
    """
    keys, axes = read_assignments("--set", set), read_axes(over)
    outputs = Outputs(csv, plot, False, scenario, keys, axes)
    try:
        table = api.phy(
            scenario,
            set=keys,
            over=axes,
            runs=runs,
            seed=seed,
            methods=read_methods(method),
            jobs=jobs,
            cache=not no_cache,
            progress=not quiet,
        )
    except Interrupted as error:
        console = terminal.console(stderr=outputs.on_stdout)
        raise stop(error, not no_cache, lambda left: terminal.print_results(left.results, console)) from None
    if not (quiet or outputs.on_stdout):
        terminal.print_table(_readable(table), "", terminal.console())
    outputs.write(table, x, y or "residual", by, "")


def _readable(table: Table) -> Table:
    """What fits on a screen: the columns that vary, and rates with as many digits as they are worth."""
    rates = ["frames", "fer", "ber", "residual"]
    told = {"transmissions", "snr_db", *rates}
    unsaid = {"ci95", "frame_errors"}
    columns = [
        name
        for name in table.columns
        if name in told
        or (
            name not in unsaid
            and (name in ("method", *COLUMNS))
            and len(dict.fromkeys(table.cells(name))) > 1
        )
    ]

    def shown(record: dict[str, Cell]) -> dict[str, Cell]:
        def of(*columns: str) -> str:
            return format_estimate(*[_number(record.get(column)) for column in columns])

        return record | {
            "fer": of("fer", "ci95", "ci95_low", "ci95_high"),
            "ber": of("ber", "ber_ci95"),
            "residual": of("residual", "residual_ci95", "residual_ci95_low", "residual_ci95_high"),
        }

    return Table.of(columns, map(shown, table.records()))


def _number(cell: Cell) -> float | None:
    return None if cell is None else float(cell)
