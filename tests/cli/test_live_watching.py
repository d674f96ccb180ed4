"""Watching a live run: on a pseudo-terminal, on a page in a browser, in records and figures."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from crossfade import api
from crossfade.cli.live import braille
from crossfade.cli.live.screen import as_one, picture
from crossfade.cli.live.watching import Frame
from tests.browser import chromium
from tests.cli.live_runs import SCENARIO, live, live_command, need_live
from tests.conftest import Cli, events_text, expect_one_line, points, svg_words

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Journal of a transfer of one second, with its events and link events in the same folder."""
    need_live()
    folder = tmp_path_factory.mktemp("recorded")
    scenario, journal = folder / "link.toml", folder / "rec.cfj"
    scenario.write_text(SCENARIO)
    outputs: list[str | Path] = ["--events", folder / "events.csv", "--link-events", folder / "links.csv"]
    done = live(scenario, "--workload", "bulk", "--set", "run.duration=1 s", "--record", journal, *outputs)
    assert done.returncode == 0, done.stderr
    return journal


def test_sockets_and_links_stand_in_one_record(recorded: Path, cli: Cli) -> None:
    rows = list(csv.DictReader((recorded.parent / "events.csv").read_text().splitlines()))
    assert len(rows) > 20
    for name in ("cwnd", "srtt_s", "delivery_rate_bps"):
        assert max(float(row[name]) for row in rows) > 0.0
    counts = {name: [int(row[f"link_{name}"]) for row in rows] for name in ("arrived", "lost", "dropped")}
    for name, values in counts.items():
        assert values == sorted(values), f"{name}: counted since the beginning"
    # Counts grow up to those of the journal; packets after the last sample are not in them.
    forward = api.replay(recorded)[0]
    assert 0.5 * forward.arrived < counts["arrived"][-1] <= forward.arrived
    assert 0 < counts["lost"][-1] <= forward.lost
    figure = recorded.with_suffix(".svg")
    for name in ("link_inside", "srtt_s", "retransmissions"):
        assert cli("plot", recorded, "--y", name, "--out", figure).code == 0
    expect_one_line(cli("plot", recorded, "--y", "colour", "--out", figure), "colour", "link_inside")


def test_kernel_and_simulation_stand_in_one_figure(recorded: Path, cli: Cli) -> None:
    table = api.journal_table(recorded)
    assert set(table.cells("method")) == {"live", "simulation"}
    simulated = [record for record in table.records() if record["method"] == "simulation"]
    text = (recorded.parent / "link.toml").read_text()
    expected = list(csv.DictReader(events_text(text, set={"run.duration": "1 s"}).splitlines()))
    assert [str(record["event"]) for record in simulated] == [
        row["event"] for row in expected[: len(simulated)]
    ]
    assert len(simulated) > 0.8 * len(expected), "until the live run ended"
    figure = recorded.with_suffix(".svg")
    assert cli("plot", recorded, "--y", "cwnd", "--out", figure).code == 0
    assert {"live", "simulation"} <= set(svg_words(figure))


def test_link_events_are_those_of_the_replay(recorded: Path, cli: Cli, figures: list[Figure]) -> None:
    links = recorded.parent / "links.csv"
    again = recorded.parent / "again.csv"
    assert cli("run", "--replay", recorded, "--link-events", again).code == 0
    assert links.read_text() == again.read_text()
    rows = [row for row in csv.DictReader(links.read_text().splitlines()) if row["link"] == "forward"]
    lost = [row for row in rows if row["verdict"] == "lost"]
    counted = api.replay(recorded)[0].lost
    assert counted > 0
    # The frame that is on its way at the end has a verdict already, and is not yet counted.
    last = [row for row in rows if row["event"] == "frame"][-1]
    assert len(lost) - counted in {0, int(last["verdict"] == "lost")}
    times = [float(row["time_s"]) for row in rows]
    assert times == sorted(times)
    assert cli("plot", links, "--out", recorded.with_suffix(".png")).code == 0
    dots = {line.get_label(): len(points(line)) for axes in figures[0].axes for line in axes.lines}
    assert dots["lost"] >= len(lost)


