"""Check frame error rates of combined receptions against a second implementation in NumPy.

Usage: python bench/combining.py [FRAMES] [RECEPTIONS]      FRAMES per code, default 20,000; RECEPTIONS,
default 2

Codes: BLAST, rate 2 (two Alamouti codes side by side) and rate 1 (the quasi-orthogonal code), with 4 x 4
antennas, QPSK, frames of 240 bits, channel gains independent in every reception and known, equal power. NumPy
shares no code with Rust: it adds noise at each antenna in each symbol period, and detects on the received
vectors with a new matrix inverse at each stage, where Rust works on matched filter outputs with Gram
matrices. A CSV line per code, combining and number of receptions has the rates of NumPy and of method phy,
and their difference in standard errors: normal with mean 0 and variance 1 if both compute the same.

A frame ``fails`` if the combination of the first n receptions is wrong; it is ``lost`` if those of fewer
receptions are wrong, too.
"""

from __future__ import annotations

import math
import sys

import numpy as np

import crossfade as cf

# SNR in dB for two receptions, and for more.
CODES = {"blast": (10.0, 8.0), "stbc-2": (6.0, 3.0), "stbc-1": (2.0, -1.0)}
BLOCKS, BATCH = 30, 200
LABELS = np.array([[(i >> 2 * k) & 3 for k in range(4)] for i in range(256)])
POINTS = np.array([(1 - 2 * (label & 1)) + 1j * (1 - 2 * (label >> 1)) for label in range(4)]) / math.sqrt(2)
CANDIDATES = POINTS[LABELS]


def code_matrix(code: str, s: list[complex]) -> np.ndarray:
    """Symbol that each antenna (column) transmits in each symbol period (row)."""
    first = [s[0], s[1], s[2], s[3]]
    if code == "blast":
        return np.array([first])
    second = [-np.conj(s[1]), np.conj(s[0]), -np.conj(s[3]), np.conj(s[2])]
    if code == "stbc-2":
        return np.array([first, second])
    third = [-np.conj(s[2]), -np.conj(s[3]), np.conj(s[0]), np.conj(s[1])]
    return np.array([first, second, third, [s[3], -s[2], -s[1], s[0]]])


def linear_maps(code: str) -> tuple[np.ndarray, np.ndarray]:
    """Code matrices for a real 1 and for an imaginary 1 in place of each symbol."""
    units = np.eye(4)
    return tuple(np.array([code_matrix(code, list(unit * e)) for e in units]) for unit in (1, 1j))


