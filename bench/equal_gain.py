"""Compare four readings of joint equal gain combining in NumPy: biased or unbiased outputs, and two orders.

Usage: python bench/equal_gain.py [FRAMES]      FRAMES of NumPy per reading, default 20,000

Section 4 of Lopez Toledo and Wang (``crossfade paper mimo-arq``) sets all weights of equal gain combining to
1, and combines "z, line 7 of the algorithm": an MMSE output after cancellation, whose gain is 1 - Omega_kk.
Divided by this gain, it is an unbiased estimate. A sum of unbiased estimates is another receiver, since a
reception with a weak symbol adds its noise in full. With ``joint`` combining, which cancels the decision in
every reception, the order of detection matters as well: the next symbol may be the one with the largest SINR
of the sum, or the one with the largest sum of the receptions' SINRs, as in maximal-ratio combining. The text
says neither.

BLAST, 4 x 4 antennas, QPSK, frames of 240 bits at 10 dB, two receptions with independent gains. A frame
``fails`` if the combination of both is wrong, and is ``lost`` if its first reception alone is wrong, too.
NumPy shares no code with Rust, whose ``equal-gain`` sums outputs of line 7 in the order of the sum's SINR;
its rates are the last line.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from combining import BATCH, BLOCKS, POINTS, cancellation, inverses, noise, sliced

SNR_DB = 10.0


def joint(channels: list[np.ndarray], received: list[np.ndarray], unbiased: bool, order: str) -> np.ndarray:
    """Labels by MMSE-OSIC that decides on the sum of all receptions' outputs, each with weight 1."""
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
    """Print the shares of frames that fail and are lost, for each reading and for Crossfade."""
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
    """Shares of frames that fail and are lost in Crossfade's method phy, with two receptions."""
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
