"""Verdicts on claims from intervals of curves, compared run by run."""

from __future__ import annotations

from typing import Any

import pytest

from crossfade.comparison.paired import Sample
from crossfade.papers import checks, verdicts
from crossfade.papers.checks import Curve, Curves, Difference, FigurePoint
from crossfade.papers.figure import Along
from crossfade.papers.verdicts import Outcome, Silence, Verdict

P_E = Along("p_e", "log")
SNR = Along("snr_db", "dB")


def curve(variant: str, throughput: dict[float, list[float]], along: Along = P_E) -> list[FigurePoint]:
    return [
        FigurePoint({"variant": variant, along.column: x}, Sample(dict(enumerate(runs))))
        for x, runs in throughput.items()
    ]


def check(kind: str, p_e: tuple[float, float], **more: float) -> dict[str, Any]:
    return {"kind": kind, "p_e": p_e} | more


# The channel shifts both curves by about 0.1 from run to run; paired differences vary much less.
SAMPLES = Curves(
    P_E,
    [
        *curve("a", {0.01: [0.95, 0.85, 0.90], 0.1: [0.80, 0.70, 0.75], 1.0: [0.40, 0.30, 0.35]}),
        *curve("b", {0.01: [0.84, 0.75, 0.80], 0.1: [0.79, 0.71, 0.75], 1.0: [0.51, 0.40, 0.45]}),
    ],
)
A: Curve = {"variant": "a"}
B: Curve = {"variant": "b"}


def test_a_difference_is_taken_run_by_run() -> None:
    first, second, third = checks.compare(check("above", (0.0, 1.0), margin=0.0), SAMPLES, [A], [B])
    # Mean of 0.11, 0.10, 0.10; half-width t(2) = 4.302653 times their standard deviation 0.0057735 over the
    # root of 3.
    assert first.value == pytest.approx(0.31 / 3)
    assert first.ci95 == pytest.approx(4.302653 * 0.01 / 3, rel=1e-6)
    assert (first.holds, second.holds, third.holds) == (True, None, False)
    assert first.where == "p_e 0.01"


def test_a_difference_must_be_clear_of_the_margin() -> None:
    margins = {0.08: True, 0.1: None, 0.12: False}
    for margin, holds in margins.items():
        (outcome,) = checks.compare(check("above", (0.0, 0.05), margin=margin), SAMPLES, [A], [B])
        assert outcome.holds is holds


def test_equality_needs_an_interval_that_can_show_it() -> None:
    tolerances = {0.12: [True, True, True], 0.03: [False, True, False], 0.02: [False, None, False]}
    for tolerance, holds in tolerances.items():
        outcomes = checks.compare(check("within", (0.0, 1.0), tolerance=tolerance), SAMPLES, [A], [B])
        assert [outcome.holds for outcome in outcomes] == holds


def test_one_run_can_tell_nothing() -> None:
    single = Curves(P_E, [FigurePoint(point.columns, point.sample.within([0])) for point in SAMPLES.points])
    outcomes = checks.compare(check("above", (0.0, 1.0), margin=0.0), single, [A], [B])
    outcomes += checks.compare(check("within", (0.0, 1.0), tolerance=1.0), single, [A], [B])
    assert [outcome.holds for outcome in outcomes] == [None] * 6


def test_sums_of_curves_count_each_curve() -> None:
    (outcome,) = checks.compare(check("above", (0.0, 0.05), margin=0.0), SAMPLES, [A, A], [B, B])
    assert outcome.value == pytest.approx(0.62 / 3)


def test_identical_is_to_the_last_digit_of_every_run() -> None:
    assert [outcome.holds for outcome in checks.identical(SAMPLES, A, A)] == [True] * 3
    nearly = Curves(
        P_E,
        [
            *curve("a", {0.01: [0.5, 0.6], 0.1: [0.5, 0.6]}),
            *curve("b", {0.01: [0.6, 0.5], 0.1: [0.5, 0.6000000000000001]}),
        ],
    )
    assert [outcome.holds for outcome in checks.identical(nearly, A, B)] == [False, False]


