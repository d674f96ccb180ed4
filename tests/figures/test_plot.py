"""Figures: files that open in each format, reproducible bytes, texts, marks and ticks."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import crossfade as cf
from crossfade.tables import Cell, Table
from tests.conftest import Cli, long_form, points, svg_words

BEGINNINGS = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}

COLUMNS = (
    "variant,channel,w_max,k,p_e,throughput_lower,throughput_upper,throughput_exact,throughput_sim,ci95,"
    "transmissions_exact"
)
RESULTS = Table(
    COLUMNS.split(","),
    [
        [variant, channel, 24, 3, p_e, None, None, None, 0.9 - p_e, 0.01, None]
        for variant in ("tahoe", "reno")
        for channel in ("iid", 0.01)
        for p_e in (0.001, 0.01, 0.1)
    ],
)
# Two of the four curves: drawing them takes less time, where the number of curves decides nothing.
TWO = Table(RESULTS.columns, [row for row in RESULTS.rows if row[1] == "iid"])


@pytest.mark.parametrize("suffix", list(BEGINNINGS))
def test_a_figure_is_the_same_file_twice(tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for file in files:
        cf.plot(TWO, file, title="f_d T = 0.01")
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(BEGINNINGS[suffix])
    assert len(first) > 5000
    assert first == second
    # When, and by what it was made.
    assert not [word for word in (b"CreationDate", b"dc:date", b"Matplotlib") if word in first]
    # Journals accept the fonts.
    if suffix == ".pdf":
        assert b"/Type3" not in first
        assert b"/FontFile2" in first  # a TrueType font
    if suffix == ".svg":
        assert b"'DejaVu Sans', Verdana, sans-serif" in first
        assert first.count(b"<text") > 10


def test_results_a_table_and_its_csv_are_drawn_alike(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    results = cf.run(sweep, runs=5, set={"run.duration": "500 slots"}, over={"tcp.variant": ["reno"]})
    table = tmp_path / "results.csv"
    table.write_text(results.to_csv())
    by_api, by_table, by_command = (tmp_path / f"{name}.png" for name in ("a", "b", "results"))
    results.plot(str(by_api))
    cf.plot(results.table(), by_table, title=results.title)
    outcome = cli("plot", table)
    assert (outcome.code, outcome.err) == (0, f"wrote {by_command}\n")
    assert by_api.read_bytes() == by_table.read_bytes()
    cf.plot(table, by_table)
    assert by_table.read_bytes() == by_command.read_bytes()


def test_a_lower_bound_is_drawn_as_one(tmp_path: Path, figures: list[Figure]) -> None:
    columns = ["load", "method", *(f"completion_time_s{end}" for end in ("", "_ci95", "_at_least"))]
    rows: list[list[Cell]] = [[0.5, "simulation", 1.0, 0.1, None], [1.2, "simulation", 3.4, 0.2, 1]]
    cf.plot(Table(columns, rows), tmp_path / "bounds.svg", y="completion_time_s")
    arrows = [line for line in figures[0].axes[0].lines if line.get_label() == "at least"]
    assert [points(line) for line in arrows] == [[(1.2, 3.4)]]
    assert "at least" in svg_words(tmp_path / "bounds.svg")
    cf.plot(Table(columns, [rows[0], [1.0, *rows[0][1:]]]), tmp_path / "none.svg", y="completion_time_s")
    assert not [line for line in figures[1].axes[0].lines if line.get_label() == "at least"]


def test_analysis_is_drawn_where_the_table_has_it(tmp_path: Path) -> None:
    analysed = Table(TWO.columns, [[*row[:5], 0.85, 0.95, 0.9, *row[8:]] for row in TWO.rows])
    cf.plot(TWO, tmp_path / "without.svg")
    cf.plot(analysed, tmp_path / "with.svg")
    without, with_lines = ((tmp_path / f"{name}.svg").read_text() for name in ("without", "with"))
    assert "FillBetween" in with_lines
    assert "FillBetween" not in without


QUANTITIES = Table(
    ["reverse.rate", "method", "a.goodput_bps", "a.goodput_bps_ci95", "b.goodput_bps", "b.goodput_bps_ci95"],
    [
        ["500 kbit/s", "simulation", 6.0, 0.6, 2.0, 0.1],
        ["1 Mbit/s", "simulation", 6.0, None, 3.0, 0.3],
        ["2 Mbit/s", "simulation", 6.0, 0.6, 0.0, 0.0],
    ],
)


def drawn(tmp_path: Path, table: Table, **options: Any) -> list[str]:
    """Texts of a figure."""
    cf.plot(table, tmp_path / "drawn.svg", **options)
    return svg_words(tmp_path / "drawn.svg")


def size(tmp_path: Path, table: Table, **options: Any) -> tuple[int, int]:
    """Width and height of a figure in pixels, at 300 per inch."""
    cf.plot(table, tmp_path / "drawn.png", **options)
    width, height = struct.unpack(">II", (tmp_path / "drawn.png").read_bytes()[16:24])
    return width, height


def test_axes_are_named_and_counted_in_short_numbers(tmp_path: Path) -> None:
    words = drawn(tmp_path, QUANTITIES, y="a.goodput_bps/b.goodput_bps")
    assert {"Goodput, a / b", "Rate of the reverse path (Mbit/s)"} <= set(words)
    fast = Table(["p_e", "method", "near.goodput_bps"], [[p, "simulation", p * 9e6] for p in (0.1, 0.2)])
    words = drawn(tmp_path, fast, y="near.goodput_bps")
    assert {"Goodput, near (Mbit/s)", "Packet error probability $P_E$", "1.50"} <= set(words)


def test_a_logarithmic_axis_has_plain_numbers(tmp_path: Path) -> None:
    table = Table(["x", "y"], [[1, 0.02], [2, 0.3], [3, 4.0]])
    assert {"0.05", "0.1", "1", "2"} <= set(drawn(tmp_path, table, x="x", y="y", log_y=True))


def test_error_rates_are_on_a_logarithmic_axis_and_zeros_are_said(tmp_path: Path) -> None:
    rates = [0.5, 0.01, 0.0]
    table = Table(["snr_db", "fer"], [[10 * index, rate] for index, rate in enumerate(rates)])
    with pytest.warns(cf.errors.CrossfadeWarning, match="1 of 3 values are 0"):
        words = drawn(tmp_path, table, y="fer")
    assert {"SNR (dB)", "0.02", "0.2"} <= set(words)
    assert not {"0.02"} & set(drawn(tmp_path, table, y="fer", log_y=False))


@pytest.mark.parametrize(
    ("width", "pixels"), [("single", 1050), ("100", 1181), long_form("double", 2148), long_form(50.8, 600)]
)
def test_a_figure_is_as_wide_as_a_column(tmp_path: Path, width: str | float, pixels: int) -> None:
    assert size(tmp_path, TWO, width=width)[0] == pytest.approx(pixels, abs=1)


def test_intervals_are_bars_bands_or_left_out(tmp_path: Path) -> None:
    found = {}
    for how in ("bars", "bands", "none"):
        cf.plot(TWO, tmp_path / "drawn.svg", intervals=how)
        text = (tmp_path / "drawn.svg").read_text()
        found[how] = (text.count('id="LineCollection'), text.count('id="FillBetween'))
    assert found == {"bars": (2, 0), "bands": (0, 2), "none": (0, 0)}


def test_a_figure_of_few_runs_shows_each(tmp_path: Path) -> None:
    """No drawn interval exceeds one packet per slot, or the observed values."""
    scenario = {
        "schema": 2,
        "run": {"duration": "2000 slots", "runs": 3},
        "channel": {"model": "iid"},
        "tcp": {"flavour": "paper", "variant": "tahoe", "w_max": 8, "rto": {"fixed": "20 slots"}},
        "link": {"rate": "1 Mbit/s", "packet_size": "1000 B"},
        "sweep": {"channel.p_e": [0.01, 0.1]},
    }
    results = cf.run(scenario, methods=["simulation"])
    table = results.drawn()
    assert table.cells("throughput_per_slot_each_run") == [
        " ".join(map(repr, point.samples("throughput_per_slot"))) for point in results.points
    ]
    results.plot(tmp_path / "drawn.svg", y="throughput_per_slot")
    text = (tmp_path / "drawn.svg").read_text()
    assert text.count('id="LineCollection') == 0
    assert "a run" in text
    five = cf.run(scenario, methods=["simulation"], runs=5)
    assert "throughput_per_slot_each_run" not in five.drawn().columns
    assert five.drawn() == five.table()


def test_an_axis_has_panels(tmp_path: Path) -> None:
    words = drawn(tmp_path, RESULTS, panels="channel")
    assert {"i.i.d.", "$f_d T$ = 0.01", "Tahoe", "Reno"} <= set(words)
    assert words.count("Packet error probability $P_E$") == 1
    assert (tmp_path / "drawn.svg").read_text().count('<g id="axes_') == 2
    many = Table(["p_e", "k", "throughput_sim"], [[p, k, 0.5] for k in range(13) for p in (0.1, 0.2)])
    with pytest.raises(cf.errors.ResultsError, match="13 panels are too many"):
        cf.plot(many, tmp_path / "many.png", panels="k")
    assert not (tmp_path / "many.png").exists()


def test_a_long_legend_stands_below() -> None:
    def height(table: Table, **options: Any) -> float:
        return float(cf.plot(table, **options).get_figheight())

    def curves(count: int) -> Table:
        rows: list[list[Cell]] = [[p, k, 0.9 + 0.005 * k] for k in range(count) for p in (0.1, 0.2)]
        return Table(["p_e", "k", "throughput_sim"], rows)

    usual = height(curves(1), by="k")
    assert height(curves(8), by="k") == usual
    assert height(curves(12), by="k") > usual
    # A short legend also moves outside if it would hide curves.
    everywhere = Table(["x", "k", "y"], [[x, k, (x * 7 + k) % 10] for k in (0, 1) for x in range(100)])
    assert height(everywhere, x="x", y="y") > usual


def test_what_is_held_is_said(cli: Cli, tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        [p, k, fd_t, 0.5 + 0.01 * k + fd_t]
        for k in range(7)
        for fd_t in (0.01, 0.08)
        for p in (0.1, 0.2, 0.3)
    ]
    table = Table(["p_e", "k", "fd_t", "throughput_sim"], rows)
    with pytest.warns(cf.errors.CrossfadeWarning, match=r"the figure shows fd_t = 0.01 \(of 2 values\)"):
        drawn(tmp_path, table)
    held = (tmp_path / "drawn.svg").read_bytes()
    drawn(tmp_path, table, where={"fd_t": 0.01})
    assert (tmp_path / "drawn.svg").read_bytes() == held
    (tmp_path / "table.csv").write_text(table.to_csv())
    outcome = cli("plot", tmp_path / "table.csv", "--where", "fd_t=0.08", "--out", tmp_path / "drawn.svg")
    assert (outcome.code, outcome.err.count("\n")) == (0, 1)
    outcome = cli("plot", tmp_path / "table.csv")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: the figure shows fd_t = 0.01")


def test_words_stand_on_an_axis(tmp_path: Path) -> None:
    table = Table(["tcp.variant", "goodput_bps"], [["reno", 1e6], ["newreno", 2e6]])
    assert {"TCP", "Reno", "NewReno"} <= set(drawn(tmp_path, table))


def test_text_from_outside_is_no_mathematics(tmp_path: Path) -> None:
    title = r"costs $5 and $\nothing$ <b>&amp; f_d T"
    table = Table(["p_e", "who", "throughput_sim"], [[p, "a$b$c", 0.5] for p in (0.1, 0.2)])
    table.rows.append([0.1, "reno x=$5", 0.4])
    words = drawn(tmp_path, table, title=title)
    assert r"costs \$5 and \$\nothing\$ <b>&amp; $f_d T$" in words
    assert {"a$b$c", "Reno, x = $5"} <= set(words)


@pytest.mark.parametrize(
    "length",
    [188, *(long_form(length) for length in (80, *range(92, 188, 12)))],
)
@pytest.mark.filterwarnings("error")
def test_a_long_title_is_broken_into_lines(length: int) -> None:
    table = Table(["p_e", "throughput_sim"], [[p, 0.5] for p in (0.1, 0.2)])
    figure = cf.plot(table, title=("many words at f_d T " * 12)[:length])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    lines = axes.get_title().split("\n")
    assert len(lines) == -(-length // 60)
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert axes.title.get_window_extent().width <= figure.bbox.width
    assert axes.get_window_extent().width > 0.7 * figure.bbox.width


def test_a_metric_without_values_is_refused(tmp_path: Path) -> None:
    table = Table(["p_e", "method", "goodput_bps"], [[0.1, "simulation", None], [0.2, "simulation", None]])
    with pytest.raises(cf.errors.ResultsError, match="goodput_bps has no value"):
        cf.plot(table, tmp_path / "x.png", y="goodput_bps")
    assert not (tmp_path / "x.png").exists()


def test_a_matplotlibrc_of_the_working_folder_decides_nothing(cli: Cli, tmp_path: Path) -> None:
    """A user's matplotlibrc with LaTeX, sizes and colours has no effect; it is read once, so in a separate
    process.
    """
    (tmp_path / "table.csv").write_text(TWO.to_csv())
    (tmp_path / "matplotlibrc").write_text(
        "text.usetex: True\ntext.latex.preamble: \\input{/etc/hostname}\nlines.linestyle: :\n"
        "axes.facecolor: red\nfont.size: 40\naxes.prop_cycle: cycler('color', ['red'])\n"
    )
    command = [sys.executable, "-m", "crossfade", "plot", "table.csv", "--out", "there.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert cli("plot", tmp_path / "table.csv", "--out", tmp_path / "without.svg").code == 0
    assert (tmp_path / "there.svg").read_bytes() == (tmp_path / "without.svg").read_bytes()


def marks(axes: Any) -> list[tuple[float, ...]]:
    """Shift of each curve's marks to the right of their values, in points."""
    found = []
    for line in axes.lines:
        if line.get_marker() in ("None", "none", None, "_", "|", 2, 3):
            continue
        at, of = (way.transform(line.get_xydata())[:, 0] for way in (line.get_transform(), axes.transData))
        found.append(tuple(72.0 / axes.figure.dpi * (at - of)))
    return found


