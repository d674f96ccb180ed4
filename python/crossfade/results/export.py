"""Export of results files as CSV, JSON, Parquet, NetCDF and MATLAB files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crossfade.errors import OutputError, ResultsError
from crossfade.files import cannot_write, check_output, whole_file
from crossfade.results.datasets import read_plan
from crossfade.tables import Table, csv_line, label

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

    from crossfade.results.planrows import PlanRows

# Number of rows in a batch of a Parquet file.
ROWS_AT_ONCE = 100_000

# Keywords of MATLAB (iskeyword), which cannot be names.
MATLAB_KEYWORDS = (
    "break case catch classdef continue else elseif end for function global if otherwise parfor persistent "
    "return spmd switch try while"
)
# Greatest length of a name in MATLAB (namelengthmax).
MATLAB_LONGEST_NAME = 63


def export(
    results: str | PathLike[str],
    path: str | PathLike[str],
    *,
    to: str | None = None,
    runs: bool = False,
    plan: int | str | None = None,
) -> None:
    """Write the results of a plan in a results file in a format of other programs.

    Parameters
    ----------
    results : path
        The results file.
    path : path
        The file to write.
    to : {"csv", "json", "parquet", "netcdf", "mat"}, optional
        The format (default: by the ending of ``path``):

        - ``csv`` (``.csv``): a row for each point and method, as in :meth:`Results.table`: axes as written in
          the scenario, ``method``, ``runs``, each metric with ``NAME_ci95``, ``NAME_ci95_low`` and
          ``NAME_ci95_high``.
        - ``json`` (``.json``): a list with an object for each point and method, as ``crossfade run --json``
          prints it (``crossfade schema --results``); with ``runs`` an object for each run.
        - ``parquet`` (``.parquet``): the same columns with axes as in :func:`crossfade.open_results`. The
          unit of a column is ``units`` in the metadata of its field; the metadata of the schema is that of
          the dataset.
        - ``netcdf`` (``.nc``, NetCDF-4): a variable for each of these columns, over dimensions with the
          dotted keys of the axes.
        - ``mat`` (``.mat``, MATLAB 5): its coordinates and variables with the same dimensions, and a struct
          ``about`` with its attributes, and for each variable its ``names`` in the dataset (a character that
          MATLAB does not allow becomes ``_``), ``units`` and ``dimensions``.
    runs : bool
        True to write the values of each run, in a row or along the dimension ``run``, in place of means and
        intervals.
    plan : int or str, optional
        Number or id of one of several plans in the file (default: the plan that was requested last).

    Raises
    ------
    ResultsError
        If the file cannot be read, or nothing in it is finished.
    OutputError
        If ``path`` cannot be written, or a package for it is missing.

    Examples
    --------
    >>> import crossfade as cf
    >>> _ = cf.sweep("quickstart", methods=["formula"], out="quick.sqlite")
    >>> cf.store.export("quick.sqlite", "quick.csv")
    >>> with open("quick.csv") as file:
    ...     file.readline().split(",")[:3]
    ['tcp.variant', 'channel.p_e', 'method']
    """
    path = Path(path)
    writer = _writer_by_ending(path) if to is None else writer_of(to)
    missing = [package for package in writer.packages if find_spec(package) is None]
    if missing:
        raise OutputError(f"{path}: needs {' and '.join(missing)}: pip install 'crossfade[export]'")
    check_output(path, results)
    rows = read_finished(results, plan)
    try:
        with whole_file(path) as file:
            writer.write(rows, runs, file)
    except (OSError, RuntimeError) as reason:  # the second is what HDF5 raises when a disk is full
        raise OutputError(cannot_write(path, reason)) from None


def read_finished(results: str | PathLike[str], plan: int | str | None) -> PlanRows:
    """Rows of a plan in a results file; :class:`ResultsError` if no row is finished."""
    rows = read_plan(results, plan)
    if not len(rows.run):
        raise ResultsError(f"{results}: nothing to export: no run of the plan is finished")
    return rows


def csv_lines(rows: PlanRows, runs: bool) -> Iterator[str]:
    """Lines of a CSV table, each with its line break."""
    from crossfade.results.planresults import published, results_of

    if not runs:
        yield from results_of(rows).to_csv().splitlines(keepends=True)
        return
    description, metrics = rows.plan.description, published(rows)
    axes, methods = description["axes"], rows.methods
    counts = rows.estimates([rows.stop_metric]).rows
    number = {id: i for i, id in enumerate(rows.points)}
    columns = [metric.column for metric in metrics]
    yield csv_line([*axes, "method", "run", *(metric.name for metric in metrics)]) + "\n"
    for point in description["points"]:
        values = [label(point["axes"][axis]) for axis in axes]
        for i, method in enumerate(methods):
            group = number[point["id"]] * len(methods) + i
            before = csv_line([*values, method])
            these = slice(rows.starts[group], rows.starts[group] + counts[group])
            for run, cells in zip(
                rows.run[these].tolist(), rows.values[these, columns].tolist(), strict=True
            ):
                # As csv_line writes them, which is slow for millions: a number needs no quotes.
                line = ",".join("" if math.isnan(cell) else repr(cell) for cell in cells)
                yield f"{before},{run},{line}\n"


def _write_csv(rows: PlanRows, runs: bool, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines(rows, runs))


def json_text(rows: PlanRows, runs: bool) -> str:
    """JSON text of a list with an object for each point and method, or for each run."""
    from crossfade.results.planresults import results_of

    if not runs:
        return results_of(rows).to_json() + "\n"
    table = Table.from_csv("".join(csv_lines(rows, runs)), "runs")
    return json.dumps(table.records(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_json(rows: PlanRows, runs: bool, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(json_text(rows, runs))


def _write_parquet(rows: PlanRows, runs: bool, path: Path) -> None:
    import pyarrow.parquet as pq

    schema, batches = _batches(rows, runs)
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _batches(rows: PlanRows, runs: bool) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Batches of Parquet rows: a row for each point and method, or for each run."""
    import numpy as np
    import pyarrow as pa

    from crossfade.results.beside import AT_LEAST, RUNS
    from crossfade.results.grids import Grid
    from crossfade.results.planresults import attributes_of, published

    description, methods, metrics = rows.plan.description, np.array(rows.methods), published(rows)
    grid = Grid.of(description["axes"], description["points"])
    number = {id: i for i, id in enumerate(rows.points)}
    found = rows.estimates([rows.stop_metric] if runs else None)
    of_cells = np.array([number[id] for id in grid.points])
    group = (of_cells[:, np.newaxis] * len(methods) + np.arange(len(methods))).ravel()
    # Of each row of the table: which of the cells and methods it belongs to, and its row among the runs.
    if runs:
        place = np.repeat(np.arange(len(group)), found.rows[group])
        first = np.repeat(np.cumsum(found.rows[group]) - found.rows[group], found.rows[group])
        source = rows.starts[group[place]] + np.arange(len(place)) - first
    else:
        place = np.flatnonzero(found.rows[group])
        source = group[place]

    def column(name: str, kind: pa.DataType, unit: str, words: str = "") -> pa.Field:
        about = {key: text for key, text in (("units", unit), ("long_name", words)) if text}
        return pa.field(name, kind, metadata=about)

    coordinates = [item for dimension in grid.dimensions for item in dimension.coordinates]
    fields = [column(item.key, pa.from_numpy_dtype(item.values.dtype), item.unit) for item in coordinates]
    fields += [column("method", pa.string(), ""), column("run" if runs else "runs", pa.int64(), "")]
    for metric in metrics:
        fields.append(column(metric.name, pa.float64(), metric.unit, metric.long_name))
        if not runs:
            fields += [
                column(f"{metric.name}{end}", pa.float64(), "1" if end in (RUNS, AT_LEAST) else metric.unit)
                for end in found.beside(metric.column)
            ]
    about = {name: str(value) for name, value in attributes_of(rows, found).items()}
    schema = pa.schema(fields, metadata=about)

    def batch(begin: int) -> pa.RecordBatch:
        cells, which = np.divmod(place[begin : begin + ROWS_AT_ONCE], len(methods))
        here = source[begin : begin + ROWS_AT_ONCE]
        steps = np.unravel_index(cells, grid.shape) if grid.shape else ()
        columns = [
            item.values[step]
            for dimension, step in zip(grid.dimensions, steps, strict=True)
            for item in dimension.coordinates
        ]
        columns += [methods[which]]
        if runs:
            columns += [rows.run[here], *(rows.values[here, metric.column] for metric in metrics)]
        else:
            columns.append(np.where(rows.solved, 0, found.rows)[here])
            for metric in metrics:
                estimates = (found.means, *found.beside(metric.column).values())
                columns += [array[here, metric.column].astype(float) for array in estimates]
        arrays = [
            pa.array(values, type=field.type, from_pandas=True)
            for values, field in zip(columns, schema, strict=True)
        ]
        return pa.record_batch(arrays, schema=schema)

    return schema, map(batch, range(0, len(place), ROWS_AT_ONCE))


