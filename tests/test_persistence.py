"""Statements of docs/persistence.md on the number of link retransmissions, with intervals."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.files import SCENARIOS
from tests.conftest import long_form

PAGE = Path(__file__).parents[1] / "docs" / "persistence.md"


@cache
def point(name: str, variant: str, channel: str, limit: int | str) -> cf.store.Point:
    """A point of a scenario by TCP variant, channel and limit of retransmissions.

    All ten runs are made: with six, the intervals of the delay's tail after 20 and after 100 retransmissions
    overlap.
    """
    with (SCENARIOS / f"{name}.toml").open("rb") as file:
        axes = tomllib.load(file)["sweep"]
    over = {
        "tcp": [table for table in axes["tcp"] if table["variant"] == variant],
        "channel": [table for table in axes["channel"] if table["model"] == channel],
        "link.arq.max_retransmissions": [limit],
    }
    (found,) = cf.run(name, over=over, cache=False).points
    return found


def slow(variant: str, channel: str, limit: int | str) -> cf.store.Point:
    return point("rlp-persistence", variant, channel, limit)


def fast(variant: str, channel: str, limit: int | str) -> cf.store.Point:
    return point("wifi-persistence", variant, channel, limit)


def ends(point: cf.store.Point, metric: str) -> tuple[float, float]:
    """Ends of the 95 % interval of a metric."""
    width = point.metrics[metric].ci95 or 0.0
    return point.value(metric) - width, point.value(metric) + width


def is_above(
    more: cf.store.Point, less: cf.store.Point, metric: str = "goodput_bps", factor: float = 1.0
) -> bool:
    """True if ``more`` exceeds ``factor`` times ``less``, intervals included."""
    return ends(more, metric)[0] > factor * ends(less, metric)[1]


@pytest.mark.parametrize("snrs", [[8], long_form([8, 14, 22])])
def test_the_smallest_sufficient_number_at_each_snr(tmp_path: Path, snrs: list[int]) -> None:
    """Some SNRs of the page's table, computed from the scenario on the page."""
    page = PAGE.read_text()
    (scenario,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "snr.toml").write_text(scenario)
    shipped = Path(cf.__file__).parent / "scenarios" / "own-bler.csv"
    (tmp_path / "own-bler.csv").write_text(shipped.read_text())
    said = {
        cells[0]: dict(zip(range(8, 23, 2), cells[1:], strict=True))
        for name in ("CUBIC", "BBRv1")
        for cells in [re.findall(r"[^| ]+", next(re.finditer(rf"^\| {name} .*$", page, re.MULTILINE))[0])]
    }
    found = cf.best(
        tmp_path / "snr.toml",
        "link.arq.max_retransmissions",
        within="2%",
        over={"channel.snr_db": snrs},
    )
    words = {"cubic": "CUBIC", "bbr-v1": "BBRv1"}
    assert len(found.decisions) == 2 * len(snrs)
    for at in found.decisions:
        row = said[words[str(at.condition["tcp.congestion"])]]
        snr = int(str(at.condition["channel.snr_db"]))
        assert str((at.choice or {})["link.arq.max_retransmissions"]) == row[snr], at


@pytest.mark.parametrize("name", ["rlp-persistence", "wifi-persistence"])
def test_the_page_shows_the_scenario(name: str) -> None:
    page = PAGE.read_text()
    assert f"crossfade run {name} " in page
    assert f"pictures/{name}.png" in page
    assert f"gallery/{name}.csv" in page


@pytest.mark.parametrize("variant", ["tahoe", long_form("sack")])
def test_on_a_slow_link_independent_losses_need_five_tries_and_no_more(variant: str) -> None:
    for fewer, more in [(1, 2), (2, 3), (3, 5)]:
        assert is_above(slow(variant, "iid", more), slow(variant, "iid", fewer))
    low, high = ends(slow(variant, "iid", 20), "goodput_bps")
    assert low < 1.01 * slow(variant, "iid", 5).value("goodput_bps")
    assert high < 7692.0
    for limit in (1, 2, 3):
        frames = ends(slow(variant, "iid", limit), "residual_frame_error_rate")
        assert frames[0] < 1.1 * 0.2 ** (limit + 1)
        assert frames[1] > 0.9 * 0.2 ** (limit + 1)