def falling(runs: list[float]) -> Curves:
    """Two curves that fall from 1 to 0.8 over a decade, one a decade after the other; ``runs`` are offsets of
    runs.
    """
    high, low = ([mean + run for run in runs] for mean in (1.0, 0.8))
    return Curves(P_E, [*curve("a", {0.1: high, 1.0: low}), *curve("b", {0.01: high, 0.1: low})])


def test_crossings_are_found_on_straight_lines_over_log_p_e() -> None:
    def ratio(runs: list[float], level: float, between: tuple[float, float]) -> Outcome:
        (outcome,) = checks.crossing_ratio(falling(runs), A, B, level, between)
        return outcome

    sure = ratio([0.0, 0.0], 0.9, (3.0, 30.0))
    assert (sure.value, sure.ci95) == pytest.approx((10.0, 0.0))
    assert sure.holds is True
    assert ratio([0.0, 0.0], 0.9, (11.0, 30.0)).holds is False
    assert ratio([0.0, 0.0], 0.5, (3.0, 30.0)).holds is None  # neither curve falls to this level

    unsure = ratio([-0.001, 0.001], 0.9, (3.0, 30.0))
    assert unsure.value == pytest.approx(10.0)
    # Both curves shift by t(1) = 12.7062 times 0.001, which is 0.063531 of their fall, and so of a decade of
    # P_E.
    assert unsure.ci95 == pytest.approx(10.0 * (10.0 ** (2 * 0.063531) - 1.0), rel=1e-5)
    assert ratio([-0.001, 0.001], 0.9, (9.0, 30.0)).holds is None


def test_curves_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="not one curve"):
        checks.compare(check("within", (0.0, 1.0), tolerance=0.1), SAMPLES, [{}], [B])
    with pytest.raises(ValueError, match="not one curve"):
        checks.compare(check("within", (0.0, 1.0), tolerance=0.1), SAMPLES, [{"variant": "c"}], [B])
    with pytest.raises(ValueError, match="no point"):
        checks.compare(check("within", (2.0, 3.0), tolerance=0.1), SAMPLES, [A], [B])
    apart = Curves(P_E, [*curve("a", {0.1: [1.0]}), *curve("b", {0.2: [1.0]})])
    with pytest.raises(ValueError, match="different p_e"):
        checks.compare(check("within", (0.0, 1.0), tolerance=0.1), apart, [A], [B])


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ([True, True], "holds"),
        ([True] * 9 + [None], "holds"),
        ([True] * 8 + [None], "undecided"),
        ([True, False], "holds partly"),
        ([False, False], "does not hold"),
        ([False, None], "does not hold"),
        ([True, False, None], "holds partly"),
        ([True, None, None], "undecided"),
        ([None, None], "undecided"),
    ],
)
def test_the_verdict_follows_from_the_points(holds: list[bool | None], verdict: str) -> None:
    outcomes = [Outcome(f"{n}", 0.0, 0.0, hold, -n) for n, hold in enumerate(holds)]
    found = Verdict("claim", "quote", "fig", "computed", "tolerance", "why", "", outcomes)
    assert found.verdict == verdict
    assert found.worst is outcomes[-1]


def test_a_level_and_a_share() -> None:
    of_a = checks.compare({"kind": "above", "margin": 0.0, "level": 0.5}, SAMPLES, [A], [])
    plain = checks.compare({"kind": "above", "margin": 0.0}, SAMPLES, [A], [])
    assert [one.value for one in of_a] == pytest.approx([other.value - 0.5 for other in plain])
    assert [one.ci95 for one in of_a] == pytest.approx([other.ci95 for other in plain])
    shares = checks.compare(check("within", (0.0, 1.0), tolerance=1.0, relative=True), SAMPLES, [A], [B])
    whole = checks.compare(check("within", (0.0, 1.0), tolerance=1.0), SAMPLES, [A], [B])
    below = checks.compare({"kind": "above", "margin": 0.0}, SAMPLES, [B], [])
    for share, difference, of_b in zip(shares, whole, below, strict=True):
        assert share.value * of_b.value == pytest.approx(difference.value)


