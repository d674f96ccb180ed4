"""Command ``crossfade export``, which converts results files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli import messages
from crossfade.cli.options import PlanOption
from crossfade.cli.outputs import beside
from crossfade.errors import OutputError
from crossfade.files.kinds import RESULTS, expect
from crossfade.results import export as exports


def export(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A results file, as crossfade sweep writes it.")
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Format: csv, json, parquet, netcdf or mat (default: by the ending of --out, else csv).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write (default: RESULTS with the ending of the format); - is standard output for "
            "CSV and JSON.",
        ),
    ] = None,
    runs: Annotated[
        bool, typer.Option("--runs", help="Write each run by itself, in place of means and intervals.")
    ] = False,
    plan: PlanOption = None,
) -> None:
    """Write results as CSV, JSON, Parquet, NetCDF or MATLAB.

    CSV is for anything, JSON for programs (crossfade schema --results describes it), Parquet for pandas, R or
    DuckDB, NetCDF for xarray or R.

    Parquet, NetCDF and MATLAB need more packages: pip install 'crossfade[export]'.

    \b
    crossfade export results.sqlite --to csv
    crossfade export results.sqlite --to netcdf --runs --out runs.nc
    crossfade export results.sqlite --to csv --out - | head
    """
    expect(results, [RESULTS])
    if str(out) == "-":
        if to not in (None, "csv", "json"):
            raise OutputError(f"--out -: only csv and json go to standard output, not {to}")
        if to == "json":
            messages.write_out(exports.json_text(exports.read_finished(results, plan), runs))
            return
        for line in exports.csv_lines(exports.read_finished(results, plan), runs):
            messages.write_out(line)
        return
    if out is None:
        out = beside(results, exports.writer_of(to or "csv").suffix)
    exports.export(results, out, to=to, runs=runs, plan=plan)
    messages.say(f"wrote {out}")
