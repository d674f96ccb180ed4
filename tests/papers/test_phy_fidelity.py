"""Fidelities ``symbol`` and ``table`` of the physical layer agree: frames have one distribution of
outcomes.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import long_form
from tests.later import phy_fidelity, stats


@pytest.mark.parametrize("part", [4, long_form(1)])
def test_symbols_and_tables_agree(part: int) -> None:
    """The p-values at five points are uniform; `python bench/phy_fidelity.py` compares 20 points with five
    times the frames.

    The short form takes a quarter of the frames: a difference must be twice as large to be seen.
    """
    found = [
        phy_fidelity.compared(place, number, frames=200_000 // part, seconds=60 // part, runs=10 // part)
        for number, place in enumerate(phy_fidelity.SHORT)
    ]
    for place, one in zip(phy_fidelity.SHORT, found, strict=True):
        # Each point has enough frames, and enough that needed retransmissions.
        assert one.counts.sum() > 1500 / part, place
        assert (one.counts[:, 1:3] > 20 / part).all(), place
        assert one.goodputs_overlap, (place, one.goodputs)
    assert stats.kstest([one.p_value for one in found], "uniform").pvalue > 0.01


def test_what_differs_is_seen() -> None:
    same = np.array([[9000, 900, 90, 9], [8000, 820, 75, 12]])
    assert phy_fidelity.p_value(same) > 0.05
    # A difference of half a dB at 14 dB makes a third fewer failures.
    assert phy_fidelity.p_value(np.array([[9000, 900, 90, 9], [9300, 650, 45, 4]])) < 1e-9
    # Rare attempts are combined; here too few frames need more than one attempt.
    assert phy_fidelity.p_value(np.array([[9000, 3, 1, 0], [9000, 1, 0, 0]])) == 1.0