def test_a_crossing_has_a_side() -> None:
    # The curve is 0.2 above, then 0.2 below; half-way between 0.1 and 0.4 on log P_E is 0.2.
    runs = {0.1: [1.19, 1.2, 1.21], 0.4: [0.79, 0.8, 0.81]}
    flat = {0.1: [1.0, 1.0, 1.0], 0.4: [1.0, 1.0, 1.0]}
    samples = Curves(P_E, [*curve("a", runs), *curve("b", flat)])
    (found,) = checks.compare({"kind": "crosses", "between": [0.1, 0.3]}, samples, [A], [B])
    assert found.holds is True
    assert found.value == pytest.approx(0.2)
    (outside,) = checks.compare({"kind": "crosses", "between": [0.25, 0.3]}, samples, [A], [B])
    assert outside.holds is False
    (upside_down,) = checks.compare({"kind": "crosses", "between": [0.1, 0.3]}, samples, [B], [A])
    assert (upside_down.holds, upside_down.where) == (False, "all points: no such crossing")


def rising(variant: str, start: int, runs: tuple[float, ...] = (0.0, 0.0)) -> list[FigurePoint]:
    """Goodput over an SNR of 0, 5, ... 30 dB: 0 up to ``start``, then rising by 0.2 every 5 dB up to 1."""
    means = {snr: min(max(snr - start, 0) / 25.0, 1.0) for snr in range(0, 31, 5)}
    return curve(variant, {snr: [mean + run for run in runs] for snr, mean in means.items()}, SNR)


def test_a_shift_is_in_db() -> None:
    """A shift is the difference in dB at one level: half the goodput is at 17.5 dB (a) and at 12.5 dB (b), so
    5 dB.
    """

    def shift(between: list[float], runs: tuple[float, ...] = (0.0, 0.0), level: float = 0.5) -> Outcome:
        curves = Curves(SNR, [*rising("a", 5, runs), *rising("b", 0, runs)])
        asked = {"kind": "shift", "level": level, "between": between}
        (outcome,) = checks.compare(asked, curves, [A], [B])
        return outcome

    sure = shift([4.0, 6.0])
    assert (sure.value, sure.ci95) == pytest.approx((5.0, 0.0))
    assert sure.holds is True
    assert sure.where == "level 0.5"
    assert shift([5.5, 6.0]).holds is False
    # Both curves shift by t(1) = 12.7062 times 0.001, or by 0.0127062 / 0.04 dB, in opposite directions at
    # worst.
    unsure = shift([4.0, 6.0], (-0.001, 0.001))
    assert unsure.ci95 == pytest.approx(2 * 0.0127062 / 0.04, rel=1e-5)
    assert unsure.holds is True
    assert shift([4.5, 6.0], (-0.001, 0.001)).holds is None
    never = shift([4.0, 6.0], level=2.0)
    assert (never.holds, never.where) == (None, "level 2: not reached")


def test_a_shift_on_a_logarithmic_axis_is_a_ratio() -> None:
    asked = {"kind": "shift", "level": 0.9, "between": [9.0, 11.0]}
    (outcome,) = checks.compare(asked, falling([0.0, 0.0]), [A], [B])
    assert outcome.value == pytest.approx(10.0)
    assert outcome.holds is True
    with pytest.raises(ValueError, match="no shift in dB"):
        Along("w_max").shift_db(1.0, 2.0)


