"""How figures look: palette, marks, sizes of journals, and files that are the same bytes every time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import OutputError, ScenarioError, visible
from crossfade.files import check_output, write_bytes
from crossfade.records import Input
from crossfade.tables import Cell
from crossfade.wording import look_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe and Ito's palette ("Color Universal Design", 2008), told apart by colour-blind readers too; its yellow
# is left out, being too pale for thin lines on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
# Marks and dashes as matplotlib has them and as HTML figures do.
MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "x",
    "<": "triangle-left",
    ">": "triangle-right",
}
DASHES: dict[str | tuple[float, tuple[float, ...]], str] = {
    "-": "solid",
    (0.0, (4.0, 1.5)): "dash",
    (0.0, (1.0, 1.2)): "dot",
    (0.0, (5.0, 1.2, 1.0, 1.2)): "dashdot",
    (0.0, (8.0, 2.0)): "longdash",
    (0.0, (8.0, 1.5, 1.0, 1.5)): "longdashdot",
}
# The lines of methods, where several are drawn, by their look: as matplotlib has them and as HTML figures do.
LINES = {"dots": (":", "dot"), "dashes": ("--", "dash"), "dash-dots": ("-.", "dashdot")}
SOLID = ("-", "solid")


def has_marks(method: str) -> bool:
    """Whether what a method finds is drawn as marks: what is simulated (or measured), not what is solved."""
    return look_of(method) in ("marks", "crosses")


def mark_of(method: str, methods: Sequence[str], usual: str) -> str:
    """The mark of a curve by a method; what is measured live stands out beside what is simulated."""
    return "x" if look_of(method) == "crosses" and len(methods) > 1 else usual


STYLE: dict[str, Any] = {
    "figure.dpi": 300,
    "savefig.dpi": 300,
    "font.family": "DejaVu Sans",  # it comes with matplotlib: the same on every machine
    "font.size": 7.5,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.0,
    "lines.markersize": 3.2,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    # Journals refuse Type 3 fonts; 42 embeds TrueType.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text stays text, to be searched and edited
    "svg.hashsalt": "crossfade",  # otherwise the ids in an SVG are drawn at random
}

# Not a matter of style: matplotlib chooses its backend once a process.
UNCHANGED = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg.port")

# What a file says about when and by what it was made: nothing, so that equal figures are equal files.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}

# One and both columns of a journal's page, in inches (those of the IEEE).
WIDTHS = {"single": 3.5, "double": 7.16}
MILLIMETRES = (40.0, 500.0)


def width_in_inches(width: str | float) -> float:
    """The width of a figure: ``single`` or ``double`` column, or a number of millimetres."""
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width]
    low, high = MILLIMETRES
    try:
        millimetres = float(width)
    except ValueError:
        millimetres = 0.0
    if not low <= millimetres <= high:
        raise ScenarioError(
            f"width = {width}: must be single, double or a number of millimetres from {low:g} to {high:g}"
        )
    return millimetres / 25.4


def height_beside(width: float) -> float:
    """The height of a figure: 4/5 of a narrow one, less than half of a wide one."""
    single = WIDTHS["single"]
    return 0.8 * min(width, single) + 0.2 * max(width - single, 0.0)


@contextmanager
def figure(file: Path, height: float = 1.0, width: str | float = "single") -> Iterator[Figure]:
    """An empty figure in the common style, ``height`` times as high as usual, and at the end its file."""
    check_plot_file(file)
    inches = width_in_inches(width)

    # Here: it takes half a second that other commands need not wait.
    from matplotlib import rc_context, rcParamsDefault, use
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    use("agg")
    # A stranger's matplotlibrc in the working folder decides nothing (text.usetex runs LaTeX).
    settings = {key: value for key, value in dict.items(rcParamsDefault) if key not in UNCHANGED} | STYLE
    with rc_context(rc=settings), warnings.catch_warnings():  # type: ignore[arg-type]  # the stubs want literals
        # A letter that the font has not is seen as a box.
        warnings.filterwarnings("ignore", message="Glyph ")
        drawn = Figure(figsize=(inches, height * height_beside(inches)), layout="constrained")
        yield drawn
        for text in drawn.findobj(Text):
            text.set_text(visible(text.get_text()))  # no SVG may have what steers a terminal
        _fit_texts(drawn)
        kind = file.suffix.lower()
        content = io.BytesIO()
        drawn.savefig(content, format=kind[1:], metadata=METADATA[kind])
        data = content.getvalue()
        if kind == ".svg":
            # Verdana is as wide, and is where DejaVu is not.
            data = data.replace(
                b"font-family: 'DejaVu Sans'", b"font-family: 'DejaVu Sans', Verdana, sans-serif"
            )
        write_bytes(file, data)


def _fit_texts(drawn: Figure) -> None:
    """Keep every label and legend on the figure: smaller where it is too long, moved where it sticks out."""
    drawn.draw_without_rendering()
    width, height = drawn.bbox.width, drawn.bbox.height
    edge = 0.01 * width
    for legend in [*drawn.legends, *(legend for axes in drawn.axes if (legend := axes.get_legend()))]:
        if (long := legend.get_window_extent().width) > width - 2 * edge:
            for text in legend.get_texts():
                text.set_fontsize(float(text.get_fontsize()) * (width - 2 * edge) / long)
    for text in _labels(drawn):
        box = text.get_window_extent()
        upright = text.get_rotation() == 90.0
        long, room = (box.height, height - 2 * edge) if upright else (box.width, width - 2 * edge)
        if long > room:
            text.set_fontsize(float(text.get_fontsize()) * room / long)
    drawn.draw_without_rendering()
    for axes in drawn.axes:
        _move_inside(axes.xaxis.label, 0, edge, width)
        _move_inside(axes.yaxis.label, 1, edge, height)


def _labels(drawn: Figure) -> Iterator[Text]:
    """What names the axes and panels, and what the figure says itself."""
    for axes in drawn.axes:
        yield from (axes.xaxis.label, axes.yaxis.label)
    yield from drawn.texts


def _move_inside(label: Text, along: int, edge: float, size: float) -> None:
    """Move a label of an axis along it until it is all on the figure."""
    if not label.get_text():
        return
    box = label.get_window_extent()
    low, high = (box.x0, box.x1) if along == 0 else (box.y0, box.y1)
    by = edge - low if low < edge else min(size - edge - high, 0.0)
    if not by:
        return
    place = label.get_transform().transform(label.get_position())
    place[along] += by
    moved = label.get_transform().inverted().transform(place)[along]
    if along == 0:
        label.set_x(moved)
    else:
        label.set_y(moved)


def check_plot_file(file: Path, *inputs: Input) -> None:
    """Raise ``OutputError`` for a file that cannot be a figure, or that ``check_output`` bars."""
    if file.suffix.lower() not in METADATA:
        raise OutputError(f"{file}: cannot be written (a figure ends in .png, .pdf or .svg)")
    check_output(file, *inputs)


@dataclass(frozen=True)
class Look:
    """Which colour, mark and dash a curve has, as places in the lists, and whether its mark is filled.

    Only the first mark is filled, so that curves which coincide are seen to.
    """

    color: int
    mark: int
    dash: int

    @property
    def is_filled(self) -> bool:
        return self.mark == 0


def looks(keys: Sequence[tuple[Cell, ...]]) -> list[Look]:
    """How curves look, by their keys: those that share their first value share a colour.

    The other values tell marks (of lines alone: dashes) apart. Curves that are told by one value, or are too
    many for that, differ in both.
    """
    firsts = list(dict.fromkeys(key[:1] for key in keys))
    rests = list(dict.fromkeys(key[1:] for key in keys))
    grouped = len(firsts) <= len(PALETTE) and 1 < len(rests) <= len(MARKERS)
    found = []
    for index, key in enumerate(keys):
        first, rest = (firsts.index(key[:1]), rests.index(key[1:])) if grouped else (index, index)
        found.append(Look(first % len(PALETTE), rest % len(MARKERS), rest % len(DASHES)))
    return found
