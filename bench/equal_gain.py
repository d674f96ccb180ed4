"""Joint combining with equal gain, from biased and from unbiased outputs, in NumPy. equal_gain.py [FRAMES]

Section 4 of Lopez Toledo and Wang (``crossfade paper mimo-arq``) sets all weights of equal gain combining to
1, and combines "z, line 7 of the algorithm": an output of MMSE with cancellation, whose gain is 1 - Omega_kk.
Divided by that gain it is an unbiased estimate, and adding estimates is another receiver: a reception that
hears a symbol badly adds its noise in full. Where the decision on the sum is cancelled in every reception
(``joint``) it matters as well which symbol is detected next: the one with the greatest ratio of the sum
itself, or of the sum of the ratios of its parts, as maximal-ratio combining has it. The text says neither.

BLAST, 4 x 4 antennas, QPSK, frames of 240 bits at 10 dB, two receptions with independent gains. A combination
``fails`` by itself; a frame is ``lost`` if its first reception failed, too. Nothing is shared with the Rust
code, whose ``equal-gain`` adds outputs of line 7 in the order of the ratio of the sum, and stands below.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from combining import BATCH, BLOCKS, POINTS, cancellation, inverses, noise, sliced

SNR_DB = 10.0


def joint(channels: list[np.ndarray], received: list[np.ndarray], unbiased: bool, order: str) -> np.ndarray:
    """Labels by cancellation that decides on the sum of the outputs of all receptions, each with weight 1."""
    received = [y.copy() for y in received]
    frames = np.arange(len(channels[0]))
    left = np.ones((len(frames), 4), bool)
    labels = np.zeros((len(frames), BLOCKS, 4), int)
    for _ in range(4):
        omegas = [inverses(h, left) for h in channels]
        own = [np.clip(np.einsum("fkk->fk", omega).real, 1e-12, 1 - 1e-12) for omega in omegas]
        if order == "parts":
            merit = sum(1 / omega - 1 for omega in own)
        elif unbiased:
            # Each estimate has an error of variance Omega / (1 - Omega).
            merit = 1 / sum(omega / (1 - omega) for omega in own)
        else:
            # Each output has a gain of 1 - Omega, and noise of variance Omega (1 - Omega).
            merit = sum(1 - omega for omega in own) ** 2 / sum(omega * (1 - omega) for omega in own)
        k = np.where(left, merit, -1).argmax(1)
        z = np.zeros((len(frames), BLOCKS), complex)
        for h, omega, y, diagonal in zip(channels, omegas, received, own, strict=True):
            row = np.einsum("fmk,fk->fm", h * left[:, None, :], omega[frames, :, k])
            output = np.einsum("fm,fum->fu", row.conj(), y)
            z += output / (1 - diagonal[frames, k])[:, None] if unbiased else output
        decided = sliced(z)
        labels[frames, :, k] = decided
        for h, y in zip(channels, received, strict=True):
            y -= POINTS[decided][:, :, None] * h[frames, :, k][:, None, :]
        left[frames, k] = False
    return labels


def main() -> None:
    """Print a line for each receiver: what fails of two receptions, what is lost, and ours."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rho = 10 ** (SNR_DB / 10)
    rng = np.random.default_rng(1)
    receivers = [(unbiased, order) for order in ("sum", "parts") for unbiased in (False, True)]
    totals = dict.fromkeys(receivers, (0.0, 0.0))
    batches = math.ceil(frames / BATCH)
    for _ in range(batches):
        sent = rng.integers(0, 4, (BATCH, BLOCKS, 4))
        channels = [math.sqrt(rho / 4) * noise(rng, BATCH, 4, 4) for _ in range(2)]
        received = [
            np.einsum("fuk,fmk->fum", POINTS[sent], h) + noise(rng, BATCH, BLOCKS, 4) for h in channels
        ]
        first = (cancellation(channels[:1], received[:1])[0] != sent).any((1, 2))
        for receiver in receivers:
            failed = (joint(channels, received, *receiver) != sent).any((1, 2))
            fails, lost = totals[receiver]
            totals[receiver] = (fails + failed.mean() / batches, lost + (failed & first).mean() / batches)
    print("outputs,order by the ratio of,fails,lost")
    for (unbiased, order), (fails, lost) in totals.items():
        print(f"{'unbiased' if unbiased else 'line 7'},{order},{fails:.4f},{lost:.4f}")
    fails, lost = rust(frames)
    print(f"line 7 (Rust),sum,{fails:.4f},{lost:.4f}")


def rust(frames: int) -> tuple[float, float]:
    """Rates of the combination of two receptions by method phy, which adds outputs of line 7."""
    import crossfade as cf

    keys: dict[str, object] = {
        "link.arq.max_retransmissions": 1,
        "run.frames": math.ceil(frames / 20),
        "phy.combining": {"stage": "joint", "weights": "equal-gain"},
    }
    over = {"phy.scheme,phy.detector": [["blast", "mmse-osic"]], "channel.snr_db": [SNR_DB]}
    for row in cf.runs.phy("mimo-arq", set=keys, over=over, runs=20, cache=False).records():
        if row["transmissions"] == 2:
            return float(str(row["fer"])), float(str(row["residual"]))
    raise RuntimeError("no row of two transmissions")


if __name__ == "__main__":
    main()
