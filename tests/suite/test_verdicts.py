"""Verdicts of suites by hand: intervals, limits, lower bounds, ratios, recovery times."""

from __future__ import annotations

import math

import pytest

from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.suite.controls import Control, read_controls
from crossfade.suite.targets import read_target
from crossfade.suite.timeline import Timeline
from crossfade.suite.verdicts import judge, quotient, worst_of


def most(limit: object, **more: object) -> dict[str, object]:
    return {"metric": "completion_time_s", "at_most": limit, "why": "ours", **more}


def runs(*values: float) -> Sample:
    return Sample(dict(enumerate(values)))


def test_by_hand() -> None:
    # The half-width is Student's quantile for 3 degrees of freedom, 3.182, times the standard error of 1, 2,
    # 3, 4, 0.6455.
    for limit, verdict in (
        (4.6, "pass"),
        (4.5, "too close to call"),
        (0.5, "too close to call"),
        (0.4, "fail"),
    ):
        found = judge(runs(1.0, 2.0, 3.0, 4.0), read_target(most(limit)), 0.95, 4)
        assert found.verdict == verdict, limit
        assert found.value == 2.5
        assert found.half is not None
        assert math.isclose(found.half, 2.0542, rel_tol=1e-3)
        assert found.worst_run == 3


def test_the_other_side() -> None:
    least = read_target({"metric": "goodput_bps", "at_least": "9 Mbit/s", "why": "ours"})
    assert judge(runs(9.4e6, 9.5e6, 9.6e6), least, 0.95, 3).verdict == "pass"
    assert judge(runs(8.4e6, 8.5e6, 8.6e6), least, 0.95, 3).verdict == "fail"
    assert judge(runs(8.4e6, 8.5e6, 8.6e6), least, 0.95, 3).worst_run == 0


def test_all_runs_equal() -> None:
    assert judge(runs(2.0, 2.0), read_target(most(2)), 0.95, 2).verdict == "pass"
    assert judge(runs(2.0, 2.0), read_target(most(1.9)), 0.95, 2).verdict == "fail"


def test_a_single_run_tells_nothing() -> None:
    found = judge(runs(1.0), read_target(most(9)), 0.95, 1)
    assert (found.verdict, found.half) == ("too close to call", None)
    assert "single run" in found.note


def test_what_is_not_finished_can_fail_and_not_pass() -> None:
    bound = Sample({0: 3.0, 1: 3.1, 2: 3.0}, unfinished=frozenset({1}))
    assert judge(bound, read_target(most(9)), 0.95, 3).verdict == "too close to call"
    assert judge(bound, read_target(most(2)), 0.95, 3).verdict == "fail"
    assert "lower bound" in judge(bound, read_target(most(2)), 0.95, 3).note


def test_undefined() -> None:
    assert judge(Sample({}), read_target(most(9)), 0.95, 3).verdict == "fail"
    assert "not defined in 1 of 3 runs" in judge(runs(1.0, 1.1), read_target(most(9)), 0.95, 3).note


def test_quotients_are_of_the_runs_that_both_have() -> None:
    of = Sample({0: 4.0, 1: 9.0, 2: 5.0})
    by = Sample({0: 2.0, 1: 3.0, 3: 7.0})
    assert dict(quotient(of, by).values) == {0: 2.0, 1: 3.0}
    # A lower bound such as "at least 3" cannot be a divisor.
    assert dict(quotient(of, Sample({0: 2.0, 1: 3.0}, unfinished=frozenset({1}))).values) == {0: 2.0}


def test_the_worst_of_several() -> None:
    assert worst_of(["pass", "too close to call"]) == "too close to call"
    assert worst_of(["too close to call", "fail", "pass"]) == "fail"
    assert worst_of(["pass", "pass"]) == "pass"


LINE = Timeline({"goodput_bps": [(0.5, 8e6), (1.0, 8e6), (1.5, 0.0), (2.0, 1e6), (2.5, 9e6), (3.0, 7e6)]})


@pytest.mark.parametrize(
    ("after", "level", "value"), [("1 s", "8 Mbit/s", 1.5), ("1.2 s", "0.5 Mbit/s", 0.8)]
)
def test_recovery(after: str, level: str, value: float) -> None:
    target = read_target(most("2 s", metric="recovery_s", after=after, level=level))
    found, is_bound = LINE.value(target)
    assert math.isclose(found, value)
    assert not is_bound


def test_a_time_of_recovery_that_equals_its_limit_keeps_to_it() -> None:
    """A recovery time equal to its limit meets it: 92 samples of 0.1 s less 7 s are exactly 2.2 s, without
    rounding errors.
    """
    target = read_target(most("2.2 s", metric="recovery_s", after="7 s", level="8 Mbit/s"))
    line = Timeline({"goodput_bps": [(n * 0.1, 8e6 if n == 92 else 0.0) for n in range(1, 100)]})
    assert line.value(target) == (target.limit, False)


def test_no_recovery_is_a_lower_bound() -> None:
    target = read_target(most("2 s", metric="recovery_s", after="1 s", level="10 Mbit/s"))
    assert LINE.value(target) == (2.0, True)


def test_means_over_a_stretch() -> None:
    target = read_target(
        {
            "metric": "goodput_bps",
            "at_least": "1 bit/s",
            "from": "1 s",
            "to": "2.5 s",
            "every": "500 ms",
            "why": "w",
        }
    )
    # Samples at 1.5, 2.0 and 2.5 s cover the time from 1 s to 2.5 s.
    found, _ = LINE.value(target)
    assert math.isclose(found, 10e6 / 3)
    with pytest.raises(ScenarioError, match="samples have goodput_bps"):
        LINE.value(
            read_target({"metric": "x.goodput_bps", "at_least": 1, "from": "1 s", "to": "2 s", "why": "w"})
        )


def test_controls() -> None:
    assert [control.name for control in read_controls("cubic, mine.rs")] == ["cubic", "mine.rs"]
    keys = ["flows.main.tcp.congestion"]
    assert Control("bbr-v3").keys(keys) == {"flows.main.tcp.congestion": "bbr-v3"}
    quic = Control("quic:bbr-v1").keys(["tcp.congestion"])
    assert quic["tcp.flavour"] == "quic"
    assert quic["tcp.congestion"] == "bbr-v1"
    for wrong in ("", "cubic,", "cubic,cubic"):
        with pytest.raises(ScenarioError, match="control"):
            read_controls(wrong)
