"""Curves of a table, their styles and their axes."""

from __future__ import annotations

import math

import pytest

from crossfade.figures.axes import Axis, places_beside, scaled, x_axis, y_axis
from crossfade.figures.choice import choose
from crossfade.figures.curves import Part, Reading, curves
from crossfade.figures.style import MARKERS, PALETTE, height_beside, looks, width_in_inches
from crossfade.tables import Cell, Table
from crossfade.wording import (
    axis_name,
    curve_word,
    html,
    metric_name,
    readable_unit,
    typeset,
    without_symbols,
)


def test_a_curve_has_a_part_for_each_method_in_order_of_drawing() -> None:
    rows: list[list[Cell]] = [
        [0.2, "simulation", 0.5, 0.1, None, None],
        [0.1, "simulation", 0.7, None, None, None],
        [0.1, "analysis:exact", 0.6, None, None, None],
        [0.1, "analysis:bounds", None, None, 0.55, 0.65],
        [0.3, "simulation", None, None, None, None],
        [None, "simulation", 0.4, None, None, None],
        [0.1, "live", 0.3, None, None, None],
    ]
    names = ["throughput_per_slot", "throughput_per_slot_ci95", "throughput_lower", "throughput_upper"]
    ((key, parts),) = curves(Table(["p_e", "method", *names], rows), "p_e", names[0], [])
    assert key == ()
    assert [part.method for part in parts] == ["analysis:bounds", "analysis:exact", "simulation", "live"]
    bounds, exact, simulation, _ = parts
    assert (bounds.xs, bounds.ys, bounds.lowers, bounds.intervals) == ([0.1], [0.65], [0.55], None)
    assert (exact.xs, exact.ys, exact.lowers, exact.intervals) == ([0.1], [0.6], None, None)
    assert (simulation.xs, simulation.ys) == ([0.1, 0.2], [0.7, 0.5])
    assert simulation.intervals is not None
    assert math.isnan(simulation.intervals[0][0])
    assert simulation.intervals[1] == (0.4, 0.6)


def test_of_few_runs_each_is_shown_and_no_interval() -> None:
    """With few runs each is drawn, without an interval: Student's for two runs at 0.7 and 0.9 is -0.47 to
    2.07.
    """
    names = ["throughput_per_slot", "throughput_per_slot_ci95", "throughput_per_slot_each_run"]
    rows: list[list[Cell]] = [
        [0.1, "simulation", 2, 0.8, 1.27, "0.7 0.9"],
        [0.2, "simulation", 5, 0.6, 0.1, None],
        [0.1, "analysis:exact", 0, 0.85, None, None],
    ]
    ((_, (exact, part)),) = curves(Table(["p_e", "method", "runs", *names], rows), "p_e", names[0], [])
    assert exact.runs == []
    assert part.runs == [(0.1, 0.7), (0.1, 0.9)]
    assert part.intervals is not None
    assert math.isnan(part.intervals[0][0])
    assert part.intervals[1] == (0.5, 0.7)
    axis = y_axis(names[0], [part])
    assert axis.limits == (0.0, 1.03)
    # Values of runs are scaled to the unit of the axis.
    assert scaled(part, Axis("x"), Axis("y", factor=0.5)).runs == [(0.1, 1.4), (0.1, 1.8)]
    # A table without values of runs, such as a CSV file of results, gives only means.
    ((_, (_, part)),) = curves(
        Table(["p_e", "method", "runs", *names[:2]], [row[:-1] for row in rows]), "p_e", names[0], []
    )
    assert (part.runs, part.ys) == ([], [0.8, 0.6])


def test_a_papers_table_has_a_column_a_method() -> None:
    columns = [
        "variant",
        "p_e",
        "throughput_lower",
        "throughput_upper",
        "throughput_exact",
        "throughput_sim",
        "ci95",
    ]
    table = Table(columns, [["reno", 0.1, 0.4, 0.6, 0.5, 0.52, 0.03]])
    ((key, parts),) = curves(table, "p_e", "throughput_sim", ["variant"])
    assert key == ("reno",)
    found = [(part.method, part.ys, part.intervals, part.lowers) for part in parts]
    assert found == [
        ("analysis:bounds", [0.6], None, [0.4]),
        ("analysis:exact", [0.5], None, None),
        ("simulation", [0.52], [(0.49, 0.55)], None),
    ]
    ((_, parts),) = curves(table, "p_e", "throughput_exact", [])
    assert [part.method for part in parts] == ["analysis:bounds", "analysis:exact"]


