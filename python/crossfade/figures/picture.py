"""Figure that a notebook shows: a file of its own, since it needs matplotlib."""

from __future__ import annotations

import io
import warnings
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Resolution, in dots per inch, of a figure in a notebook.
SHOWN_DPI = 144


class Picture(Figure):
    """Figure of matplotlib in the style of this package, which a notebook shows without ``pyplot``."""

    settings: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        with rc_context(rc=self.settings), warnings.catch_warnings():  # type: ignore[arg-type]
            warnings.filterwarnings("ignore", message="Glyph ")
            self.savefig(content, format="png", dpi=SHOWN_DPI)
        return content.getvalue()
