"""Write tests/data/rayleigh_markov.csv: the two-state Markov chain of a Rayleigh channel, to 20 digits.

Columns: fd_t (normalised Doppler frequency), p_e (probability of the bad state), and the transition
probabilities p_gb, p_bg and p_bb (from good to bad, ...). Tests of crates/channel compare with them. The
crate computes a different form than this script, which uses the printed one,

    p_BG = (Q(theta, rho theta) - Q(rho theta, theta)) / (exp(u) - 1),    theta^2 = 2 u / (1 - rho^2)

(Chockalingam and Bao 2000, eqs 3-6), whose cancellation does no harm in 50 digits. Marcum's Q is summed as
a Poisson mixture: Q(a, b) = P[N_b <= N_a] for independent Poisson counts of means a^2/2, b^2/2.
Where the expansion of Rice's bivariate density in Laguerre polynomials converges, it checks the row.

Usage, with mpmath: python scripts/reference_rayleigh_markov.py
"""

import csv
from pathlib import Path

from mpmath import (  # type: ignore[import-untyped]
    besselj,
    exp,
    expm1,
    laguerre,
    log,
    log1p,
    loggamma,
    mp,
    mpf,
    nstr,
    pi,
    sqrt,
)

TARGET = Path(__file__).resolve().parent.parent / "tests" / "data" / "rayleigh_markov.csv"

# Slow and fast fading; both sides of fd_t = 1 / 2 pi, where the crate changes from a series to the Bessel
# function J0; the first zeros of J0 (0.3827, 0.8786), its minimum between them (0.61), its maximum (1.117).
FD_T = [
    *("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.08", "0.15", "0.159", "0.16", "0.25", "0.38"),
    *("0.3827", "0.39", "0.5", "0.61", "0.64", "0.8786", "1.0", "1.117", "1.3"),
]
P_E = ["1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.1", "0.3", "0.5"]


def main() -> None:
    """Write a row for each fd_t and p_e, computed with 50 digits."""
    mp.dps = 50
    with TARGET.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["fd_t", "p_e", "p_gb", "p_bg", "p_bb"])
        for fd_t in FD_T:
            for p_e in P_E:
                chain = transition_probabilities(mpf(p_e), mpf(fd_t))
                writer.writerow([fd_t, p_e, *(nstr(p, 20) for p in chain)])


def transition_probabilities(p_e: mpf, fd_t: mpf) -> tuple[mpf, mpf, mpf]:
    """p_GB, p_BG and p_BB of the chain; p_e is the probability of the bad state."""
    u = -log1p(-p_e)
    rho_squared = besselj(0, 2 * pi * fd_t) ** 2
    p_bg = marcum_difference(u / (1 - rho_squared), rho_squared) / expm1(u)
    p_bb = 1 - p_bg
    if rho_squared < mpf("0.95"):
        series = laguerre_series(u, rho_squared) / p_e
        if abs(series / p_bb - 1) > mpf(10) ** -25:
            msg = f"fd_t {fd_t}, p_e {p_e}: {p_bb} but {series} by the Laguerre series"
            raise ArithmeticError(msg)
    return p_e / (1 - p_e) * p_bg, p_bg, p_bb


def marcum_difference(mean: mpf, rho_squared: mpf) -> mpf:
    """Q(theta, rho theta) - Q(rho theta, theta) for theta^2 / 2 = mean."""
    means = (mean, mean * rho_squared)
    # 17 standard deviations (and 100 counts, where the mean is small) leave out less than 1e-60.
    first = max(0, int(means[1] - 17 * sqrt(mean) - 100))
    last = int(mean + 17 * sqrt(mean) + 100)
    mass = [exp(-m + first * log(m) - loggamma(first + 1)) for m in means]
    below = [mpf(0), mpf(0)]
    at_most = at_least = mpf(0)  # P[second count <= first count] and the reverse
    for count in range(first, last):
        below = [b + m for b, m in zip(below, mass, strict=True)]
        at_most += mass[0] * below[1]
        at_least += mass[1] * below[0]
        mass = [p * m / (count + 1) for p, m in zip(mass, means, strict=True)]
    return at_most - at_least


def laguerre_series(u: mpf, rho_squared: mpf) -> mpf:
    """P[both gains below u] = sum rho^(2n) c_n^2, c_0 = 1 - exp(-u), c_n = exp(-u) (u / n) L^(1)_(n-1)(u)."""
    total, n, weight = expm1(-u) ** 2, 1, rho_squared
    while weight > mpf(10) ** -45:
        total += weight * (exp(-u) * u / n * laguerre(n - 1, 1, u)) ** 2
        n, weight = n + 1, weight * rho_squared
    return total


if __name__ == "__main__":
    main()
