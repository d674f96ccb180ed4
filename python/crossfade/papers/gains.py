"""Checks of gains in dB: steepness of a curve, and order of several gains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from crossfade.papers import checks
from crossfade.papers.checks import Curve, Curves
from crossfade.papers.verdicts import Outcome

LEAST, MOST = 0.1, 0.9


def compare(
    check: Mapping[str, Any], curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    """Check of kind ``wider`` or ``gains``, or of any kind of :func:`crossfade.papers.checks.compare`.

    ``wider``: from 10 to 90 % of the rate ``link`` the curve in ``plus`` needs more dB than the one in
    ``minus``. ``gains``: at the share ``share`` of its ``link`` each curve of ``order`` is shifted to the
    left by more dB than the next one, from the setting ``none`` to the other setting of the check.
    """
    match check["kind"]:
        case "wider":
            return [wider(curves, plus[0], minus[0], check["link"])]
        case "gains":
            (setting,) = {**check.get("settings", {}), **check.get("beside", {})}
            return in_order(curves, check["order"], setting, check["share"])
        case _:
            return checks.compare(check, curves, plus, minus)


def wider(curves: Curves, first: Curve, second: Curve, link: float) -> Outcome:
    """Check that the first curve needs more dB than the second to rise from 10 to 90 % of the link's rate."""
    where = f"from 10 to 90 % of the link, {checks.common([first, second])}"
    one, other = (_width(curves, curve, link) for curve in (first, second))
    return _larger(where, one, other)


def in_order(curves: Curves, order: Sequence[Curve], setting: str, share: float) -> list[Outcome]:
    """Check that the gain in dB of each curve exceeds that of the next, at a share of the links' rates."""
    outcomes = []
    for one, other in pairwise(order):
        gains = [_gain(curves, curve, setting, share) for curve in (one, other)]
        names = (
            " ".join(str(value) for key, value in curve.items() if key != "link") for curve in (one, other)
        )
        outcomes.append(_larger(f"{100.0 * share:g} % of the link, {' over '.join(names)}", *gains))
    return outcomes


Ends = tuple[float, float, float]
"""A value and its interval: lower end, value, upper end."""


def _width(curves: Curves, curve: Curve, link: float) -> Ends | None:
    low, high = (checks.pass_of(curves, curve, share * link) for share in (LEAST, MOST))
    return None if low is None or high is None else _apart(curves, low, high)


def _gain(curves: Curves, curve: Curve, setting: str, share: float) -> Ends | None:
    told = {name: value for name, value in curve.items() if name != "link"}
    level = share * float(str(curve["link"]))
    one, other = (checks.pass_of(curves, told | {"setting": name}, level) for name in (setting, "none"))
    return None if one is None or other is None else _apart(curves, one, other)


def _apart(curves: Curves, left: Ends, right: Ends) -> Ends:
    """Shift in dB of one place to the left of another, with its interval, from end to end of theirs."""
    shift = curves.along.shift_db
    return shift(left[2], right[0]), shift(left[1], right[1]), shift(left[0], right[2])


def _larger(where: str, one: Ends | None, other: Ends | None) -> Outcome:
    """Check that the first value exceeds the second, as if the two were independent."""
    if one is None or other is None:
        return Outcome(f"{where}: not reached", math.nan, None, None, -math.inf)
    value, low, high = one[1] - other[1], one[0] - other[2], one[2] - other[0]
    holds = True if low > 0.0 else False if high < 0.0 else None
    return Outcome(where, value, max(high - value, value - low), holds, low)
