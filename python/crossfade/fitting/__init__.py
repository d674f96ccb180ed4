"""What was measured elsewhere: recorded losses and the chain that fits them; recordings of links."""

from __future__ import annotations

from crossfade.fitting.losses import (
    ChiSquareTest,
    FadingFit,
    Interval,
    MarkovFit,
    RunDistance,
    RunLengths,
    fit,
    fit_rayleigh,
)
from crossfade.fitting.traces import LinkTrace, trace

__all__ = [
    "ChiSquareTest",
    "FadingFit",
    "Interval",
    "LinkTrace",
    "MarkovFit",
    "RunDistance",
    "RunLengths",
    "fit",
    "fit_rayleigh",
    "trace",
]
