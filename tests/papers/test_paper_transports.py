"""Statements of sources on modern transports: figures, claims, and published curves."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.comparison.paired import Sample
from crossfade.papers import PAPERS, verdicts
from crossfade.papers.options import Options
from crossfade.papers.transports import FIGURES, of_flights, ware
from crossfade.tables import Table
from tests.conftest import Cli, long_form


def short(cli: Cli, figure: str, *more: str) -> list[dict[str, str]]:
    options = ["--set", "run.duration=20 s", "--set", "run.warmup=5 s", "--runs", "2", "--csv", "-"]
    outcome = cli("paper", "transports", figure, *options, *more)
    assert outcome.code == 0, outcome.err
    return list(csv.DictReader(io.StringIO(outcome.out)))


# All axes of each figure, restricted to one or two values.
OVER = {
    "loss-response": ["congestion=cubic,prague", "p_e=0.01"],
    "loss-long-path": ["congestion=bbr-v3", "channel=iid,bursts", "p_e=0.05"],
    "loss-and-arq": ["congestion=reno", "channel=bursts", "p_e=0.1", "persistence=0,5"],
    "outages": ["congestion=reno", "link=outage-waits.csv,outage-loses.csv", "period_s=12"],
    "ack-gaps": ["congestion=reno", "rtt_ms=10", "gap_ms=20,60"],
    "bbr-against-cubic": ["queue_bdp=1,2"],
    "voice-beside": ["discipline=drop-tail,fq-codel", "persistence=3"],
    "suspensions": ["congestion=bbr-v1", "link=steady.csv,suspensions.csv", "rtt_ms=40"],
    "blockage": ["congestion=prague", "period_s=4.5"],
    "quic-and-arq": ["channel=bursts", "p_e=0.1", "persistence=0,3"],
    "quic-reordering": ["p_e=0.1", "delivery=immediate"],
    "quic-outages": ["link=outage-waits.csv,outage-loses.csv", "period_s=12"],
}


@pytest.mark.parametrize("figure", list(FIGURES))
def test_figures_have_their_axes(cli: Cli, figure: str) -> None:
    axes = dict(item.split("=") for item in OVER[figure])
    rows = short(cli, figure, *(word for item in OVER[figure] for word in ("--over", item)))
    for column, values in axes.items():
        said = {value.removesuffix(".csv") for value in values.split(",")}
        assert {row[column].removesuffix(".0") for row in rows} == said
    drawn = FIGURES[figure].y
    assert drawn is not None
    # TCP has no metric for spurious losses, only QUIC.
    assert all(float(row[drawn]) > 0.0 for row in rows if row[drawn] or row["flavour"] == "quic")
    # Columns without values are left out.
    assert all(any(row[column] for row in rows) for column in rows[0])


def test_wrong_axes_are_named(cli: Cli) -> None:
    for over, message in [
        ("channel=rain", "over channel = rain: must be iid or bursts"),
        ("gap_ms=long", "over gap_ms = long: must be a number of milliseconds"),
        ("speed=3", "over speed: no axis of ack-gaps (its axes are congestion, "),
    ]:
        outcome = cli("paper", "transports", "ack-gaps", "--over", over)
        assert outcome.code == 2
        assert message in outcome.err


def test_what_is_not_judged_says_why() -> None:
    kept = Path(__file__).parents[2] / "docs" / "papers" / "transports-claims.csv"
    records = {record["claim"]: record for record in Table.read(kept).records()}
    claims = {claim["id"]: claim for claim in PAPERS["transports"].SET.listed()}
    assert list(records) == list(claims)
    for name, record in records.items():
        assert claims[name]["why"]
        assert (record["verdict"] == "not judged") == (record["points"] == 0) == (record["ours"] is None)
    assert sum(record["verdict"] == "not judged" for record in records.values()) == 10


def test_the_formula_is_that_of_ware_et_al() -> None:
    # Table in the notes on the source, for 40 ms without transmission time in the RTT.
    of_one = {1: 0.97, 2: 0.78, 4: 0.63, 8: 0.55, 16: 0.49, 32: 0.44, 64: 0.37}
    of_four = {1: 0.97, 2: 0.96, 4: 0.72, 8: 0.59, 16: 0.51, 32: 0.45, 64: 0.37}
    for flows, table in ((1, of_one), (4, of_four)):
        for queue, part in table.items():
            assert ware(queue, 120.0, flows) == pytest.approx(part, abs=0.012), (flows, queue)


def test_the_window_and_what_is_in_flight_balance() -> None:
    """In equilibrium, twice the product of BBR's rate and its measured RTT equals its data in flight."""
    for queue_bdp in (2, 8, 32):
        product = 10e6 / 12_000 * 0.0412
        flight = queue_bdp * product + product
        probing = (queue_bdp * 0.0412 + 0.2 + 0.0412) / 10.0
        bbr = of_flights(queue_bdp, 100.0) / (1.0 - probing)
        assert 2.0 * bbr * ((1.0 - bbr) * flight + 4.0) == pytest.approx(bbr * flight)


