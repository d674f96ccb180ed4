"""Style of figures: palette, marks, sizes for journals, and files that are equal for equal figures."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import OutputError, ScenarioError, shortened, visible
from crossfade.files import check_output, write_bytes
from crossfade.records import Input
from crossfade.tables import Cell
from crossfade.wording import Label, look_of, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe and Ito's palette ("Color Universal Design", 2008), told apart by colour-blind readers too; its yellow
# is left out, being too pale for thin lines on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
# Marks and dashes: names of matplotlib, and names in HTML figures.
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
# Lines of methods by their look, if several methods are drawn: name of matplotlib, and name in HTML figures.
LINES = {"dots": (":", "dot"), "dashes": ("--", "dash"), "dash-dots": ("-.", "dashdot")}
SOLID = ("-", "solid")


def has_marks(method: str) -> bool:
    """True if values of a method are drawn as marks: those of simulation and measurement."""
    return look_of(method) in ("marks", "crosses")


def mark_of(method: str, methods: Sequence[str], usual: str) -> str:
    """Mark of a curve by a method; method live has its own beside simulation."""
    return "x" if look_of(method) == "crosses" and len(methods) > 1 else usual


STYLE: dict[str, Any] = {
    "figure.dpi": 300,
    "savefig.dpi": 300,
    "font.family": "DejaVu Sans",  # part of matplotlib, and so the same on every machine
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

# Settings that are scaled with the words of a figure: on a slide marks are seen from as far away as letters.
DRAWN_THICKER = (
    *("axes.linewidth", "grid.linewidth", "lines.linewidth", "lines.markersize", "xtick.major.width"),
    *("ytick.major.width", "xtick.minor.width", "ytick.minor.width"),
)

# Settings that are left unchanged: matplotlib chooses its backend once per process.
UNCHANGED = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg.port")

# Metadata of files: dates and programs are left out, so that equal figures are equal files.
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}

# Widths in inches of one and of both columns of a journal's page (IEEE).
WIDTHS = {"single": 3.5, "double": 7.16}
MILLIMETRES = (40.0, 500.0)
POINTS = (4.0, 40.0)
# Font size of the legend relative to that of the figure's other words.
LEGEND = 6.5 / 7.5


@dataclass(frozen=True)
class Page:
    """Target of a figure: a figure of its own of some width, or the ``ax`` of an existing one.

    ``font_size`` is the size of its words in points (the legend's are a little smaller).
    """

    width: str | float = "single"
    font_size: float | None = None
    ax: Axes | None = None

    def __post_init__(self) -> None:
        size = self.font_size
        low, high = POINTS
        if size is not None and (not isinstance(size, int | float) or not low <= size <= high):
            raise ScenarioError(f"font_size = {size}: must be a number of points from {low:g} to {high:g}")
        if self.ax is not None and not hasattr(self.ax, "get_figure"):
            raise ScenarioError(f"ax = {shortened(repr(self.ax))}: must be Axes of matplotlib")

    @property
    def scale(self) -> float:
        """Scale of the words of the figure, and of its lines and marks."""
        return 1.0 if self.font_size is None or self.ax is not None else self.font_size / STYLE["font.size"]


Width = str | float | Page
"""Width of a figure, or a page with its width and further properties."""


def page_of(width: Width) -> Page:
    """Page for a width, with defaults for its other properties."""
    return width if isinstance(width, Page) else Page(width)


def width_in_inches(width: Width) -> float:
    """Width of a figure in inches: ``single`` or ``double`` column, or a number of millimetres."""
    width = page_of(width).width
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width]
    low, high = MILLIMETRES
    try:
        millimetres = float(width)
    except (TypeError, ValueError):
        millimetres = 0.0
    if not low <= millimetres <= high:
        raise ScenarioError(
            f"width = {width}: must be single, double or a number of millimetres from {low:g} to {high:g}"
        )
    return millimetres / 25.4


def height_beside(width: float, scale: float = 1.0) -> float:
    """Height in inches of a figure of ``width`` inches: 4/5 of a narrow one, less than half of a wide one.

    With large words a wide figure is higher, up to the 9/16 of a slide.
    """
    single = WIDTHS["single"]

    def usual(width: float) -> float:
        return 0.8 * min(width, single) + 0.2 * max(width - single, 0.0)

    return max(usual(width), min(scale * usual(width / scale), 9.0 / 16.0 * width))


class Onto:
    """Axes of a user's figure, in place of a figure with one panel."""

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        figure = ax.get_figure(root=True)
        if figure is None:
            raise ScenarioError("ax: must be Axes of a figure")
        self.figure: Figure = figure

    def subplots(self, rows: int = 1, columns: int = 1, *, squeeze: bool = True, **_: Any) -> Any:
        """The Axes as the only panel; :class:`ScenarioError` for more than one."""
        if rows * columns > 1:
            raise ScenarioError(f"ax: holds one panel, and this figure has {rows * columns}")
        if squeeze:
            return self.ax
        import numpy as np

        return np.array([[self.ax]])

    def suptitle(self, text: str, **options: Any) -> None:
        """Set the title of the panel."""
        self.ax.set_title(text, **options)

    def supylabel(self, text: str, **options: Any) -> None:
        """Set the label of the y axis."""
        self.ax.set_ylabel(text, **options)

    def legend(self, handles: Sequence[Any], labels: Sequence[str], **_: Any) -> None:
        """Draw a legend below the panel."""
        self.ax.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)

    def get_figwidth(self) -> float:
        """Width of the user's figure in inches."""
        return float(self.figure.get_figwidth())