def _dataset(rows: PlanRows, runs: bool) -> xr.Dataset:
    from crossfade.results import arrays

    return arrays.per_run(rows, wide=True) if runs else arrays.of_estimates(rows, wide=True)


def _write_netcdf(rows: PlanRows, runs: bool, path: Path) -> None:
    _dataset(rows, runs).to_netcdf(path, engine="h5netcdf")


def _write_mat(rows: PlanRows, runs: bool, path: Path) -> None:
    from scipy.io import savemat

    savemat(path, matlab_variables(_dataset(rows, runs)), long_field_names=True, oned_as="column")


def matlab_variables(dataset: xr.Dataset) -> dict[str, Any]:
    """Dataset as MATLAB variables by name: numbers as doubles, texts as cell arrays."""
    import numpy as np

    arrays = {**dataset.coords, **dataset.data_vars}
    names = matlab_names(str(name) for name in arrays)
    variables: dict[str, Any] = {}
    for name, array in arrays.items():
        values = array.to_numpy()
        kind = object if values.dtype.kind in "UO" else bool if values.dtype.kind == "b" else np.float64
        variables[names[str(name)]] = values.astype(kind)
    about: dict[str, Any] = dict(dataset.attrs)
    about["names"] = {short: name for name, short in names.items()}
    about["units"] = {names[str(name)]: array.attrs.get("units", "") for name, array in arrays.items()}
    about["dimensions"] = {
        names[str(name)]: np.array([names[str(dimension)] for dimension in array.dims], dtype=object)
        for name, array in arrays.items()
    }
    return {**variables, "about": about}


