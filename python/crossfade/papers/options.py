"""What a user may ask of a paper's figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crossfade.store import Cache


@dataclass(frozen=True)
class Options:
    """How the points of a figure are computed.

    ``quick`` makes every run half as long, for a first look. ``set`` changes keys of the figure's
    scenario; ``over`` replaces an axis, named as its column (``{"p_e": [0.01, 0.1]}``, ``{"channel": ["iid",
    0.08]}``).
    """

    quick: bool = False
    methods: Sequence[str] | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[str, Any] = field(default_factory=dict)
    runs: int | None = None
    seed: int | None = None
    jobs: int | None = None
    cache: bool | Cache = True
    progress: bool = False