def part(*readings: Reading) -> Part:
    return Part("simulation", [float(x) for x in range(len(readings))], list(readings))


@pytest.mark.parametrize(
    ("name", "readings", "low", "high"),
    [
        ("throughput_per_slot", [Reading(0.9, 0.1), Reading(0.8, 0.1)], 0.0, 1.03),
        # Widely spread values: the axis starts at 0, with a margin above the interval.
        ("x", [Reading(1.0, 0.1), Reading(3.0, 0.5)], 0.0, 1.05 * 3.5),
        # Values far from 0: the axis does not include 0.
        ("x", [Reading(100.0), Reading(104.0)], 99.8, 104.2),
        # A very wide interval is clipped at three times the largest value: 1 ± 12.
        ("x", [Reading(1.0, 50.0), Reading(4.0, 0.1)], -11.0 - 0.05 * 24.0, 13.0 + 0.05 * 24.0),
        # Other intervals are not clipped, even if values are close: 9.0 to 11.1.
        ("x", [Reading(10.0, 1.0), Reading(10.1, 1.0)], 9.0 - 0.05 * 2.1, 11.1 + 0.05 * 2.1),
        # Intervals of rare events are not clipped, although all values are small.
        ("x", [Reading(0.0, ends=(0.0, 0.3)), Reading(0.1, ends=(0.0025, 0.56))], 0.0, 1.05 * 0.56),
        ("throughput_per_slot", [Reading(0.9, 0.3), Reading(0.8, 0.1)], 0.0, 1.05 * 1.2),
        ("goodput_bps", [Reading(1e6), Reading(3e6)], 0.0, 1.05 * 3.0),
        ("x", [Reading(2.0)], None, None),
    ],
)
def test_limits(name: str, readings: list[Reading], low: float | None, high: float | None) -> None:
    found = y_axis(name, [part(*readings)]).limits
    assert found == ((None, None) if low is None else pytest.approx((low, high)))


def test_logarithmic_limits_hold_the_values_and_near_intervals() -> None:
    axis = y_axis("fer", [part(Reading(1e-4, 2e-4), Reading(0.5, 0.1), Reading(0.0))])
    assert axis.is_log
    assert axis.limits == pytest.approx((1e-4 / 1.2, 0.6 * 1.2))
    assert y_axis("fer", [part(Reading(1e-4))], is_log=False).is_log is False
    assert y_axis("fer", [part(Reading(0.0))], is_log=True).limits == (None, None)


def test_values_are_drawn_in_the_units_of_the_axes() -> None:
    axis = y_axis("goodput_bps", [part(Reading(2.5e6, 5e5))])
    assert (axis.label, axis.factor) == ("Goodput (Mbit/s)", 1e6)
    found = scaled(part(Reading(2.5e6, 5e5)), Axis("x"), axis)
    assert (found.ys, found.intervals) == ([2.5], [(2.0, 3.0)])
    gap = scaled(part(Reading(0.1), Reading(0.0)), Axis("x"), Axis("y", is_log=True))
    assert gap.ys[0] == 0.1
    assert math.isnan(gap.ys[1])


def test_curves_stand_side_by_side_at_words() -> None:
    table = Table(["tcp.variant", "goodput_bps"], [["reno", 1.0], ["sack", 2.0]])
    axis, places = x_axis(table, choose(table))
    assert (axis.label, list(axis.words), places.cells("tcp.variant")) == ("TCP", ["Reno", "SACK"], [0, 1])
    assert places_beside(1) == [0.0]
    assert places_beside(3) == pytest.approx([-0.12, 0.0, 0.12])
    assert scaled(part(Reading(1.0)), axis, Axis("y"), 0.12).xs == [0.12]
    assert scaled(part(Reading(1.0)), Axis("x"), Axis("y"), 0.12).xs == [0.0]