def of_algorithms(names: Sequence[str], spread: float = 0.1) -> Table:
    rows: list[list[Cell]] = [
        [name, p_e, 0.9 - p_e + 0.01 * place, spread]
        for place, name in enumerate(names)
        for p_e in (0.001, 0.01, 0.03, 0.1)
    ]
    return Table(["tcp.variant", "channel.p_e", "throughput_per_slot", "throughput_per_slot_ci95"], rows)


def test_few_values_have_a_tick_each() -> None:
    """An axis with few values has a tick at each: also at 0.03 on a logarithmic axis from 0.001 to 0.1."""
    axes = cf.plot(of_algorithms(["reno", "sack"])).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.001", "0.01", "0.03", "0.1"]
    many = Table(["p_e", "goodput_bps"], [[0.001 * 1.5**i, 1.0 + i] for i in range(9)])
    assert len(cf.plot(many).axes[0].get_xticks()) != 9


def test_ticks_without_room_are_left_to_the_axis() -> None:
    near = Table(["p_e", "goodput_bps"], [[0.1234 + 0.0001 * i, 1.0 + i] for i in range(8)])
    axes = cf.plot(near, width=60.0).axes[0]
    assert [round(tick, 4) for tick in axes.get_xticks()] != [round(0.1234 + 0.0001 * i, 4) for i in range(8)]


