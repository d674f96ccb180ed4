"""Exported files read by other libraries: the same numbers under the same names."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import crossfade as cf
from crossfade.results import export as exporting
from crossfade.results.export import MATLAB_KEYWORDS, MATLAB_LONGEST_NAME, matlab_names
from tests.conftest import SWEEP, Cli, Mount, expect_one_line
from tests.later import pandas as pd
from tests.later import xarray as xr
from tests.results.results_files import Made, add_plan, add_rows, wide
from tests.results.test_datasets import FLOWS

OPTIONS: dict[str, Any] = {"methods": ["simulation", "analysis"], "runs": 3}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results file with two axes and two methods."""
    path = tmp_path / "results.sqlite"
    cf.sweep(SWEEP, out=path, **OPTIONS)
    return path


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Results file with quantities, zipped keys, non-ASCII text, parts, missing runs, a failure, a precision
    and a large seed.
    """
    path = tmp_path / "odd.sqlite"
    add_plan(
        path,
        {"wired.delay": ["20 ms", "30 ms"], "tcp.variant,tcp.w_max": [["reno", 6], ['straße, "x"', 24]]},
        methods=["simulation", "analysis:exact"],
        stop={"precision": 0.5, "max_runs": 22},
        seed=2**64 - 1,
        warnings=["one", "zwei: ümlaut"],
        title="",
    )
    add_rows(
        path,
        [
            *(
                Made(p, run, {"goodput_bps": p + run / 7, "flow:a-b.goodput_bps": 1e-300}, seed=2**64 - 1)
                for p in (0, 3)
                for run in range(3 + 9 * p)
            ),
            Made(0, 0, {"goodput_bps": 0.1}, method="analysis:exact"),
            Made(1, 0, {}, method="analysis:exact", failure="no"),
        ],
    )
    return path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


# CSV


def test_csv_is_the_table_of_a_run(results: Path, tmp_path: Path, cli: Cli) -> None:
    expected = cf.run(SWEEP, **OPTIONS).to_csv()
    assert cli("export", results, "--to", "csv").out == ""
    assert results.with_suffix(".csv").read_text() == expected
    cf.store.export(results, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == expected
    assert cli("export", results, "--out", "-").out == expected


def test_csv_of_runs_has_a_row_a_run(tmp_path: Path) -> None:
    path = tmp_path / "flows.sqlite"
    cf.sweep(FLOWS, out=path)
    cf.store.export(path, tmp_path / "runs.csv", runs=True)
    rows = rows_of((tmp_path / "runs.csv").read_text())
    points = cf.run(FLOWS).points
    assert list(rows[0])[:3] == ["link.queue.limit", "method", "run"]
    assert len(rows) == sum(point.runs for point in points)
    at = iter(rows)
    for point in points:
        names = [*point.metrics, *point.parts]
        assert set(list(rows[0])[3:]) == set(names)
        for run in range(point.runs):
            row = next(at)
            assert (row["link.queue.limit"], row["run"]) == (point.axes["link.queue.limit"], str(run))
            for name in names:
                value = point.samples(name)[run]
                assert row[name] == ("" if math.isnan(value) else repr(value))


# Parquet


def test_parquet_has_the_numbers_of_the_csv(results: Path, tmp_path: Path) -> None:
    for runs in (False, True):
        cf.store.export(results, tmp_path / "a.csv", runs=runs)
        cf.store.export(results, tmp_path / "a.parquet", runs=runs)
        expected = pd.read_csv(tmp_path / "a.csv")
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / "a.parquet"),
            expected,
            check_exact=True,
            check_dtype=False,
            check_like=True,
        )


def test_parquet_says_what_is_in_it(odd: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cf.store.export(odd, tmp_path / "odd.parquet")
    table = parquet.read_table(tmp_path / "odd.parquet")
    schema = table.schema
    assert schema.field("goodput_bps").metadata == {b"units": b"bit/s", b"long_name": b"Goodput"}
    assert schema.field("goodput_bps_ci95").metadata == {b"units": b"bit/s"}
    assert schema.field("wired.delay").metadata == {b"units": b"ms"}
    assert schema.metadata[b"seed"] == str(2**64 - 1).encode()
    assert schema.metadata[b"warnings"].decode().splitlines()[:2] == ["one", "zwei: ümlaut"]
    columns = ["wired.delay", "tcp.variant", "tcp.w_max", "method", "runs"]
    assert [list(row.values()) for row in table.select(columns).to_pylist()] == [
        [20.0, "reno", 6, "simulation", 3],
        [20.0, "reno", 6, "analysis:exact", 0],
        [20.0, 'straße, "x"', 24, "analysis:exact", 0],
        [30.0, 'straße, "x"', 24, "simulation", 20],  # point at which the precision is reached
    ]
    assert table["goodput_bps"].null_count == 1
    cf.store.export(odd, tmp_path / "runs.parquet", runs=True)
    runs = parquet.read_table(tmp_path / "runs.parquet")
    assert runs["run"].to_pylist() == [0, 1, 2, 0, 0, *range(20)]
    assert runs["goodput_bps"].to_pylist()[3:6] == [0.1, None, 3.0]


def test_parquet_is_written_in_pieces(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cf.store.export(results, tmp_path / "whole.parquet", runs=True)
    monkeypatch.setattr(exporting, "ROWS_AT_ONCE", 3)
    cf.store.export(results, tmp_path / "pieces.parquet", runs=True)
    whole, pieces = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("whole", "pieces"))
    pd.testing.assert_frame_equal(whole, pieces)


# NetCDF


@pytest.mark.parametrize("runs", [False, True])
def test_netcdf_opens_as_the_dataset(runs: bool, results: Path, odd: Path, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    for path in (results, odd):
        cf.store.export(path, tmp_path / "a.nc", runs=runs)
        with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as found:
            expected = wide(path, per_run=runs)
            xr.testing.assert_identical(found.load(), expected)
            for name in expected.variables:
                assert found[name].dtype.kind in (expected[name].dtype.kind, "O", "T")


@pytest.mark.parametrize("runs", [False, True])
def test_datasets_are_legal_netcdf(runs: bool, results: Path, odd: Path, tmp_path: Path) -> None:
    """Datasets can be written in the classic NetCDF format, which restricts names, attributes and types."""
    for path in (results, odd):
        expected = wide(path, per_run=runs)
        # The classic format has no integers beyond 32 bits.
        expected.attrs["seed"] %= 2**31
        expected.to_netcdf(tmp_path / "a.nc", engine="scipy")
        with xr.open_dataset(tmp_path / "a.nc", engine="scipy") as found:
            xr.testing.assert_identical(found.load(), expected)


# MATLAB


@pytest.mark.parametrize("runs", [False, True])
def test_mat_has_the_variables_of_the_dataset(runs: bool, odd: Path, tmp_path: Path) -> None:
    io = pytest.importorskip("scipy.io")
    cf.store.export(odd, tmp_path / "odd.mat", runs=runs)
    found = io.loadmat(tmp_path / "odd.mat", simplify_cells=False, chars_as_strings=True)
    dataset = wide(odd, per_run=runs)
    about = found["about"][0, 0]
    names = {short: str(about["names"][0, 0][short][0]) for short in about["names"].dtype.names}
    assert set(names.values()) == {str(name) for name in dataset.variables}
    assert {name for name in found if not name.startswith("__")} == {*names, "about"}
    for short, name in names.items():
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", short)
        array = dataset[name]
        values = found[short].reshape(array.shape)
        if array.dtype.kind in "US":
            assert [
                str(cell[0]) if cell.size else "" for cell in values.ravel()
            ] == array.to_numpy().ravel().tolist()
        else:
            assert np.array_equal(values, array, equal_nan=array.dtype.kind == "f")
        dimensions = [str(cell[0]) for cell in about["dimensions"][0, 0][short].ravel()]
        assert [names[dimension] for dimension in dimensions] == list(array.dims)
        unit = about["units"][0, 0][short]
        assert (str(unit[0]) if unit.size else "") == array.attrs.get("units", "")
    assert found["goodput_bps"].dtype == np.float64
    assert found["tcp_w_max"].shape == (2, 1)
    assert str(about["warnings"][0]).splitlines()[0] == "one"
    assert about["seed"][0, 0] == 2**64 - 1
    assert found["wired_delay"].ravel().tolist() == [20.0, 30.0]


@given(st.lists(st.text(st.sampled_from("abZ_09.-é "), max_size=80), unique=True))
@example(["a.b", "a-b", "a_b", "a_b_2", "end", "about", "", "_", "9", "x" * 70, "x" * 80])
def test_names_for_matlab_are_names_there_and_differ(names: list[str]) -> None:
    found = matlab_names(names)
    assert list(found) == names
    assert len({*found.values(), "about"}) == len(names) + 1
    for short in found.values():
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", short)
        assert len(short) <= MATLAB_LONGEST_NAME
        assert short not in MATLAB_KEYWORDS.split()


# Files and errors


@pytest.mark.parametrize("to", ["csv", "parquet", "netcdf", "mat"])
def test_a_missing_package_is_told_with_what_to_install(
    to: str, results: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "find_spec", lambda name: None)
    outcome = cli("export", results, "--to", to, "--out", tmp_path / "out")
    if to == "csv":
        assert outcome.code == 0
    else:
        package = {"parquet": "pyarrow", "netcdf": "h5netcdf and h5py", "mat": "scipy"}[to]
        expect_one_line(outcome, f"needs {package}: pip install 'crossfade[export]'")
        assert not (tmp_path / "out").exists()


def test_the_packages_that_writers_name_are_those_of_the_extra() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    listed = {re.split("[^a-z0-9]", package)[0] for package in project["optional-dependencies"]["export"]}
    assert listed == {package for writer in exporting.WRITERS.values() for package in writer.packages}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--to", "xlsx"], ["--to xlsx", "csv, json, parquet, netcdf, mat"]),
        (["--out", "out.xlsx"], ["out.xlsx", ".csv, .json, .parquet, .nc, .mat"]),
        (["--out", "-", "--to", "mat"], ["--out -", "only csv"]),
        (["--to", "csv", "--out", "nowhere/out.csv"], ["nowhere", "no folder"]),
        (["--to", "csv", "--plan", "7"], ["plan 7", "1: "]),
    ],
)
def test_bad_options_are_one_line(
    arguments: list[str], parts: list[str], results: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results.parent)
    expect_one_line(cli("export", results, *arguments), *parts)


def test_a_plan_without_a_finished_run_is_not_exported(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "empty.sqlite"
    add_plan(path, {"tcp.w_max": [6]})
    for out in ("-", tmp_path / "out.csv"):
        expect_one_line(cli("export", path, "--out", out), "no run of the plan is finished")


def test_the_plan_is_chosen(odd: Path, tmp_path: Path, cli: Cli) -> None:
    add_plan(odd, {}, ids=[0], stop={"runs": 1}, added=-1.0, seed=2**64 - 1)
    text = cli("export", odd, "--plan", "1", "--out", "-", "--runs").out
    assert text == "method,run,goodput_bps,a-b.goodput_bps\nsimulation,0,0.0,1e-300\n"


@pytest.mark.parametrize("to", ["csv", "parquet", "mat"])
def test_a_full_disk_is_one_line(to: str, results: Path, mount: Mount, cli: Cli) -> None:
    out = mount(4) / "out"
    expect_one_line(cli("export", results, "--to", to, "--out", out, "--runs"), f"{out}: cannot be written")
