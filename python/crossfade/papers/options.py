"""Options of a paper's figure: a file of its own, since figures and papers use it."""

from __future__ import annotations

from dataclasses import dataclass

from crossfade.papers.reading import Reading
from crossfade.plans import options


@dataclass(frozen=True)
class Options(options.Options):
    """Options by which the points of a figure are computed, with axes named as their columns.

    ``set`` changes keys of the figure's scenario; ``over`` replaces an axis (``{"p_e": [0.01, 0.1]}``,
    ``{"channel": ["iid", 0.08]}``). ``quick`` shortens every run, for a first look. ``reading`` decides what
    the paper leaves open (None: as in the scenarios).
    """

    quick: bool = False
    reading: Reading | None = None