def test_intervals_that_overlap_stand_beside_each_other() -> None:
    """Overlapping intervals are drawn side by side: four marks 2.6 points apart; otherwise marks do not
    move.
    """
    axes = cf.plot(of_algorithms(["reno", "sack", "cubic", "tahoe"])).axes[0]
    assert [at[0] for at in marks(axes)] == pytest.approx([-3.9, -1.3, 1.3, 3.9], abs=0.01)
    assert axes.get_xlim() == pytest.approx((0.001 / 100**0.05, 0.1 * 100**0.05))
    still = marks(cf.plot(of_algorithms(["reno", "sack", "cubic", "tahoe"], spread=0.001)).axes[0])
    assert [at[0] for at in still] == pytest.approx([0.0] * 4, abs=0.01)
    many = ["reno", "sack", "cubic", "tahoe", "newreno", "bbr-v1"]
    assert [at[0] for at in marks(cf.plot(of_algorithms(many)).axes[0])] == pytest.approx([0.0] * 6, abs=0.01)


def test_marks_on_lines_stay_there() -> None:
    """Marks on exact lines do not move, while two methods with marks are drawn side by side."""
    found = of_algorithms(["reno", "sack"])

    def with_methods(*methods: str) -> Table:
        rows = [[*row[:2], method, *row[2:]] for row in found.rows for method in methods]
        return Table([*found.columns[:2], "method", *found.columns[2:]], rows)

    on_lines = marks(cf.plot(with_methods("analysis:exact", "simulation")).axes[0])
    assert [at[0] for at in on_lines] == pytest.approx([0.0] * 2, abs=0.01)
    beside = marks(cf.plot(with_methods("analysis:exact", "simulation", "live")).axes[0])
    assert sorted(at[0] for at in beside) == pytest.approx([-1.3, -1.3, 1.3, 1.3], abs=0.01)


