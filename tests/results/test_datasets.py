"""Results files read as datasets and as results: the same numbers as in a run, at the right coordinates."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crossfade as cf
from crossfade.results.beside import BESIDE, INTERVAL, RUNS
from crossfade.results.file import ResultsFile
from crossfade.results.grids import Grid
from crossfade.results.metrics import metric_of
from crossfade.results.rows import Row
from tests.conftest import SMALL, SWEEP, Cli, reseal
from tests.later import xarray as xr
from tests.results.results_files import Made, add_plan, add_rows, crossed, wide, wide_of

FLOWS = """\
schema = 1
run = { duration = "10 s", runs = 4 }
link = { rate = "1 Mbit/s", packet_size = "1000 B", queue = { limit = "20 packets" } }
wired = { rate = "10 Mbit/s", one_way_delay = "20 ms" }
channel = { model = "iid", p_e = 0.01 }
[flows.near]
tcp = { variant = "reno", flavour = "rfc", w_max = 64 }
[flows.cubic]
tcp = { variant = "cubic", flavour = "rfc", w_max = 64 }
start = "5 s"
[sweep]
"link.queue.limit" = ["5 packets", "20 packets"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def values(of: Mapping[str, cf.store.Estimate]) -> dict[str, tuple[Any, ...]]:
    """Estimates as tuples that compare exactly, to the last bit."""
    return {name: tuple(map(repr, (e.value, e.ci95, e.low, e.high, e.n, e.unit))) for name, e in of.items()}


# The numbers


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        (SWEEP, {"methods": ["simulation", "analysis"], "runs": 7}),
        (SWEEP, {"precision": "1 %", "over": {"tcp.w_max": [6, 24]}, "set": {"run.max_runs": 30}}),
        (FLOWS, {}),
        (SMALL, {"runs": 1}),
        (SMALL, {"methods": ["analysis", "analysis:bounds", "formula"]}),
    ],
)
def test_results_and_dataset_have_the_numbers_of_a_run(
    scenario: str, options: dict[str, Any], path: Path
) -> None:
    results = cf.run(scenario, **options)
    cf.sweep(scenario, out=path, **options)
    loaded = cf.store.load(path)
    assert loaded.table() == results.table()
    assert loaded.warnings == results.warnings
    assert loaded.complete
    assert (loaded.title, loaded.seed, loaded.methods) == (results.title, results.seed, results.methods)
    in_memory, dataset = wide_of(results), wide(path)
    assert in_memory.attrs.items() <= dataset.attrs.items()
    in_memory.attrs, dataset.attrs = {}, {}
    shared = [name for name in dataset if name not in ("precise", "failure")]
    xr.testing.assert_identical(in_memory, dataset[shared])
    assert loaded.provenance == results.provenance
    assert loaded.to_json() == results.to_json()  # includes scenario, flows, links and warnings
    dataset = wide(path)
    names = {*results.metrics, *results.parts}
    assert set(dataset) - {"runs", "precise"} == {
        f"{name}{end}" for name in names for end in ("", *INTERVAL, RUNS)
    }
    for before, point in zip(results.points, loaded.points, strict=True):
        assert values(point.metrics) == values(before.metrics)
        assert values(point.parts) == values(before.parts)
        assert point.loss_windows == before.loss_windows
        times = [row.seconds for row in before.rows]
        assert [row._replace(seconds=0.0) for row in point.rows] == [
            row._replace(seconds=0.0) for row in before.rows
        ]
        assert all(row.seconds > 0.0 for row in point.rows) or not any(times)
        for name in (*before.metrics, *before.parts):
            assert np.array_equal(point.samples(name), before.samples(name), equal_nan=True)
        here = dataset
        for key, value in before.axes.items():
            number = here.sizes[key] > 1 and here[key].dtype.kind == "f" and isinstance(value, str)
            here = here.sel({key: float(value.split()[0]) if number else value})
        if "method" in here.dims:
            here = here.sel({"method": before.method})
        assert here["runs"] == before.runs
        for name in names:
            estimate = {**before.metrics, **before.parts}.get(name)
            mean = math.nan if estimate is None else estimate.value
            assert repr(here[name].item()) == repr(mean)
            for end, attribute in zip(INTERVAL, ("ci95", "low", "high"), strict=True):
                cell = None if estimate is None else getattr(estimate, attribute)
                assert repr(here[f"{name}{end}"].item()) == repr(math.nan if cell is None else cell)


