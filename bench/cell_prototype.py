"""Simulate the adaptive OFDM link of Alfredsson, Brunstrom and Sternad (2007) in NumPy, without Crossfade.

    python bench/cell_prototype.py [--channels 60] [--choice NAME ...]

The script has its own fading (inverse FFT of independent spectral lines with Jakes' powers), shadowing,
channel prediction (NMSE 0.1), integration of the switching levels, and ARQ, for a saturated user. For each
choice of a detail that the paper leaves open, it prints goodput in kbit/s, failures per new frame and the
share of frames in % by bits per symbol: means over channels of 40 s with 95 % intervals, and the standard
deviation of the mean of three such channels, as of a prototype that was run three times.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SLOT = 1.0 / 1500.0
SLOTS = 60_000
SPEED = 75.0 / 3.6
FD_T = SPEED * 2e9 / 299_792_458.0 * SLOT
BINS = 25
SYMBOLS = 108
# The ten paths of the channel: delays in units of 0.2 us, powers in dB.
TAPS = (
    *((0, -5.7), (1, -7.6), (3, -4.4428), (4, -13.4), (6, -13.5793)),
    *((7, -14.2371), (8, -14.4794), (9, -16.9543), (10, -20.0164), (11, -24.3)),
)
NMSE = 0.1


@dataclass(frozen=True)
class Choice:
    """Choice of details that the paper leaves open; the defaults are those of docs/papers/wipemu.md."""

    mean_db: float = 16.0
    sigma_db: float = 4.0  # standard deviation of the shadowing
    driving: bool = False  # sigma_db is the standard deviation of the filter's input noise
    hold: bool = False  # samples of shadowing hold for 2 m
    linear_mean: bool = False  # mean_db is the mean of the linear SNR, shadowing included
    fixed_levels: bool = False  # switching levels for a mean of 16 dB, whatever the local mean
    rectangular: bool = False  # 8-QAM is a grid of 4 x 2
    raw: bool = False  # predicted power without the power of the prediction error
    split: bool = True  # a retransmission at fewer bits per symbol takes two frames


CHOICES = {
    "as chosen": Choice(),
    "15.4 dB": Choice(mean_db=15.4),
    "variance 4 dB": Choice(sigma_db=2.0),
    "sigma 8 dB": Choice(sigma_db=8.0),
    "sigma of the driving noise": Choice(driving=True),
    "hold": Choice(hold=True),
    "16 dB with shadowing": Choice(linear_mean=True),
    "levels of 16 dB": Choice(fixed_levels=True),
    "rectangular 8-QAM": Choice(rectangular=True),
    "raw": Choice(raw=True),
    "no split": Choice(split=False),
    "no shadowing": Choice(sigma_db=0.0),
}


# Symbol errors and the switching levels.


def q(x: Array) -> Array:
    """Tail probability of the standard normal distribution above x."""
    return 0.5 * np.vectorize(math.erfc)(x / math.sqrt(2.0))


def symbol_error(bits: int, ratio: Array, rectangular: bool) -> Array:
    """Symbol error probability of Gray-coded QAM with ``bits`` bits per symbol, at a linear ratio Es/N0."""
    points = 2.0**bits
    if bits == 1:
        return q(np.sqrt(2.0 * ratio))
    if bits == 3 and rectangular:  # four levels in one axis, two in the other, mean energy 6
        of = q(np.sqrt(ratio / 3.0))
        return 1.0 - (1.0 - 1.5 * of) * (1.0 - of)
    if bits % 2 == 0:
        of = 2.0 * (1.0 - 1.0 / math.sqrt(points)) * q(np.sqrt(3.0 * ratio / (points - 1.0)))
        return 1.0 - (1.0 - of) ** 2
    energy, neighbours = (
        (4.73, 3.0)
        if bits == 3
        else ((31.0 * points / 32.0 - 1.0) * 2.0 / 3.0, 4.0 - 6.0 / math.sqrt(2.0 * points))
    )
    return 1.0 - (1.0 - neighbours / 2.0 * q(np.sqrt(2.0 * ratio / energy))) ** 2


ROOTS = np.arange(0.0, 90.0, 0.005)


@cache
def success(rectangular: bool) -> Array:
    """Success probability of a frame with 1 to 8 bits per symbol (rows), over sqrt(Es/N0) = ``ROOTS``."""
    rows = [(1.0 - symbol_error(bits, ROOTS**2, rectangular)) ** SYMBOLS for bits in range(1, 9)]
    return np.array(rows)


def succeeds(bits: Array, ratio: Array, rectangular: bool) -> Array:
    """Success probability of frames with ``bits`` bits per symbol, at linear ratios Es/N0."""
    place = np.minimum((np.sqrt(ratio) / 0.005).round().astype(int), ROOTS.size - 1)
    return success(rectangular)[np.asarray(bits, dtype=int) - 1, place]


def scaled_i0(x: Array) -> Array:
    """exp(-x) I0(x), also where I0 overflows."""
    small = np.minimum(x, 600.0)
    series = 1.0 + 1.0 / (8.0 * np.maximum(x, 1.0)) + 9.0 / (128.0 * np.maximum(x, 1.0) ** 2)
    return np.where(
        x < 600.0, np.i0(small) * np.exp(-small), series / np.sqrt(2.0 * np.pi * np.maximum(x, 1.0))
    )


@cache
def levels(mean_quarters: int, target_nmse: float, rectangular: bool, raw: bool) -> Array:
    """Lowest predicted Es/N0 at which 1 to 8 bits per symbol are best, given the local mean in quarters of a
    dB.
    """
    mean = 10.0 ** (mean_quarters / 40.0)
    error = mean * target_nmse
    x_db = np.arange(-2.0, 36.0, 0.02)
    x = 10.0 ** (x_db / 10.0)
    table = success(rectangular)
    if error == 0.0:
        expected = table[:, np.minimum((np.sqrt(x) / 0.005).round().astype(int), ROOTS.size - 1)]
    else:
        width = 7.0 * math.sqrt(error / 2.0)
        u = np.sqrt(x)[:, None] + np.linspace(-width, width, 81)
        u = np.maximum(u, 0.0)
        centre = np.sqrt(x)[:, None]
        density = 2.0 * u / error * np.exp(-((u - centre) ** 2) / error) * scaled_i0(2.0 * u * centre / error)
        step = 2.0 * width / 80.0
        place = np.minimum((u / 0.005).round().astype(int), ROOTS.size - 1)
        expected = (table[:, place] * density).sum(axis=2) * step
    best = (np.arange(1, 9)[:, None] * expected).argmax(axis=0) + 1
    shift = 0.0 if raw else error
    found = [0.0] + [float(x[np.argmax(best >= bits)] + shift) for bits in range(2, 9)]
    return np.array(found)


# Channels.


def fading(random: np.random.Generator) -> Array:
    """A Rayleigh fading process of unit power for each path (rows), a sample per slot."""
    lines = np.fft.fftfreq(SLOTS)
    cell = 0.5 / SLOTS
    upper, lower = (np.arcsin(np.clip((lines + side) / FD_T, -1.0, 1.0)) for side in (cell, -cell))
    power = (upper - lower) / np.pi
    draws = random.normal(size=(len(TAPS), SLOTS, 2)) @ np.array([1.0, 1.0j]) / math.sqrt(2.0)
    return np.fft.ifft(draws * np.sqrt(power), axis=1) * SLOTS


def response(taps: Array, bins: list[int]) -> Array:
    """Frequency response in the middle of each bin (rows), a sample per slot."""
    powers = np.array([10.0 ** (db / 10.0) for _, db in TAPS])
    powers /= powers.sum()
    delays = np.array([place * 0.2e-6 for place, _ in TAPS])
    offsets = (np.array(bins) - 12) * 200e3
    turn = np.exp(-2j * np.pi * np.outer(offsets, delays)) * np.sqrt(powers)
    return turn @ taps


def shadowing(random: np.random.Generator, choice: Choice) -> Array:
    """Shadowing in dB, a sample per slot: a first-order filter with a sample every 2 m."""
    way = np.arange(SLOTS) * SLOT * SPEED / 2.0
    samples = int(way[-1]) + 3
    pole = 0.74
    sigma = choice.sigma_db / math.sqrt(1.0 - pole**2) if choice.driving else choice.sigma_db
    drawn = random.normal(size=samples) * sigma
    for k in range(1, samples):
        drawn[k] = pole * drawn[k - 1] + math.sqrt(1.0 - pole**2) * drawn[k]
    return drawn[way.astype(int)] if choice.hold else np.interp(way, np.arange(samples), drawn)


# The link.


@dataclass(frozen=True)
class Outcome:
    """Goodput in kbit/s, failures per new frame, and the share of frames with 1 to 8 bits per symbol."""

    kbps: float
    failures: float
    shares: Array


def link(bits: Array, ratio: Array, random: np.random.Generator, choice: Choice) -> Outcome:
    """Run an ARQ without a limit: a failed frame is retransmitted 3 slots later, before new ones.

    A retransmission at a lower modulation is split into two frames.
    """
    table = np.array([succeeds(np.full(ratio.size, k), ratio, choice.rectangular) for k in range(1, 9)])
    draws = random.random(ratio.size)
    due: list[tuple[int, int]] = []  # slot, bits
    first = 0
    rests: list[int] = []
    sent = np.zeros(9)
    new = failed = delivered = 0
    for slot, k in enumerate(bits.tolist()):
        if first < len(due) and due[first][0] <= slot:
            size = due[first][1]
            first += 1
        elif rests:
            size = rests.pop()
        else:
            size, new = k, new + 1
        if choice.split and size > k:
            rests.append(size - k)
            size = k
        sent[size] += 1
        if draws[slot] < table[size - 1, slot]:
            delivered += size
        else:
            failed += 1
            due.append((slot + 3, size))
    shares = sent[1:] / sent.sum()
    return Outcome(delivered * SYMBOLS / (ratio.size * SLOT) / 1e3, failed / new, shares)


KINDS = ["static", "best of 25", "best of 2"]


def run(seed: int, choice: Choice, targets: list[float]) -> dict[tuple[str, float], Outcome]:
    """Outcomes over one channel of 40 s, by allocation and by the NMSE for which the switching levels are
    made.
    """
    random = np.random.default_rng(seed)
    taps, errors = fading(random), fading(random)
    gains, noise = (response(of, list(range(BINS))) for of in (taps, errors))
    mean_db = choice.mean_db + shadowing(random, choice)
    if choice.linear_mean:
        mean_db -= (choice.sigma_db**2) * math.log(10.0) / 20.0
    predicted = (1.0 - NMSE) * gains + math.sqrt(NMSE * (1.0 - NMSE)) * noise
    outcomes = {}
    for kind in KINDS:
        if kind == "static":
            chosen = np.full(SLOTS, 12)
        else:
            candidates = np.arange(BINS) if kind == "best of 25" else np.array([6, 18])
            chosen = candidates[(np.abs(predicted[candidates]) ** 2).argmax(axis=0)]
        at = (chosen, np.arange(SLOTS))
        mean = 10.0 ** (mean_db / 10.0)
        ratio = mean * np.abs(gains[at]) ** 2
        known = mean * (np.abs(predicted[at]) ** 2 + (0.0 if choice.raw else NMSE))
        for target in targets:
            quarters = np.full(SLOTS, 64) if choice.fixed_levels else (mean_db * 4.0).round().astype(int)
            bits = np.ones(SLOTS, dtype=int)
            for quarter in np.unique(quarters):
                of = quarters == quarter
                limits = levels(int(quarter), target, choice.rectangular, choice.raw)
                bits[of] = np.maximum((known[of][:, None] >= limits).sum(axis=1), 1)
            outcomes[kind, target] = link(bits, ratio, np.random.default_rng([seed, 1]), choice)
    return outcomes


# Output.


@dataclass(frozen=True)
class Mean:
    """A mean over channels, with its precision."""

    value: float
    half: float  # half-width of the 95 % interval
    of_three: float  # the standard deviation of the mean of three channels

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        """The mean of one value per channel."""
        spread = float(np.std(values, ddof=1))
        return cls(float(np.mean(values)), 1.96 * spread / math.sqrt(len(values)), spread / math.sqrt(3.0))


def table(choice: Choice, channels: int, targets: list[float]) -> None:
    """Print a line for each allocation and NMSE of the switching levels."""
    outcomes = [run(seed, choice, targets) for seed in range(channels)]
    for key in outcomes[0]:
        of = [outcome[key] for outcome in outcomes]
        goodput = Mean.of([outcome.kbps for outcome in of])
        failures = Mean.of([outcome.failures for outcome in of])
        shares = [Mean.of([100.0 * outcome.shares[bits] for outcome in of]) for bits in range(8)]
        kind, target = key
        print(
            f"  {kind:10} levels for {target:g}: {goodput.value:6.1f} +- {goodput.half:4.1f} kbit/s "
            f"(three: {goodput.of_three:4.1f}), failures {failures.value:.3f} +- {failures.half:.3f} "
            f"(three: {failures.of_three:.3f}), 1 bit {shares[0].value:5.2f} +- {shares[0].half:.2f} % "
            f"(three: {shares[0].of_three:.2f}), all " + " ".join(f"{share.value:.1f}" for share in shares),
            flush=True,
        )


def main() -> None:
    """Simulate the choices that are named, or all, and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--channels", type=int, default=60, help="number of channels, of 40 s each")
    parser.add_argument(
        "--choice", nargs="*", default=list(CHOICES), choices=list(CHOICES), help="choices (default: all)"
    )
    asked = parser.parse_args()
    for name in asked.choice:
        print(f"{name}:", flush=True)
        table(CHOICES[name], asked.channels, [0.0, 0.1])


if __name__ == "__main__":
    main()
