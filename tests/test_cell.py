"""Cells on the command line: output of check, users, link events, warnings."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import crossfade as cf
from crossfade.pictures import drawing
from tests.conftest import Cli, svg_words

CELL = """\
schema = 2
run = { duration = "3 s", warmup = "1 s", runs = 2 }
cell = { prediction = { nmse = 0.1 } }
link = { packet_size = "1500 B", queue = { limit = "50 packets" } }
reverse = { rate = "100 kbit/s", delay = "2 ms" }
tcp = { flavour = "rfc", variant = "sack", w_max = 44 }
[flows]
far = { count = 2, radio = { mean_snr_db = { from = 5, to = 8 }, speed = "30 km/h" } }
near = { count = 2, radio = { mean_snr_db = 25, speed = "30 km/h" } }
"""

SISO = """\
schema = 2
run = { max_frames = 20000, frame_errors = 100000 }
channel = { model = "block-rayleigh", antennas = { n_t = 1, n_r = 1 } }
phy = { scheme = "siso", symbol_rate = "100 kBd" }
"""


def test_check_says_sizes_and_levels(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(CELL)
    outcome = cli("check", file, "--set", "flows.far.radio.mean_snr_db=16")
    # At 16 dB and NMSE 0.1 the levels agree with an independent computation within 0.05 dB.
    line = outcome.out.splitlines()[1]
    assert line.startswith(
        "cell of 4 users: 25 bins of 200 kHz, slots of 0.6667 ms, 108 symbols, f_d T up to 0.0371;"
    )
    levels = [float(word) for word in line.split("from - ")[1].split(" dB")[0].split()]
    assert levels == pytest.approx([7.92, 14.19, 17.63, 20.71, 23.93, 26.84, 30.04], abs=0.05)
    assert cf.check("quickstart").cell is None


def test_users_have_results_of_their_own(tmp_path: Path) -> None:
    results = cf.run(CELL, cache=False)
    found: dict[str, Any] = json.loads(results.to_json())[0]
    users = found["users"]
    assert [user["user"] for user in users] == [0, 1, 2, 3]
    goodputs = [user["user_goodput_bps"]["value"] for user in users]
    assert min(goodputs[2:]) > max(goodputs[:2])
    whole = found["metrics"]
    assert whole["user_goodput_bps"]["value"] == pytest.approx(sum(goodputs) / 4)
    assert whole["link_goodput_bps"]["value"] == pytest.approx(sum(goodputs))
    assert whole["user_goodput_p05_bps"]["value"] < min(goodputs) * 1.3
    shares = [whole[f"modulation_share_{bits}"]["value"] for bits in range(1, 9)]
    assert sum(shares) == pytest.approx(1.0)
    (point,) = results.points
    assert len(point.samples("user:3.bins_per_slot")) == 2
    # Runs are equal on one thread and on two.
    again = cf.run(CELL, cache=False, jobs=2)
    assert json.dumps(json.loads(again.to_json())[0]["metrics"]) == json.dumps(whole)


def test_link_events_say_who_had_which_bin(cli: Cli, tmp_path: Path, figures: list[Figure]) -> None:
    scenario, file = tmp_path / "cell.toml", tmp_path / "links.csv"
    scenario.write_text(CELL)
    short = ("run.warmup=0.1 s", "run.duration=0.2 s", "cell.scheduler=round-robin")
    values = [word for value in short for word in ("--set", value)]
    cli("run", scenario, *values, "--link-events", file, "--runs", "1", "--quiet")
    with file.open() as lines:
        events = list(csv.DictReader(lines))
    slots = [
        (row["time_s"], row["bin"]) for row in events if row["event"] == "slot" and row["link"] == "forward"
    ]
    frames = [row for row in events if row["event"] == "frame" and row["link"] == "forward"]
    assert len(slots) == len(set(slots)) == len(frames) > 1000
    assert {row["user"] for row in frames} == {"0", "1", "2", "3"}
    assert {row["scheme"] for row in frames} > {"bpsk", "qpsk", "64-qam"}
    assert cli("plot", file, "--where", "link=forward", "--out", tmp_path / "bins.png").code == 0
    (bins,) = [axes for axes in figures[0].axes if axes.collections]
    # The figure has a collection per user and bin, with a bar per slot.
    assert sum(len(user.get_paths()) for user in bins.collections) == len(slots)
    assert bins.get_legend_handles_labels()[1] == [f"user {user}" for user in range(4)]


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        ({"flows.far.radio.speed": "220 km/h"}, "f_d T = 0.27 for the fastest user"),
        ({"cell.profile": "ETU", "cell.bin_width": "300 kHz"}, "the coherence bandwidth (202 kHz"),
        ({"cell.prediction.horizon": "10 slots"}, "better than a linear predictor can be for some user"),
    ],
)
def test_doubts_are_told_before_a_run(keys: dict[str, object], warning: str) -> None:
    found = cf.check(CELL, set=keys).warnings
    assert any(warning in text for text in found), found


def test_users_who_never_have_a_bin_are_told() -> None:
    keys = {"cell.scheduler": "max-sinr", "cell.shadowing.sigma_db": 0, "flows.far.radio.mean_snr_db": -30}
    keys |= {"cell.bins": 1, "flows.near.traffic": "saturated"}
    results = cf.run(CELL, set=keys, cache=False)
    assert any("of flow far was never scheduled in 2 of 2 runs" in text for text in results.warnings)


def test_check_says_what_users_are_like(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(CELL)
    (tmp_path / "sinr.csv").write_text("time_s,sinr_db\n0,12\n0.5,18\n")
    lines = cli("check", file, "--set", "flows.me.radio.trace=sinr.csv").out.splitlines()
    # Coherence time: 30 km/h at 2 GHz give 55.6 Hz, and 0.423 / 55.6 Hz.
    assert lines[2].startswith(
        "flow far: 2 x bulk, TCP sack (rfc, recommended), window 44; users 0 to 1: 5 to 8 dB, 30 km/h, "
        "f_d T 0.03706, coherent for 7.609 ms, NMSE of predictions 0.1; round trip "
    )
    assert "; user 2: recorded ratios, mean 15.96 dB; round trip " in lines[3]
    assert lines[4].startswith("flow near: 2 x bulk")


def test_recorded_ratios_reports_and_the_outer_loop(cli: Cli, tmp_path: Path) -> None:
    file, ratios = tmp_path / "cell.toml", tmp_path / "sinr.csv"
    file.write_text(
        "schema = 2\nrun = { duration = '4 s', runs = 2 }\n"
        "cell = { radio = { trace = 'sinr.csv' }, bins = 1 }\n"
        "link = { packet_size = '1500 B' }\nreverse = { rate = '1 Mbit/s', delay = '2 ms' }\n"
        "flows = { me = { traffic = 'saturated' } }\n"
    )
    # 4 bits per symbol and 108 symbols per slot without errors are 648 kbit/s.
    ratios.write_text("0,20.1\n")
    good = cf.run(file, cache=False)
    assert good.points[0].value("user_goodput_bps") == pytest.approx(648e3, rel=0.02)
    assert not good.warnings
    # SINR alternates between 25 and 14 dB every 10 ms; feedback is 10 ms old, so always wrong.
    ratios.write_text("".join(f"{0.01 * row:.2f},{14 + 11 * (row % 2)}\n" for row in range(400)))
    late = cf.run(file, set={"cell.feedback.delay": "10 ms"}, cache=False)
    assert late.points[0].value("initial_frame_error_rate") > 0.2
    asked = {"cell.feedback.delay": "10 ms", "cell.outer_loop.target_fer": "10 %"}
    mended = cf.run(file, set=asked, cache=False)
    assert mended.points[0].value("initial_frame_error_rate") == pytest.approx(0.1, abs=0.01)
    [warning] = cf.run(file, set={"run.duration": "5 s", "cell.prediction.nmse": 0.1}, cache=False).warnings[
        1:
    ]
    assert warning == "flows.me.radio.trace lasts 3.99 s and a run 5 s: its last line holds for the rest"
    ratios.write_text("0,20\n1,x\n")
    outcome = cli("run", file)
    assert outcome.code == 2
    assert (
        outcome.err == 'error: flows.me.radio.trace = "sinr.csv": line 2: sinr_db = "x": must be a number\n'
    )


def test_a_trace_of_opportunities_replays(cli: Cli, tmp_path: Path) -> None:
    """A replayed link delivers packets of 1500 B in the same milliseconds as the cell."""
    scenario, trace = tmp_path / "cell.toml", tmp_path / "cell.up"
    scenario.write_text(CELL.replace("warmup = '1 s', ", "").replace('warmup = "1 s", ', ""))
    saturated = {"flows.near.traffic": "saturated"}
    outcome = cli(
        *("run", scenario, "--set", "flows.near.traffic=saturated", "--trace-out", trace, "--trace-user", 2),
        *("--runs", 1, "--quiet"),
    )
    assert outcome.code == 0
    (point,) = cf.run(scenario, set=saturated, runs=1, cache=False).points
    times = [int(line) for line in trace.read_text().splitlines()]
    assert times == sorted(times)
    assert [len(times) * 12_000.0 / 3.0] == point.samples("user:2.user_goodput_bps")
    link = tmp_path / "link.toml"
    link.write_text(
        "schema = 2\nrun = { duration = '3 s' }\nchannel = { model = 'none' }\n"
        "link = { packet_size = '1500 B', trace = { opportunities = 'cell.up' } }\n"
        "flows = { me = { traffic = 'saturated' } }\n"
    )
    replayed = cf.run(link, cache=False).points[0].value("link_goodput_bps")
    # The trace repeats after its last line, before the end of the run.
    again = sum(1 for time in times if time + times[-1] < 3000)
    assert replayed * 3.0 / 12_000.0 == pytest.approx(len(times) + again, abs=1)
    assert again < 20
    outcome = cli("run", scenario, "--trace-out", trace, "--trace-user", 4)
    assert outcome.err == "error: flows: there is no number 4: 4 are simulated, counted from 0\n"


def test_how_users_differ_is_drawn(cli: Cli, tmp_path: Path) -> None:
    file, figure = tmp_path / "cell.sqlite", tmp_path / "users.svg"
    scenario = tmp_path / "cell.toml"
    scenario.write_text(CELL)
    assert cli("sweep", scenario, "--out", file).code == 0
    assert cli("plot", file, "--cdf", "user_goodput_bps", "--by", "flow", "--out", figure).code == 0
    words = svg_words(figure)
    assert {"far", "near"} <= set(words)
    assert "Share (cumulative)" in words
    table = drawing._users(cf.store.load(file), "user_goodput_bps")
    assert table.columns == ["run", "flow", "user", "user_goodput_bps"]
    assert [(row[1], row[2]) for row in table.rows[::2]] == [("far", 0), ("far", 1), ("near", 2), ("near", 3)]
    outcome = cli("plot", file, "--cdf", "goodput_bps")
    assert "no metric of the users of a cell" in outcome.err


def test_symbol_errors_are_those_of_the_constellations() -> None:
    """Error rates of frames of 112 symbols in block Rayleigh fading agree with the formulas behind the
    switching levels.
    """
    named = ["bpsk", "qpsk", "8-star", "16-qam", "32-cross", "64-qam", "128-cross", "256-qam"]
    energies = {3: 4.73, 5: 20.0, 7: 82.0}
    neighbours = {3: 3.0, 5: 4.0 - 6.0 / 8.0, 7: 4.0 - 6.0 / 16.0}

    def q(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2.0))

    def symbol_error(bits: int, ratio: float) -> float:
        if bits == 1:
            return q(math.sqrt(2.0 * ratio))
        if bits in energies:
            one = neighbours[bits] / 2.0 * q(math.sqrt(2.0 * ratio / energies[bits]))
        else:
            one = 2.0 * (1.0 - 0.5 ** (bits / 2)) * q(math.sqrt(3.0 * ratio / (2.0**bits - 1.0)))
        return 1.0 - (1.0 - min(one, 1.0)) ** 2

    for bits, name in enumerate(named, 1):
        mean_db = 3.0 * bits + 7.0
        mean = 10.0 ** (mean_db / 10.0)
        # The SNR is exponentially distributed; average over its quantiles.
        ratios = [-mean * math.log1p(-(i + 0.5) / 4000) for i in range(4000)]
        expected = sum(1.0 - (1.0 - symbol_error(bits, ratio)) ** 112 for ratio in ratios) / 4000
        asked = {
            "channel.snr_db": mean_db,
            "phy.modulation": name,
            "link.frame_size": f"{14 * bits} B",
        }
        frames = cf.store.Table.of_frame(cf.runs.phy(SISO, set=asked))
        found, count = (float(str(frames.cells(column)[0])) for column in ("fer", "frames"))
        deviation = math.sqrt(expected * (1.0 - expected) / count)
        assert count == 20_000
        # The formula of the star constellation is approximate, within 7 %.
        assert abs(found - expected) < 4.0 * deviation, (name, found, expected, deviation)