def test_json_prints_the_numbers_of_the_dataset(small: Path, path: Path, cli: Cli) -> None:
    (printed,) = json.loads(cli("run", small, "--json").out)
    cli("sweep", small, "--out", path)
    dataset = wide(path)
    for name, metric in printed["metrics"].items():
        assert repr(dataset[name].item()) == repr(metric["value"])
        for end, key in zip(INTERVAL, ("ci95", "low", "high"), strict=True):
            cell = math.nan if metric[key] is None else metric[key]
            assert repr(dataset[f"{name}{end}"].item()) == repr(cell)
        assert dataset[name].attrs["units"] == metric["unit"]
    assert dataset["runs"] == printed["runs"]


def test_points_that_reach_no_precision_are_marked(path: Path) -> None:
    options: dict[str, Any] = {"precision": "2 %", "set": {"run.max_runs": 22}}
    results = cf.run(SWEEP, **options)
    cf.sweep(SWEEP, out=path, **options)
    dataset = wide(path)
    missed = [point for point in results.points if point.warnings]
    assert 0 < len(missed) < len(results.points)
    assert int((~dataset["precise"]).sum()) == len(missed)
    for point in missed:
        assert not dataset["precise"].sel(point.axes)
        assert dataset["runs"].sel(point.axes) == 22
    assert "has not reached the precision" in dataset.attrs["warnings"]


# Runs


def test_runs_are_a_dimension(path: Path) -> None:
    options: dict[str, Any] = {"methods": ["simulation", "analysis"], "precision": "5 %"}
    results = cf.run(SWEEP, **options)
    cf.sweep(SWEEP, out=path, **options)
    means, runs = wide(path), wide(path, per_run=True)
    assert runs["goodput_bps"].dims == ("tcp.variant", "channel.p_e", "method", "run")
    assert runs.sizes["run"] == max(point.runs for point in results.points)
    assert not any("_ci95" in str(name) for name in runs)
    xr.testing.assert_identical(runs["runs"], means["runs"])
    for name in runs:
        # A ratio of sums over all runs is not the mean of the runs' ratios.
        if name not in ("runs", "precise") and getattr(metric_of(str(name)), "ratio", None) is None:
            xr.testing.assert_allclose(runs[name].mean("run"), means[name])
    # No queue drops packets, so each segment sent is a transmission.
    simulated = runs.sel({"method": "simulation"})
    energy = simulated["segments_sent"].sum("run") / simulated["segments_delivered"].sum("run")
    xr.testing.assert_allclose(energy, means["energy_per_packet"].sel({"method": "simulation"}))
    for point in results.points:
        samples = runs["goodput_bps"].sel(point.axes | {"method": point.method}).to_numpy()
        expected = point.samples("goodput_bps")
        assert samples[: len(expected)].tolist() == expected
        assert np.isnan(samples[len(expected) :]).all()


# Places


def test_axes_are_dimensions_and_zipped_keys_share_one(path: Path) -> None:
    axes: dict[str, list[Any]] = {
        "tcp.w_max,tcp.dupthresh,tcp.variant": [[6, 1, "reno"], [24, 3, "reno"], [24, 3, "cubic"]],
        "channel": [{"model": "iid", "p_e": 0.1}, {"model": "markov", "fd_t": 0.01, "p_e": 0.1}],
        "wired.delay": ["20 ms", "7 ms"],
    }
    add_plan(path, axes, stop={"runs": 1})
    add_rows(path, [Made(point, 0, {"goodput_bps": float(point)}) for point in range(12)])
    dataset = wide(path)
    assert dict(dataset.sizes) == {"tcp.w_max": 3, "channel": 2, "wired.delay": 2}
    assert dataset["goodput_bps"].to_numpy().ravel().tolist() == list(range(12))
    assert dataset["tcp.dupthresh"].dims == dataset["tcp.variant"].dims == ("tcp.w_max",)
    assert dataset["tcp.w_max"].to_numpy().tolist() == [6, 24, 24]
    assert dataset["tcp.variant"].to_numpy().tolist() == ["reno", "reno", "cubic"]
    assert dataset["channel"].to_numpy().tolist() == ["iid p_e=0.1", "markov fd_t=0.01 p_e=0.1"]
    assert dataset["wired.delay"].to_numpy().tolist() == [20.0, 7.0]
    assert dataset["wired.delay"].attrs["units"] == "ms"
    found = dataset["goodput_bps"].sel({"channel": "iid p_e=0.1", "wired.delay": 7.0})
    assert found.where(found["tcp.variant"] == "cubic", drop=True).item() == 9.0
    assert dataset.attrs["method"] == "simulation"


NUMBER = st.one_of(st.integers(-5, 5), st.floats(-5, 5), st.text("ab", min_size=1), st.booleans())