def test_an_algorithm_has_one_colour_and_mark_in_every_figure() -> None:
    """An algorithm has one colour and mark, whichever others are drawn, in any order, and inside a table of
    keys.
    """
    seen = set()
    tables = [["cubic", "reno"], ["sack", "bbr-v1", "cubic"], ["congestion=cubic pacing=true", "reno"]]
    for names in tables:
        axes = cf.plot(of_algorithms(names), by="tcp.variant").axes[0]
        (cubic,) = (handle for handle, text in zip(*legend_of(axes), strict=True) if "cubic" in text.lower())
        seen.add((cubic.get_color(), cubic.get_marker()))
    assert seen == {("#E69F00", "v")}


def legend_of(axes: Any) -> tuple[list[Any], list[str]]:
    legend = axes.get_legend() or axes.figure.legends[0]
    return list(legend.legend_handles), [text.get_text() for text in legend.get_texts()]


def test_many_values_are_a_line_with_a_band() -> None:
    table = Table(
        ["p_e", "goodput_bps", "goodput_bps_ci95"], [[0.001 * i, 1.0 + i, 0.5] for i in range(1, 27)]
    )
    axes = cf.plot(table).axes[0]
    assert not marks(axes)
    assert axes.collections
    axes = cf.plot(Table(table.columns, table.rows[:25])).axes[0]
    assert len(marks(axes)[0]) == 25
    assert not marks(cf.plot(Table(table.columns, table.rows[:25]), markers=False).axes[0])