def noise(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Complex Gaussian samples with mean 0 and variance 1."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) * math.sqrt(0.5)


def sliced(x: np.ndarray) -> np.ndarray:
    """Labels of the nearest QPSK points."""
    return (x.real < 0) + 2 * (x.imag < 0)


def inverses(channel: np.ndarray, left: np.ndarray) -> np.ndarray:
    """(H^H H + I)^-1 per frame, of the symbols that are not yet detected."""
    h = channel * left[:, None, :]
    return np.linalg.inv(np.einsum("fmk,fml->fkl", h.conj(), h) + np.eye(4))


def maximum_likelihood(channel: np.ndarray, received: np.ndarray) -> np.ndarray:
    """Labels by maximum likelihood, comparing all candidates (equation 2)."""
    matched = np.einsum("fmk,fum->fuk", channel.conj(), received)
    gram = np.einsum("fmk,fml->fkl", channel.conj(), channel)
    energy = np.einsum("ik,fkl,il->fi", CANDIDATES.conj(), gram, CANDIDATES, optimize=True).real
    metric = energy[:, None, :] - 2 * (matched @ CANDIDATES.conj().T).real
    return LABELS[metric.argmin(-1)]


def cancellation(channels: list[np.ndarray], received: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Labels by MMSE-OSIC that decides on the maximal-ratio combination and cancels in each reception.

    Also returns, by symbol, the outputs of line 7 of the algorithm and 1 / Omega_kk; they are those of the
    last reception, so that they have a meaning for a single one.
    """
    received = [y.copy() for y in received]
    frames = np.arange(len(channels[0]))
    left = np.ones((len(frames), 4), bool)
    labels = np.zeros((len(frames), BLOCKS, 4), int)
    outputs, weights = np.zeros(labels.shape, complex), np.zeros((len(frames), 4))
    for _ in range(4):
        omegas = [inverses(h, left) for h in channels]
        own = [np.einsum("fkk->fk", omega).real for omega in omegas]
        ratio = sum(1 / omega - 1 for omega in own)
        k = np.where(left, ratio, -1).argmax(1)
        z = np.zeros((len(frames), BLOCKS), complex)
        for h, omega, y, diagonal in zip(channels, omegas, received, own, strict=True):
            row = np.einsum("fmk,fk->fm", h * left[:, None, :], omega[frames, :, k])
            weight = 1 / diagonal[frames, k]
            output = np.einsum("fm,fum->fu", row.conj(), y)
            outputs[frames, :, k], weights[frames, k] = output, weight
            z += weight[:, None] * output
        decided = sliced(z)
        labels[frames, :, k] = decided
        for h, y in zip(channels, received, strict=True):
            y -= POINTS[decided][:, :, None] * h[frames, :, k][:, None, :]
        left[frames, k] = False
    return labels, outputs, weights


How = tuple[str, str, int]
"""A way of combining: weights, stage, and number of receptions."""


def batch(code: str, rho: float, receptions: int, rng: np.random.Generator) -> dict[How, np.ndarray]:
    """Which frames of a batch fail, and which are lost, by way of combining; ``rho`` is the linear SNR."""
    real, imaginary = linear_maps(code)
    sent = rng.integers(0, 4, (BATCH, BLOCKS, 4))
    symbols = POINTS[sent]
    transmitted = np.einsum("fuk,ktn->futn", symbols.real, real)
    transmitted = transmitted + np.einsum("fuk,ktn->futn", symbols.imag, imaginary)
    # Symbol periods that transmit conjugates: the received samples are conjugated there too.
    conjugated = np.abs(imaginary - 1j * real).sum((0, 2)) > 1e-9
    channels, received = [], []
    for _ in range(receptions):
        gains = noise(rng, BATCH, 4, 4)
        y = math.sqrt(rho / 4) * np.einsum("futn,frn->futr", transmitted, gains)
        y += noise(rng, *y.shape)
        y[:, :, conjugated] = y[:, :, conjugated].conj()
        h = math.sqrt(rho / 4) * np.einsum("ktn,frn->ftrk", real, gains)
        h[:, conjugated] = h[:, conjugated].conj()
        channels.append(h.reshape(BATCH, -1, 4))
        received.append(y.reshape(BATCH, BLOCKS, -1))
    alone = [cancellation([h], [y]) for h, y in zip(channels, received, strict=True)]

    def fails(labels: np.ndarray) -> np.ndarray:
        return np.asarray((labels != sent).any((1, 2)))

    found: dict[How, np.ndarray] = {}
    lost: dict[tuple[str, str], np.ndarray] = {}
    for count in range(1, receptions + 1):
        stack, all_received = np.concatenate(channels[:count], 1), np.concatenate(received[:count], 2)
        outputs = [output for _, output, _ in alone[:count]]
        weighed = [output * weights[:, None, :] for _, output, weights in alone[:count]]
        combined = {
            ("equal-gain", "posthoc"): sliced(np.sum(outputs, 0)),
            ("maximal-ratio", "posthoc"): sliced(np.sum(weighed, 0)),
            ("maximal-ratio", "joint"): cancellation(channels[:count], received[:count])[0],
            ("", "stacked"): cancellation([stack], [all_received])[0],
            ("", "ml"): maximum_likelihood(stack, all_received),
        }
        for how, labels in combined.items():
            failed = fails(labels)
            lost[how] = failed & lost.get(how, failed)
            found[*how, count] = np.array([failed, lost[how]])
    return found


def ours(code: str, snr_db: float, receptions: int, frames: int) -> dict[How, tuple[float, float]]:
    """Shares of frames that fail and are lost in Crossfade's method phy, by way of combining."""
    stages: list[tuple[str, dict[str, str]]] = [
        ("mmse-osic", {"stage": "posthoc", "weights": "equal-gain"}),
        ("mmse-osic", {"stage": "posthoc", "weights": "maximal-ratio"}),
        ("mmse-osic", {"stage": "joint", "weights": "maximal-ratio"}),
        ("mmse-osic", {"stage": "stacked"}),
        ("ml", {"stage": "stacked"}),
    ]
    keys = {"link.arq.max_retransmissions": receptions - 1, "run.frames": math.ceil(frames / 20)}
    found: dict[How, tuple[float, float]] = {}
    for detector, combining in stages:
        over = {"phy.scheme,phy.detector": [[code, detector]], "channel.snr_db": [snr_db]}
        asked: dict[str, object] = {**keys, "phy.combining": combining}
        stage = "ml" if detector == "ml" else combining["stage"]
        for row in cf.runs.phy("mimo-arq", set=asked, over=over, runs=20, cache=False).to_dict("records"):
            how = (combining.get("weights", ""), stage, int(str(row["transmissions"])))
            found[how] = (float(str(row["fer"])), float(str(row["residual"])))
    return found


def main() -> None:
    """Print a CSV line for each code, way of combining and number of receptions."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    receptions = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    rng = np.random.default_rng(1)
    print("code,combined,receptions,snr_db,fails NumPy,fails,standard errors,lost NumPy,lost,standard errors")
    for code, (of_two, of_more) in CODES.items():
        snr_db = of_two if receptions <= 2 else of_more
        rates: dict[How, np.ndarray] = {}
        batches = math.ceil(frames / BATCH)
        for _ in range(batches):
            for how, flags in batch(code, 10 ** (snr_db / 10), receptions, rng).items():
                rates[how] = rates.get(how, 0) + flags.mean(1) / batches
        for how, rust in ours(code, snr_db, receptions, frames).items():
            *words, count = how
            cells = []
            for theirs, our in zip(rates[how], rust, strict=True):
                error = math.sqrt((theirs * (1 - theirs) + our * (1 - our)) / frames)
                apart = (our - theirs) / error if error else 0.0
                cells += [f"{theirs:.4f}", f"{our:.4f}", f"{apart:+.2f}"]
            line = [code, " ".join(words[::-1]).strip(), str(count), str(snr_db), *cells]
            print(",".join(line), flush=True)


if __name__ == "__main__":
    main()
