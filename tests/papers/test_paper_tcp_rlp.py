"""The paper on TCP over the radio link protocol: its figures, readings and claims."""

from __future__ import annotations

import csv
import io

import pytest

import crossfade as cf
from crossfade.figures.axes import axis_words
from tests.conftest import Cli, long_form
from tests.papers.judged import quickly_judged

# Columns of the figures' CSV files, which users rely on.
COLUMNS = "reading,mss,n,channel,p_e,rlp_throughput_bps,rlp_ci95,goodput_bps,ci95"
CHANNELS = {"iid", "0.01", "0.04", "0.16"}


def rows(cli: Cli, figure: str, *more: str) -> list[dict[str, str]]:
    outcome = cli("paper", "tcp-rlp", figure, "--csv", "-", *more)
    assert outcome.code == 0, outcome.err
    return list(csv.DictReader(io.StringIO(outcome.out)))


def short(cli: Cli, figure: str, *more: str) -> list[dict[str, str]]:
    found = rows(cli, figure, "--set", "run.duration=300 s", "--runs", "2", *more)
    assert ",".join(found[0]) == COLUMNS
    return found


def test_bursts_are_those_of_the_equations(cli: Cli) -> None:
    axes = ["--over", "fading_margin_db=5", "--over", "fd_t=0.01,0.04,0.16"]
    found = rows(cli, "fig2", *axes)
    assert list(found[0]) == ["fading_margin_db", "fd_t", "burst"]
    # The paper prints 26.4, 6.6 and 1.4; the last is a misprint.
    assert [f"{float(row['burst']):.3g}" for row in found] == ["26.4", "6.63", "1.86"]
    assert {row["fading_margin_db"] for row in found} == {"5.0"}


@pytest.mark.parametrize("figure", [long_form("fig3"), "fig4", "fig5"])
def test_figures_have_the_curves_of_the_paper(cli: Cli, figure: str) -> None:
    found = short(cli, figure)
    fig5 = figure == "fig5"
    assert {row["reading"] for row in found} == {"f"}
    assert {row["mss"] for row in found} == ({"536", "1072"} if fig5 else {"536"})
    assert {row["n"] for row in found} == {"1", "3", "10"}
    assert {row["channel"] for row in found} == ({"0.01"} if fig5 else CHANNELS)
    p_e = {float(row["p_e"]) for row in found}
    assert (min(p_e), max(p_e)) == (0.01, 0.3)
    assert len(found) == len(p_e) * 3 * (2 if fig5 else 4)
    for row in found:
        assert 0.0 <= float(row["goodput_bps"]) <= float(row["rlp_throughput_bps"]) <= 8000.0
        assert float(row["ci95"]) >= 0.0


def test_readings_are_an_axis(cli: Cli) -> None:
    axes = ["reading=a,f,g", "n=10", "p_e=0.3", "channel=0.01", "mss=536,1072"]
    found = short(cli, "fig4", *(word for axis in axes for word in ("--over", axis)))
    assert {(row["reading"], row["mss"]) for row in found} == {
        (reading, mss) for mss in ("536", "1072") for reading in ("a", "f", "g")
    }
    goodput = {row["reading"]: float(row["goodput_bps"]) for row in found if row["mss"] == "536"}
    # Under the literal reading goodput collapses (815 bit/s in the notes on the paper, against more than
    # 4800).
    assert goodput["a"] < 2000.0 < 4000.0 < goodput["f"]


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("mss=1.5", "over mss = 1.5: must be a whole number of bytes"),
        ("mss=big", "over mss = big: must be a number of bytes"),
        ("reading=x", "link.arq.reading"),
        ("k=1", "over k: no axis of fig3 (its axes are reading, mss, n, channel, p_e)"),
    ],
)
def test_wrong_axes_are_named(cli: Cli, axis: str, message: str) -> None:
    outcome = cli("paper", "tcp-rlp", "fig3", "--over", axis)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "claims",
    [
        (
            "rlp-8000",
            "rlp-7920",
            "bursts",
            "overhead",
            "tcp-4800",
        ),
        pytest.param((), id="all", marks=pytest.mark.long),
    ],
)
def test_what_is_claimed(claims: tuple[str, ...]) -> None:
    # Runs of the usual form are half as long.
    shorter = {"set": {"run.duration": "1200 s"}} if claims else {}
    found = quickly_judged("tcp-rlp", *claims, **shorter)
    assert found["rlp-8000"].verdict == "holds"
    assert found["rlp-7920"].failing == 0
    assert "n3-close-to-n10" not in found or found["n3-close-to-n10"].verdict == "holds"
    assert claims or found["large-segments-when-good"].verdict == "holds"
    wrong = [outcome.where for outcome in found["bursts"].outcomes if not outcome.holds]
    assert wrong == ["fading margin 5 dB, fd_t 0.16 (printed 1.4)"]
    # The overhead is 7 of 543 octets only if frames may cross the borders of segments.
    assert [outcome.holds for outcome in found["overhead"].outcomes] == [True, True, True]
    # This reading has no crossover at the paper's place.
    assert claims or found["n3-crossover"].verdict != "holds"
    assert found["tcp-4800"].worst.value == pytest.approx(
        4900.0, abs=100.0
    )  # 4872 bit/s by an independent program


@pytest.mark.parametrize("figure", ["fig3", "fig4", "fig5"])
def test_the_axis_of_error_rates_is_of_frames(figure: str) -> None:
    """P_E on the axis is the error rate of frames, not of packets, as in the paper."""
    short = {"run.duration": "20 s", "run.warmup": "0 s", "run.runs": 1}
    results = cf.run(f"papers/tcp-rlp/{figure}", set=short, over={"channel.p_e": [0.1]})
    assert axis_words(results.table(), "channel.p_e") == ("Frame error rate $P_E$", "")
    packets = cf.run("quickstart", set={"run.duration": "100 slots", "run.warmup": "0 slots", "run.runs": 1})
    assert axis_words(packets.table(), "channel.p_e")[0] == "Packet error probability $P_E$"