def test_words_have_the_size_that_is_asked_for() -> None:
    axes = cf.plot(RESULTS, font_size=12.0, by="variant", where={"channel": "iid"}).axes[0]
    assert axes.xaxis.label.get_fontsize() == pytest.approx(12.0)
    assert legend_of(axes)[0]
    for size in (3.9, 41.0, "large"):
        with pytest.raises(cf.errors.ScenarioError, match=r"font_size = .*from 4 to 40"):
            cf.plot(RESULTS, font_size=size)  # type: ignore[arg-type]


def test_a_figure_is_given_back_and_shows_itself() -> None:
    figure = cf.plot(TWO)
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(BEGINNINGS[".png"])  # type: ignore[attr-defined]


def test_a_figure_is_drawn_into_axes_of_ones_own() -> None:
    own = Figure(figsize=(8, 3))
    left, right = own.subplots(1, 2)
    where = {"channel": "iid"}
    assert cf.plot(RESULTS, ax=left, by="variant", where=where) is own
    assert len(marks(left)) == 2
    assert not right.lines
    assert left.get_xlabel() == "Packet error probability $P_E$"
    with pytest.raises(cf.errors.ScenarioError, match="ax: holds one panel, and this figure has 2"):
        cf.plot(RESULTS, ax=right, panels="channel")
    with pytest.raises(cf.errors.ScenarioError, match="ax = 3: must be Axes of matplotlib"):
        cf.plot(RESULTS, ax=3)  # type: ignore[arg-type]