def test_curves_differ_in_colour_and_mark() -> None:
    alone = looks([(name,) for name in "abcdefgh"])
    assert len({(look.color, look.mark) for look in alone}) == 8
    assert [look.is_filled for look in alone] == [True] + [False] * 7
    pairs = looks([(variant, k) for variant in "ab" for k in (1, 2, 3)])
    assert [(look.color, look.mark) for look in pairs] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    many = looks([(variant, k) for variant in range(20) for k in (1, 2, 3)])
    assert len({(look.color, look.mark) for look in many}) == 60
    assert len(set(PALETTE)) * len(set(MARKERS)) >= 60


def test_sizes_are_those_of_columns() -> None:
    assert (width_in_inches("single"), width_in_inches("double"), width_in_inches("101.6")) == (
        3.5,
        7.16,
        4.0,
    )
    assert height_beside(3.5) == pytest.approx(2.8)
    assert height_beside(7.16) < 0.55 * 7.16


@pytest.mark.parametrize(
    ("column", "words", "unit"),
    [
        ("goodput_bps", "Goodput", "bit/s"),
        ("reverse.queueing_delay_p95_s", "Queueing delay, 95th percentile, reverse", "s"),
        ("rtt_mean_s", "Mean round-trip time", "s"),
        ("ip_goodput_bps", "IP goodput", "bit/s"),
        ("a.goodput_bps/b.goodput_bps", "Goodput, a / b", ""),
        ("goodput_bps/link_utilisation", "Goodput / Link utilisation", ""),
        ("timeouts_per_slot", "Timeouts per slot", ""),
    ],
)
def test_metrics_in_words(column: str, words: str, unit: str) -> None:
    assert metric_name(column) == (words, unit)


def test_keys_in_words() -> None:
    assert axis_name("channel.snr_db") == ("SNR", "dB")
    assert axis_name("reverse.rate") == ("Rate of the reverse path", "")
    assert axis_name("flows.far.access_delay") == ("Access delay, one way", "")
    assert axis_name("cell.some_key") == ("Some key", "")
    assert axis_name("nr.target_bler") == ("Target BLER", "")
    assert axis_name("flows.a.five_qi") == ("5QI", "")
    assert axis_name("wlan.uplink_snr_offset_db") == ("Uplink SNR offset", "dB")


@pytest.mark.parametrize(
    ("column", "value", "text", "page"),
    [
        ("tcp.variant", "newreno", "NewReno", "NewReno"),
        ("channel.fd_t", 0.01, "$f_d T$ = 0.01", "<i>f<sub>d</sub> T</i> = 0.01"),
        ("channel.p_e", 0.00204005, "$P_E$ = 0.00204", "<i>P<sub>E</sub></i> = 0.00204"),
        ("channel", "markov fd_t=0.01", "Markov, $f_d T$ = 0.01", "Markov, <i>f<sub>d</sub> T</i> = 0.01"),
        ("link.rate", "64 kbit/s", "rate = 64 kbit/s", "rate = 64 kbit/s"),
        ("tcp.w_max", None, "$W_\\max$ = none", "<i>W<sub>max</sub></i> = none"),
        ("who", "a<b> $5", r"a<b> \$5", "a&lt;b&gt; $5"),
    ],
)
def test_curves_in_words(column: str, value: str | float | None, text: str, page: str) -> None:
    assert curve_word(column, value) == text
    assert html(text) == page


def test_titles() -> None:
    assert html(typeset("f_d T of <W_max>, $x$")) == (
        "<i>f<sub>d</sub> T</i> of &lt;<i>W<sub>max</sub></i>&gt;, $x$"
    )
    assert without_symbols(typeset("f_d T < $2 & P_E")) == "fd T < $2 & PE"


def test_units_make_numbers_short() -> None:
    assert readable_unit("bit/s", [1.5e6, 2e3]) == ("Mbit/s", 1e6)
    assert readable_unit("s", [0.2, math.nan]) == ("ms", 1e-3)
    assert readable_unit("s", [0.0]) == ("s", 1.0)
    assert readable_unit("packets", [1e9]) == ("packets", 1.0)
