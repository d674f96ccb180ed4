"""What a user may ask of a paper's figure: a file of its own, since figures and papers both know it."""

from __future__ import annotations

from dataclasses import dataclass

from crossfade import plans
from crossfade.papers.reading import Reading


@dataclass(frozen=True)
class Options(plans.Options):
    """How the points of a figure are computed: as a scenario's, with axes named as their columns.

    ``set`` changes keys of the figure's scenario; ``over`` replaces an axis (``{"p_e": [0.01, 0.1]}``,
    ``{"channel": ["iid", 0.08]}``). ``quick`` makes every run half as long, for a first look. ``reading`` is
    how what the paper leaves open is decided (None: as the scenarios stand).
    """

    quick: bool = False
    reading: Reading | None = None