@pytest.mark.parametrize("variant", [long_form("tahoe"), "sack"])
def test_on_a_slow_link_a_single_try_does_far_more_in_fading(variant: str) -> None:
    assert is_above(slow(variant, "markov", 1), slow(variant, "iid", 1), factor=20.0)
    low, _ = ends(slow(variant, "markov", 3), "goodput_bps")
    assert low > 0.95 * slow(variant, "markov", 20).value("goodput_bps")


def test_on_a_slow_link_what_timeouts_remain_are_spurious() -> None:
    for limit in (5, 10, 20):
        point = slow("tahoe", "markov", limit)
        assert ends(point, "spurious_timeouts")[0] > 0.0
        assert point.value("spurious_timeouts") > 0.8 * point.value("timeouts")
        assert point.value("spurious_timeouts_detected") == 0.0, "flavour ns2 does not look"
    # Independent losses cause no long delays; with one retransmission, timeouts come from losses.
    assert slow("tahoe", "iid", 20).value("timeouts") == 0.0
    few = slow("tahoe", "iid", 1)
    assert few.value("timeouts") > 20.0
    assert few.value("spurious_timeouts") < 0.05 * few.value("timeouts")


# In the usual form the slow link has independent losses.
@pytest.mark.parametrize("variant", [long_form("reno"), long_form("sack")])
def test_on_a_fast_link_three_tries_do_against_independent_losses(variant: str) -> None:
    assert is_above(fast(variant, "iid", 2), fast(variant, "iid", 1), factor=1.5)
    assert fast(variant, "iid", 3).value("goodput_bps") > 0.99 * fast(variant, "iid", "unlimited").value(
        "goodput_bps"
    )
    for limit in (1, 2):
        frames = ends(fast(variant, "iid", limit), "residual_frame_error_rate")
        assert frames[0] < 1.1 * 0.1 ** (limit + 1)
        assert frames[1] > 0.9 * 0.1 ** (limit + 1)


def test_on_a_fast_link_tries_help_only_when_they_outlast_the_fade() -> None:
    assert not is_above(fast("reno", "markov", 20), fast("reno", "markov", 1), factor=2.0)
    assert is_above(fast("reno", "markov", 100), fast("reno", "markov", 20), factor=1.6)
    assert is_above(fast("sack", "markov", 3), fast("reno", "markov", 3), factor=2.0)


@pytest.mark.parametrize("variant", ["reno", long_form("sack")])
def test_persistence_is_paid_for_in_the_tail_of_the_delay(variant: str) -> None:
    for fewer, more in [(2, 5), (5, 20), (20, 100)]:
        assert is_above(fast(variant, "markov", more), fast(variant, "markov", fewer), "one_way_delay_p99_s")
    last, few = fast(variant, "markov", "unlimited"), fast(variant, "markov", 0)
    assert is_above(last, few, "one_way_delay_p99_s", factor=4.0)
    # With independent losses the tail does not grow, since no frame needs many retransmissions.
    assert not is_above(fast(variant, "iid", "unlimited"), fast(variant, "iid", 3), "one_way_delay_p99_s")


def test_all_timeouts_over_a_link_that_never_gives_up_are_spurious() -> None:
    for variant in ("reno", "sack"):
        for channel in ("iid", "markov"):
            point = fast(variant, channel, "unlimited")
            assert point.samples("spurious_timeouts") == point.samples("timeouts")
            assert point.value("residual_frame_error_rate") == 0.0
    assert ends(fast("sack", "markov", "unlimited"), "timeouts")[0] > 0.0
    assert fast("reno", "markov", "unlimited").value("timeouts") == 0.0, (
        "the minimum of 1 s outlasts the fades"
    )
