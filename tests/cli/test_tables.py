"""Tables in terminals of several widths and in a pipe: cells are never cut, and omitted columns are
mentioned.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from crossfade.cli.layout import Column, fitted
from tests.conftest import Cli, long_form

FIRST = ["run", "quickstart", "--runs", "2", "--set", "run.duration=2000 slots"]
AXES = [
    f"{variant} {p_e}" for variant in ("tahoe", "reno", "newreno") for p_e in ("0.001", "0.00204005", "0.3")
]


def columns_of(out: str) -> tuple[list[str], list[list[str]]]:
    """Names of the metrics and the rows of the first table; cells are at least two spaces apart."""
    lines = out.splitlines()
    rule = next(number for number, line in enumerate(lines) if set(line.strip()) == {"─"})
    rows = [re.split(" {2,}", line.strip()) for line in lines[rule + 1 :] if line.strip()]
    return lines[rule - 2].split(), [row for row in rows if len(row) > 2]


def in_a_terminal(width: int, *arguments: str) -> str:
    """Output of a command in a terminal of a given width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "crossfade", *arguments]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=env
    ) as process:
        os.close(theirs)
        found = b""
        try:
            while piece := os.read(ours, 65536):
                found += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", found.decode()).replace("\r", "")


@pytest.mark.parametrize("width", [80, long_form(100), long_form(140)])
def test_the_first_command_of_the_tutorial_is_whole_at_every_width(
    width: int, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = cli(*FIRST).out
    metrics, rows = columns_of(piped)
    assert (len(metrics), "left out" in piped) == (4, False)
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = cli(*FIRST).out
    fewer, shown = columns_of(narrow)
    assert fewer == metrics[: len(fewer)]
    assert max(map(len, narrow.splitlines())) <= width
    assert "…" not in narrow
    # Two runs at every point: in a column, or in a line above the table in its place.
    runs = [] if "\nruns = 2\n" in narrow else ["2"]
    assert [[*row[:2], *runs, *row[3 : 3 + len(fewer)]] for row in rows] == shown
    missing = len(metrics) - len(fewer)
    said = f"{missing} metric{'s' * (missing > 1)} left out: --columns, --csv"
    assert (said in narrow) == (missing > 0)
    for axes in AXES:
        assert axes.split() in [row[:2] for row in shown]
    # A terminal of this width shows the same table.
    assert columns_of(in_a_terminal(width, *FIRST)) == (fewer, shown)


def test_what_is_asked_for_is_not_left_out(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [*FIRST, "--columns", "goodput_bps,timeouts_per_slot,energy_per_packet,rtt_mean_s"]
    monkeypatch.setenv("COLUMNS", "60")
    narrow = cli(*asked).out
    monkeypatch.delenv("COLUMNS")
    assert narrow == cli(*asked).out
    assert columns_of(narrow)[0][-1] == "rtt_mean_s"


def test_widths_by_hand() -> None:
    """Table width by hand: margin 2, gaps of 3, and columns of 4 + 4 + 5 + 6 + 7 = 26 make 2 + 26 + 4 * 3 =
    40.
    """
    columns = [
        Column("axis", ["1", "2"], is_axis=True),
        Column("runs", ["10", "10"]),
        Column("aaaaa", ["1", "2"], is_metric=True),
        Column("b", ["123456", "1"], is_metric=True),
        Column("c\nunit", ["1", "1234567"], is_metric=True),
    ]
    for width, left_out in ((None, 0), (40, 0), (39, 1), (30, 1), (29, 2), (1, 2)):
        found = fitted(columns, width)
        assert (len(found.columns), found.left_out, found.above) == (5 - left_out, left_out, []), width


def test_constant_and_long_values_of_axes_stand_above() -> None:
    long = ["model=markov p_e=0.01", "model=iid p_e=0.25", "model=markov p_e=0.01"]
    columns = [
        Column("rate", ["1 Mbit/s"] * 3, is_axis=True, key="link.rate"),
        Column("channel", long, is_axis=True, key="channel"),
        Column("goodput", ["1.5", "2.5", "3.5"], is_metric=True),
    ]
    wide, narrow = fitted(columns, 40), fitted(columns, 32)
    # The table needs 2 + 21 + 3 + 7 = 33 columns.
    assert wide.above == ["link.rate = 1 Mbit/s"]
    assert [column.cells for column in wide.columns] == [long, ["1.5", "2.5", "3.5"]]
    assert narrow.above == [
        "link.rate = 1 Mbit/s",
        "channel 1 = model=markov p_e=0.01",
        "channel 2 = model=iid p_e=0.25",
    ]
    assert [column.cells for column in narrow.columns] == [["1", "2", "1"], ["1.5", "2.5", "3.5"]]
    assert narrow.left_out == 0


def test_the_number_of_runs_goes_above_before_a_metric_goes() -> None:
    columns = [
        Column("x", ["1", "2"], is_axis=True),
        Column("runs", ["10", "10"], is_right=True),
        Column("aaaaa", ["1", "2"], is_metric=True),
        Column("b", ["123456", "1"], is_metric=True),
    ]
    # The table needs 2 + 1 + 4 + 5 + 6 + 3 * 3 = 27 columns, without runs 20.
    assert fitted(columns, 27).above == []
    narrow = fitted(columns, 20)
    assert (narrow.above, [column.head for column in narrow.columns]) == (["runs = 10"], ["x", "aaaaa", "b"])
    assert fitted(columns, 19).left_out == 1


SECONDS = """
schema = 2
run = { duration = "2 s", runs = 2 }
channel = { model = "none" }
link = { rate = "1 Mbit/s", delay = "5 ms", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", w_max = 20 }
figure = { labels = { sack = "Reno, SACK" } }
[sweep]
"tcp.variant" = ["sack", "newreno"]
"""


def test_goodput_comes_first_in_seconds_and_values_have_their_labels(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.toml").write_text(SECONDS)
    result = cli("run", tmp_path / "a.toml")
    heads, rows = columns_of(result.out)
    assert heads[:2] == ["goodput_bps", "rtt_p95_s"], result.err
    assert "per_slot" not in result.out
    assert [row[0] for row in rows] == ["Reno, SACK", "newreno"]
    # The quickstart has metrics per slot.
    heads, _ = columns_of(cli(*FIRST).out)
    assert heads.index("throughput_per_slot") < heads.index("goodput_bps")
