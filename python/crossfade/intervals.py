"""Quantiles of Student's distribution, for intervals that the core does not know of."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=1024)
def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """The t that Student's distribution exceeds in absolute value with probability 1 - ``coverage``."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < coverage:
        high *= 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _within(middle, degrees) < coverage else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """P[|T| < t]: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for n in range(2 + odd, degrees - 1, 2):
        term *= (n - 1) / n * math.cos(angle) ** 2
        total += term
    return 2.0 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
