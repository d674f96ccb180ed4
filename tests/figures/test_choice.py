"""Defaults of figures: horizontal axis, curves, axes held at one value, scales."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from crossfade import quantities
from crossfade.errors import ResultsError
from crossfade.figures.choice import (
    MOST_CURVES,
    called,
    choose,
    held_note,
    in_numbers,
    in_places,
    is_error_rate,
    where,
    with_ratio,
)
from crossfade.quantities import is_log_spaced
from crossfade.tables import Cell, Table
from tests.figures.test_plot import QUANTITIES, RESULTS


def swept(**axes: Sequence[Cell]) -> Table:
    """Results over all combinations of axes; ``__`` in a name stands for the dot of a key."""
    columns = [name.replace("__", ".") for name in axes]
    rows: list[list[Cell]] = [[*values, "simulation", 10, 1.0, 0.1] for values in product(*axes.values())]
    return Table([*columns, "method", "runs", "goodput_bps", "goodput_bps_ci95"], rows)


def test_the_usual_columns_are_guessed() -> None:
    choice = choose(RESULTS)
    assert (choice.x, choice.y, choice.by) == ("p_e", "throughput_sim", ["variant", "channel"])
    table = swept(tcp__variant=["reno"], tcp__w_max=[6, 24], channel__p_e=[0.1, 0.2, 0.3])
    choice = choose(table)
    assert (choice.x, choice.y, choice.by) == ("channel.p_e", "goodput_bps", ["tcp.w_max"])
    choice = choose(table, "tcp.w_max", "runs", "channel.p_e, tcp.variant")
    assert (choice.x, choice.y, choice.by) == ("tcp.w_max", "runs", ["channel.p_e", "tcp.variant"])
    assert not choice.held


def test_the_axis_of_the_field_is_on_x_also_where_another_has_more_values() -> None:
    windows, snrs = list(range(2, 22)), [0.0, 10.0, 20.0]
    assert choose(swept(tcp__w_max=windows, channel__snr_db=snrs), by="tcp.w_max").x == "channel.snr_db"
    assert choose(swept(tcp__w_max=windows, channel__p_e=[0.1, 0.01, 0.001])).x == "channel.p_e"
    # SNR has priority over error probability, but not with only two values if another axis has more.
    assert choose(swept(channel__p_e=[0.1, 0.2, 0.3], channel__snr_db=snrs)).x == "channel.snr_db"
    assert choose(swept(tcp__w_max=windows, channel__snr_db=[0.0, 10.0])).x == "tcp.w_max"
    assert choose(swept(tcp__w_max=[6, 24], channel__snr_db=[0.0, 10.0])).x == "channel.snr_db"


def test_words_are_on_x_where_there_are_no_numbers() -> None:
    table = swept(tcp__variant=["reno", "tahoe", "sack"], channel__model=["iid", "markov"])
    choice = choose(table)
    assert (choice.x, choice.by) == ("tcp.variant", ["channel.model"])
    places, words = in_places(table, "tcp.variant")
    assert (places.cells("tcp.variant"), words) == ([0, 0, 1, 1, 2, 2], ["Reno", "Tahoe", "SACK"])


def test_curves_that_would_be_a_tangle_are_held_and_it_is_said() -> None:
    variants, windows = ["reno", "tahoe", "sack", "cubic"], [6, 12, 24, 48]
    table = swept(tcp__variant=variants, tcp__w_max=windows, channel__p_e=[0.1, 0.2, 0.3])
    assert len(variants) * len(windows) > MOST_CURVES
    choice = choose(table)
    assert (choice.by, choice.held) == (["tcp.variant"], {"tcp.w_max": 6})
    assert "tcp.w_max = 6 (of 4 values)" in held_note(table, choice.held)
    # Requested axes are drawn; an axis of panels is not held.
    assert choose(table, by=["tcp.variant", "tcp.w_max"]).held == {}
    choice = choose(table, panels="tcp.w_max")
    assert (choice.by, choice.panels, choice.held) == (["tcp.variant"], ["tcp.w_max"], {})
    # An axis that is neither on x nor in --by would mix its points into one curve.
    assert choose(table, by="tcp.w_max").held == {"tcp.variant": "reno"}


def test_zipped_axes_tell_no_curves_apart_on_x_and_share_a_curve_elsewhere() -> None:
    rows: list[list[Cell]] = [
        [p_e, rate, scheme, detector, "simulation", 1.0]
        for p_e, rate in ((0.1, 5.0), (0.2, 6.0), (0.3, 7.0))
        for scheme, detector in (("blast", "ml"), ("blast", "mmse"), ("stbc", "ml"))
    ]
    table = Table(["p_e", "rate", "phy.scheme", "phy.detector", "method", "goodput_bps"], rows)
    choice = choose(table)
    assert (choice.x, choice.by, choice.held) == ("p_e", ["phy.scheme", "phy.detector"], {})


def test_a_metric_on_x_leaves_the_curves_along_their_axis() -> None:
    table = swept(tcp__variant=["reno", "tahoe"], channel__p_e=[0.1, 0.2, 0.3])
    choice = choose(table, x="runs")
    assert (choice.x, choice.along, choice.by) == ("runs", "channel.p_e", ["tcp.variant"])


def test_the_metric_is_no_axis() -> None:
    table = Table(["p_e", "speed"], [[0.1, 3.0], [0.2, 4.0], [0.3, 5.0]])
    choice = choose(table, y="speed")
    assert (choice.x, choice.by) == ("p_e", [])


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"channel.p_e": 0.00231}, 2),  # the value as the table prints it
        ({"channel.p_e": "0.0023104"}, 2),
        ({"tcp.variant": "reno", "channel.p_e": "0.1"}, 1),
        ({"channel.p_e<": 0.1}, 2),
        ({"channel.p_e<=": "0.1"}, 4),
        ({"channel.p_e>": 0.002, "channel.p_e<": 0.1, "tcp.variant": "reno"}, 1),
        ({"channel.p_e>=": 0.1}, 2),
        ({}, 4),
    ],
)
def test_rows_are_found_by_values(wanted: dict[str, Cell], rows: int) -> None:
    table = swept(tcp__variant=["reno", "tahoe"], channel__p_e=[0.0023104331, 0.1])
    assert len(where(table, wanted).rows) == rows


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"channel.p_e": 0.2}, ["channel.p_e = 0.2", "0.1"]),
        ({"tcp.variant": "vegas"}, ["tcp.variant = vegas", "reno, tahoe"]),
        ({"variant": "reno"}, ["variant", "did you mean tcp.variant?"]),
        ({"channel.p_e>": 0.3}, ["channel.p_e>0.3: no row", "0.1 to 0.3"]),
        ({"channel.p_e<": "few"}, ["channel.p_e<few: must be compared with a number"]),
        ({"tcp.variant<": 1}, ["tcp.variant<1: no row", "no numbers"]),
        ({"p_e<": 1}, ["did you mean channel.p_e?"]),
    ],
)
def test_rows_that_are_not_there_are_said(wanted: dict[str, Cell], words: list[str]) -> None:
    table = swept(tcp__variant=["reno", "tahoe"], channel__p_e=[0.1, 0.3])
    with pytest.raises(ResultsError) as error:
        where(table, wanted)
    assert all(word in str(error.value) for word in words)


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


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("frame_error_rate", [0.5, 0.001], True),
        ("forward.residual_frame_error_rate", [0.5, 0.001, 0.0], True),
        ("fer", [0.5, 0.2], False),
        ("ber", [1e-1, 1e-5], True),
        ("goodput_bps", [1.0, 1e6], False),
        ("fer", [0.0], False),
        ("fer", [], False),
    ],
)
def test_error_rates_over_decades_are_logarithmic(name: str, values: list[float], expected: bool) -> None:
    assert is_error_rate(name, values) is expected


def test_quantities_are_numbers_on_an_axis() -> None:
    assert choose(QUANTITIES, y="a.goodput_bps").x == "reverse.rate"
    table, unit = in_numbers(QUANTITIES, "reverse.rate")
    assert (table.cells("reverse.rate"), unit) == ([0.5, 1.0, 2.0], "Mbit/s")
    one_unit = Table(["delay"], [["5 ms"], [None], ["20 ms"]])
    assert in_numbers(one_unit, "delay") == (Table(["delay"], [[5.0], [None], [20.0]]), "ms")
    assert in_numbers(RESULTS, "p_e") == (RESULTS, "")
    mixed: list[list[Cell]] = [["5 ms", "unlimited"], ["5 ms", "5 B"], ["5 miles", "6 miles"], ["5 ms", 6.0]]
    for words in mixed:
        rows: list[list[Cell]] = [[cell, 1.0] for cell in words]
        table = Table(["delay", "goodput_bps"], rows)
        assert in_places(table, choose(table).x)[1] == [str(word).removesuffix(".0") for word in words]


def test_the_ratio_of_two_columns_has_an_interval_that_holds() -> None:
    name = "a.goodput_bps/b.goodput_bps"
    table = with_ratio(QUANTITIES, name)
    assert table.cells(name) == [3.0, 2.0, None]
    # Half-widths are 10 % and 5 % of 3; a ratio has an interval only if both metrics have one.
    widths = table.cells(f"{name}_ci95")
    assert widths[0] == pytest.approx(0.45)
    assert widths[1:] == [None, None]
    assert with_ratio(QUANTITIES, "a.goodput_bps") is QUANTITIES
    with pytest.raises(ResultsError, match=r"c\.goodput_bps"):
        with_ratio(QUANTITIES, "a.goodput_bps/c.goodput_bps")


def test_only_numbers_are_metrics() -> None:
    table = Table(["p_e", "method", "goodput_bps"], [[0.1, "a", 1.0], [0.2, "b", 2.0]])
    with pytest.raises(ResultsError, match="column method: holds words"):
        choose(table, y="method")
    with pytest.raises(ResultsError, match=r"column p_e: cannot tell panels apart"):
        choose(table, x="p_e", panels="p_e")


def test_numbers_that_would_fill_the_memory_are_words() -> None:
    for text in ("1e999999999 s", "1e400 s", "9" * 5000 + " s", "1e308 h"):
        assert quantities.in_numbers([text, "1 s"]) is None
    assert quantities.in_numbers(["1e-999999999 s", "1 ms"]) == ([0.0, 0.001], "s")
    assert quantities.in_numbers([float("inf"), 1]) is None
    assert quantities.in_numbers([10**400, 1]) is None
    assert quantities.in_numbers(["7 ms", "1 s"]) == ([0.007, 1.0], "s")


def test_a_label_is_that_of_one_item_of_a_table_or_of_several() -> None:
    cells = [
        "variant=sack congestion=cubic rfc=profile=linux",
        "variant=sack congestion=bbr-v1 rfc=profile=linux",
        "flavour=quic congestion=cubic",
        "sack",
    ]
    labels = {
        "congestion=cubic": "CUBIC",
        "congestion=cubic, flavour=quic": "QUIC",
        "profile=linux": "Linux",
        "sack": "Sack alone",
    }
    assert [str(called(cell, labels)) for cell in cells] == ["CUBIC", "Linux", "QUIC", "Sack alone"]
    assert called(cells[0], {"variant=reno": "Reno", "congestion=cubic, variant=reno": "x"}) == cells[0]
    assert called(0.1, {"0.1": "many lost"}) == "many lost"