def _rc(page: Page) -> dict[str, Any]:
    """Settings of matplotlib for a figure; a matplotlibrc has no effect (text.usetex would run LaTeX)."""
    from matplotlib import rcParamsDefault

    sizes: dict[str, Any] = {}
    if page.font_size is not None:
        sizes = {"font.size": page.font_size, "legend.fontsize": LEGEND * page.font_size}
        sizes |= {key: page.scale * STYLE[key] for key in DRAWN_THICKER}
    kept = {key: value for key, value in dict.items(rcParamsDefault) if key not in UNCHANGED}
    return kept | STYLE | sizes


_SCALE: ContextVar[float] = ContextVar("scale", default=1.0)


def scale() -> float:
    """Scale of the marks of the current figure."""
    return _SCALE.get()


@contextmanager
def scaled(by: float) -> Iterator[None]:
    """Scale the marks of figures by ``by`` inside the context."""
    token = _SCALE.set(by)
    try:
        yield
    finally:
        _SCALE.reset(token)


@contextmanager
def figure(file: Path | None, height: float = 1.0, width: Width = "single") -> Iterator[Any]:
    """Empty figure in the common style, ``height`` times as high as usual; written to ``file`` at the end.

    Without a file it is only drawn. On a page with Axes (:class:`Page`) it is drawn into these, in the style
    of their owner.
    """
    page = page_of(width)
    if file is not None:
        check_plot_file(file)
    inches = width_in_inches(page)
    if page.ax is not None:
        onto = Onto(page.ax)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph ")
            yield onto
            if file is not None:
                onto.figure.savefig(file)
        return

    # Imported here, since it takes half a second that other commands need not wait.
    from matplotlib import rc_context
    from matplotlib.text import Text

    from crossfade.figures.picture import Picture

    settings = _rc(page)
    with scaled(page.scale), rc_context(rc=settings), warnings.catch_warnings():  # type: ignore[arg-type]  # the stubs want literals
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph ")
        drawn = Picture(figsize=(inches, height * height_beside(inches, page.scale)), layout="constrained")
        drawn.settings = settings
        yield drawn
        for text in drawn.findobj(Text):
            text.set_text(visible(text.get_text()))  # no control characters in an SVG
        _fit_texts(drawn)
        if file is not None:
            kind = file.suffix.lower()
            content = io.BytesIO()
            drawn.savefig(content, format=kind[1:], metadata=METADATA[kind])
            data = content.getvalue()
            if kind == ".svg":
                # Verdana is as wide as DejaVu Sans, and present where that is missing.
                data = data.replace(
                    b"font-family: 'DejaVu Sans'", b"font-family: 'DejaVu Sans', Verdana, sans-serif"
                )
            write_bytes(file, data)


def made(drawn: Any) -> Figure:
    """Figure of matplotlib behind the object that :func:`figure` gives."""
    found: Figure = drawn
    return drawn.figure if isinstance(drawn, Onto) else found


def _fit_texts(drawn: Figure) -> None:
    """Keep every label and legend on the figure: a long one becomes smaller, one outside is moved."""
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
    """Labels of axes, and the texts of the figure."""
    for axes in drawn.axes:
        yield from (axes.xaxis.label, axes.yaxis.label)
    yield from drawn.texts