def matlab_names(names: Iterable[str]) -> dict[str, str]:
    """Names of MATLAB variables, which have letters, digits and ``_`` and begin with a letter.

    Any other character becomes ``_``; if two names become equal, the later one gets a number.
    """
    found: dict[str, str] = {}
    taken = {"about"}
    for name in names:
        short = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match("[A-Za-z]", short) or short in MATLAB_KEYWORDS.split():
            short = f"x_{short}"
        short, count = short[:MATLAB_LONGEST_NAME], 1
        base = short
        while short in taken:
            count += 1
            ending = f"_{count}"
            short = base[: MATLAB_LONGEST_NAME - len(ending)] + ending
        taken.add(short)
        found[name] = short
    return found


class Writer(NamedTuple):
    """A file format: the ending of its files, its optional packages, and its writing function."""

    suffix: str
    packages: tuple[str, ...]
    write: Callable[[PlanRows, bool, Path], None]


WRITERS = {
    "csv": Writer(".csv", (), _write_csv),
    "json": Writer(".json", (), _write_json),
    "parquet": Writer(".parquet", ("pyarrow",), _write_parquet),
    "netcdf": Writer(".nc", ("h5netcdf", "h5py"), _write_netcdf),
    "mat": Writer(".mat", ("scipy",), _write_mat),
}


def writer_of(to: str) -> Writer:
    """Writer of a format; :class:`OutputError` names the known formats."""
    if to not in WRITERS:
        raise OutputError(f"--to {to}: must be one of {', '.join(WRITERS)}")
    return WRITERS[to]


def _writer_by_ending(path: Path) -> Writer:
    for writer in WRITERS.values():
        if writer.suffix == path.suffix.lower():
            return writer
    endings = ", ".join(writer.suffix for writer in WRITERS.values())
    raise OutputError(f"{path}: must end in one of {endings}, or the format be given (--to)")
