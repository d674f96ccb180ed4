"""Selection of metrics for tables (``--columns``), and the flows that ``check`` lists."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.conftest import SMALL, Cli, expect_one_line


def test_columns_are_those_that_are_asked_for(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    asked = ("--columns", "timeouts,goodput_bps")
    rows = list(csv.DictReader(io.StringIO(cli("run", tmp_path / "a.toml", *asked, "--csv", "-").out)))
    ends = ("", "_ci95", "_ci95_low", "_ci95_high", "_runs")
    assert [*rows[0]] == [
        "method",
        "runs",
        *(f"{name}{end}" for name in ("timeouts", "goodput_bps") for end in ends),
    ]
    words = cli("run", tmp_path / "a.toml", *asked).out.split()
    assert words.index("timeouts") < words.index("goodput_bps")
    assert "rtt_mean_s" not in words
    swept = cli("run", tmp_path / "a.toml", *asked, "--over", "channel.p_e=0.01,0.1").out
    assert "timeouts" in swept
    assert "link_utilisation" not in swept


def test_a_column_that_is_none_is_named_before_anything_runs(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(SMALL)
    for name, hint in (
        ("goodputt_bps", "did you mean goodput_bps"),
        ("nothing", "crossfade metrics lists all"),
    ):
        expect_one_line(
            cli("run", tmp_path / "a.toml", "--columns", name), f"--columns {name}: no metric", hint
        )
    # Names of flows are checked against the results, after the run.
    expect_one_line(
        cli("run", tmp_path / "a.toml", "--columns", "web.goodput_bps"),
        "web.goodput_bps: these results have no",
    )


def test_check_says_every_flow_of_a_cell_and_of_a_mesh(cli: Cli) -> None:
    cell = cli("check", "lte-like-cell", "--set", "flows.web={count=2,radio={mean_snr_db=9,speed='5 km/h'}}")
    flows = [line for line in cell.out.splitlines() if line.startswith("flow ")]
    assert [line.split(":")[0] for line in flows] == [
        *("flow driving-cubic", "flow driving-reno", "flow walking-cubic", "flow walking-reno", "flow web")
    ]
    assert "; users 0 to 4: 3 to 22 dB, 30 to 90 km/h, f_d T " in flows[0]
    assert "; users 20 to 21: 9 dB, 5 km/h, f_d T " in flows[-1]
    assert "flows.web is a new flow" in cell.err
    mesh = cli("check", "mesh-chain").out.splitlines()[-1]
    assert mesh.startswith("flow file: bulk, TCP newreno (ns2)")
    assert mesh.endswith("from 0 to 8")