def test_each_kind_of_table_has_its_function(small: Path, tmp_path: Path) -> None:
    """``plot`` still accepts events, as deprecated; the other functions refuse tables of a wrong kind."""
    events = cf.store.Table.of_frame(cf.events(small, over={"channel.p_e": [0.1]}))
    with pytest.warns(DeprecationWarning, match="plot_events"):
        cf.plot(events, tmp_path / "old.svg")
    cf.pictures.plot_events(events, tmp_path / "new.svg")
    assert (tmp_path / "old.svg").read_bytes() == (tmp_path / "new.svg").read_bytes()
    with pytest.raises(cf.errors.ResultsError, match="neither events"):
        cf.pictures.plot_events(RESULTS)
    with pytest.raises(cf.errors.ResultsError, match="of: must name the column"):
        cf.pictures.plot_cdf(RESULTS)
    with pytest.warns(DeprecationWarning, match="plot_cdf"):
        cf.plot(cf.runs.delays("classics/slow-start", runs=2, set={"run.duration": "1 s"}), cdf="rtt_s")


def test_a_frame_is_drawn_as_its_table_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one.svg", tmp_path / "other.svg"
    cf.plot(TWO, one)
    cf.plot(TWO.to_pandas(), other)
    assert one.read_bytes() == other.read_bytes()
    with pytest.raises(cf.errors.ResultsError, match="must be results, a DataFrame"):
        cf.plot(3)


def test_marks_and_lines_grow_with_the_words(tmp_path: Path, figures: list[Figure]) -> None:
    """Marks and lines scale with the font size: by 20/7.5 on a slide of 10 inches with letters of 20 points,
    height 9/16.
    """
    table = tmp_path / "table.csv"
    header = "channel.p_e,method,runs,goodput_bps,goodput_bps_ci95"
    table.write_text(f"{header}\n0.1,simulation,9,3e6,1e5\n0.2,simulation,9,4e6,1e5\n")
    cf.plot(table, tmp_path / "figure.png")
    cf.plot(table, tmp_path / "figure.png", width=254.0, font_size=20.0)
    usual, slide = figures
    marks = [next(line for line in of.axes[0].lines if line.get_marker() == "o") for of in figures]
    for size in (Line2D.get_markersize, Line2D.get_markeredgewidth):
        assert size(marks[1]) / size(marks[0]) == pytest.approx(20 / 7.5)
    assert usual.get_size_inches().tolist() == pytest.approx([3.5, 2.8])
    assert slide.get_size_inches().tolist() == pytest.approx([10.0, 5.625])
