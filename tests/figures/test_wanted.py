"""The table ``figure`` of a scenario, and the options that override it."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.figures.html import LIBRARY, plotly_js
from crossfade.figures.wanted import Wanted
from crossfade.tables import Table
from tests.conftest import SWEEP, Cli, expect_one_line, svg_words

FIGURE = """
[figure]
y = ["goodput_bps", "timeouts"]
by = "channel.p_e"
panels = "tcp.variant"
labels = { tahoe = "Old hat", "0.1" = "many lost" }
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def with_figure(tmp_path: Path) -> Path:
    path = tmp_path / "figure.toml"
    path.write_text(SWEEP.replace("[0.01, 0.1]", '[0.01, 0.1]\n"tcp.w_max" = [4, 8]') + FIGURE)
    return path


def test_the_scenario_says_what_is_drawn(cli: Cli, with_figure: Path, tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    short = ["--runs", "2", "--quiet", "--set", "run.duration=500 slots"]
    outcome = cli("run", with_figure, *short, "--plot", figure)
    assert outcome.code == 0, outcome.err
    words = svg_words(figure)
    assert {"Old hat", "Reno", "many lost", "$P_E$ = 0.01"} <= set(words)
    assert figure.read_text().count('<g id="axes_') == 4
    # A results file stores the table too, and the command line overrides it.
    stored, again = tmp_path / "stored.sqlite", tmp_path / "again.svg"
    assert cli("sweep", with_figure, *short, "--out", stored).code == 0
    assert cli("plot", stored, "--out", again).code == 0
    assert again.read_bytes() == figure.read_bytes()
    assert cli("plot", stored, "--y", "rtt_mean_s", "--where", "tcp.variant=reno", "--out", again).code == 0
    words = svg_words(again)
    assert again.read_text().count('<g id="axes_') == 1
    assert "Mean round-trip time (ms)" in words
    assert "many lost" in words


def test_an_axis_that_was_taken_out_is_not_drawn_along(cli: Cli, with_figure: Path, tmp_path: Path) -> None:
    text = with_figure.read_text().replace('"tcp.variant" = ["tahoe", "reno"]\n', "")
    with_figure.write_text(text)
    figure = tmp_path / "figure.svg"
    short = ["--runs", "2", "--quiet", "--set", "run.duration=500 slots"]
    outcome = cli("run", with_figure, *short, "--plot", figure)
    assert outcome.code == 0, outcome.err
    assert figure.read_text().count('<g id="axes_') == 2


def test_a_grid_has_one_axis_across_and_one_down(tmp_path: Path) -> None:
    rows = [
        [a, b, x, 10.0 * i + j + x] for i, a in enumerate("uv") for j, b in enumerate("kl") for x in (1, 2)
    ]
    table = Table(["left", "down", "p_e", "goodput_bps"], [list(row) for row in rows])
    cf.plot(table, tmp_path / "grid.svg", panels=["left", "down"])
    words = svg_words(tmp_path / "grid.svg")
    assert [word for word in words if ", " in word] == ["u, k", "v, k", "u, l", "v, l"]
    with pytest.raises(cf.errors.ResultsError, match="one axis across and one down"):
        cf.plot(table, tmp_path / "grid.svg", x="p_e", panels=["left", "down", "goodput_bps"])


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ('y = "goodput"', ["figure.y = goodput", "goodput_bps"]),
        ('by = "tcp.varient"', ["figure", "tcp.varient", "tcp.variant"]),
        ('panels = "colour"', ["figure", "colour"]),
        ('of = "curves"', ["figure.of", "events"]),
        ('where = "p_e"', ["figure.where p_e", "KEY=VALUE"]),
    ],
)
def test_what_no_figure_shows_is_said_before_anything_runs(
    cli: Cli, tmp_path: Path, figure: str, words: list[str]
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(f"{SWEEP}[figure]\n{figure}\n")
    expect_one_line(cli("run", path), *words)


def test_events_are_drawn_where_a_variable_of_the_sender_is_asked_for(
    cli: Cli, small: Path, tmp_path: Path
) -> None:
    by_run, by_plot, events = tmp_path / "run.svg", tmp_path / "plot.svg", tmp_path / "events.csv"
    options = ["--runs", "2", "--set", "run.duration=300 slots", "--quiet", "--events", events]
    assert cli("run", small, *options, "--y", "seq", "--plot", by_run).code == 0
    assert cli("plot", events, "--y", "seq", "--title", "A small scenario", "--out", by_plot).code == 0
    assert by_run.read_bytes() == by_plot.read_bytes()


def test_what_cannot_be_meant_is_left_out() -> None:
    wild = {"figure": {"of": 3, "x": ["a"], "y": {"a": 1}, "by": [1], "labels": "b", "log_y": "yes"}}
    assert Wanted.read(wild) == Wanted.read({}) == Wanted()


def test_the_library_of_pages_is_the_one_that_was_looked_at() -> None:
    vendored = runpy.run_path(str(ROOT / "scripts" / "vendor_plotly.py"))
    data = (vendored["ASSETS"] / LIBRARY).read_bytes()
    assert hashlib.sha256(data).hexdigest() == vendored["SHA256"]
    assert f"v{vendored['VERSION']}" in plotly_js()[:200]
    licence = (vendored["ASSETS"] / "plotly-LICENSE.txt").read_text()
    assert "MIT License" in licence
    assert "Plotly" in licence