@given(
    st.lists(
        st.integers(1, 3).flatmap(
            lambda keys: st.lists(st.lists(NUMBER, min_size=keys, max_size=keys), min_size=1, max_size=4)
        ),
        max_size=3,
    )
)
@settings(max_examples=2 * settings().max_examples)
def test_every_point_lies_in_the_cell_of_its_values(axes: list[list[list[Any]]]) -> None:
    named = {
        ",".join(f"axis{i}.key{k}" for k in range(len(steps[0]))): [
            step if len(step) > 1 else step[0] for step in steps
        ]
        for i, steps in enumerate(axes)
    }
    keys = [key for names in named for key in names.split(",")]
    # Equal points have equal ids, as in the core, also if a value of an axis is given twice.
    points = [{"axes": point, "id": json.dumps(point)} for point in crossed(named)]
    grid = Grid.of(keys, points)
    assert len(grid.points) == math.prod(grid.shape)
    assert set(grid.points) == {point["id"] for point in points}
    assert [item.key for dimension in grid.dimensions for item in dimension.coordinates] == keys
    for place, identity in zip(np.ndindex(grid.shape), grid.points, strict=True):
        point = json.loads(identity)
        for dimension, step in zip(grid.dimensions, place, strict=True):
            for item in dimension.coordinates:
                value, found = point[item.key], item.values[step]
                expected = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
                assert found == expected or found == str(expected)
    # Axes are split only as far as their values allow, and crossed axes are always split.
    assert len(grid.dimensions) >= len(axes)


@pytest.mark.parametrize(
    ("values", "expected", "unit"),
    [
        ([1, 2], [1, 2], ""),
        ([1, 2.5], [1.0, 2.5], ""),
        (["20 ms", "7ms"], [20.0, 7.0], "ms"),
        (["1 s", "7 ms", "9 us"], [1.0, 0.007, 0.000009], "s"),
        (["1.5 Mbit/s", "64 kbit/s"], [1500000.0, 64000.0], "bit/s"),
        (["1 packet", "50 packets"], [1.0, 50.0], "packets"),
        (["64 KiB", "1 kB"], [65536.0, 1000.0], "B"),
        (["2 min", "1 h"], [120.0, 3600.0], "s"),
        (["1 %", "5 %"], [1.0, 5.0], "%"),
        (["1 %", 0.1], [0.01, 0.1], "1"),
        (["50 packets", "unlimited"], ["50 packets", "unlimited"], ""),
        (["20 ms", "100 slots"], ["20 ms", "100 slots"], ""),
        (["reno", "cubic"], ["reno", "cubic"], ""),
        ([True, False], ["true", "false"], ""),
        ([None, 3], ["none", "3"], ""),
        ([[1, 2], [3]], ["1 2", "3"], ""),
        (["10", "20"], ["10", "20"], ""),
    ],
)
def test_values_of_an_axis_become_numbers_where_they_are(
    values: list[Any], expected: list[Any], unit: str, path: Path
) -> None:
    add_plan(path, {"link.key": values})
    axis = wide(path)["link.key"]
    assert axis.to_numpy().tolist() == expected
    assert axis.attrs.get("units", "") == unit


def test_a_key_in_decibels_names_its_unit(path: Path) -> None:
    add_plan(path, {"channel.snr_db": [0, 3]})
    assert wide(path)["channel.snr_db"].attrs["units"] == "dB"


def test_equal_points_share_their_rows(path: Path) -> None:
    add_plan(path, {"wired.delay": ["100 ms", "0.1 s", "0.2 s"]}, ids=[5, 5, 6])
    add_rows(path, [Made(5, 1, {"goodput_bps": 3.0}), Made(5, 0, {"goodput_bps": 1.0})])
    dataset = wide(path)
    assert dataset["goodput_bps"].to_numpy().tolist()[:2] == [2.0, 2.0]
    assert dataset["runs"].to_numpy().tolist() == [2, 2, 0]
    per_run = wide(path, per_run=True)
    assert per_run["goodput_bps"].to_numpy().tolist()[:2] == [[1.0, 3.0], [1.0, 3.0]]
    assert [point.value("goodput_bps") for point in cf.store.load(path).points] == [2.0, 2.0]


def test_a_table_may_be_called_as_a_dimension_is(path: Path) -> None:
    add_plan(path, {"run": [{"duration": "1 s"}, {"duration": "2 s"}]})
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0}), Made(1, 1, {"goodput_bps": 2.0})])
    found = wide(path, per_run=True)["goodput_bps"]
    assert found.dims == ("run", "replication")
    assert np.array_equal(found, [[1.0, np.nan], [np.nan, 2.0]], equal_nan=True)


# Names


