"""Selection of parts of results (``where``) for comparisons, choices and reports; fixed axes are no axes any
more.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line


@pytest.fixture
def results_file(cli: Cli, sweep: Path, tmp_path: Path) -> Path:
    file = tmp_path / "sweep.sqlite"
    assert cli("sweep", sweep, "--runs", "3", "--quiet", "--out", file).code == 0
    return file


def test_points_are_chosen_as_rows_of_a_table_are(results_file: Path) -> None:
    results = cf.store.load(results_file)
    part = results.where({"tcp.variant": "reno", "channel.p_e<": 0.05})
    assert [point.axes for point in part.points] == [{"tcp.variant": "reno", "channel.p_e": 0.01}]
    assert part.table().rows == [row for row in results.table().rows if row[:2] == ["reno", 0.01]]
    worse = results.where({"timeouts>": results.points[0].value("timeouts")})
    assert 0 < len(worse.points) < 4
    with pytest.raises(cf.errors.ResultsError, match=r"tcp\.variant = sack: no row has that"):
        results.where({"tcp.variant": "sack"})


def test_compare_best_and_report_take_a_part(cli: Cli, results_file: Path) -> None:
    part = ["--where", "channel.p_e<0.05", "--csv", "-"]
    for command in (["compare", results_file, "--by"], ["best", results_file, "--choose"]):
        found = cf.store.Table.from_csv(cli(*command, "tcp.variant", *part).out)
        assert found.cells("channel.p_e") == [0.01]
    page = results_file.with_suffix(".html")
    assert cli("report", results_file, "--where", "tcp.variant=reno").code == 0
    assert "<td>reno</td>" in page.read_text()
    assert "<td>tahoe</td>" not in page.read_text()
    assert page.stat().st_size < 2_000_000
    expect_one_line(cli("compare", results_file, "--by", "tcp.variant", "--where", "colour=red"), "colour")


def test_what_is_set_is_fixed(cli: Cli, sweep: Path) -> None:
    found = json.loads(cli("run", sweep, "--runs", "2", "--set", "tcp.variant=newreno", "--json").out)
    assert [point["axes"] for point in found] == [{"channel.p_e": 0.01}, {"channel.p_e": 0.1}]
    assert found[0]["scenario"]["tcp"]["variant"] == "newreno"
    # Setting a key and sweeping it on the same command line is still an error.
    both = ["--set", "tcp.w_max=4", "--over", "tcp.w_max=4,8"]
    expect_one_line(cli("run", sweep, *both), "tcp.w_max (set) contradicts axis")
