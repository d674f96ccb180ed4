"""The first choice within a share of the best (``within``): by hand, and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import crossfade as cf
from crossfade.results.results import Results
from tests.comparison.synthetic import results
from tests.conftest import Cli, expect_one_line


def retries() -> Results:
    """Goodput with 0, 1 and 2 retransmissions at three places: x = 0 (bad), 1 and 2 (good)."""
    values = {0: (50.0, 98.5, 100.0), 1: (90.0, 99.0, 100.0), 2: (100.0, 100.0, 100.0)}
    points = {
        (str(tries), place): {"goodput_bps": value}
        for tries, of in values.items()
        for place, value in enumerate(of)
    }
    return results("tries x", points)


def test_the_first_within_2_percent_and_where_it_changes() -> None:
    found = cf.best(retries(), "tries", within="2%")
    assert [(at.choice, at.verdict) for at in found.decisions] == [
        ({"tries": "2"}, "within"),
        ({"tries": "0"}, "within"),
        ({"tries": "0"}, "within"),
    ]
    first, middle, _ = found.decisions
    assert (first.runner_up, first.margin) == (None, None)
    assert (middle.runner_up, middle.margin) == ("2", -1.5)
    # The slack without retransmissions is 50 - 98 = -48 at 0 and 98.5 - 98 = 0.5 at 1, so it is 0 at 48 /
    # 48.5.
    assert [(at.choice, at.because) for at in found.ranges] == [
        ({"tries": "2"}, "goodput_bps"),
        ({"tries": "0"}, ""),
    ]
    assert found.ranges[0].end == pytest.approx(48.0 / 48.5)
    assert (found.ranges[0].end_low, found.ranges[0].end_high) == pytest.approx((48.0 / 48.5,) * 2)
    # 1 % is stricter, 0 % requires the best value; at the good place all three are equal.
    assert [at.choice for at in cf.best(retries(), "tries", within=0.01).decisions] == [
        {"tries": "2"},
        {"tries": "1"},
        {"tries": "0"},
    ]
    assert [at.choice for at in cf.best(retries(), "tries", within="0%").decisions] == [
        {"tries": "2"},
        {"tries": "2"},
        {"tries": "0"},
    ]


def test_what_cannot_be_told_from_the_limit_is_a_rival() -> None:
    # With 0 tries, the runs are 1 below and 1 above the limit of 98.
    runs = {"0": [97.0, 99.0], "1": [99.0, 99.2], "2": [100.0, 100.0]}
    made = results("tries", {tries: {"goodput_bps": values} for tries, values in runs.items()})
    (at,) = cf.best(made, "tries", within="2%").decisions
    assert (at.choice, at.verdict, at.rivals) == ({"tries": "0"}, "too close to call", ["2"])
    runs["0"] = [97.0, 98.8]
    made = results("tries", {tries: {"goodput_bps": values} for tries, values in runs.items()})
    (at,) = cf.best(made, "tries", within="2%").decisions
    # The mean is now 97.9: below the limit, but not significantly.
    assert (at.choice, at.verdict, at.rivals) == ({"tries": "1"}, "too close to call", ["0", "2"])


def test_the_lowest_is_within_a_share_above_it() -> None:
    points = {tries: {"rtt_mean_s": value} for tries, value in {"0": 1.03, "1": 1.01, "2": 1.0}.items()}
    (at,) = cf.best(results("tries", points), "tries", metric="rtt_mean_s", within="2%").decisions
    assert at.choice == {"tries": "1"}


def test_where_nothing_arrives_the_first_will_do() -> None:
    points = {tries: {"goodput_bps": 0.0} for tries in ("0", "1")}
    (at,) = cf.best(results("tries", points), "tries", within="2%").decisions
    assert (at.choice, at.value) == ({"tries": "0"}, 0.0)


def test_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "radio.toml"
    scenario.write_text(
        """
        schema = 2
        run = { duration = "5 s", runs = 6 }
        channel = { model = "iid", p_e = 0.3 }
        tcp = { variant = "sack", w_max = 40 }
        [link]
        rate = "2 Mbit/s"
        delay = "5 ms"
        packet_size = "1500 B"
        frame_size = "1500 B"
        arq = { protocol = "selective-repeat" }
        [sweep]
        "link.arq.max_retransmissions" = [0, 1, 8]
        "channel.p_e" = [0.00001, 0.3]
        """
    )
    asked = ["best", scenario, "--choose", "link.arq.max_retransmissions"]
    found = cli(*asked, "--within", "2%")
    assert found.code == 0, found.err
    assert "first choice within 2 % of the highest goodput_bps" in found.out
    rows = [line.split() for line in found.out.splitlines()]
    assert [row[:2] for row in rows if row and row[0] in ("1e-05", "0.3")][:2] == [
        ["1e-05", "0"],
        ["0.3", "8"],
    ]
    for share in ("2", "-1%", "100%", "many", "%"):
        expect_one_line(cli(*asked, "--within", share), f"within {share}: must be a share below 100 %")
