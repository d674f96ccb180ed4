"""Events of a sweep, and figures of events over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.figures.timelines import is_events
from tests.conftest import Cli, events_text, expect_one_line, long_form, svg_words


def test_events_of_a_sweep_have_its_axes_in_front(sweep: Path) -> None:
    table = cf.store.Table.of_frame(cf.events(sweep))
    assert table.columns[:4] == ["tcp.variant", "channel.p_e", "time_s", "event"]
    points = dict.fromkeys((row["tcp.variant"], row["channel.p_e"]) for row in table.records())
    assert list(points) == [("tahoe", 0.01), ("tahoe", 0.1), ("reno", 0.01), ("reno", 0.1)]
    alone = cf.store.Table.of_frame(cf.events(sweep, over={"tcp.variant": ["reno"], "channel.p_e": [0.1]}))
    last = [row[2:] for row in table.rows if row[:2] == ["reno", 0.1]]
    assert last == [row[2:] for row in alone.rows]


def test_an_axis_of_tables_is_one_cell(small: Path) -> None:
    channels = [{"model": "iid"}, {"model": "markov", "fd_t": 0.01}]
    table = cf.store.Table.of_frame(cf.events(small, over={"channel": channels, "channel.p_e": [0.1]}))
    assert set(table.cells("channel")) == {"iid", "markov fd_t=0.01"}


def test_too_many_points_are_refused(cli: Cli, small: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    outcome = cli("run", small, "--over", "tcp.w_max=4:24:1", "--events", file)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "at most 20 points" in outcome.err
    assert "21" in outcome.err
    assert not file.exists()


@pytest.mark.parametrize(
    "y", ["cwnd", *map(long_form, ("seq", "ssthresh", "flight_size", "dupacks", "backoff"))]
)
def test_events_are_recognised_and_drawn(cli: Cli, sweep: Path, tmp_path: Path, y: str) -> None:
    file = tmp_path / "events.csv"
    short = {"run.duration": "200 slots"}
    file.write_text(events_text(sweep, set=short, over={"tcp.variant": ["reno"]}))
    assert is_events(cf.store.Table.read(file))
    outcome = cli("plot", file, "--y", y, "--out", tmp_path / "one.svg")
    assert (outcome.code, outcome.err) == (0, f"wrote {tmp_path / 'one.svg'}\n")
    cf.pictures.plot_events(file, tmp_path / "two.svg", y=y)
    first, second = ((tmp_path / f"{name}.svg").read_bytes() for name in ("one", "two"))
    assert first == second
    assert len(first) > 5000


def svg(table: cf.store.Table, tmp_path: Path, **options: Any) -> str:
    file = tmp_path / "drawn.svg"
    cf.pictures.plot_events(table, file, **options)
    return file.read_text()


def panels(text: str) -> int:
    return text.count('<g id="axes_')


def test_the_last_axis_tells_curves_apart_and_the_others_have_panels(sweep: Path, tmp_path: Path) -> None:
    short = {"run.duration": "50 slots"}
    table = cf.store.Table.of_frame(cf.events(sweep, set=short))
    assert len(cf.pictures.plot_events(table).axes) == 2
    assert panels(svg(table, tmp_path, by="tcp.variant,channel.p_e")) == 1
    # Sequence numbers of several runs get a panel each, since overlaid curves would be unreadable.
    assert len(cf.pictures.plot_events(table, y="seq").axes) == 4
    results = cf.run(sweep, set=short, runs=2)
    assert not is_events(results.table())


def events(*rows: tuple[float, str, int, int, float, float]) -> cf.store.Table:
    columns = ["time_s", "event", "flow", "seq", "cwnd", "ssthresh", "dupacks", "backoff", "flight_size"]
    return cf.store.Table(columns, [[*row, 0, 1, 1] for row in rows])


SENT = [(0.0, "send", 0, 0, 4.0, 9.0), (0.1, "send", 0, 1, 4.0, 9.0)]
MARKS = {"fast_retransmit": "fast retransmit", "timeout": "timeout"}


def words(table: cf.store.Table, tmp_path: Path, **options: Any) -> set[str]:
    """Set of the texts of a figure."""
    svg(table, tmp_path, **options)
    return set(svg_words(tmp_path / "drawn.svg"))


@pytest.mark.parametrize("event", list(MARKS))
def test_marks_are_explained_where_there_are_any(tmp_path: Path, event: str) -> None:
    plain = words(events(*SENT), tmp_path)
    assert not plain & set(MARKS.values())
    marked = words(events(*SENT, (0.2, event, 0, 0, 2.0, 2.0)), tmp_path)
    assert marked & set(MARKS.values()) == {MARKS[event]}


def test_what_is_sent_again_is_told_from_what_is_new(tmp_path: Path) -> None:
    assert words(events(*SENT), tmp_path, y="seq") >= {"sent"}
    assert "retransmitted" not in words(events(*SENT), tmp_path, y="seq")
    again = events(*SENT, (0.15, "lost", 0, 0, 4.0, 9.0), (0.2, "send", 0, 0, 2.0, 2.0))
    assert words(again, tmp_path, y="seq") >= {"sent", "retransmitted", "lost or dropped"}


def test_a_part_of_the_time_is_what_it_is_in_the_whole(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time interval is drawn as in the whole figure: retransmissions of earlier segments count as such,
    axes fit, the legend names only marks inside.
    """
    table = events(
        *[(0.1 * n, "send", 0, n, 90.0, 9.0) for n in range(20)],
        (1.95, "timeout", 0, 0, 90.0, 9.0),
        *[(0.1 * n, "send", 0, n, 8.0, 9.0) for n in range(20, 40)],
        (4.05, "send", 0, 35, 8.0, 9.0),
        (4.5, "send", 0, 36, 8.0, 9.0),
    )
    part = {"time_s>=": 4, "time_s<": "4.4"}
    assert words(table, tmp_path, y="seq", where=part) >= {"retransmitted", "4.0", "4.4"}
    seen = words(table, tmp_path, where=part)
    assert "timeout" in words(table, tmp_path)
    assert "timeout" not in seen
    # The window is 90 segments before the interval, and 8 within it.
    assert {"80", "8"} & seen == {"8"}
    assert "80" in words(table, tmp_path, where={"time_s<": 1.5})
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(table.to_csv())
    assert (
        cli("plot", "events.csv", "--where", "time_s>=4", "--where", "time_s <4.4", "--out", "two.svg").code
        == 0
    )
    cf.pictures.plot_events("events.csv", "one.svg", where=part)
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()
    expect_one_line(
        cli("plot", "events.csv", "--where", "time_s>9"), "no event has such a time_s", "0 to 4.5"
    )
    expect_one_line(cli("plot", "events.csv", "--where", "time_s<soon"), "time_s<soon", "a number")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--y", "goodput_bps"], ["goodput_bps", "cwnd", "seq"]),
        (["--x", "flow"], ["flow", "time_s"]),
        (["--by", "variant"], ["variant", "tcp.variant", "channel.p_e"]),
    ],
)
def test_what_cannot_be_drawn_is_said(
    cli: Cli, sweep: Path, tmp_path: Path, options: list[str], words: list[str]
) -> None:
    file = tmp_path / "events.csv"
    file.write_text(events_text(sweep, set={"run.duration": "200 slots"}))
    outcome = cli("plot", file, *options)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert all(word in outcome.err for word in words)


def test_more_panels_than_can_be_read_are_refused(cli: Cli, small: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    short = {"run.duration": "200 slots"}
    file.write_text(events_text(small, set=short, over={"tcp.w_max": [4, 5, 6, 7, 8, 9, 10]}))
    assert cli("plot", file).code == 0
    outcome = cli("plot", file, "--y", "seq")
    assert outcome.code == 2
    assert "7 panels" in outcome.err


def test_an_empty_events_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size\n")
    outcome = cli("plot", file)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "no rows" in outcome.err
