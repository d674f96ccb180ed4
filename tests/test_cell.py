"""Cells from the command line: what needs no run, users, link events, and doubts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from tests.conftest import Cli

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


def test_check_says_sizes_and_levels(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(CELL)
    outcome = cli("check", file, "--set", "flows.far.radio.mean_snr_db=16")
    # At 16 dB and NMSE 0.1 the levels are another author's, within 0.05 dB.
    line = outcome.out.splitlines()[1]
    assert line.startswith(
        "cell of 4 users: 25 bins of 200 kHz, slots of 0.6667 ms, 108 symbols, f_d T up to 0.0371;"
    )
    levels = [float(word) for word in line.split("from - ")[1].split(" dB")[0].split()]
    assert levels == pytest.approx([7.92, 14.19, 17.63, 20.71, 23.93, 26.84, 30.04], abs=0.05)
    assert cf.check("quickstart").cell is None


def test_users_have_results_of_their_own(tmp_path: Path) -> None:
    results = cf.run(CELL, cache=False)
    found: dict[str, Any] = json.loads(results.to_json())
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
    # Runs are the same on one thread and on two.
    again = cf.run(CELL, cache=False, jobs=2)
    assert json.dumps(json.loads(again.to_json())["metrics"]) == json.dumps(whole)


def test_link_events_say_who_had_which_bin(cli: Cli, tmp_path: Path) -> None:
    scenario, file = tmp_path / "cell.toml", tmp_path / "links.csv"
    scenario.write_text(CELL)
    cli(
        "run",
        scenario,
        "--set",
        "cell.scheduler=round-robin",
        "--link-events",
        file,
        "--runs",
        "1",
        "--quiet",
    )
    with file.open() as lines:
        events = list(csv.DictReader(lines))
    slots = [
        (row["time_s"], row["bin"]) for row in events if row["event"] == "slot" and row["link"] == "forward"
    ]
    frames = [row for row in events if row["event"] == "frame" and row["link"] == "forward"]
    assert len(slots) == len(set(slots)) == len(frames) > 1000
    assert {row["user"] for row in frames} == {"0", "1", "2", "3"}
    assert {row["scheme"] for row in frames} > {"bpsk", "qpsk", "64-qam"}
    drawn = tmp_path / "bins.png"
    cli("plot", file, "--out", drawn)
    assert drawn.stat().st_size > 5_000


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
