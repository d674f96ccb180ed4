"""Quantiles over all runs, compared with numpy's over all values, and the encoding of distributions in
rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import crossfade._crossfade as _crossfade

SECOND = 10**9
Floats = np.ndarray[Any, np.dtype[np.float64]]


def number(value: int) -> bytes:
    """LEB128 encoding of an integer, as docs/sweeps.md describes."""
    found = bytearray()
    while value >= 128:
        found.append(value % 128 + 128)
        value //= 128
    return bytes([*found, value])


def bucket(nanos: int) -> int:
    """Number of the histogram bucket of a time in ns: 64 per octave; below 64 ns buckets are 1 ns wide."""
    octave = max(0, nanos.bit_length() - 6)
    return 1 + nanos if octave == 0 else 1 + 64 * octave + (nanos >> (octave - 1)) - 64


def packed(name: str, seconds: Floats) -> bytes:
    """Encoded distribution of a row, written by its description, independent of the core."""
    nanos = [round(value * SECOND) for value in seconds.tolist()]
    counts: dict[int, int] = {}
    for value in nanos:
        if value:
            counts[bucket(value)] = counts.get(bucket(value), 0) + 1
    body, last = number(nanos.count(0)), None
    for at in sorted(counts):
        if last is None:
            body += number(at)
        elif at > last + 1:
            body += number(0) + number(at - last - 1)
        body, last = body + number(counts[at]), at
    text = name.encode()
    return number(len(text)) + text + number(len(body)) + body


def pooled(runs: Sequence[bytes], names: Sequence[str]) -> list[tuple[float, bool]]:
    """Estimates of some metrics from the distributions of runs, and whether each is a lower bound."""
    found = _crossfade.estimates(
        np.ones((len(runs), len(names))),
        np.array([0]),
        [*names],
        [*range(len(names))],
        distributions=[*runs],
    )
    return [(found[0][0, i].item(), bool(found[5][0, i])) for i in range(len(names))]


def arq(rng: np.random.Generator, _: int) -> Floats:
    """Delays in s with retransmissions of the link, which take 120 ms each."""
    return (0.02 + 0.12 * (rng.geometric(0.9, 900) - 1)).astype(np.float64)


def outages(rng: np.random.Generator, _: int) -> Floats:
    """Delays in s with outages of 2 s, whose end one packet in 30 waits for."""
    waits = np.where(rng.random(700) < 1 / 30, 2.0 * rng.random(700), 0.0)
    return 0.05 + 0.001 * rng.random(700) + waits


def handovers(rng: np.random.Generator, run: int) -> Floats:
    """Delays in s of which two of twenty runs have a path of 0.5 s."""
    return (0.5 if run < 2 else 0.03) * (1.0 + 0.01 * rng.random(400))


def timeouts(rng: np.random.Generator, _: int) -> Floats:
    """Delays in s of 0, or of timeouts of 2, 4, 8, ... s."""
    return np.where(rng.random(500) < 0.08, np.exp2(rng.geometric(0.5, 500)), 0.0).astype(np.float64)


@pytest.mark.parametrize("delays", [arq, outages, handovers, timeouts])
@pytest.mark.parametrize("seed", range(5))
def test_pooled_quantiles_of_mixtures_are_numpys(
    delays: Callable[[np.random.Generator, int], Floats], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    runs = [delays(rng, run) for run in range(20)]
    found = pooled(
        [packed("one_way_delay", run) + packed("rtt", 2.0 * run) for run in runs],
        ["rtt_pooled_p95_s", "rtt_pooled_p99_s", "one_way_delay_pooled_p95_s", "one_way_delay_pooled_p99_s"],
    )
    all_runs = np.concatenate(runs)
    exact = [
        np.quantile(values, p, method="inverted_cdf")
        for values in (2.0 * all_runs, all_runs)
        for p in (0.95, 0.99)
    ]
    for (value, is_bound), expected in zip(found, exact, strict=True):
        assert abs(value - expected) <= expected / 64 + 1e-9
        assert not is_bound


def test_unfinished_times_are_those_of_kaplan_and_meier() -> None:
    # 14 of 20 flows ended after 1, ..., 14 s and six were unfinished after 20 s, so the 95 % quantile is
    # above 20 s.
    ended = [packed("completion_time", np.array([float(i)])) for i in range(1, 15)]
    left = [packed("unfinished_time", np.array([20.0]))] * 6
    ((value, is_bound),) = pooled([*ended, *left], ["completion_time_p95_s"])
    assert is_bound
    assert 20.0 * 63 / 64 <= value <= 20.0
    # One flow was observed for only 0.5 s; the other 19 ended, and their 95 % quantile is the 19th (0.95 x 19
    # = 18.05).
    ended = [packed("completion_time", np.array([float(i)])) for i in range(1, 20)]
    left = [packed("unfinished_time", np.array([0.5]))]
    ((value, is_bound),) = pooled([*ended, *left], ["completion_time_p95_s"])
    assert value == pytest.approx(19.0, rel=1 / 64)
    assert not is_bound


@pytest.mark.parametrize(
    "damaged", [b"", b"\xff" * 30, b"\x03rtt", b"\x03rtt\x02\x00", b"\x03rtt\x03\x00\x01\x00"]
)
def test_a_damaged_distribution_is_none(damaged: bytes) -> None:
    ((value, _),) = pooled([damaged], ["rtt_pooled_p95_s"])
    assert math.isnan(value)


def test_there_is_one_distribution_a_row() -> None:
    with pytest.raises(IndexError, match="one for each row"):
        _crossfade.estimates(np.ones((2, 1)), np.array([0]), ["rtt_pooled_p95_s"], [0], distributions=[b""])