def test_a_crossing_on_a_linear_axis_is_on_straight_lines() -> None:
    # b rises by 0.2 every 5 dB from 5 dB on, and reaches 0.5 at 17.5 dB.
    flat = {float(snr): [0.5, 0.5] for snr in range(0, 31, 5)}
    curves = Curves(SNR, [*curve("a", flat, SNR), *rising("b", 5)])
    for between, holds in {(17.0, 18.0): True, (18.0, 20.0): False}.items():
        (found,) = checks.compare({"kind": "crosses", "between": between}, curves, [A], [B])
        assert found.value == pytest.approx(17.5)
        assert found.holds is holds
        assert found.slack == pytest.approx(0.5 if holds else -0.5)


def test_a_ranking_holds_where_every_neighbour_is_in_order() -> None:
    curves = Curves(SNR, [*rising("a", 0), *rising("b", 5), *rising("c", 10)])
    order: list[Curve] = [{"variant": name} for name in "abc"]

    def ranked(order: list[Curve], low: float, high: float, margin: float = 0.0) -> list[bool | None]:
        asked = {"kind": "ranking", "margin": margin, "snr_db": [low, high]}
        return [outcome.holds for outcome in checks.compare(asked, curves, order, [])]

    assert ranked(order, 10.0, 25.0) == [True] * 4
    # At 0 dB all are 0, at 5 dB b and c are 0, at 30 dB a and b are both 1.
    assert ranked(order, 0.0, 30.0) == [None, True, True, True, True, True, False]
    assert ranked([order[0], order[2], order[1]], 10.0, 25.0) == [False] * 4
    assert ranked(order, 10.0, 25.0, margin=0.3) == [False] * 4
    asked = {"kind": "ranking", "margin": 0.0, "snr_db": [15.0, 15.0]}
    (only,) = checks.compare(asked, curves, order, [])
    assert only.where == "snr_db 15"
    assert only.value == pytest.approx(0.2)


def test_a_ranking_is_undecided_where_neighbours_cannot_be_told_apart() -> None:
    points = [
        *curve("a", {10.0: [0.5, 0.7]}, SNR),
        *curve("b", {10.0: [0.6, 0.4]}, SNR),
        *curve("c", {10.0: [0.1, 0.3]}, SNR),
    ]
    asked = {"kind": "ranking", "margin": 0.0}
    order: list[Curve] = [{"variant": name} for name in "abc"]
    (outcome,) = checks.compare(asked, Curves(SNR, points), order, [])
    assert outcome.holds is None


def test_zero_below_is_zero_below_and_more_from_there_on() -> None:
    def holds(curves: list[FigurePoint], below: float, **more: Any) -> list[bool | None]:
        asked = {"kind": "zero-below", "below": below} | more
        return [outcome.holds for outcome in checks.compare(asked, Curves(SNR, curves), [A], [])]

    starts_at_10 = rising("a", 10)  # goodput is 0 at 0, 5 and 10 dB, 0.2 at 15 dB
    assert holds(starts_at_10, 12.0) == [True] * 7
    assert holds(starts_at_10, 20.0) == [True, True, True, False, True, True, True]
    assert holds(starts_at_10, 7.0) == [True, True, False, True, True, True, True]
    assert holds(starts_at_10, 12.0, snr_db=[0.0, 5.0]) == [True, True]
    assert holds(starts_at_10, 20.0, tolerance=0.25) == [True] * 7
    assert holds(curve("a", {0.0: [0.0, 0.1]}, SNR), 5.0) == [None]
    # A curve that is 0 on the whole axis is not "zero below 20 dB".
    assert holds(rising("a", 40), 20.0) == [True] * 4 + [False] * 3


def test_exact_values_have_no_interval() -> None:
    exact = Curves(
        P_E, [FigurePoint(point.columns, Sample.exact(point.sample.values[0])) for point in SAMPLES.points]
    )
    outcomes = checks.compare(check("above", (0.0, 1.0), margin=0.05), exact, [A], [B])
    assert [(outcome.holds, outcome.ci95) for outcome in outcomes] == [
        (True, 0.0),
        (False, 0.0),
        (False, 0.0),
    ]


