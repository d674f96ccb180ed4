"""Figures are files that can be opened, and the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

import crossfade as cf
from crossfade.errors import ResultsError
from crossfade.plots import choose, in_numbers, is_log_spaced, with_ratio
from crossfade.tables import Cell, Table
from tests.conftest import Cli

BEGINNINGS = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}

COLUMNS = (
    "variant,channel,w_max,k,p_e,throughput_lower,throughput_upper,throughput_exact,throughput_sim,ci95,"
    "transmissions_exact"
)
RESULTS = Table(
    COLUMNS.split(","),
    [
        [variant, channel, 24, 3, p_e, None, None, None, 0.9 - p_e, 0.01, None]
        for variant in ("tahoe", "reno")
        for channel in ("iid", 0.01)
        for p_e in (0.001, 0.01, 0.1)
    ],
)


@pytest.mark.parametrize("suffix", list(BEGINNINGS))
def test_a_figure_is_the_same_file_twice(tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for file in files:
        cf.plot(RESULTS, file, title="A figure")
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(BEGINNINGS[suffix])
    assert len(first) > 5000
    assert first == second


def test_a_figure_does_not_say_when_it_was_made(tmp_path: Path) -> None:
    for suffix in BEGINNINGS:
        file = tmp_path / f"figure{suffix}"
        cf.plot(RESULTS, file)
        content = file.read_bytes()
        for word in (b"CreationDate", b"dc:date", b"Matplotlib"):
            assert word not in content


def test_results_a_table_and_its_csv_are_drawn_alike(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    results = cf.run(sweep)
    table = tmp_path / "results.csv"
    table.write_text(results.to_csv())
    by_api, by_table, by_command = (tmp_path / f"{name}.png" for name in ("a", "b", "results"))
    results.plot(str(by_api))
    cf.plot(results.table(), by_table, title=results.title)
    outcome = cli("plot", table)
    assert (outcome.code, outcome.err) == (0, f"wrote {by_command}\n")
    assert by_api.read_bytes() == by_table.read_bytes()
    cf.plot(table, by_table)
    assert by_table.read_bytes() == by_command.read_bytes()


def test_the_usual_columns_are_guessed() -> None:
    assert choose(RESULTS, None, None, None) == ("p_e", "throughput_sim", ["variant", "channel"])
    table = Table(
        ["tcp.variant", "tcp.w_max", "channel.p_e", "method", "runs", "goodput_bps", "goodput_bps_ci95"],
        [["reno", w_max, p_e, "simulation", 10, 1.0, 0.1] for w_max in (6, 24) for p_e in (0.1, 0.2, 0.3)],
    )
    assert choose(table, None, None, None) == ("channel.p_e", "goodput_bps", ["tcp.w_max"])
    assert choose(table, "tcp.w_max", "runs", "channel.p_e, tcp.variant") == (
        "tcp.w_max",
        "runs",
        ["channel.p_e", "tcp.variant"],
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.001, 0.00161, 0.0025, 0.0041, 0.0066, 0.0107], True),
        ([0.001, 0.01, 0.1], True),
        ([0.0, 1.0, 10.0, 100.0], False),
        ([1.0, 2.0, 4.0], False),
        (list(range(1, 31)), False),
        ([0.1], False),
        ([], False),
    ],
)
def test_an_axis_is_logarithmic_where_its_values_are(values: list[float], expected: bool) -> None:
    assert is_log_spaced(values) is expected


def test_analysis_is_drawn_where_the_table_has_it(tmp_path: Path) -> None:
    analysed = Table(RESULTS.columns, [[*row[:5], 0.85, 0.95, 0.9, *row[8:]] for row in RESULTS.rows])
    cf.plot(RESULTS, tmp_path / "without.svg")
    cf.plot(analysed, tmp_path / "with.svg")
    without, with_lines = ((tmp_path / f"{name}.svg").read_text() for name in ("without", "with"))
    assert "FillBetween" in with_lines
    assert "FillBetween" not in without


QUANTITIES = Table(
    ["reverse.rate", "method", "a.goodput_bps", "a.goodput_bps_ci95", "b.goodput_bps", "b.goodput_bps_ci95"],
    [
        ["500 kbit/s", "simulation", 6.0, 0.6, 2.0, 0.1],
        ["1 Mbit/s", "simulation", 6.0, None, 3.0, 0.3],
        ["2 Mbit/s", "simulation", 6.0, 0.6, 0.0, 0.0],
    ],
)


def test_quantities_are_numbers_on_an_axis() -> None:
    assert choose(QUANTITIES, None, "a.goodput_bps", None)[0] == "reverse.rate"
    table, unit = in_numbers(QUANTITIES, "reverse.rate")
    assert (table.cells("reverse.rate"), unit) == ([5e5, 1e6, 2e6], "bit/s")
    one_unit = Table(["delay"], [["5 ms"], [None], ["20 ms"]])
    assert in_numbers(one_unit, "delay") == (Table(["delay"], [[5.0], [None], [20.0]]), "ms")
    assert in_numbers(RESULTS, "p_e") == (RESULTS, "")
    mixed: list[list[Cell]] = [["5 ms", "unlimited"], ["5 ms", "5 B"], ["5 miles", "6 miles"], ["5 ms", 6.0]]
    for words in mixed:
        with pytest.raises(ResultsError, match="holds words"):
            choose(
                Table(["delay", "goodput_bps"], [[cell, 1.0] for cell in words]), "delay", "goodput_bps", None
            )


def test_the_ratio_of_two_columns_has_an_interval_that_holds(tmp_path: Path) -> None:
    name = "a.goodput_bps/b.goodput_bps"
    table = with_ratio(QUANTITIES, name)
    assert table.cells(name) == [3.0, 2.0, None]
    # 10 % and 5 % of 3; without both intervals there is none.
    widths = table.cells(f"{name}_ci95")
    assert widths[0] == pytest.approx(0.45)
    assert widths[1:] == [None, None]
    assert with_ratio(QUANTITIES, "a.goodput_bps") is QUANTITIES
    with pytest.raises(ResultsError, match=r"c\.goodput_bps"):
        with_ratio(QUANTITIES, "a.goodput_bps/c.goodput_bps")
    cf.plot(QUANTITIES, tmp_path / "ratio.svg", y=name)
    text = (tmp_path / "ratio.svg").read_text()
    assert "<!-- a.goodput_bps / b.goodput_bps -->" in text
    assert "<!-- Rate of the way back (bit/s) -->" in text


def test_a_logarithmic_axis_has_plain_numbers(tmp_path: Path) -> None:
    table = Table(["x", "y"], [[1, 0.02], [2, 0.3], [3, 4.0]])
    cf.plot(table, tmp_path / "log.svg", x="x", y="y", log_y=True)
    text = (tmp_path / "log.svg").read_text()
    for word in ("0.05", "0.1", "1", "2"):
        assert f"<!-- {word} -->" in text
