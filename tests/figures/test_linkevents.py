"""Link events: CSV files of runs, their recognition by columns, and the figures drawn from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

import crossfade as cf
from crossfade.figures.linkevents import is_link_events
from crossfade.tables import Cell
from tests.conftest import SMALL, Cli, expect_one_line, link_events_text, svg_words

COLUMNS = [
    *("time_s", "link", "event", "user", "node", "frame", "attempt", "scheme", "snr_db", "verdict"),
    *("bin", "end_s", "nulls", "change", "packets", "bytes", "kind", "to", "nulled"),
    *("delay_queue_s", "delay_grant_s", "delay_air_s", "delay_harq_s", "delay_rlc_s", "delay_reordering_s"),
    "bearer",
]
PARTS = [column for column in COLUMNS if column.startswith("delay_")]
ARQ = 'frame_size = "350 B", arq = { protocol = "selective-repeat", window = 32, max_retransmissions = 3 }'
FRAMES = SMALL.replace('"1400 B" }', f'"1400 B", {ARQ} }}').replace("p_e = 0.01", "p_e = 0.3")

Event = dict[str, Cell]


def table(*events: Event) -> cf.store.Table:
    return cf.store.Table.of(COLUMNS, events)


def frame(time: float, attempt: int, verdict: str, **more: Cell) -> Event:
    here: Event = {"time_s": time, "link": "forward", "event": "frame", "user": 0, "frame": 0}
    return here | {"attempt": attempt, "verdict": verdict} | more


def queue(time: float, change: str, packets: int, link: str = "forward", **more: Cell) -> Event:
    here: Event = {"time_s": time, "link": link, "event": "queue", "change": change}
    return here | {"packets": packets, "bytes": 1400 * packets} | more


SLOTS: list[Event] = [
    {"time_s": 0.001 * slot, "link": "cell", "event": "slot", "user": (slot + bin) % 3, "bin": bin}
    for slot in range(4)
    for bin in range(5)
]
AIR: list[Event] = [
    {
        "time_s": at,
        "link": "mesh",
        "event": "air",
        "node": node,
        "frame": 0,
        "end_s": at + 0.002,
        "nulls": 0 if nulled is None else 1,
        "kind": kind,
        "nulled": nulled,
    }
    for node, at, kind, nulled in ((4, 0.0, "rts", None), (7, 0.001, "data", 4), (9, 0.003, None, None))
]


def delay(time: float, *parts: float, **more: Cell) -> Event:
    """Event of a packet that left the link, with the parts of its delay in ms in the order of the columns."""
    here: Event = {"time_s": time, "link": "forward", "event": "delay", "user": 0, "bytes": 1500}
    return here | {name: part / 1e3 for name, part in zip(PARTS, parts, strict=True)} | more


def words(found: cf.store.Table, tmp_path: Path, **options: object) -> list[str]:
    file = tmp_path / "drawn.svg"
    cf.pictures.plot_events(found, file, **options)  # type: ignore[arg-type]
    return svg_words(file)


def panels(tmp_path: Path) -> int:
    return (tmp_path / "drawn.svg").read_text().count('<g id="axes_')


def test_a_run_writes_them_and_the_file_is_drawn(cli: Cli, tmp_path: Path) -> None:
    scenario, events = tmp_path / "frames.toml", tmp_path / "links.csv"
    scenario.write_text(FRAMES.replace("2000 slots", "300 slots").replace("runs = 10", "runs = 2"))
    assert cli("run", scenario, "--quiet", "--link-events", events).code == 0
    assert events.read_text() == link_events_text(scenario)
    found = cf.store.Table.read(events)
    assert is_link_events(found)
    sent = [row for row in found.records() if row["event"] == "frame" and row["link"] == "forward"]
    assert {row["attempt"] for row in sent} == {0, 1, 2, 3}
    lost = sum(row["verdict"] != "good" for row in sent) / len(sent)
    assert lost == pytest.approx(0.3, abs=0.05)
    outcome = cli("plot", events, "--where", "link=forward", "--y", "attempt", "--out", tmp_path / "one.svg")
    assert (outcome.code, outcome.err) == (0, f"wrote {tmp_path / 'one.svg'}\n")
    cf.pictures.plot_events(events, tmp_path / "two.svg", y="attempt", where={"link": "forward"})
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert {"Earlier attempts", "good", "lost"} <= set(svg_words(tmp_path / "one.svg"))


def test_a_sweep_has_its_axes_in_front() -> None:
    over = {"channel.p_e": [0.1, 0.5]}
    found = cf.store.Table.of_frame(cf.runs.link_events(SMALL, set={"run.duration": "50 slots"}, over=over))
    assert found.columns == ["channel.p_e", *COLUMNS]
    assert set(found.cells("channel.p_e")) == {0.1, 0.5}


def test_each_kind_has_a_panel_for_each_link(tmp_path: Path) -> None:
    events = [frame(0.0, 0, "lost"), frame(0.1, 1, "combined"), queue(0.0, "enqueued", 1)]
    assert {"Earlier attempts", "Waiting (packets)", "lost", "good with earlier copies"} <= set(
        words(table(*events), tmp_path)
    )
    assert panels(tmp_path) == 2
    both = words(table(*events, queue(0.05, "dropped", 3, "reverse")), tmp_path)
    assert panels(tmp_path) == 3
    assert both.count("forward") == 2
    assert {"reverse", "dropped"} <= set(both)
    assert "Waiting (B)" in words(table(*events), tmp_path, y="bytes")
    assert panels(tmp_path) == 1


def test_snr_slots_and_the_air(tmp_path: Path) -> None:
    snr = [frame(0.1 * n, 0, "good", snr_db=10.0 + n) for n in range(5)]
    assert "SNR (dB)" in words(table(*snr), tmp_path, y="snr_db")
    assert {"Bin", "user 0", "user 1", "user 2"} <= set(words(table(*SLOTS), tmp_path))
    on_air = words(table(*AIR), tmp_path)
    assert {"Node", "4", "7", "9", "on the air", "RTS", "DATA", "nulls"} <= set(on_air)
    defer: Event = {"time_s": 0.001, "link": "mesh", "event": "defer", "node": 4, "end_s": 0.004, "to": 7}
    assert "defers" in words(table(*AIR, defer), tmp_path, y="node")


def test_the_queues_of_nodes_are_curves_of_one_panel(tmp_path: Path) -> None:
    events = [queue(0.1 * n, "enqueued", n, "mesh", node=n % 2) for n in range(6)]
    assert {"node 0", "node 1", "Waiting (packets)"} <= set(words(table(*events), tmp_path))
    assert panels(tmp_path) == 1


def test_what_cannot_be_drawn_is_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    file.write_text(table(queue(0.0, "enqueued", 1)).to_csv())
    expect_one_line(cli("plot", file, "--y", "cwnd"), "column cwnd", "attempt", "packets", "node")
    expect_one_line(cli("plot", file, "--y", "attempt"), "nothing to draw", "no such events")
    expect_one_line(cli("plot", file, "--x", "frame"), "column frame", "time_s")
    expect_one_line(cli("plot", file, "--by", "link"), "by = link", "a panel of its own")
    expect_one_line(cli("plot", file, "--panels", "link,event"), "panels = link,event", "where chooses")
    expect_one_line(cli("plot", file, "--log-y"), "log_y = True", "linear")
    file.write_text(table(*(queue(0.1, "enqueued", 1, f"l{n}") for n in range(7))).to_csv())
    expect_one_line(cli("plot", file), "7 panels", "at most 6", "--where link=forward")


def test_parts_of_delays_are_stacked(tmp_path: Path) -> None:
    events = [delay(0.01 * i, 1.0, 2.0, 0.5, 5.0 * (i % 3 == 0), 0.0, 1.0) for i in range(1, 31)]
    figure = cf.pictures.plot_events(table(*events).to_pandas(), y="delay")
    axes = figure.axes[0]
    assert axes.get_ylabel() == "One-way delay (ms)"
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    tops = sorted({round(bar.get_y() + bar.get_height(), 9) for bar in bars})
    # Stacked from below: air, slot or grant, queue, HARQ, RLC, reordering.
    assert tops == [0.5, 2.5, 3.5, 4.5, 8.5, 9.5]
    seen = words(table(*events), tmp_path, y="delay")
    assert {"air", "slot or grant", "queue", "HARQ", "RLC", "reordering"} <= set(seen)


def test_delays_of_a_bearer_are_drawn_and_files_of_version_3_without_that_column(tmp_path: Path) -> None:
    parts = (1.0, 2.0, 0.5, 0.0, 0.0, 1.0)
    both = [delay(0.01 * i, *parts, bearer=i % 2) for i in range(1, 31)]
    seen = words(table(*both), tmp_path, y="delay", where={"bearer": "1"})
    drawn = (tmp_path / "drawn.svg").read_bytes()
    old = tmp_path / "version-3.csv"
    of_one = [event for event in both if event["bearer"] == 1]
    old.write_text(cf.store.Table.of(COLUMNS[:-1], of_one).to_csv(), encoding="utf-8")
    assert "bearer" not in old.read_text(encoding="utf-8")
    cf.pictures.plot_events(old, tmp_path / "drawn.svg", y="delay")
    assert svg_words(tmp_path / "drawn.svg") == seen
    assert (tmp_path / "drawn.svg").read_bytes() == drawn


def test_delays_of_many_packets_are_means_of_equal_times() -> None:
    # Two packets per millisecond, with 2 and 4 ms in the queue, have a mean of 3 ms; gaps without packets
    # stay empty.
    times = [0.001 * i for i in range(1000) if not 400 <= i < 600]
    events = [delay(time, 2.0 + 2.0 * second, 0, 0, 0, 0, 0) for time in times for second in (0, 1)]
    figure = cf.pictures.plot_events(table(*events).to_pandas(), y="delay")
    patches = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    bars = [bar for bar in patches if bar.get_height() > 0.0]
    assert {round(bar.get_height(), 9) for bar in bars} == {3.0}
    # Bars cover the times with packets, without the gap of a fifth of the time.
    assert len(bars) == pytest.approx(120, abs=2)
    assert all(not 0.407 < bar.get_x() < 0.59 for bar in bars)


def test_links_of_two_directions_have_a_panel_each(tmp_path: Path) -> None:
    links = ("forward", "reverse")
    both = [delay(0.01 * i, 1, 1, 1, 0, 0, 0, link=link) for i in range(1, 9) for link in links]
    words(table(*both), tmp_path, y="delay")
    assert panels(tmp_path) == 2