def difference(value: float, ci95: float = 0.1) -> list[Difference]:
    return [Difference("here", value, ci95)]


@pytest.mark.parametrize(
    ("value", "is_below", "is_apart"),
    [(0.5, True, False), (0.95, None, None), (1.5, False, True), (-1.5, True, True), (-1.05, True, None)],
)
def test_below_and_apart(value: float, is_below: bool | None, is_apart: bool | None) -> None:
    (below,), (apart,) = checks.below(difference(value), 1.0), checks.apart(difference(value), 1.0)
    assert (below.value, below.holds) == (value, is_below)
    assert (apart.value, apart.holds) == (value, is_apart)


def test_a_verdict_always_says_how_many_points_cannot_tell() -> None:
    sure, unsure = (Outcome("here", 1.0, 0.1, holds, 0.0) for holds in (True, None))
    verdict = Verdict("", "", "", "", "", "since", "", [sure, sure, unsure])
    assert str(verdict).startswith("2 of 3 points, 1 undecided; worst: ")
    assert str(Verdict("", "", "", "", "", "since", "", [sure])).startswith("1 of 1 points, 0 undecided; ")
    assert verdicts.verdict_table([verdict]).records()[0]["why"] == "since"


def test_what_is_too_small_to_be_seen_speaks_for_neither_side() -> None:
    asked = check("above", (0.0, 1.0), margin=0.0, visible=0.11)
    # 0.103 ± 0.014, 0.0 ± 0.025 and -0.103 ± 0.014: an interval that reaches 0.11 may be seen.
    assert [one.holds for one in checks.compare(asked, SAMPLES, [A], [B])] == [True, None, False]
    asked["visible"] = 0.12
    outcomes = checks.compare(asked, SAMPLES, [A], [B])
    assert [(one.holds, one.silent) for one in outcomes] == [(None, "cannot be seen")] * 3
    apart = checks.apart(difference(0.5), 0.1, visible=0.7)
    assert [(one.holds, one.silent) for one in apart] == [(None, "cannot be seen")]


def outcome(holds: bool | None, silent: Silence = "undecided") -> Outcome:
    return Outcome("here", 1.0, 0.1, holds, 0.0, silent)


@pytest.mark.parametrize(
    ("yes", "no", "unseen", "undecided", "nothing", "verdict"),
    [
        (5, 0, 5, 0, 0, "holds"),
        (4, 0, 5, 0, 0, "cannot be seen"),
        (4, 4, 1, 0, 0, "holds partly"),
        (9, 0, 5, 1, 0, "holds"),
        (8, 0, 5, 1, 0, "undecided"),
        (1, 0, 2, 2, 0, "undecided"),
        (1, 0, 0, 0, 9, "holds"),
        (0, 1, 0, 0, 9, "does not hold"),
        (0, 0, 0, 0, 3, "nothing to tell"),
        (0, 0, 0, 0, 0, "not judged"),
    ],
)
def test_points_that_do_not_tell_count_by_their_reason(
    yes: int, no: int, unseen: int, undecided: int, nothing: int, verdict: str
) -> None:
    outcomes = [outcome(True)] * yes + [outcome(False)] * no + [outcome(None, "cannot be seen")] * unseen
    outcomes += [outcome(None)] * undecided + [outcome(None, "nothing to tell")] * nothing
    found = Verdict("", "", "", "", "", "", "", outcomes)
    assert found.verdict == verdict
    assert (found.holding, found.failing, found.unseen, found.undecided) == (yes, no, unseen, undecided)
    assert found.points == len(outcomes) - nothing


