"""Quantities of a scenario (``"64 kbit/s"``) as numbers, for tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

# Common unit of each unit's kind, and the factor to it, for the units that the core reads
# (`crossfade_core::units`).
UNITS: dict[str, tuple[str, Fraction]] = {
    unit: (common, Fraction(factor))
    for common, units in {
        "bit/s": {"bit/s": "1", "kbit/s": "1e3", "Mbit/s": "1e6", "Gbit/s": "1e9"},
        "s": {"ns": "1e-9", "us": "1e-6", "ms": "1e-3", "s": "1", "min": "60", "h": "3600"},
        "slots": {"slot": "1", "slots": "1"},
        "packets": {"packet": "1", "packets": "1"},
        "B": {"B": "1", "kB": "1e3", "MB": "1e6", "KiB": "1024", "MiB": "1048576"},
        "bdp": {"bdp": "1"},
        "m/s": {"m/s": "1", "km/h": "5/18"},
        "Hz": {"Hz": "1", "kHz": "1e3", "MHz": "1e6", "GHz": "1e9"},
        "1": {"": "1", "%": "0.01"},
    }.items()
    for unit, factor in units.items()
}
# Limits of a quantity: its magnitude, and the length of its text; no quantity of this field exceeds them.
LARGEST, LONGEST = 1e300, 1000
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z/%]*)\s*")


def in_numbers(values: Sequence[object]) -> tuple[list[float], str] | None:
    """Quantities of one kind as numbers, and their unit; None if some value is no quantity or kinds differ.

    The unit is the one in which all values are written, otherwise the common unit of their kind (bit/s, s, B;
    a share in per cent counts as a number). Numbers alone have the unit ``""``.
    """
    found = [_quantity(value) for value in values]
    quantities = [quantity for quantity in found if quantity is not None]
    units = {unit for _, unit in quantities}
    kinds = {UNITS[unit][0] for unit in units}
    if len(quantities) < len(values) or len(kinds) != 1:
        return None
    if len(units) == 1:
        return [float(number) for number, _ in quantities], units.pop()
    # Fractions, so that 7 ms become exactly 0.007 s and not a neighbouring number.
    return [float(number * UNITS[unit][1]) for number, unit in quantities], kinds.pop()


def in_common_unit(value: object) -> tuple[float, str] | None:
    """A quantity in the common unit of its kind, and this unit (empty for a plain number); None if it is no
    quantity.
    """
    found = in_numbers([value])
    if found is None:
        return None
    (number,), unit = found
    if not unit:
        return number, ""
    common, factor = UNITS[unit]
    return number * float(factor), common


def is_log_spaced(values: Sequence[float]) -> bool:
    """True if the values are spaced by factors rather than by steps, over at least a decade."""
    points = sorted(set(values))
    if len(points) < 3 or points[0] <= 0.0 or points[-1] < 10.0 * points[0]:
        return False
    logs = [math.log(point) for point in points]
    return _unevenness(logs) < _unevenness(points)


def _unevenness(points: Sequence[float]) -> float:
    steps = [b - a for a, b in pairwise(points)]
    mean = sum(steps) / len(steps)
    return sum((step - mean) ** 2 for step in steps) / mean**2


def _quantity(value: object) -> tuple[Fraction, str] | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return (Fraction(value), "") if abs(value) < LARGEST else None
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in UNITS or not match[2]:
        return None  # a text without a unit is a word, even if it looks like a number
    near = float(match[1])
    if not abs(near) < LARGEST:
        return None
    # An exact fraction of a number such as 1e-999999999 would fill the memory.
    is_short = len(match[1]) < LONGEST and (abs(near) > 1.0 / LARGEST or "e" not in match[1].lower())
    return Fraction(match[1] if is_short else near), match[2]
