"""Compute the mutual information of BICM over AWGN by adaptive quadrature, as a reference for tests.

Usage, with scipy: ``python scripts/reference_mutual_information.py > tests/data/mutual_information.csv``. A
row has the modulation, Es/N0 in dB and the mutual information in bits per symbol. The script shares no code
with the Rust implementation: it builds Gray labels by reflection, and for each dimension of a square
constellation ``scipy.integrate.quad`` integrates between the kinks of the integrand.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import integrate
from scipy.special import logsumexp

BITS = {"bpsk": 1, "qpsk": 2, "16-qam": 4, "64-qam": 6, "256-qam": 8, "1024-qam": 10}


def gray_levels(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels of one dimension in order, two apart, and their Gray labels, built by reflection."""
    labels = [0]
    for bit in range(bits):
        labels += [label | 1 << bit for label in reversed(labels)]
    levels = 2.0 * np.arange(2**bits) - (2**bits - 1)
    return levels, np.array(labels)


def information(name: str, es_n0_db: float) -> float:
    """Mutual information of a modulation in bits per symbol, at Es/N0 in dB."""
    per_symbol = BITS[name]
    dimensions = 1 if per_symbol == 1 else 2
    bits = per_symbol // dimensions
    levels, labels = gray_levels(bits)
    levels = levels / np.sqrt(np.mean(levels**2) * dimensions)
    sigma = np.sqrt(0.5 / 10 ** (es_n0_db / 10))
    lost = 0.0
    for (x, label), bit in itertools.product(zip(levels, labels, strict=True), range(bits)):
        same = (labels >> bit & 1) == (label >> bit & 1)

        def integrand(n: float, x: float = x, same: np.ndarray = same) -> float:
            exponents = -((x + sigma * n - levels) ** 2) / (2 * sigma**2)
            bits_lost = (logsumexp(exponents) - logsumexp(exponents[same])) / np.log(2)
            return bits_lost * np.exp(-n * n / 2) / np.sqrt(2 * np.pi)

        kinks = (levels[:-1] + levels[1:]) / 2
        kinks = [k for k in (kinks - x) / sigma if -10 < k < 10][:40]
        value, _ = integrate.quad(
            integrand, -10, 10, points=kinks or None, limit=400, epsabs=1e-13, epsrel=1e-12
        )
        lost += value
    return dimensions * (bits - lost / len(levels))


if __name__ == "__main__":
    print("modulation,es_n0_db,bits")
    for name in BITS:
        step = 2.3 if name != "1024-qam" else 5.9
        for db in np.arange(-24.7, 40.0, step):
            print(f"{name},{db:.1f},{information(name, round(float(db), 1))!r}")