def test_parts_have_the_names_of_their_flow_or_link(path: Path) -> None:
    add_plan(path, {}, stop={"runs": 1})
    metrics = {
        "goodput_bps": 1.0,
        "flow:near.goodput_bps": 2.0,
        "flow:a-b_1.goodput_bps": 3.0,
        "reverse.queue_drops": 4.0,
        "forward.queueing_delay_p95_s": 5.0,
        "wired.queue_drops": 6.0,
        "flow:wired.queue_drops": 7.0,
        "died": 1.0,
        "loss_window.1": 0.5,
        "fit.good_runs": 0.5,
    }
    add_rows(path, [Made(0, 0, metrics)])
    dataset = wide(path)
    names = [name for name in map(str, dataset) if not name.endswith(tuple(BESIDE))]
    assert names == [
        "goodput_bps",
        "a-b_1.goodput_bps",
        "near.goodput_bps",
        "wired.queue_drops",
        "forward.queueing_delay_p95_s",
        "reverse.queue_drops",
        "runs",
    ]
    assert dataset["wired.queue_drops"] == 6.0
    assert dataset["reverse.queue_drops"].attrs == {
        "units": "packets",
        "long_name": "Packets dropped by the queue, reverse",
    }
    assert dataset["goodput_bps"].dims == ()
    point = cf.store.load(path).points[0]
    assert list(point.metrics) == ["goodput_bps"]
    assert list(point.parts) == names[1:-1]
    assert point.samples("near.goodput_bps") == [2.0]


def test_attributes_say_where_the_numbers_come_from(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6]}, warnings=["one", "two"], methods=["simulation", "formula"])
    add_rows(path, [Made(0, run, {"goodput_bps": 1.0}) for run in range(2)])
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0}, method="formula")])
    attributes = wide(path).attrs
    assert attributes == {
        "title": "By hand",
        "seed": 1,
        "stop": '{"runs": 2}',
        "scenario": "schema = 1\n",
        "overrides": '{"set": [["tcp.w_max", 6]], "over": []}',
        "version": "0.0.7",
        "results_version": 7,
        "warnings": "one\ntwo",
    }
    results = cf.store.load(path)
    assert results.warnings == ["one", "two"]
    assert results.provenance["version"] == "0.0.7"
    assert results.provenance["overrides"] == {"set": {"tcp.w_max": 6}, "over": {}}


# Missing values


def test_missing_runs_leave_nan(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6, 12, 24]}, stop={"runs": 3}, warnings=["old"])
    rows = [Made(0, 2, {"goodput_bps": 4.0}), Made(0, 0, {"goodput_bps": 2.0, "timeouts": 1.0})]
    add_rows(path, [*rows, *(Made(2, run, {"goodput_bps": 8.0}) for run in range(3))])
    dataset = wide(path)
    assert np.array_equal(dataset["goodput_bps"], [3.0, np.nan, 8.0], equal_nan=True)
    assert np.array_equal(dataset["timeouts"], [1.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(dataset["timeouts_ci95"], [np.nan] * 3, equal_nan=True)
    assert dataset["runs"].to_numpy().tolist() == [2, 0, 3]
    assert dataset.attrs["warnings"].splitlines() == [
        "old",
        "unfinished: runs of 2 of 3 points are missing (crossfade sweep goes on)",
    ]
    per_run = wide(path, per_run=True)["goodput_bps"]
    expected = [[2.0, np.nan, 4.0], [np.nan] * 3, [8.0] * 3]
    assert np.array_equal(per_run, expected, equal_nan=True)
    results = cf.store.load(path)
    assert not results.complete
    assert results.column("tcp.w_max").tolist() == [6, 24]
    assert results.points[0].samples("goodput_bps") == [2.0, 4.0]


def test_a_precision_sees_no_run_behind_a_gap(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6, 12]}, stop={"precision": 0.5, "max_runs": 30})
    # Twenty equal runs reach any precision; the second point lacks run 3.
    rows = [Made(p, run, {"goodput_bps": 1.0}) for p in (0, 1) for run in range(25) if (p, run) != (1, 3)]
    random.Random(1).shuffle(rows)
    add_rows(path, rows)
    dataset = wide(path)
    assert dataset["runs"].to_numpy().tolist() == [20, 3]
    assert dataset["precise"].to_numpy().tolist() == [True, False]
    assert "1 of 2 points are missing" in dataset.attrs["warnings"]
    per_run = wide(path, per_run=True)
    assert per_run["goodput_bps"].notnull().sum("run").to_numpy().tolist() == [20, 3]
    assert [len(point.rows) for point in cf.store.load(path).points] == [20, 3]


