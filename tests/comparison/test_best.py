"""The best choice: results by hand, comparison with brute force, and the command line."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossfade as cf
from crossfade.results.results import Results
from tests.comparison.synthetic import Values, results
from tests.conftest import SWEEP, Cli, expect_one_line


def along(xs: list[float], **curves: Callable[[float], Values | float]) -> Results:
    """Results over ``tcp`` and ``x``, from one function of x for each value of ``tcp``."""
    points: dict[Any, Values] = {}
    for tcp, curve in curves.items():
        for x in xs:
            found = curve(x)
            points[tcp, x] = found if isinstance(found, Mapping) else {"goodput_bps": found}
    return results("tcp x", points)


def ranges(found: cf.curves.Best) -> list[Any]:
    return [(at.start, at.end, None if at.choice is None else at.choice["tcp"]) for at in found.ranges]


def test_two_lines_switch_where_they_cross() -> None:
    found = cf.best(along([0.0, 1.0], up=lambda x: x, down=lambda x: 1.0 - x), "tcp")
    assert ranges(found) == [(0.0, 0.5, "down"), (0.5, 1.0, "up")]
    first, last = found.ranges
    assert (first.end_low, first.end_high, first.because) == (0.5, 0.5, "goodput_bps")
    assert (last.end_low, last.end_high, last.because) == (None, None, "")
    assert [(at.choice, at.verdict, at.margin, at.runner_up) for at in found.decisions] == [
        ({"tcp": "down"}, "best", 1.0, "up"),
        ({"tcp": "up"}, "best", 1.0, "down"),
    ]


def test_the_lowest_is_the_highest_of_the_negative() -> None:
    found = cf.best(along([0.0, 1.0], up=lambda x: x, down=lambda x: 1.0 - x), "tcp", lowest=True)
    assert ranges(found) == [(0.0, 0.5, "up"), (0.5, 1.0, "down")]
    assert [(at.value, at.margin) for at in found.decisions] == [(0.0, 1.0)] * 2


def test_a_third_choice_may_win_between_two_values_of_the_axis() -> None:
    found = cf.best(along([0.0, 1.0], up=lambda x: x, down=lambda x: 1.0 - x, even=lambda _: 0.75), "tcp")
    assert ranges(found) == [(0.0, 0.25, "down"), (0.25, 0.75, "even"), (0.75, 1.0, "up")]


def noisy(mean: float, noise: float = 0.001) -> dict[str, list[float]]:
    return {"goodput_bps": [mean - noise, mean, mean + noise]}


def jittered(mean: float, noise: float) -> dict[str, list[float]]:
    """Runs whose noise has the opposite sign of that of `noisy`, so that paired differences scatter."""
    return {"goodput_bps": [mean + noise, mean, mean - noise]}


def test_what_the_runs_share_does_not_blur_the_decision() -> None:
    made = along([0.0, 1.0], up=lambda x: noisy(x, noise=9.0), down=lambda x: noisy(1.0 - x, noise=9.0))
    found = cf.best(made, "tcp")
    assert [at.verdict for at in found.decisions] == ["best", "best"]
    assert found.ranges[0].end == pytest.approx(0.5)
    assert found.ranges[0].end_low == pytest.approx(0.5)
    (first, _) = found.decisions
    assert first.ci95 == pytest.approx(9.0 * 4.302653 / 3**0.5, rel=1e-6)
    assert first.margin_ci95 == pytest.approx(0.0, abs=1e-9)


def test_a_switch_has_the_interval_of_the_crossing() -> None:
    made = along([0.0, 1.0], up=lambda x: noisy(x, 0.01), down=lambda x: jittered(1.0 - x, 0.01))
    found = cf.best(made, "tcp")
    # The difference is 2 x - 1, with a standard deviation of 0.02 at both ends.
    width = 4.302653 * 0.02 / 3**0.5 / 2.0
    assert ranges(found)[0] == (0.0, pytest.approx(0.5), "down")
    assert (found.ranges[0].end_low, found.ranges[0].end_high) == pytest.approx((0.5 - width, 0.5 + width))


def test_nothing_changes_that_the_runs_do_not_ask_for() -> None:
    """In the middle b has the higher mean, but not significantly, so a stays; at the end b is significantly
    better.
    """
    heights = {0.0: -5.0, 1.0: -2.0, 2.0: 0.01, 3.0: -2.0, 4.0: 5.0}
    made = along(list(heights), a=lambda _: noisy(0.0, 0.1), b=lambda x: jittered(heights[x], 0.1))
    found = cf.best(made, "tcp")
    assert [at.verdict for at in found.decisions] == ["best", "best", "too close to call", "best", "best"]
    assert (found.decisions[2].choice, found.decisions[2].rivals) == ({"tcp": "b"}, ["a"])
    (first, last) = ranges(found)
    assert first == (0.0, pytest.approx(3.0 + 2.0 / 7.0), "a")
    assert last[2] == "b"


def test_all_that_cannot_be_told_from_the_best_are_named() -> None:
    made = results(
        "tcp",
        {
            "a": noisy(1.0, 0.1),
            "b": jittered(0.99, 0.1),
            "c": jittered(0.98, 0.2),
            "d": jittered(0.1, 0.1),
        },
    )
    (decision,) = cf.best(made, "tcp").decisions
    assert (decision.verdict, decision.rivals) == ("too close to call", ["b", "c"])
    assert decision.runner_up == "b"
    assert decision.margin == pytest.approx(0.01)


@pytest.mark.parametrize("value", [0.0, 5e6])
def test_what_is_the_same_in_every_run_is_equal(value: float) -> None:
    """Choices with equal values in every run are "equal", not "too close to call": more runs would not
    separate them.
    """
    same = {"goodput_bps": [value] * 3}
    found = cf.best(results("tcp", {"a": same, "b": same, "c": {"goodput_bps": [-1.0] * 3}}), "tcp")
    (decision,) = found.decisions
    assert (decision.choice, decision.verdict, decision.rivals) == ({"tcp": "a"}, "equal", ["b"])
    assert (decision.margin, decision.margin_ci95) == (0.0, 0.0)
    scattered = {"goodput_bps": [value - 1.0, value, value + 1.0]}
    found = cf.best(results("tcp", {"a": same, "b": same, "c": scattered}), "tcp")
    assert found.decisions[0].verdict == "too close to call"


def test_a_single_run_decides_nothing() -> None:
    (decision,) = cf.best(
        results("tcp", {"a": {"goodput_bps": [1.0]}, "b": {"goodput_bps": [5.0]}}), "tcp"
    ).decisions
    assert (decision.choice, decision.verdict, decision.rivals) == ({"tcp": "b"}, "too close to call", ["a"])
    assert (decision.margin, decision.margin_ci95) == (4.0, None)


def bounded(goodput: float, rtt: list[float]) -> Values:
    return {"goodput_bps": [goodput - 0.1, goodput, goodput + 0.1], "rtt_p95_s": rtt}


RTT = {
    "surely": [0.1, 0.2, 0.3],
    "perhaps": [0.5, 0.7, 0.9],
    "perhaps not": [0.6, 1.0, 1.4],
    "not": [2.0, 2.1, 2.2],
}


@pytest.mark.parametrize(
    ("rtts", "chosen", "verdict", "rivals", "uncertain"),
    [
        # Goodput of a is 3, of b 2, of c 1.
        (["surely", "surely", "surely"], "a", "best", [], []),
        (["not", "surely", "surely"], "b", "best", [], []),
        (["not", "not", "surely"], "c", "best", [], []),
        (["not", "not", "not"], None, "no feasible choice", [], []),
        (["not", "perhaps not", "not"], None, "no feasible choice", ["b (if rtt_p95_s<0.8)"], []),
        (["perhaps", "surely", "surely"], "a", "constraint uncertain", [], ["rtt_p95_s<0.8"]),
        (["perhaps not", "surely", "surely"], "b", "too close to call", ["a (if rtt_p95_s<0.8)"], []),
        (["surely", "perhaps", "perhaps not"], "a", "best", [], []),
    ],
)
def test_constraints(
    rtts: list[str], chosen: str | None, verdict: str, rivals: list[str], uncertain: list[str]
) -> None:
    made = results(
        "tcp", {tcp: bounded(3.0 - n, RTT[rtt]) for n, (tcp, rtt) in enumerate(zip("abc", rtts, strict=True))}
    )
    (decision,) = cf.best(made, "tcp", subject_to=["rtt_p95_s<0.8"]).decisions
    assert decision.choice == (None if chosen is None else {"tcp": chosen})
    assert (decision.verdict, decision.rivals, decision.uncertain) == (verdict, rivals, uncertain)


def test_a_constraint_makes_a_switch_where_it_reaches_its_limit() -> None:
    made = along(
        [0.0, 1.0],
        fast=lambda x: {"goodput_bps": 2.0, "rtt_p95_s": x},
        slow=lambda x: {"goodput_bps": 1.0, "rtt_p95_s": x / 2.0},
    )
    found = cf.best(made, "tcp", subject_to=["rtt_p95_s < 0.3"])
    assert ranges(found) == [
        (0.0, pytest.approx(0.3), "fast"),
        (pytest.approx(0.3), pytest.approx(0.6), "slow"),
        (pytest.approx(0.6), 1.0, None),
    ]
    assert [at.because for at in found.ranges] == ["rtt_p95_s<0.3", "rtt_p95_s<0.3", ""]
    assert found.ranges[0].end_low == pytest.approx(0.3)


def test_limits_that_may_be_reached_and_limits_that_may_not() -> None:
    made = results(
        "tcp", {"a": {"goodput_bps": 2.0, "timeouts": 0.0}, "b": {"goodput_bps": 1.0, "timeouts": 1.0}}
    )

    def chosen(limit: str) -> Any:
        return (cf.best(made, "tcp", subject_to=[limit]).decisions[0].choice or {}).get("tcp")

    expected = {
        "timeouts<=0": "a",
        "timeouts<0": None,
        "timeouts>=1": "b",
        "timeouts > 0": "b",
        "timeouts>1": None,
    }
    assert {limit: chosen(limit) for limit in expected} == expected


def test_what_has_no_value_is_no_choice() -> None:
    made = results(
        "tcp",
        {"a": {"goodput_bps": 1.0}, "b": {"rtt_p95_s": 1.0}, "c": {"goodput_bps": 3.0, "rtt_p95_s": 9.0}},
    )
    (decision,) = cf.best(made, "tcp").decisions
    assert (decision.choice, decision.runner_up) == ({"tcp": "c"}, "a")
    (decision,) = cf.best(made, "tcp", subject_to=["rtt_p95_s<5"]).decisions
    assert (decision.choice, decision.verdict) == (None, "no feasible choice")


HEIGHTS = st.lists(st.integers(-20, 20), min_size=4, max_size=4)


@given(st.lists(HEIGHTS, min_size=2, max_size=5), st.lists(st.floats(0.0, 3.0), min_size=1, max_size=20))
def test_of_exact_curves_the_highest_is_used_everywhere(curves: list[list[int]], places: list[float]) -> None:
    points = {(tcp, x): {"goodput_bps": float(y)} for tcp, ys in enumerate(curves) for x, y in enumerate(ys)}
    found = cf.best(results("tcp x", points), "tcp")
    assert found.ranges[0].start == 0.0
    assert found.ranges[-1].end == 3.0
    for left, right in zip(found.ranges, found.ranges[1:], strict=False):
        assert left.end == right.start
        assert left.choice != right.choice
    for place in places:
        (used, *_) = [at.choice for at in found.ranges if at.start <= place <= at.end]
        at = min(int(place), 2)
        heights = [(1.0 - place + at) * ys[at] + (place - at) * ys[at + 1] for ys in curves]
        assert used is not None
        assert heights[int(str(used["tcp"]))] == pytest.approx(max(heights), abs=1e-9)


NOISE = st.lists(st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4), min_size=3, max_size=3)


@given(st.lists(NOISE, min_size=2, max_size=3))
def test_nowhere_is_a_choice_used_that_is_clearly_worse(curves: list[list[list[float]]]) -> None:
    points = {
        (tcp, x): {"goodput_bps": runs} for tcp, nodes in enumerate(curves) for x, runs in enumerate(nodes)
    }
    made = results("tcp x", points)
    found = cf.best(made, "tcp")
    for decision in found.decisions:
        x = float(str(decision.condition["x"]))
        used = [at.choice for at in found.ranges if at.start <= x <= at.end]
        sure = decision.verdict == "best"
        # At a value of the axis where one range ends and the next begins, either choice is allowed.
        if sure and len(used) == 1:
            assert used == [decision.choice]


def test_with_a_precision_choices_are_compared_over_common_runs() -> None:
    made = results("tcp", {"a": {"goodput_bps": [1.0, 2.0]}, "b": {"goodput_bps": [1.5, 2.4, -90.0, -90.0]}})
    (decision,) = cf.best(made, "tcp").decisions
    assert decision.choice == {"tcp": "b"}
    assert decision.value == pytest.approx(1.95)
    assert decision.margin == pytest.approx(0.45)


def test_simulation_decides_unless_another_method_is_asked_for() -> None:
    exact = cf.best(SWEEP, "tcp.variant", method="analysis")
    assert (exact.method, exact.decisions[0].ci95) == ("analysis:exact", None)
    text = SWEEP.replace("schema = 1", 'schema = 1\nmethods = ["analysis", "simulation"]')
    assert cf.best(text, "tcp.variant", runs=3).method == "simulation"
    both = cf.run(text, runs=3)
    assert cf.best(both, "tcp.variant").method == "simulation"
    assert cf.best(both, "tcp.variant", method="analysis").decisions == exact.decisions
    assert cf.best(text.replace(', "simulation"', ""), "tcp.variant").method == "analysis:exact"


def test_tables_hold_what_was_found(cli: Cli, sweep: Path) -> None:
    arguments = [
        "best",
        sweep,
        "--choose",
        "tcp.variant",
        "--over",
        "channel.p_e=0.01,0.1,0.3",
        "--runs",
        "5",
    ]
    found = cf.best(sweep, "tcp.variant", over={"channel.p_e": [0.01, 0.1, 0.3]}, runs=5)
    rows = list(csv.DictReader(io.StringIO(cli(*arguments, "--csv", "-").out)))
    assert [row["tcp.variant"] for row in rows] == [
        (at.choice or {})["tcp.variant"] for at in found.decisions
    ]
    assert float(rows[0]["goodput_bps"]) == found.decisions[0].value
    assert {
        "channel.p_e",
        "goodput_bps_ci95",
        "runner_up",
        "margin",
        "margin_ci95",
        "verdict",
        "rivals",
    } < set(rows[0])
    switching = list(csv.DictReader(io.StringIO(cli(*arguments, "--switching", "--csv", "-").out)))
    expected = ["axis", "unit", "from", "to", "tcp.variant", "to_low", "to_high", "because"]
    assert list(switching[0]) == expected
    assert (float(switching[0]["from"]), float(switching[-1]["to"])) == (0.01, 0.3)
    read = json.loads(cli(*arguments, "--json").out)
    decisions, ranges = ([one for one in read if one["kind"] == kind] for kind in ("decision", "range"))
    assert [one["axes"] for one in decisions] == [at.condition for at in found.decisions]
    assert [one["choice"] for one in ranges] == [at.choice for at in found.ranges]
    text = cli(*arguments).out
    assert "highest goodput_bps in Mbit/s (simulation, mean ± 95 %)" in text
    assert "Along channel.p_e" in text


def test_an_adaptive_system_can_load_the_switching_table() -> None:
    """The example of docs/comparing.md: find the range in the JSON output, and use its choice."""
    made = along([0.0, 1.0], up=lambda x: x, down=lambda x: 1.0 - x)
    table = [one for one in json.loads(cf.best(made, "tcp").to_json()) if one["kind"] == "range"]

    def use(x: float) -> str:
        return next(at["choice"]["tcp"] for at in table if at["from"] <= x < at["to"])  # type: ignore[no-any-return]

    assert [use(x) for x in (0.0, 0.2, 0.6, 0.99)] == ["down", "down", "up", "up"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--choose", "tcp.varient"], ["choose tcp.varient", "not an axis", "tcp.variant"]),
        (["--choose", "tcp.variant", "--over", "tcp.variant=reno"], ["choose tcp.variant", "but one value"]),
        (["--choose", "tcp.variant", "--subject-to", "rtt_p95_s"], ["subject to rtt_p95_s", "METRIC<NUMBER"]),
        (["--choose", "tcp.variant", "--subject-to", "rtt_p95_s<fast"], ["rtt_p95_s<fast", "METRIC<NUMBER"]),
        (["--choose", "tcp.variant", "--subject-to", "rtt_p95_s<nan"], ["rtt_p95_s<nan", "METRIC<NUMBER"]),
        (["--choose", "tcp.variant", "--subject-to", "rtt_p95_s<1<2"], ["rtt_p95_s<1<2"]),
        (["--choose", "tcp.variant", "--subject-to", "rtt_95_s<1"], ["rtt_95_s", "did you mean rtt_p95_s?"]),
        (["--choose", "tcp.variant", "--metric", "speed"], ["metric speed", "goodput_bps"]),
        (["--choose", "tcp.variant", "--method", "magic"], ["magic"]),
        ([], ["--choose"]),
    ],
)
def test_what_has_no_best_is_one_line(cli: Cli, sweep: Path, arguments: list[str], parts: list[str]) -> None:
    expect_one_line(cli("best", sweep, *arguments), *parts)


def test_methods_that_results_lack_are_refused() -> None:
    made = results("tcp", {"a": {"goodput_bps": 1.0}, "b": {"goodput_bps": 2.0}})
    with pytest.raises(
        cf.errors.ScenarioError, match=r"method simulation: not in the results \(there are: analysis"
    ):
        cf.best(made, "tcp", method="simulation")


def test_the_example_is_right() -> None:
    assert doctest.testmod(sys.modules["crossfade.comparison.best"]).failed == 0


def test_the_metric_knows_its_better_side() -> None:
    points = {"fast": {"completion_time_s": [1.0, 1.1]}, "slow": {"completion_time_s": [5.0, 5.2]}}
    for lowest, choice in ((None, "fast"), (True, "fast"), (False, "slow")):
        (at,) = cf.best(results("tcp", points), "tcp", metric="completion_time_s", lowest=lowest).decisions
        assert at.choice == {"tcp": choice}
    with pytest.raises(cf.errors.ScenarioError, match=r"link_utilisation: neither .* --lowest or --highest"):
        cf.best(results("tcp", {"a": {"link_utilisation": [0.5, 0.6]}}), "tcp", metric="link_utilisation")


def test_the_same_runs_are_compared() -> None:
    # Over the two runs of "late" its mean is 2 and that of "whole" is 1; over all four runs "whole" has 5.
    points: dict[str, Values] = {
        "late": {"rtt_p95_s": [2.0, 2.0, None, None]},
        "whole": {"rtt_p95_s": [1.0, 1.0, 9.0, 9.0]},
    }
    found = cf.best(results("tcp", points), "tcp", metric="rtt_p95_s")
    assert found.decisions[0].choice == {"tcp": "whole"}
    assert any("rtt_p95_s is undefined in 2 of 4 runs of 1 of 2 points" in text for text in found.warnings)


WILD = """
schema = 2
run = { duration = "4 s", runs = 5 }
channel = { model = "markov", p_e = 0.1, mean_burst = 100 }
link = { rate = "1 Mbit/s", delay = "10 ms", packet_size = "1500 B" }
tcp = { variant = "sack", w_max = 50 }
[sweep]
"tcp.w_max" = [50, 40]
"""


@pytest.mark.parametrize("command", [["run"], ["best", "--choose", "tcp.w_max"]])
def test_no_table_has_an_interval_beyond_the_link(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    """No interval exceeds the link: 1448 of 1500 bytes at 1 Mbit/s are 965.3 kbit/s. Runs in which the flow
    stops make intervals wide.
    """
    scenario = tmp_path / "wild.toml"
    scenario.write_text(WILD)
    name, *options = command
    lines = cli(name, scenario, *options).out.splitlines()
    rows = [line for line in lines if re.match(r" +[45]0 ", line)]
    assert rows != []
    for line in rows:
        goodput = re.search(r"(\d+) \((\d+) to (\d+)\)", line)
        assert goodput is not None, line
        value, low, high = map(int, goodput.groups())
        assert 0 <= low < value < high == 965, line
