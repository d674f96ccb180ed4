"""Parameters drawn for each run, from Python and the command line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line

SCENARIO = """
schema = 2
run = { duration = "5 s", runs = 4 }
channel = { model = "iid", p_e = 0.5 }
link = { rate = "2 Mbit/s", packet_size = "1000 B", queue = { limit = "100 packets" } }
flows.load = { traffic = "udp", rate = "1 Mbit/s" }
"""
LOSSES = (0.05, 0.1, 0.2, 0.4)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "load.toml"
    path.write_text(SCENARIO)
    (tmp_path / "draws.csv").write_text("channel.p_e\n" + "".join(f"{loss}\n" for loss in LOSSES))
    return path


def test_an_interval_has_the_spread_of_the_draws(scenario: Path) -> None:
    (point,) = cf.run(scenario, set={"run.draws": "draws.csv"}).points
    mean = sum(LOSSES) / 4
    # Half-width with Student's t of 3 degrees of freedom; a run of 625 packets adds a standard deviation of
    # at most 0.02.
    half = 3.1824 * math.sqrt(sum((loss - mean) ** 2 for loss in LOSSES) / 3 / 4)
    assert point.value("frame_error_rate") == pytest.approx(mean, abs=0.03)
    ci95 = point.metrics["frame_error_rate"].ci95
    assert ci95 == pytest.approx(half, rel=0.2)


def test_what_the_draws_do_not_allow_is_one_line(scenario: Path, cli: Cli) -> None:
    draws = ["--set", "run.draws=draws.csv"]
    expect_one_line(cli("run", scenario, *draws, "--runs", "5"), "run.draws", "4 draws", "5 runs")
    expect_one_line(cli("run", scenario, *draws, "--over", "channel.p_e=0.1,0.2"), "channel.p_e", "run.draws")
    expect_one_line(cli("run", scenario, *draws, "--method", "formula"), "run.draws", "formula")