def test_nothing_finished_is_an_empty_dataset(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6, 12]}, methods=["analysis:exact", "simulation"])
    dataset = wide(path)
    assert dataset["runs"].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert list(dataset) == ["runs"]
    assert wide(path, per_run=True).sizes["run"] == 0
    results = cf.store.load(path)
    assert results.points == []
    assert not results.complete


def test_failures_say_why_there_are_no_values(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6, 12]}, methods=["analysis:exact", "simulation"], stop={"runs": 1})
    rows = [
        Made(0, 0, {"goodput_bps": 1.0}, method="analysis:exact"),
        Made(1, 0, {}, method="analysis:exact", failure="too many states"),
        *(Made(point, 0, {"goodput_bps": 2.0}) for point in (0, 1)),
    ]
    add_rows(path, rows)
    dataset = wide(path)
    assert dataset["failure"].to_numpy().tolist() == [["", ""], ["too many states", ""]]
    assert np.array_equal(dataset["goodput_bps"], [[1.0, 2.0], [np.nan, 2.0]], equal_nan=True)
    assert dataset["runs"].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert dataset.attrs["warnings"] == ""
    results = cf.store.load(path)
    assert results.complete
    assert [len(point.metrics) for point in results.points] == [1, 1, 0, 1]


def test_torn_rows_count_as_missing(path: Path) -> None:
    add_plan(path, {}, stop={"runs": 4})
    add_rows(path, [Made(0, run, {"goodput_bps": float(run)}) for run in range(4)])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE rows SET \"values\" = x'00' WHERE run = 0")
        database.execute("UPDATE rows SET \"values\" = 'a text here' WHERE run = 1")
        database.execute("UPDATE rows SET metric_set = 99 WHERE run = 2")
    with pytest.warns(cf.errors.CrossfadeWarning, match="3 damaged rows are left out"):
        assert wide(path)["goodput_bps"] == 3.0
    with pytest.warns(cf.errors.CrossfadeWarning, match="3 damaged rows are left out"):
        assert cf.store.load(path).points[0].runs == 1


# Several plans


def test_plans_share_rows_and_are_chosen_by_number(path: Path) -> None:
    add_plan(path, {"tcp.w_max": [6, 12]}, title="first", added=1.0)
    add_plan(path, {"tcp.w_max": [12, 24]}, ids=[1, 2], title="second", stop={"runs": 1}, added=2.0)
    add_plan(path, {"tcp.w_max": [6]}, title="seed", seed=2**64 - 1, stop={"runs": 1}, added=0.5)
    add_rows(path, [Made(p, r, {"goodput_bps": 10.0 * p + r}) for p in range(3) for r in range(2)])
    add_rows(path, [Made(0, 0, {"goodput_bps": -1.0}, seed=2**64 - 1)])
    assert wide(path)["goodput_bps"].to_numpy().tolist() == [10.0, 20.0]
    assert wide(path, plan=2)["goodput_bps"].to_numpy().tolist() == [0.5, 10.5]
    assert wide(path, plan=1)["goodput_bps"].to_numpy().tolist() == [-1.0]
    assert wide(path, plan=1).attrs["seed"] == 2**64 - 1
    assert [cf.store.load(path, plan=n).title for n in (1, 2, 3)] == ["seed", "first", "second"]
    assert cf.store.load(path, 1).points[0].rows[0].seed == 2**64 - 1


def test_what_is_solved_serves_every_seed(path: Path) -> None:
    add_plan(path, {}, methods=["formula"], seed=5)
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0}, method="formula", seed=1)])
    assert wide(path)["goodput_bps"] == 1.0


# Files in use and of other versions


def test_a_file_is_read_while_it_is_filled(path: Path) -> None:
    description = add_plan(path, {}, stop={"runs": 3})
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0})])
    with ResultsFile.create(path) as file:
        names, packed = "goodput_bps", np.array([3.0]).tobytes()
        file.put(
            [Row("ff" * 16, description["points"][0]["id"], "simulation", 1, 1, names, packed, None, 0.1)]
        )
        file.get([])  # commits the rows
        assert wide(path)["goodput_bps"] == 2.0


def test_a_plan_with_overrides_of_an_unknown_kind_still_has_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    before = cf.sweep(SMALL, runs=2, out=path)
    with closing(sqlite3.connect(path)) as database, database:
        unknown = """json_set(description, '$.overrides', json('{"a": 1}'))"""
        database.execute(f"UPDATE plans SET description = {unknown}")
        reseal(database)
    after = cf.store.load(path)
    assert [point.metrics.get("goodput_bps") for point in after.points] == [
        point.metrics.get("goodput_bps") for point in before.points
    ]
