"""Numbers keep every digit in CSV and JSON."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossfade as cf
from crossfade.results.points import Estimate, Point
from crossfade.results.results import Results
from crossfade.tables import Cell, Table, format_estimate, label
from tests.conftest import SMALL, SWEEP, make_row

finite = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20).map(
    lambda text: f"w{text}w"
)


@given(st.lists(st.tuples(finite, st.none() | finite, st.integers(), words)))
def test_csv_reads_back_as_the_same_table(rows: list[tuple[Cell, ...]]) -> None:
    table = Table(["a", "b", "c", "d"], [list(row) for row in rows])
    again = Table.from_csv(table.to_csv())
    assert again.columns == table.columns
    assert repr(again.rows) == repr(table.rows)  # repr distinguishes 0.0 from -0.0 and 1 from 1.0


@given(value=finite, ci95=st.none() | finite)
def test_json_reads_back_as_the_same_numbers(value: float, ci95: float | None) -> None:
    metrics = {"goodput_bps": Estimate(value, ci95, None, None, 10, "simulation", "bit/s")}
    point = Point({}, {"schema": 1}, "simulation", 10, metrics, {}, [], [], [], [], [])
    found = json.loads(Results("", ["simulation"], 1, [point], {}).to_json())
    assert repr(found[0]["metrics"]["goodput_bps"]) == repr(
        {"value": value, "ci95": ci95, "low": None, "high": None, "unit": "bit/s", "runs": 10}
    )


@pytest.mark.parametrize("text", ["a_1", "1_000", " 1", "one", "0x10", "w"])
def test_words_stay_words(text: str) -> None:
    assert Table.from_csv(f"a\n{text}\n").rows == [[text]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no header line"),
        ("\n1,2\n", "no header line"),
        ("a,,c\n", "no header line"),
        ("a,a\n1,2\n", "column a stands twice"),
        ("a,b\n1\n", "t:2: 1 cells, expected 2"),
        ("a,b\n1,2,3\n", "t:2: 3 cells, expected 2"),
        ('a,b\n"1,2\n', "not a CSV table"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str) -> None:
    with pytest.raises(cf.errors.ResultsError, match=message):
        Table.from_csv(text, "t")


def test_tables_of_other_programs_are_read() -> None:
    table = Table.from_csv('\ufeffa,b\r\n1,"x, y"\r\n\r\n')
    assert (table.columns, table.rows) == (["a", "b"], [[1, "x, y"]])


def test_columns_are_arrays() -> None:
    table = Table(["a", "b"], [[1, "x"], [None, "y"]])
    np.testing.assert_array_equal(table.column("a"), [1.0, np.nan])
    assert table.column("b").tolist() == ["x", "y"]
    with pytest.raises(cf.errors.ResultsError, match=r"column c: not in the table \(columns: a, b\)"):
        table.column("c")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"model": "markov", "fd_t": 0.01}, "markov fd_t=0.01"),
        ({"model": "iid"}, "iid"),
        ({"min": "0.2 s", "backoff": True}, "min=0.2 s backoff=true"),
        ([1, 2], "1 2"),
        (0.5, 0.5),
        ("reno", "reno"),
    ],
)
def test_axis_values_become_cells(value: object, text: Cell) -> None:
    assert label(value) == text


@pytest.mark.parametrize(
    ("value", "ci95", "text"),
    [
        (0.93412, 0.00123, "0.9341 ± 0.0012"),
        (1234567.8, 1234.5, "1,234,568 ± 1,234"),
        (0.5, None, "0.5"),
        (3.0, 0.0, "3 ± 0"),
        (None, None, "-"),
        (12.34, 0.96, "12.34 ± 0.96"),
    ],
)
def test_people_see_the_digits_that_count(value: float | None, ci95: float | None, text: str) -> None:
    assert format_estimate(value, ci95) == text


@pytest.mark.parametrize(
    ("value", "ci95", "low", "high", "text"),
    [
        (0.0, None, 0.0, 0.29957, "0 (< 0.3)"),
        (1.0, None, 0.74113, 1.0, "1 (> 0.74)"),
        (0.2, None, 0.0242, 0.7225, "0.20 (0.02 to 0.72)"),
        # Intervals unlike value ± ci95, and one like it.
        (1.6, 1.13, 0.49, 4.94, "1.6 (0.5 to 4.9)"),
        (12.34, 0.96, 11.3, 13.4, "12.34 ± 0.96"),
        (3.0, 0.0, 3.0, 3.0, "3 ± 0"),
        (0.0, None, None, None, "0"),
    ],
)
def test_people_see_the_ends_of_a_lopsided_interval(
    value: float, ci95: float | None, low: float | None, high: float | None, text: str
) -> None:
    assert format_estimate(value, ci95, low, high) == text


def test_a_rate_without_an_event_is_not_certain() -> None:
    (point,) = cf.run(SMALL, set={"channel.p_e": 1e-9}).points
    rate, events, out_of = (
        point.metrics[name] for name in ("frame_error_rate", "frame_errors", "frame_transmissions")
    )
    assert (rate.value, rate.ci95, rate.low) == (0.0, None, 0.0)
    # At most -ln 0.05 events among all packets sent in ten runs.
    assert out_of.value is not None
    assert rate.high == pytest.approx(2.995732273554 / (10 * out_of.value))
    assert events.value == 0.0
    assert events.high == pytest.approx(0.2995732273554)
    assert "± 0" not in str(rate) + str(events)


def test_json_is_a_list_also_of_one_point() -> None:
    (single,) = cf.run(SMALL).to_dict()
    assert list(single) == [
        "scenario", "axes", "method", "seed", "runs", "metrics", "flows", "links", "warnings", "provenance"
    ]  # fmt: skip
    assert single["scenario"]["tcp"]["w_max"] == 24
    assert (single["method"], single["seed"], single["runs"]) == ("simulation", 1, 10)
    assert set(single["metrics"]["goodput_bps"]) == {"value", "ci95", "low", "high", "unit", "runs"}
    assert single["axes"] == {}
    swept = cf.run(SWEEP).to_dict()
    assert [point["axes"] for point in swept] == [
        {"tcp.variant": variant, "channel.p_e": p_e} for variant in ("tahoe", "reno") for p_e in (0.01, 0.1)
    ]
    assert [point["scenario"]["tcp"]["variant"] for point in swept] == ["tahoe", "tahoe", "reno", "reno"]


def test_the_provenance_says_what_was_changed_and_nothing_of_the_host() -> None:
    (found,) = cf.run(SMALL, set={"tcp.w_max": 6}, runs=2).to_dict()
    assert found["provenance"] == {
        "version": cf.__version__,
        "results_version": cf.reference.RESULTS_VERSION,
        "overrides": {"set": {"tcp.w_max": 6}, "over": {}},
    }
    assert found["scenario"]["tcp"]["w_max"] == 6


def test_the_table_of_a_sweep_has_its_axes_first() -> None:
    table = cf.run(SWEEP).table()
    assert table.columns[:6] == [
        "tcp.variant", "channel.p_e", "method", "runs", "goodput_bps", "goodput_bps_ci95"
    ]  # fmt: skip
    assert table.column("channel.p_e").tolist() == [0.01, 0.1, 0.01, 0.1]


def test_a_single_run_has_no_interval() -> None:
    results = cf.run(SMALL, runs=1)
    assert results.points[0].metrics["goodput_bps"].ci95 is None
    assert all(math.isnan(value) for value in results.column("goodput_bps_ci95"))


def test_numpy_values_are_taken() -> None:
    results = cf.run(SMALL, over={"channel.p_e": np.array([0.01, 0.1])}, set={"tcp.w_max": np.int64(6)})
    assert results.column("channel.p_e").tolist() == [0.01, 0.1]


def test_the_same_seed_gives_the_same_numbers_and_another_one_others() -> None:
    first = cf.run(SMALL, cache=False).to_csv()
    assert cf.run(SMALL, cache=False).to_csv() == first
    assert cf.run(SMALL, cache=False, jobs=1).to_csv() == first
    assert cf.run(SMALL, cache=False, seed=2).to_csv() != first


def test_a_notebook_shows_results_in_a_few_words(notebook: Results) -> None:
    """A notebook shows results in short: two TCPs and two error rates, 1.5 Mbit/s as 1.5; texts from outside
    are escaped.
    """
    words = "4 points over tcp.variant, channel.p_e; simulation, analysis:exact; 2 runs"
    assert repr(notebook) == f"<Results 'A <b>small</b> scenario': {words}>"
    assert repr(notebook.points[0]) == (
        "<Point tcp.variant = tahoe, channel.p_e = 0.01: simulation, 2 runs, "
        f"{len(notebook.points[0].metrics)} metrics>"
    )
    shown = notebook._repr_html_()
    assert f"<caption>A &lt;b&gt;small&lt;/b&gt; scenario ({words})</caption>" in shown
    assert "<th>goodput_bps<br>Mbit/s</th>" in shown
    assert shown.count("<tr>") == 1 + len(notebook.points)
    exact = next(point for point in notebook.points if point.method == "analysis:exact")
    assert f"<td>{exact.value('goodput_bps') / 1e6:.6g}</td>" in shown
    alone = cf.run(SMALL, runs=2)
    assert f"<tr><td>timeouts</td><td>{alone.points[0].metrics['timeouts']}</td><td></td></tr>" in (
        alone._repr_html_()
    )
    many = cf.run(SMALL, over={"channel.p_e": "0.01:0.42:0.01"}, methods=["analysis"])
    assert many._repr_html_().count("<tr>") == 1 + 40 + 1
    assert "... 2 more" in many._repr_html_()


def test_a_data_frame_has_the_table(notebook: Results) -> None:
    frame, table = notebook.to_pandas(), notebook.table()
    assert list(frame.columns) == table.columns
    for name in table.columns:
        np.testing.assert_array_equal(frame[name].to_numpy(), table.column(name))
    assert frame["goodput_bps_ci95"].isna().sum() == 4, "an exact value has no interval"
    assert frame.groupby("tcp.variant")["goodput_bps"].mean().index.tolist() == ["reno", "tahoe"]


@pytest.fixture(scope="module")
def notebook() -> Results:
    title = SWEEP.replace("A small", "A <b>small</b>")
    return cf.run(title, runs=2, methods=["simulation", "analysis"])


def test_samples_of_the_whole_are_not_those_of_a_flow() -> None:
    """A metric undefined in every run stays undefined, even if a flow has it; a flow's metric is selected by
    its name.
    """
    names = "flow:goodput_bps\nflow:near.goodput_bps\ngoodput_bps"
    row = make_row(0)._replace(names=names, values=struct.pack("<3d", 5, 2, math.nan))
    point = Point({}, {}, "simulation", 1, {}, {}, [], [], [], [], [row])
    assert math.isnan(point.samples("goodput_bps")[0])
    assert point.samples("near.goodput_bps") == [2.0]
    assert math.isnan(point.samples("nothing")[0])