def test_curves_of_dots() -> None:
    # A line along the lower edge and up the right one, by the bits of Unicode chart U2800.
    lines = braille.plot([[(0.0, 0.0), (1.0, 0.0), (1.0, 8.0)]], 2, 2, (0.0, 1.0), 8.0)
    assert ["".join(character for character, _ in line) for line in lines] == [" \u28b8", "\u28c0\u28f8"]
    assert [[number for _, number in line] for line in lines] == [[None, 0], [0, 0]]
    assert [braille.nice_top(value) for value in (0.0, 3.0, 10.0, 11.0, 0.02)] == [1.0, 5.0, 10.0, 20.0, 0.02]


def test_a_picture_fits_its_screen() -> None:
    socket = {
        "cwnd": 10,
        "srtt_s": 0.02,
        "delivery_rate_bps": 1e6,
        "retransmissions": 0,
        "congestion": "cubic",
    }
    way = {"rate_bps": 1e6, "lost": 1, "dropped": 0, "inside": 3}
    frames = [Frame(0.1 * n, {"far:1-2": {**socket, "cwnd": n}}, [way, way]) for n in range(100)]
    for width, height in ((80, 24), (200, 60), (40, 10), (20, 5)):
        lines = picture(frames, width, height)
        assert len(lines) < height or height < 8
        assert all(line.cell_len <= max(width, 100) for line in lines)
    assert any("cwnd 99" in line.plain for line in picture(frames, 80, 24))
    for width in (1, 5, 20):
        lines = picture(frames, width, 24)
        drawn = Console(width=width).render_lines(as_one(lines))
        assert len(drawn) == len(lines), "none goes on in the next"


def test_the_terminal_shows_it_and_is_given_back(tmp_path: Path) -> None:
    """On a pseudo-terminal the alternate screen appears, shows curves and closes; then COMMAND's output
    appears.
    """
    need_live()
    master, slave = pty.openpty()
    link: list[str | Path] = ["--rate", "10 Mbit/s", "--delay", "5 ms", "--serve", tmp_path]
    (tmp_path / "file").write_bytes(bytes(1_500_000))
    script = "curl -s -o /dev/null $CROSSFADE_SERVER/file; echo said by the command"
    process = subprocess.Popen(
        live_command(*link, "--watch", "--", "sh", "-c", script),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "LINES": "40", "COLUMNS": "100"},
        start_new_session=True,
    )
    os.close(slave)
    seen = b""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if not select.select([master], [], [], 1.0)[0]:
            continue
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    assert process.wait(PATIENCE_S) == 0
    text = seen.decode()
    begin, end = text.index("\x1b[?1049h"), text.index("\x1b[?1049l")
    shown = text[begin:end]
    for words in ("congestion window", "through the link", "cwnd", "from the far host:", "Mbit/s"):
        assert words in shown
    assert re.search("[\u2801-\u28ff]{3}", shown), "curves"
    assert "said by the command" not in shown
    assert "said by the command" in text[end:]
    assert "live: from the far host:" in text[end:]