def test_bbr_beside_cubic_is_not_where_the_formula_says() -> None:
    """BBR joins when CUBIC's queue is full: at queues of 2 and 4 BDP its share is below the formula, as the
    page says.
    """
    late = {"run.duration": "120 s", "flows.cubic.start": "0 s", "flows.bbr.start": "10 s"}
    over = {"link.queue.limit": ["1 bdp", "2 bdp", "4 bdp", "8 bdp", "16 bdp"]}
    results = cf.run("modern/bbr-against-cubic", set=late, over=over, runs=3)
    off, by_flights = {}, {}
    for point in results.points:
        queue = int(str(point.axes["link.queue.limit"]).split()[0])
        bbr, cubic = (Sample.of(point, f"{name}.goodput_bps").mean for name in ("bbr", "cubic"))
        off[queue] = bbr / (bbr + cubic) - ware(queue, 100.0)
        by_flights[queue] = bbr / (bbr + cubic) - of_flights(queue, 100.0)
    assert all(abs(off[queue]) < 0.12 for queue in (1, 8, 16)), off
    assert all(-0.19 < off[queue] < -0.08 for queue in (2, 4)), off
    assert all(abs(by_flights[queue]) < 0.08 for queue in (4, 8, 16)), by_flights


def test_the_knee_of_version_1_lies_between_15_and_25_percent() -> None:
    asked = {"run.duration": "30 s", "tcp.bbr.policer": False}
    over = {"tcp.congestion": ["bbr-v1"], "channel.p_e": [0.1, 0.15, 0.25]}
    results = cf.run("modern/loss-response", set=asked, over=over, runs=4)
    at_10, at_15, at_25 = (point.value("throughput_per_slot") for point in results.points)
    assert at_10 > 0.8
    assert at_15 > 0.6
    assert at_25 < 0.4


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("extra-acked", "holds"), ("rfc9330-loss", "holds"), long_form("suspensions", "does not hold")],
)
def test_claims_follow_from_runs(name: str, verdict: str) -> None:
    figures = PAPERS["transports"].SET
    options = Options(quick=True)
    (claim,) = (claim for claim in figures.listed() if claim["id"] == name)
    found = verdicts.judge(claim, lambda check: figures._outcomes(check, options))
    assert found.verdict == verdict, str(found)


def test_an_outage_costs_what_the_timer_waits_beyond_it() -> None:
    figures = PAPERS["transports"].SET
    over = {"congestion": ["reno"], "period_s": [10.1, 12.0]}
    of_both = {"kind": "lost-seconds", "figure": "outages", "over": over, "from_s": 11.0, "margin": 0.3}
    for link, side in (("outage-waits", "below"), ("outage-loses", "above")):
        check = of_both | {"link": link, "side": side}
        (found,) = figures.kinds["lost-seconds"](check, Options(quick=True))
        assert found.where == "reno, outage of 2 s"
        assert found.holds, (link, found.value)
