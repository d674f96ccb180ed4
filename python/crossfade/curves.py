"""Crossings, knees and thresholds of curves: a file of its own, as each public module is one."""

from crossfade.comparison.best import Best, Decision
from crossfade.comparison.compare import Comparison, Pair
from crossfade.comparison.crossings import CurveCrossing, crossings
from crossfade.comparison.knee import Knee, knee
from crossfade.comparison.paired import Crossing
from crossfade.comparison.switching import Range
from crossfade.comparison.threshold import threshold

__all__ = [
    "Best",
    "Comparison",
    "Crossing",
    "CurveCrossing",
    "Decision",
    "Knee",
    "Pair",
    "Range",
    "crossings",
    "knee",
    "threshold",
]
