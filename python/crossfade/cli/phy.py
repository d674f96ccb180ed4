"""Command ``crossfade phy``, which computes error rates of a physical layer."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.cli import messages, terminal
from crossfade.cli.groups import Asked, grouped
from crossfade.cli.options import ByOption, CsvOption, PlotOption, ScenarioArgument, XOption, YOption
from crossfade.cli.outputs import Outputs, telling_what_is_left
from crossfade.errors import ScenarioError, shortened
from crossfade.figures.plot import plot as draw
from crossfade.files import write_text
from crossfade.results.frames import BLOCK_COLUMNS, COLUMNS, INTERVALS, RATES, frames_table
from crossfade.tables import Cell, Table, format_estimate


@grouped("precision")
def phy(
    scenario: ScenarioArgument,
    asked: Asked,
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    error_table: Annotated[
        Path | None,
        typer.Option(
            "--error-table",
            metavar="FILE",
            help="Write the error rates of transport blocks over SNR as a table for nr.error_table.",
        ),
    ] = None,
) -> None:
    """Compute error rates of frames or NR blocks over SNR.

    The table has a row for each point and number of transmissions, with exact intervals: the
    frame and bit error rates fer and ber, the residual error rate after so many transmissions, and the
    effective rate. A run is a batch of run.frames
    frames; a point ends at run.frame_errors errors or run.max_frames frames.

    \b
    crossfade phy mimo-fer --plot fer.png
    crossfade phy mimo-fer --over channel.snr_db=0:30:1 --csv fer.csv
    crossfade phy mimo-fer --method phy,formula --csv -    with closed forms, where known
    crossfade phy nr-blocks --error-table mine.csv         write a table for nr.error_table
    """
    outputs = Outputs(asked, scenario, csv=csv, plot=plot, others=[error_table])
    known = dict.fromkeys([*COLUMNS, *BLOCK_COLUMNS, *INTERVALS, *RATES])
    if y is not None and y not in known:  # an error before any run
        near = " or ".join(get_close_matches(y, known, n=2)) or ", ".join(COLUMNS[-5:])
        raise ScenarioError(f"--y {shortened(y)}: not a column of error rates (there are: {near})")
    with telling_what_is_left(
        not asked.no_cache, lambda left: terminal.print_results(left.results, outputs.console)
    ):
        results = api.phy_results(scenario, asked.methods, asked.options())
    table = frames_table(results)
    outputs.print(lambda to: terminal.print_table(_readable(table), "", to))
    outputs.write(table)
    if error_table is not None:
        write_text(error_table, api.error_table(results))
        messages.say(f"wrote {error_table}")
    outputs.draw(lambda file: draw(table, str(file), x=x, y=y or "residual", by=by))


def _readable(table: Table) -> Table:
    """Table for a terminal: only columns that vary, and rates with their significant digits."""
    rates = ["frames", "fer", "ber", "residual"]
    told = {"transmissions", "snr_db", *rates}
    unsaid = {"ci95", "frame_errors"}
    columns = [
        name
        for name in table.columns
        if name in told
        or (
            name not in unsaid
            and (name in ("method", *COLUMNS, *BLOCK_COLUMNS) or "." in name)
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
