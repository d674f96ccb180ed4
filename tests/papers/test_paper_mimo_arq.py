"""The paper on TCP over MIMO channels: figures, tables, claims, and the commands behind them."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.papers import paper_table
from crossfade.papers.mimo_arq import FIGURES
from tests.conftest import Cli

# Columns of the figures' CSV files, which users rely on.
FIGURE = (
    "scheme,detector,correlation,stbc_power,arq,max_retransmissions,combining,combining_stage,snr_db,segments,"
    "goodput_bps,ci95"
)
FRAMES = (
    "scheme,detector,correlation,stbc_power,combining,combining_stage,transmissions,snr_db,frame_bits,frames,"
    "frame_errors,fer,ci95,ber,residual"
)


def rows(cli: Cli, *arguments: str) -> list[dict[str, str]]:
    outcome = cli(*arguments, "--csv", "-", "--quiet")
    assert outcome.code == 0, outcome.err
    return list(csv.DictReader(io.StringIO(outcome.out)))


@pytest.mark.parametrize(
    ("figure", "arq", "retransmissions", "stage", "correlation"),
    [
        ("fig6", "none", "", "", "none"),
        ("fig7", "rlp-nack", "10", "", "none"),
        ("fig8", "rlp-nack", "3", "", "none"),
        ("fig9", "rlp-nack", "10", "stacked", "none"),
        ("fig10", "rlp-nack", "3", "stacked", "none"),
        ("fig11", "none", "", "", "urban"),
        ("fig12", "none", "", "", "rural"),
        ("fig13", "rlp-nack", "3", "", "urban"),
        ("fig14", "rlp-nack", "3", "stacked", "urban"),
        ("fig15", "rlp-nack", "10", "stacked", "rural"),
    ],
)
def test_figures_have_the_curves_of_the_paper(
    cli: Cli, figure: str, arq: str, retransmissions: str, stage: str, correlation: str
) -> None:
    asked = ["--over", "snr_db=30", "--runs", "2", "--set", "run.duration=4 s"]
    found = rows(cli, "paper", "mimo-arq", figure, *asked)
    assert ",".join(found[0]) == FIGURE
    assert [(row["scheme"], row["detector"]) for row in found] == [
        ("blast", "mmse-osic"),
        ("blast", "ml"),
        ("stbc-2", "ml"),
        ("stbc-1", "ml"),
        ("stbc-half", "linear"),
        ("siso", "linear"),
    ]
    for row in found:
        assert (row["arq"], row["max_retransmissions"], row["correlation"]) == (
            arq,
            retransmissions,
            correlation,
        )
        is_ml = row["detector"] == "ml" and stage
        assert row["combining_stage"] == ("ml" if is_ml else stage)
        assert row["combining"] == ("" if stage else "none")


def test_axes_replace_those_of_the_figure(cli: Cli) -> None:
    axes = ["scheme=blast,stbc-2 mmse-osic", "combining_stage=none,posthoc equal-gain,stacked", "snr_db=16"]
    axes += ["stbc_power=printed"]
    asked = [word for axis in axes for word in ("--over", axis)]
    found = rows(cli, "paper", "mimo-arq", "fig10", *asked, "--runs", "2", "--set", "run.duration=4 s")
    assert {(row["scheme"], row["combining"], row["combining_stage"]) for row in found} == {
        (scheme, *combining)
        for scheme in ("blast", "stbc-2")
        for combining in (("none", ""), ("equal-gain", "posthoc"), ("", "stacked"))
    }
    assert {row["detector"] for row in found} == {"mmse-osic"}
    assert {row["stbc_power"] for row in found} == {"printed"}


def test_frame_error_rates_are_those_of_an_independent_implementation(cli: Cli) -> None:
    """Rates of 4 x 4 QPSK frames of 240 bits agree with an independent computation in NumPy."""
    known = {
        ("blast", "mmse-osic", 16.0): 0.086,
        ("blast", "mmse-osic", 20.0): 0.0092,
        ("stbc-1", "ml", 6.0): 0.040,
    }
    over = ["--over", "snr_db=6,16,20", "--over", "correlation=none"]
    over += ["--over", "scheme=blast mmse-osic,stbc-1"]
    found = rows(cli, "paper", "mimo-arq", "fer", *over, "--set", "run.max_frames=100000")
    assert ",".join(found[0]) == FRAMES
    seen = 0
    for row in found:
        expected = known.get((row["scheme"], row["detector"], float(row["snr_db"])))
        if expected is not None:
            # The reference has a standard error too, so three of ours are allowed.
            assert abs(float(row["fer"]) - expected) < 3.0 / 1.96 * float(row["ci95"]), row
            seen += 1
    assert seen == len(known)


def test_stages_of_combining_are_ranked_as_they_must_be(cli: Cli) -> None:
    """With two receptions, rate 2 at 6 dB and rate 1 at 2 dB agree with 200,000 frames of bench/combining.py,
    and stages are ranked.
    """
    known = {
        ("stbc-2", "equal-gain", "posthoc"): (0.1407, 0.1242),
        ("stbc-2", "maximal-ratio", "posthoc"): (0.1142, 0.1061),
        ("stbc-2", "maximal-ratio", "joint"): (0.0609, 0.0573),
        ("stbc-2", "", "stacked"): (0.0476, 0.0448),
        ("stbc-2", "", "ml"): (0.0405, 0.0379),
        ("stbc-1", "equal-gain", "posthoc"): (0.1115, 0.1027),
        ("stbc-1", "maximal-ratio", "posthoc"): (0.0994, 0.0945),
        ("stbc-1", "maximal-ratio", "joint"): (0.0888, 0.0845),
        ("stbc-1", "", "stacked"): (0.0829, 0.0790),
        ("stbc-1", "", "ml"): (0.0765, 0.0726),
    }
    keys = ["--set", "link.arq.max_retransmissions=1", "--set", "run.frame_errors=1000"]
    asked = [
        ("mmse-osic", "posthoc equal-gain,posthoc maximal-ratio,joint maximal-ratio,stacked"),
        ("ml", "ml"),
    ]
    found = []
    for scheme, snr_db in (("stbc-2", 6), ("stbc-1", 2)):
        for detector, stages in asked:
            axes = [f"scheme={scheme} {detector}", f"combining_stage={stages}", f"snr_db={snr_db}"]
            over = [word for axis in axes for word in ("--over", axis)]
            found += rows(cli, "paper", "mimo-arq", "combining", *over, *keys)
    ours = {
        (row["scheme"], row["combining"], row["combining_stage"]): (
            float(row["fer"]),
            float(row["residual"]),
            float(row["ci95"]),
        )
        for row in found
        if row["transmissions"] == "2"
    }
    for key, expected in known.items():
        *rates, ci95 = ours[key]
        for rate, other in zip(rates, expected, strict=True):
            # The reference has a standard error too, so three of ours are allowed.
            assert abs(rate - other) < 3.0 / 1.96 * ci95, (key, rate, ci95, other)
    for code in ("stbc-1", "stbc-2"):
        ranked = [ours[code, *how][0] for how in (("", "ml"), ("", "stacked"), ("maximal-ratio", "joint"))]
        ranked += [ours[code, weights, "posthoc"][0] for weights in ("maximal-ratio", "equal-gain")]
        assert ranked == sorted(ranked)


def test_printed_matrices_are_judged_by_decisions(cli: Cli) -> None:
    found = rows(cli, "paper", "mimo-arq", "codes")
    wrong = {(row["sent"], row["received"]): int(row["wrong"]) for row in found}
    assert [pair for pair, count in wrong.items() if count == 0] == [
        ("equation 4", "corrected"),
        ("corrected", "corrected"),
        ("equation 14", "equation 15"),
    ]
    # The misprinted signs do not change the Gram matrix.
    assert all(float(row["gram_error"]) < 1e-12 for row in found)
    assert wrong["equation 4", "equation 5"] > 30_000


def test_neighbours_are_correlated_as_computed_from_table_1(cli: Cli) -> None:
    found = {
        (row["scenario"], row["end"]): float(row["correlation"])
        for row in rows(cli, "paper", "mimo-arq", "table1")
    }
    expected = {
        ("urban", "transmitter"): 0.930,
        ("urban", "receiver"): 0.946,
        ("rural", "transmitter"): 0.9941,
        ("rural", "receiver"): 0.9955,
    }
    assert all(math.isclose(found[key], value, abs_tol=6e-4) for key, value in expected.items())


def test_windows_over_time(cli: Cli) -> None:
    found = rows(cli, "paper", "mimo-arq", "fig1")
    assert list(found[0]) == ["time_s", "cwnd", "ssthresh", "series"]
    last = {
        series: max(float(row["cwnd"]) for row in found if row["series"] == series)
        for series in ("wireless", "perfect")
    }
    # With combining, as in section 5 of the paper, segments arrive at 10 dB and the window grows.
    assert last["wireless"] > 10.0
    assert last["perfect"] > 20.0
    shown = FIGURES["fig1"].to_draw(cf.store.Table(list(found[0]), [list(row.values()) for row in found]))
    assert list(dict.fromkeys(shown.cells("series"))) == ["wireless", "perfect", "ssthresh"]
    alone = rows(cli, "paper", "mimo-arq", "fig1", "--set", "phy.combining={stage='none'}")
    assert max(float(row["cwnd"]) for row in alone if row["series"] == "wireless") == 1.0


def test_an_axis_that_combining_has_not_is_an_error(cli: Cli) -> None:
    for axes in (["transmissions=2"], ["transmissions=2", "scheme=blast"]):
        asked = [word for axis in axes for word in ("--over", axis)]
        outcome = cli("paper", "mimo-arq", "combining", *asked)
        assert outcome.code == 2
        assert outcome.err.startswith(
            "error: over transmissions: no axis of combining (its axes are scheme, "
        )
        assert outcome.err.count("\n") == 1


def test_phy_writes_the_table_that_frames_are_drawn_from(cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "fer.csv"
    one = "phy.scheme,phy.detector=[['stbc-2', 'ml']]"
    outcome = cli(
        "phy", "mimo-arq", "--over", one, "--over", "channel.snr_db=2,4", "--csv", str(table), "--quiet"
    )
    assert outcome.code == 0, outcome.err
    scenario = tmp_path / "table.toml"
    text = (Path(cf.__file__).parent / "scenarios" / "mimo-arq.toml").read_text()
    scenario.write_text(text.replace("symbol_rate =", 'fidelity = "table", table = "fer.csv", symbol_rate ='))
    asked = {"over": {"phy.scheme,phy.detector": [["stbc-2", "ml"]], "channel.snr_db": [3]}, "runs": 2}
    drawn = cf.run(str(scenario), **asked).points[0]  # type: ignore[arg-type]
    assert drawn.snr_db == 3.0
    assert 0.0 < drawn.value("residual_frame_error_rate") < 1.0
    outside = cli("run", str(scenario), "--over", one, "--over", "channel.snr_db=5")
    assert outside.code == 2
    assert "outside the table, which reaches from 2.0 to 4.0 dB" in outside.err


def test_formulas_stand_beside_frames() -> None:
    frame = cf.runs.phy(
        "mimo-fer",
        over={"phy.scheme,phy.detector": [["siso", "linear"]], "channel.snr_db": [6, 12]},
        methods=["phy", "formula"],
    )
    records = cf.store.Table.of_frame(frame).records()
    assert [record["method"] for record in records] == ["phy", "formula"] * 2
    for found, known in zip(records[::2], records[1::2], strict=True):
        low, high = float(str(found["ci95_low"])), float(str(found["ci95_high"]))
        assert low < float(str(known["fer"])) < high
        assert known["frames"] is None
        assert known["ci95"] is None


def test_shards_of_frames_are_the_whole(cli: Cli, tmp_path: Path) -> None:
    asked = ["--over", "phy.scheme,phy.detector=[['stbc-2', 'ml'], ['stbc-1', 'ml']]", "--quiet"]
    asked += ["--over", "channel.snr_db=2,6", "--set", "run.frame_errors=150"]
    files = [str(tmp_path / f"{name}.sqlite") for name in ("one", "two", "both", "whole")]
    for out, more in zip([*files[:2], files[3]], (["--shard", "1/2"], ["--shard", "2/2"], []), strict=True):
        assert cli("sweep", "mimo-fer", *asked, *more, "--out", out).code == 0
    assert cli("merge", *files[:2], "--out", files[2]).code == 0
    exported = [cli("export", file, "--out", "-") for file in files[2:]]
    assert exported[0].code == 0, exported[0].err
    assert exported[0].out == exported[1].out
    assert exported[0].out.count("\n") == 5


def test_the_best_scheme_is_drawn(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "best.svg"
    asked = ["--choose", "phy.scheme,phy.detector", "--over", "channel.snr_db=4,12,20", "--runs", "2"]
    outcome = cli("best", "mimo-arq", *asked, "--set", "run.duration=10 s", "--plot", str(figure), "--quiet")
    assert outcome.code == 0, outcome.err
    assert "FillBetweenPolyCollection" in figure.read_text() or "PolyCollection" in figure.read_text()
    asked += ["--over", "phy.stbc_power=equal,printed", "--set", "run.duration=2 s"]
    two = cli("best", "mimo-arq", *asked, "--plot", str(figure))
    assert two.code == 2
    assert "needs one numeric axis beside the choices" in two.err


def test_what_best_writes_is_a_policy(cli: Cli, tmp_path: Path) -> None:
    asked = ["--choose", "phy.scheme,phy.detector", "--over", "channel.snr_db=2,10,18", "--runs", "4"]
    table = tmp_path / "switching.csv"
    outcome = cli(
        "best", "mimo-arq", *asked, "--set", "run.duration=10 s", "--switching", "--csv", str(table)
    )
    assert outcome.code == 0, outcome.err
    assert len(table.read_text().splitlines()) > 2
    shipped = (Path(cf.__file__).parent / "scenarios" / "mimo-arq.toml").read_text()
    scenario = tmp_path / "adaptive.toml"
    scenario.write_text(
        shipped[: shipped.index("[sweep]")].replace("phy = {", 'phy = { policy = "switching.csv",')
    )
    moving = {"channel.snr_db": 10, "channel.shadowing_db": 6, "channel.decorrelation": "5 s"}
    keys = {**moving, "run.duration": "20 s"}
    goodput = cf.run(str(scenario), set=keys, runs=2).points[0].value("goodput_bps")
    assert goodput > 0.0
    wrong = cli("run", str(scenario), "--set", "phy.scheme=blast")
    assert wrong.code == 2
    assert "phy.scheme contradicts phy.policy: the policy chooses it" in wrong.err


def test_curves_are_chosen_by_their_columns(cli: Cli) -> None:
    short = ["--over", "snr_db=6", "--set", "run.max_frames=400"]
    found = rows(
        cli, "paper", "mimo-arq", "combining", "--over", "scheme=stbc-2", "--over", "detector=ml", *short
    )
    assert {(row["scheme"], row["combining_stage"]) for row in found} == {("stbc-2", "ml")}
    stages = ["--over", "combining_stage=ml,posthoc equal-gain", "--over", "scheme=stbc-1", *short]
    found = rows(cli, "paper", "mimo-arq", "combining", *stages)
    assert {(row["detector"], row["combining"], row["combining_stage"]) for row in found} == {
        ("ml", "", "ml"),
        ("mmse-osic", "equal-gain", "posthoc"),
    }
    found = rows(
        cli, "paper", "mimo-arq", "fer", "--over", "detector=zf,linear", "--over", "correlation=urban", *short
    )
    assert {(row["scheme"], row["detector"]) for row in found} == {
        ("blast", "zf"),
        ("stbc-2", "zf"),
        ("stbc-1", "zf"),
        ("stbc-half", "linear"),
        ("siso", "linear"),
        ("simo", "linear"),
        ("alamouti", "linear"),
    }
    for axis in ("scheme=simo", "combining_stage=other"):
        wrong = cli("paper", "mimo-arq", "combining", "--over", axis)
        assert wrong.code == 2
        assert "no curve of combining has that" in wrong.err


def test_ml_is_combined_in_one_way_whatever_the_reading() -> None:
    asked: dict[str, object] = {"snr_db": [10], "scheme": ["stbc-2", "blast", "blast ml", "stbc-half"]}
    found = paper_table("mimo-arq", "fig10", reading="joint", runs=1, over=asked).records()
    assert [(row["scheme"], row["detector"], row["combining_stage"]) for row in found] == [
        ("stbc-2", "ml", "ml"),
        ("blast", "mmse-osic", "joint"),
        ("blast", "ml", "ml"),
        ("stbc-half", "linear", "joint"),
    ]
    assert {row["stbc_power"] for row in found} == {"printed"}


def test_a_claim_in_slow_fading_is_judged_under_readings_with_blocks() -> None:
    """The claim sets the rate of fading itself, which replaces that of the reading."""
    for name in ("moving", "blocks", "long-blocks"):
        (verdict,) = cf.papers.claims(
            "mimo-arq", reading=name, only=["mimo-in-slow-fading"], quick=True, runs=1
        )
        assert verdict.points > 0


def test_legends_say_once_what_all_curves_share() -> None:
    table = paper_table("mimo-arq", "fig10", runs=1, over={"snr_db": [10]})
    shown = FIGURES["fig10"].to_draw(table)
    assert not {"combining", "combining_stage"} & {*shown.columns}
    both = paper_table(
        "mimo-arq", "fig10", runs=1, over={"snr_db": [10], "combining_stage": ["stacked", "none"]}
    )
    assert FIGURES["fig10"].to_draw(both) is both
