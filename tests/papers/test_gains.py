"""Checks of gains in dB, on curves with known gains."""

from __future__ import annotations

import math
from typing import Any

import pytest

from crossfade.comparison.paired import Sample
from crossfade.papers import gains
from crossfade.papers.checks import Curve, Curves, FigurePoint
from crossfade.papers.figure import Along

SNR = Along("snr_db", "dB")
LINK = 100.0
NOISE = (-0.2, 0.0, 0.2)


def ramp(name: str, setting: str, start: float, slope: float) -> list[FigurePoint]:
    """Points of a line with three runs: 0 at ``start`` dB, rising by ``slope`` per dB up to the link's
    100.
    """
    return [
        FigurePoint(
            {"scheme": name, "setting": setting, "snr_db": float(snr)},
            Sample(dict(enumerate(min(LINK, max(0.0, slope * (snr - start))) + noise for noise in NOISE))),
        )
        for snr in range(31)
    ]


def told(check: dict[str, Any], points: list[FigurePoint], *curves: Curve) -> list[tuple[float, bool | None]]:
    found = gains.compare(check, Curves(SNR, points), curves[:1], curves[1:])
    return [(round(outcome.value, 6), outcome.holds) for outcome in found]


def test_a_curve_that_takes_more_db_is_the_wider_one() -> None:
    points = ramp("a", "arq", 2.0, 5.0) + ramp("a", "none", 6.0, 10.0)
    arq, none = ({"scheme": "a", "setting": setting} for setting in ("arq", "none"))
    check = {"kind": "wider", "link": LINK}
    # 80 % of the link take 16 dB at a slope of 5 per dB, and 8 dB at 10.
    assert told(check, points, arq, none) == [(8.0, True)]
    assert told(check, points, none, arq) == [(-8.0, False)]
    assert told(check, points, none, none) == [(0.0, None)]
    ((value, holds),) = told({"kind": "wider", "link": 10 * LINK}, points, arq, none)
    assert math.isnan(value)
    assert holds is None


def test_gains_are_in_order() -> None:
    parts = {"a": (4.0, 9.0), "b": (4.0, 6.0), "c": (4.0, 8.0)}
    points = [
        point
        for name, starts in parts.items()
        for setting, start in zip(("arq", "none"), starts, strict=True)
        for point in ramp(name, setting, start, 10.0)
    ]
    order = [{"scheme": name, "link": LINK} for name in parts]
    check = {"kind": "gains", "beside": {"arq": "fig8"}, "order": order, "share": 0.5}
    # The gains are 5, 2 and 4 dB.
    assert told(check, points) == [(3.0, True), (-2.0, False)]


def test_other_kinds_are_those_of_all_papers() -> None:
    points = ramp("a", "none", 2.0, 5.0)
    check = {"kind": "above", "margin": 20.0, "snr_db": [10.0, 10.0]}
    assert told(check, points, {"scheme": "a"}) == [(40.0, True)]
    with pytest.raises(ValueError, match="no such kind of check: wide"):
        told({"kind": "wide"}, points, {"scheme": "a"})
