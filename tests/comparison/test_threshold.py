"""Thresholds: values of a key at which a metric reaches a level."""

from __future__ import annotations

import doctest
import sys

import pytest

import crossfade as cf

LINK = """
schema = 1
channel = { model = "iid", p_e = 0.01 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "newreno", w_max = 1, rto = { fixed = "100 slots" } }
"""


def find(**options: object) -> tuple[float, cf.store.Point]:
    usual = {"metric": "throughput_per_slot", "level": 0.5, "key": "channel.p_e", "between": (0.001, 0.5)}
    return cf.curves.threshold(LINK, **(usual | options))  # type: ignore[arg-type]


def test_a_window_of_one_is_stop_and_wait() -> None:
    # A loss takes 100 slots and a success one: the throughput (1 - p) / (1 + 99 p) is 1/2 at p = 1/101.
    p_e, point = find()
    assert p_e == pytest.approx(1.0 / 101.0, abs=1e-6)
    assert point.value("throughput_per_slot") == pytest.approx(0.5, abs=1e-4)
    assert find(between=(0.5, 0.001))[0] == pytest.approx(p_e, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"between": (0.1, 0.5)}, "throughput_per_slot = 0.5: is not reached"),
        ({"metric": "speed"}, 'metric = "speed": no metric of method analysis'),
        ({"method": "simulation"}, "must be one without randomness"),
        ({"method": "live"}, "method live: the kernel"),
        ({"key": "channel.p"}, "channel.p: unknown key"),
        ({"set": {"tcp.gate": "queue"}}, "the analysis assumes"),
    ],
)
def test_what_has_no_threshold_is_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(cf.errors.ScenarioError, match=message) as caught:
        find(**options)
    assert "\n" not in str(caught.value)


def test_the_example_is_right() -> None:
    assert doctest.testmod(sys.modules["crossfade.comparison.threshold"]).failed == 0