def test_a_shell_has_the_terminal_while_a_run_is_stopped() -> None:
    """Ctrl-Z: the alternate screen closes before the shell continues, and opens again with ``fg``."""
    need_live()
    command = live_command("--rate", "10 Mbit/s", "--watch", "--", "sleep", "3")
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp("sh", ["sh", "-c", 'set -m; "$@"; echo the shell; fg; echo ended $?', "sh", *command])
    seen, is_stopped, until = b"", False, time.monotonic() + PATIENCE_S
    while time.monotonic() < until and select.select([master], [], [], PATIENCE_S)[0]:
        try:
            seen += os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not is_stopped and b"through the link" in seen:
            is_stopped = os.write(master, b"\x1a") == 1
    os.close(master)
    os.waitpid(pid, 0)
    turns = re.findall(r"\x1b\[\?1049[hl]|\x1b\[\?25[hl]|the shell|ended \d+", seen.decode())
    taken, given = ["\x1b[?1049h", "\x1b[?25l"], ["\x1b[?25h", "\x1b[?1049l"]
    assert turns == [*taken, *given, "the shell", *taken, *given, "ended 0"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--watch", "--", "true"], ["--watch", "--page"]),
        (["--watch"], ["--watch", "COMMAND"]),
        (["--page", "70000", "--", "true"], ["--page", "65535"]),
    ],
)
def test_what_cannot_be_watched_is_one_line(cli: Cli, arguments: list[str], parts: list[str]) -> None:
    outcome = cli("live", "--rate", "1 Mbit/s", *arguments)
    assert outcome.code == 125
    expect_one_line(type(outcome)(2, outcome.out, outcome.err), *parts)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    """Address of the page of a run that lasts until the test ends."""
    need_live()
    scenario = tmp_path / "link.toml"
    scenario.write_text(SCENARIO)
    process = subprocess.Popen(
        live_command(scenario, "--workload", "bulk", "--set", "run.duration=60 s", "--page", "0"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", process.stderr.readline())
    assert found is not None
    yield found[0]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)


def get(address: str, host: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(address, headers={} if host is None else {"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_page_is_for_who_has_the_token(page: str) -> None:
    base, _, token = page.partition("/?token=")
    status, text = get(page)
    assert (status, "<script>" in text) == (200, True)
    assert not re.findall(r"(?:src|href)=[\"']?(?!data:)[^\"'\s>]*//", text), "nothing from elsewhere"
    for address, host in (
        (f"{base}/", None),
        (f"{base}/?token=", None),
        (f"{base}/?token={token}x", None),
        (f"{base}/frames?since=0", None),
        (page, "example.org"),
    ):
        assert get(address, host)[0] == 403, address
    for path in ("other", "frames", "../page.html"):
        query = f"token={token}" + ("&since=-1" if path == "frames" else "")
        assert get(f"{base}/{path}?{query}")[0] == 404, path
    until = time.monotonic() + PATIENCE_S
    found: dict[str, Any] = {"frames": [], "next": 0}
    while len(found["frames"]) < 5:
        assert time.monotonic() < until
        time.sleep(0.1)
        found = json.loads(get(f"{base}/frames?token={token}&since=0")[1])
    later = json.loads(get(f"{base}/frames?token={token}&since={found['next']}")[1])
    assert all(frame["time_s"] > found["frames"][-1]["time_s"] for frame in later["frames"])


def test_a_browser_draws_the_page_and_asks_nobody_else(page: str, tmp_path: Path) -> None:
    log, profile = tmp_path / "net.json", tmp_path / "profile"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"]
    options += [f"--user-data-dir={profile}", f"--log-net-log={log}"]
    command = [chromium(), *options, "--dump-dom", page]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    # Three plots: both ways, and one socket that sends data.
    assert re.findall(r'data-curves="(\d+)"', dom) == ["2", "1", "1"], dom[-3000:]
    cells = re.findall(r"<td>(.*?)</td>", dom)
    assert cells[0] == "from the far host"
    assert float(cells[1]) > 0.0, "Mbit/s"
    # The rate of the link from the scenario is shown beside its throughput; the reverse link has no rate.
    assert (float(cells[2]), cells[8]) == (20.0, "–")
    assert "rate of the link from the far host: 20 Mbit/s" in dom
    assert all(3 <= int(count) <= 7 for count in re.findall(r'data-ticks="(\d+)"', dom))
    assert '<tr class="idle">' not in dom
    (socket,) = (number for number, cell in enumerate(cells) if cell.startswith("far:"))
    assert cells[socket].endswith(" cubic")
    assert 1 <= int(cells[socket + 1]) <= 1000, "cwnd"
    assert 10.0 < float(cells[socket + 2]) < 1000.0, "srtt in ms"
    origin = page.partition("/?")[0]
    asked = re.findall(r'"initiator":"(http[^"]*)".*?"url":"([^"]*)"', log.read_text())
    assert asked, "it asks for frames"
    assert all(url.startswith(origin) for initiator, url in asked if initiator == origin)
