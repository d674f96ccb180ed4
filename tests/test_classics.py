"""The classics: each scenario runs, its figure is drawn, and its statement holds.

Runs are shorter than those of the pages, and the margins are well inside those of full runs.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.files import shipped_scenarios
from tests.conftest import Cli, long_form, svg_words

CLASSICS = [name for name in shipped_scenarios() if name.startswith("classics/")]
DOCS = Path(__file__).parents[1] / "docs" / "classics"


def points(name: str, *axes: str, **options: object) -> dict[tuple[object, ...], cf.store.Point]:
    """Points of a scenario by the values of some axes."""
    results = cf.run(f"classics/{name}", cache=False, **options)  # type: ignore[arg-type]
    return {tuple(point.axes[axis] for axis in axes): point for point in results.points}


def test_every_classic_has_a_page_and_every_page_a_classic() -> None:
    pages = {f"classics/{page.stem}" for page in DOCS.glob("*.md")} - {"classics/index"}
    assert set(CLASSICS) == pages
    index = (DOCS / "index.md").read_text()
    for name in CLASSICS:
        page = (DOCS.parent / f"{name}.md").read_text()
        assert f"crossfade run {name} " in page
        assert f"pictures/{name.replace('/', '-')}.png" in page
        assert f"({name.removeprefix('classics/')}.md)" in index
        assert len(page.splitlines()) < 90


@pytest.mark.parametrize(
    ("name", "short", "words"),
    [
        (
            "bufferbloat",
            ["--over", "link.queue.limit=20 packets,100 packets"],
            ["Completion time, page (", "Goodput, download (", "CoDel"],
        ),
        long_form(
            "rtt-unfairness",
            ["--over", "flows.far.access_delay=0 ms,80 ms"],
            ["Goodput, near / far", "Reno", "CUBIC"],
        ),
        long_form(
            "cubic-against-reno",
            ["--over", "channel.p_e=0.001,0.01,0.03"],
            ["Goodput (Mbit/s)", "Reno", "CUBIC"],
        ),
        long_form("ack-path", ["--over", "reverse.rate=100 kbit/s,1 Mbit/s"], ["Goodput (Mbit/s)"]),
        ("slow-start", [], ["Congestion window (segments)", "Time (s)"]),
        long_form(
            "fairness", ["--set", "flows.equal.stagger=1 s"], ["Congestion window (segments)", "flow 2"]
        ),
        long_form("one-two-three-losses", [], ["Congestion window (segments)", "SACK", "timeout"]),
    ],
)
def test_its_figure_is_drawn_without_a_word(
    cli: Cli, tmp_path: Path, name: str, short: list[str], words: list[str]
) -> None:
    figure = tmp_path / "figure.svg"
    if name != "one-two-three-losses":
        short = [*short, "--set", "run.duration=6 s", "--set", "run.warmup=1 s", "--runs", "2"]
    outcome = cli("run", f"classics/{name}", *short, "--quiet", "--plot", figure)
    assert outcome.code == 0, outcome.err
    drawn = " ".join(svg_words(figure))  # a long title is broken into two lines
    for word in words:
        assert word in drawn, (word, drawn)


def test_slow_start_overshoots_and_then_saws_between_the_path_and_its_queue() -> None:
    rows = cf.store.Table.of_frame(cf.events("classics/slow-start")).records()
    recovered = [row for row in rows if row["event"] == "recovery_end"]
    first, later = recovered[0], recovered[2:]
    peaks = []
    for begin, end in zip([None, *recovered], recovered, strict=False):
        start = -1.0 if begin is None else float(begin["time_s"] or 0)
        stop = float(end["time_s"] or 0)
        peaks.append(
            max(float(row["cwnd"] or 0) for row in rows if start <= float(row["time_s"] or 0) < stop)
        )
    # The path holds 33.3 segments plus the one being sent, the queue 30.
    assert all(63 < peak < 69 for peak in peaks[1:])
    assert peaks[0] > 1.4 * max(peaks[1:])
    assert float(first["time_s"] or 0) < 1.5
    # Halving by RFC 5681, equation (4).
    assert all(31 < float(row["cwnd"] or 0) < 34.5 for row in later)
    # The window grows by a segment per RTT, over half a tooth of 33 segments, with RTTs of 100 to 190 ms.
    teeth = [float(b["time_s"] or 0) - float(a["time_s"] or 0) for a, b in pairwise(later)]
    assert teeth
    assert all(33 * 0.1 < tooth < 36 * 0.19 for tooth in teeth)


def test_one_two_and_three_losses() -> None:
    found = {
        (point.axes["tcp.variant"], len(point.axes["channel.drops"])): point
        for point in cf.run("classics/one-two-three-losses", cache=False).points
    }

    def goodput(variant: str, losses: int) -> float:
        return found[variant, losses].value("goodput_bps")

    timeouts = {key: point.value("timeouts") for key, point in found.items()}
    assert {key for key, count in timeouts.items() if count > 0} == {("reno", 2), ("reno", 3)}
    assert all(point.value("fast_retransmits") == 1 for point in found.values())
    assert goodput("reno", 1) > 1.05 * goodput("tahoe", 1)
    for losses in (2, 3):
        assert goodput("newreno", losses) > 1.3 * goodput("reno", losses)
        assert goodput("sack", losses) > goodput("newreno", losses) > goodput("tahoe", losses)
        # NewReno takes a round trip per hole, SACK one for all.
        assert found["newreno", losses].value("retransmissions") == losses
    # Impatient NewReno (RFC 6582 section 4): a timer of 200 ms expires before three holes are filled.
    impatient = points(
        "one-two-three-losses",
        "tcp.variant",
        set={"tcp.rto.min": "200 ms"},
        over={"channel.drops": [[40, 41, 42]]},
    )
    assert impatient[("newreno",)].value("timeouts") == 1
    assert impatient[("sack",)].value("timeouts") == 0


def test_bufferbloat() -> None:
    over = {"link.queue.limit": ["50 packets", "1000 packets"]}
    found = points("bufferbloat", "link.queue.discipline", "link.queue.limit", over=over, runs=2)

    def page(discipline: str, limit: int) -> float:
        return found[discipline, f"{limit} packets"].value("page.completion_time_s")

    assert page("drop-tail", 1000) > 6 * page("drop-tail", 50)
    assert page("drop-tail", 1000) > 15 * page("codel", 1000)
    assert page("codel", 1000) > 1.1 * page("fq-codel", 1000)
    for discipline in ("codel", "fq-codel"):
        assert page(discipline, 1000) == pytest.approx(page(discipline, 50), rel=0.05)
    # The longer queue does not help the download; CoDel costs it at most 15 %.
    download = {key: point.value("download.goodput_bps") for key, point in found.items()}
    assert download["drop-tail", "1000 packets"] == pytest.approx(
        download["drop-tail", "50 packets"], rel=0.01
    )
    assert download["codel", "1000 packets"] > 0.85 * download["drop-tail", "1000 packets"]


def test_equal_flows_come_to_equal_shares() -> None:
    ends = ["125 s", "240 s"]
    found = points("fairness", "run.duration", over={"run.duration": ends})
    early, late = (found[(end,)].value("jain_fairness") for end in ends)
    assert early < 0.9
    assert late > 0.98
    # Alone, the first flow gets the whole link.
    alone = points("fairness", set={"run.warmup": "1 s", "run.duration": "60 s"})[()]
    assert alone.value("goodput_bps") == pytest.approx(10e6 * 1448 / 1500, rel=0.01)


def test_unequal_round_trips_do_not() -> None:
    shorter = {"run.duration": "70 s"}
    over = {"flows.far.access_delay": ["0 ms", "80 ms"]}
    found = points("rtt-unfairness", "tcp.variant", "flows.far.access_delay", set=shorter, over=over, runs=2)

    def ratio(variant: str, delay: str, metric: str = "goodput_bps") -> float:
        point = found[variant, delay]
        return point.value(f"near.{metric}") / point.value(f"far.{metric}")

    for variant in ("sack", "cubic"):
        assert ratio(variant, "0 ms") == pytest.approx(1.0, abs=0.25)
        assert ratio(variant, "80 ms") > 1.3
    assert ratio("sack", "80 ms") > 1.5 * ratio("cubic", "80 ms")
    # The ratio lies between two laws: synchronised losses, and equal loss probability per packet.
    round_trips = 1.0 / ratio("sack", "80 ms", "rtt_mean_s")
    assert round_trips < ratio("sack", "80 ms") < round_trips**2


@pytest.mark.parametrize("runs", [2, long_form(4)])
def test_cubic_leaves_reno_behind_where_losses_are_rare(runs: int) -> None:
    shorter = {"run.duration": "150 s", "run.warmup": "50 s"}
    over = {"channel.p_e": [0.00003, 0.003]}
    found = points("cubic-against-reno", "tcp.variant", "channel.p_e", set=shorter, over=over, runs=runs)

    def window(variant: str, p: float) -> float:
        point = found[variant, p]
        return point.value("goodput_bps") * point.value("rtt_mean_s") / (8 * 1448)

    assert window("cubic", 0.00003) > 1.7 * window("sack", 0.00003)
    assert window("cubic", 0.003) < 1.3 * window("sack", 0.003)
    # Square-root law for random losses, and RFC 9438 section 5.1 less the 13 % that random losses cost.
    assert window("sack", 0.00003) == pytest.approx(1.31 / 0.00003**0.5, rel=0.15)
    assert window("cubic", 0.00003) == pytest.approx(1.13 * 1.054 * (0.1 / 0.00003) ** 0.75, rel=0.2)


def test_a_download_goes_as_fast_as_its_acknowledgements_come_back() -> None:
    over = {"reverse.rate": ["100 kbit/s", "1 Mbit/s"]}
    found = points("ack-path", "tcp.rfc.delayed_ack", "reverse.rate", over=over)
    # An acknowledgement has 52 bytes.
    acks_per_s = 100e3 / (52 * 8)
    for delayed, segments in (("0 s", 1), ("200 ms", 2)):
        goodput = found[delayed, "100 kbit/s"].value("goodput_bps")
        assert goodput == pytest.approx(acks_per_s * segments * 1448 * 8, rel=0.01)
        full = found[delayed, "1 Mbit/s"].value("goodput_bps")
        assert full == pytest.approx(10e6 * 1448 / 1500, rel=0.005)
    # Lost ACKs do not slow a long download, since acknowledgements are cumulative.
    lossy = points(
        "ack-path",
        "reverse.channel.p_e",
        set={"reverse.channel.model": "iid"},
        over={"tcp.rfc.delayed_ack": ["200 ms"], "reverse.rate": ["1 Mbit/s"], "reverse.channel.p_e": [0.3]},
        runs=2,
    )
    assert lossy[(0.3,)].value("goodput_bps") > 0.98 * 10e6 * 1448 / 1500