def _move_inside(label: Text, along: int, edge: float, size: float) -> None:
    """Move a label of an axis along the axis until it is inside the figure."""
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
    """Raise ``OutputError`` for a file that cannot be a figure, or is refused by ``check_output``."""
    if file.suffix.lower() not in METADATA:
        raise OutputError(f"{file}: cannot be written (a figure ends in .png, .pdf or .svg)")
    check_output(file, *inputs)


@dataclass(frozen=True)
class Look:
    """Colour, mark and dash of a curve, as indices into the lists of the style.

    Only the first mark is filled, so that coinciding curves can be seen.
    """

    color: int
    mark: int
    dash: int

    @property
    def is_filled(self) -> bool:
        return self.mark == 0


# Colour and mark of an algorithm in all figures, as indices into PALETTE and MARKERS. Algorithms that are
# often compared differ in both.
ALGORITHMS = {
    "reno": (0, 0),
    "sack": (1, 1),
    "newreno": (2, 2),
    "tahoe": (3, 3),
    "bbr-v1": (4, 5),
    "cubic": (5, 4),
    "bbr-v3": (6, 6),
    "old-tahoe": (6, 7),
    "prague": (3, 8),
    "dctcp": (1, 7),
    "vegas": (2, 8),
    "highspeed": (4, 4),
    "hybla": (0, 8),
    "westwood": (4, 3),
}


def _algorithm(cell: Cell) -> str | None:
    """Algorithm that a value names, also as an item of a table of keys; None for other values."""
    value = cell.of if isinstance(cell, Label) else cell
    items = value.split() if isinstance(value, str) else []
    found = [item for item in (text.rpartition("=")[2] for text in items) if item in ALGORITHMS]
    return found[-1] if found else None


def looks(keys: Sequence[tuple[Cell, ...]]) -> list[Look]:
    """Looks of curves by their keys; curves with the same first value share a colour.

    The other values choose marks (for lines: dashes). Curves that are distinguished by one value, or are too
    many for that, differ in both. An algorithm has its own colour in every figure, and its own mark if
    nothing else distinguishes curves.
    """
    named = _by_algorithm(keys)
    if named is not None:
        return named
    firsts = list(dict.fromkeys(key[:1] for key in keys))
    rests = list(dict.fromkeys(key[1:] for key in keys))
    grouped = len(firsts) <= len(PALETTE) and 1 < len(rests) <= len(MARKERS)
    found = []
    for index, key in enumerate(keys):
        first, rest = (firsts.index(key[:1]), rests.index(key[1:])) if grouped else (index, index)
        found.append(Look(first % len(PALETTE), rest % len(MARKERS), rest % len(DASHES)))
    return found


def _by_algorithm(keys: Sequence[tuple[Cell, ...]]) -> list[Look] | None:
    """Looks of curves that are distinguished by algorithms; None if they are not, or would look alike."""
    for place in range(len(keys[0]) if keys else 0):
        names = [_algorithm(key[place]) for key in keys]
        if None in names or len(set(names)) < 2:
            continue
        own = [ALGORITHMS[str(name)] for name in names]
        rests = [(*key[:place], *key[place + 1 :]) for key in keys]
        known = list(dict.fromkeys(rests))
        others = list(dict.fromkeys(names))
        colors = {name: ALGORITHMS[str(name)][0] for name in others}
        if len(known) == 1:
            found = [
                Look(color, mark, others.index(name)) for (color, mark), name in zip(own, names, strict=True)
            ]
        elif len(set(colors.values())) == len(others) and len(known) <= len(DASHES):
            found = [
                Look(color, known.index(rest), known.index(rest))
                for (color, _), rest in zip(own, rests, strict=True)
            ]
        else:
            continue
        found = [Look(look.color, look.mark, look.dash % len(DASHES)) for look in found]
        if len({(look.color, look.mark) for look in found}) == len(keys):
            return found
    return None


def in_lines(title: str, figure: Any) -> str:
    """Title with its symbols as mathematics, broken into lines that are not wider than the figure.

    Matplotlib's own ``wrap`` is not used, since its wrapped titles make the constrained layout collapse.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    points = FontProperties(size="medium").get_size_in_points()
    # A title is centred on the axes, whose middle is not that of the figure.
    room = 0.84 * 72.0 * figure.get_figwidth()

    def is_narrow(line: str) -> bool:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph ")
            return bool(TextPath((0, 0), line, size=points).get_extents().width <= room)

    lines: list[str] = []
    # The words of a symbol are not separated.
    for word in re.findall(r"(?:\\.|\$[^$]*\$|\S)+", typeset(title)):
        if lines and is_narrow(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)