def test_nothing_is_not_more_than_nothing() -> None:
    nothing = Curves(P_E, [*curve("a", {0.1: [0.0, 0.0]}), *curve("b", {0.1: [0.0, 0.0]})])
    kinds: list[dict[str, Any]] = [
        {"kind": "above", "margin": 0.0},
        {"kind": "below", "margin": 0.0, "relative": True},
        {"kind": "apart", "margin": 0.1},
        {"kind": "within", "tolerance": 0.1, "relative": True},
    ]
    for asked in kinds:
        (found,) = checks.compare(asked, nothing, [A], [B])
        assert (found.holds, found.silent) == (None, "nothing to tell")
    # A single curve at 0 is a result, since it is not compared with another one at 0.
    (alone,) = checks.compare({"kind": "below", "margin": 0.0}, nothing, [A], [])
    assert alone.holds
    # A difference relative to 0 is infinite.
    of_nothing = Curves(P_E, [*curve("a", {0.1: [1.0, 1.0]}), *curve("b", {0.1: [0.0, 0.0]})])
    (found,) = checks.compare({"kind": "above", "margin": 0.1, "relative": True}, of_nothing, [A], [B])
    assert (found.value, found.holds) == (float("inf"), True)


def crossing(one: dict[float, list[float]], between: tuple[float, float] = (0.01, 10.0)) -> Outcome:
    """Outcome of the check that a curve crosses another one that is 0 everywhere."""
    flat = {x: [0.0] * len(runs) for x, runs in one.items()}
    curves = Curves(P_E, [*curve("a", one), *curve("b", flat)])
    (found,) = checks.compare({"kind": "crosses", "between": between}, curves, [A], [B])
    return found


# Two runs each: the half-width is 12.7062 times half their difference; for two simultaneous places, 25.4519
# times.
UP, DOWN, BARELY = [0.99, 1.01], [-1.01, -0.99], [-1.05, -0.95]


def test_a_crossing_counts_where_both_sides_are_significant() -> None:
    assert crossing({0.1: UP, 1.0: DOWN}).holds is True
    # The mean of 1 exceeds 0.05 * 12.7, but not 0.05 * 25.5.
    unsure = crossing({0.1: UP, 1.0: BARELY})
    assert (unsure.holds, unsure.where) == (None, "all points: a crossing is not significant on both sides")
    # A crossing is possible only between 0.1 and 1.
    assert crossing({0.1: UP, 1.0: BARELY}, (0.01, 0.05)).holds is False
    assert crossing({0.1: UP, 1.0: UP}).holds is False
    assert crossing({0.1: BARELY, 1.0: BARELY}).holds is None
    assert crossing({0.1: DOWN, 1.0: UP}).holds is False
    assert crossing({0.1: UP, 1.0: DOWN, 10.0: UP}).holds is False


def test_some_place_is_enough_where_it_is_said() -> None:
    def some(kind: str, margin: float, places: tuple[float, float] = (0.0, 1.0)) -> Outcome:
        asked = check(kind, places, margin=margin) | {"some": True}
        (found,) = checks.compare(asked, SAMPLES, [A], [B])
        return found

    assert (some("above", 0.0).holds, some("above", 0.0).where) == (True, "p_e 0.01")
    # For three simultaneous places, t(2) is 7.649 in place of 4.303.
    assert some("above", 0.0).ci95 == pytest.approx(7.6488 * 0.01 / 3, rel=1e-3)
    assert some("above", 0.0, (0.5, 1.0)).holds is False
    assert some("above", 0.12).holds is None
    assert some("above", 0.5).holds is False


def test_a_shift_without_a_level_is_looked_at_over_the_link() -> None:
    curves = Curves(SNR, [*rising("a", 5), *rising("b", 0)])
    outcomes = checks.compare({"kind": "shift", "link": 1.0, "between": [4.0, 6.0]}, curves, [A], [B])
    assert [one.where for one in outcomes] == [f"{share} % of the link" for share in (10, 30, 50, 70, 90)]
    assert [one.value for one in outcomes] == pytest.approx([5.0] * 5)
    (at_15,) = checks.compare({"kind": "shift", "at": [15], "between": [4.0, 6.0]}, curves, [A], [B])
    assert at_15.where == "snr_db 15 of the second"
    assert at_15.value == pytest.approx(5.0)
