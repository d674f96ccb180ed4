"""Fits of Markov chains to recorded losses and of links to recorded packets; recordings of links."""

from __future__ import annotations

from crossfade.fitting.fits import fit_link
from crossfade.fitting.links import LinkFit
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
from crossfade.fitting.parameters import LinkParameter
from crossfade.fitting.records import is_record
from crossfade.fitting.traces import LinkTrace, trace

__all__ = [
    "ChiSquareTest",
    "FadingFit",
    "Interval",
    "LinkFit",
    "LinkParameter",
    "LinkTrace",
    "MarkovFit",
    "RunDistance",
    "RunLengths",
    "fit",
    "fit_link",
    "fit_rayleigh",
    "is_record",
    "trace",
]
