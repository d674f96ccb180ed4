"""Check frame error rates of antenna schemes against a second implementation in NumPy.

Usage: python bench/antennas.py [FRAMES]      FRAMES of NumPy per setting, default 2000

The settings, which tests leave out, have all schemes and detectors: 1 to 8 antennas, constellations of 1 to 8
bits, correlated antennas (also with a spread of 0), estimated channels, both power conventions, SNRs from -12
to 32 dB. NumPy shares no code with Rust: it transmits the space-time code slot by slot, adds noise at the
receive antennas, and detects with matrix inverses. Each line has both rates and their difference in standard
errors, which has mean 0 and variance 1 over all lines if both compute the same.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

import crossfade as cf

Array = np.ndarray
End = tuple[float, float, float]
"""Antennas at one end of the link: mean angle and spread in degrees, spacing in wavelengths."""


def grid(columns: int, rows: int, corner: int = 0) -> Array:
    """Grid of points with odd coordinates, without ``corner`` x ``corner`` points at each corner."""
    x, y = np.meshgrid(np.arange(1 - columns, columns, 2), np.arange(1 - rows, rows, 2))
    inside = (np.abs(x) < columns - 2 * corner) | (np.abs(y) < rows - 2 * corner)
    return np.asarray((x + 1j * y)[inside])


TURNS = np.exp(2j * np.pi * np.arange(8) / 8)
POINTS = {
    "bpsk": np.array([1.0, -1.0 + 0j]),
    "qpsk": grid(2, 2),
    "8-star": np.concatenate([math.sqrt(2) * TURNS[1::2], (1 + math.sqrt(3)) * TURNS[::2]]),
    "8-psk": TURNS,
    "8-rect": grid(4, 2),
    "16-qam": grid(4, 4),
    "32-cross": grid(6, 6, 1),
    "64-qam": grid(8, 8),
    "128-cross": grid(12, 12, 2),
    "256-qam": grid(16, 16),
}
POINTS = {name: points / np.sqrt((np.abs(points) ** 2).mean()) for name, points in POINTS.items()}


@dataclass(frozen=True)
class Place:
    """A setting: scheme, detector, modulation, SNR in dB, correlation, channel estimation error, power."""

    scheme: str
    n_t: int
    n_r: int
    detector: str
    modulation: str
    snr_db: float
    frame_bits: int = 240
    ends: tuple[End, End] | None = None
    nmse: float = 0.0
    power: str = "equal"


LOOSE, DENSE = ((57.0, 17.0, 0.5), (40.0, 23.0, 0.7)), ((84.0, 7.0, 0.5), (60.0, 7.0, 0.5))
FLAT = ((84.0, 0.0, 0.5), (60.0, 0.0, 0.5))
PLACES = [
    Place("blast", 8, 8, "mmse-osic", "qpsk", 12),
    Place("blast", 8, 8, "mmse", "qpsk", 18),
    Place("blast", 8, 8, "zf", "qpsk", 26),
    Place("blast", 2, 7, "ml", "16-qam", 8),
    Place("blast", 2, 2, "ml", "64-qam", 27),
    Place("blast", 3, 5, "mmse-osic", "8-star", 11),
    Place("blast", 3, 3, "sphere", "16-qam", 19),
    Place("blast", 2, 3, "sphere", "64-qam", 22),
    Place("blast", 4, 6, "ml", "bpsk", 3),
    Place("blast", 5, 8, "mmse-osic", "16-qam", 15),
    Place("blast", 2, 4, "ml", "32-cross", 15),
    Place("blast", 2, 8, "mmse-osic", "128-cross", 19, 280),
    Place("blast", 4, 8, "mmse-osic", "256-qam", 27, 256),
    Place("blast", 6, 7, "zf", "8-rect", 20),
    Place("blast", 4, 4, "mmse-osic", "qpsk", -3, 8),
    Place("simo", 1, 8, "linear", "256-qam", 19),
    Place("simo", 1, 2, "linear", "128-cross", 28, 560),
    Place("siso", 1, 1, "linear", "64-qam", 24),
    Place("alamouti", 2, 1, "linear", "8-star", 20),
    Place("alamouti", 2, 8, "linear", "64-qam", 13),
    Place("stbc-half", 4, 1, "linear", "16-qam", 12),
    Place("stbc-half", 4, 8, "linear", "128-cross", 8, 280),
    Place("stbc-half", 4, 8, "linear", "qpsk", -12, 24),
    Place("stbc-1", 4, 1, "ml", "qpsk", 10),
    Place("stbc-1", 4, 2, "mmse-osic", "16-qam", 14),
    Place("stbc-1", 4, 7, "zf", "qpsk", 2),
    Place("stbc-2", 4, 2, "ml", "qpsk", 12),
    Place("stbc-2", 4, 8, "mmse", "16-qam", 10),
    Place("stbc-2", 4, 2, "zf", "32-cross", 32),
    Place("blast", 4, 4, "mmse-osic", "qpsk", 20, ends=LOOSE),
    Place("blast", 4, 4, "ml", "qpsk", 26, ends=DENSE),
    Place("blast", 2, 4, "sphere", "bpsk", 12, 24, ends=FLAT),
    Place("blast", 3, 4, "sphere", "qpsk", 30, 8, ends=FLAT),
    Place("blast", 3, 4, "mmse-osic", "bpsk", 10, 8, ends=FLAT),
    Place("blast", 4, 4, "mmse-osic", "bpsk", 20, 8, ends=FLAT),
    Place("stbc-1", 4, 2, "mmse", "qpsk", 14, 48, ends=FLAT),
    Place("stbc-half", 4, 4, "linear", "qpsk", 8, ends=FLAT),
    Place("stbc-1", 4, 3, "ml", "qpsk", 6, ends=DENSE, power="printed"),
    Place("blast", 4, 4, "mmse-osic", "qpsk", 18, nmse=0.01),
    Place("blast", 4, 4, "ml", "qpsk", 16, nmse=0.03),
    Place("stbc-half", 4, 2, "linear", "16-qam", 14, nmse=0.02, power="printed"),
    Place("stbc-2", 4, 4, "mmse", "qpsk", 9, nmse=0.02, power="printed"),
]


def code_matrix(scheme: str, s: Array) -> Array:
    """Symbol that each antenna (column) transmits in each symbol period (row)."""
    c = s.conj()
    if scheme in ("siso", "simo", "blast"):
        return s[None, :]
    if scheme == "alamouti":
        return np.array([[s[0], s[1]], [-c[1], c[0]]])
    if scheme == "stbc-2":
        return np.array([[s[0], s[1], s[2], s[3]], [-c[1], c[0], -c[3], c[2]]])
    if scheme == "stbc-1":
        # Equation 7, corrected. Other quasi-orthogonal codes have other error rates over correlated antennas.
        first = [[s[0], s[1], s[2], s[3]], [c[1], -c[0], c[3], -c[2]]]
        return np.array([*first, [s[2], -s[3], -s[0], s[1]], [-c[3], -c[2], c[1], c[0]]])
    half = [[s[0], s[1], s[2], s[3]], [-s[1], s[0], -s[3], s[2]], [-s[2], s[3], s[0], -s[1]]]
    half = np.array([*half, [-s[3], -s[2], s[1], s[0]]])
    return np.concatenate([half, half.conj()])


def white(rng: np.random.Generator, *shape: int) -> Array:
    """Complex Gaussian samples with mean 0 and variance 1."""
    return np.asarray((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) * math.sqrt(0.5))


def root(end: End, antennas: int) -> Array:
    """Hermitian square root of the correlation matrix of one end (equation 21, corrected)."""
    angle, spread, spacing = math.radians(end[0]), math.radians(end[1]), end[2]
    apart = 2 * np.pi * spacing * (np.arange(antennas)[None, :] - np.arange(antennas)[:, None])
    matrix = np.exp(-1j * apart * math.cos(angle) - 0.5 * (apart * math.sin(angle) * spread) ** 2)
    values, vectors = np.linalg.eigh(matrix)
    # An eigenvalue of 0 that rounding left at 1e-16 would have a root of 1e-8.
    values[values < 1e-12 * values.max()] = 0
    return np.asarray((vectors * np.sqrt(values)) @ vectors.conj().T)


def nearest(points: Array, x: Array) -> Array:
    """Index of the nearest constellation point."""
    return np.asarray(np.abs(x[..., None] - points).argmin(-1))


def detect(detector: str, points: Array, h: Array, y: Array) -> Array:
    """Detected indices of points (frames, blocks, symbols) from y = h s + noise of variance 1."""
    frames, blocks, k = len(h), y.shape[1], h.shape[2]
    gram, z = np.einsum("fmk,fml->fkl", h.conj(), h), np.einsum("fmk,fum->fuk", h.conj(), y)
    if detector == "linear":
        return nearest(points, z / np.einsum("fkk->fk", gram).real[:, None, :])
    if detector == "zf":
        return nearest(points, np.einsum("fkl,ful->fuk", np.linalg.inv(gram), z))
    if detector == "mmse":
        omega = np.linalg.inv(gram + np.eye(k))
        gain = 1 - np.einsum("fkk->fk", omega).real
        return nearest(points, np.einsum("fkl,ful->fuk", omega, z) / gain[:, None, :])
    decided = np.zeros((frames, blocks, k), int)
    if detector == "mmse-osic":
        y, left, each = y.copy(), np.ones((frames, k), bool), np.arange(frames)
        for _ in range(k):
            rest = h * left[:, None, :]
            omega = np.linalg.inv(np.einsum("fmk,fml->fkl", rest.conj(), rest) + np.eye(k))
            own = np.where(left, np.einsum("fkk->fk", omega).real, 2)
            # Ties go to the first symbol. The order matters: of three antennas with equal fading, the middle
            # one has the least interference.
            best = (own <= own.min(1, keepdims=True) * (1 + 1e-9)).argmax(1)
            row = np.einsum("fmk,fk->fm", rest, omega[each, :, best])
            output = np.einsum("fm,fum->fu", row.conj(), y) / (1 - own[each, best])[:, None]
            decided[each, :, best] = nearest(points, output)
            y -= points[decided[each, :, best]][:, :, None] * h[each, :, best][:, None, :]
            left[each, best] = False
        return decided
    numbers = np.stack(np.meshgrid(*[np.arange(len(points))] * k, indexing="ij"), -1).reshape(-1, k)
    candidates = points[numbers]
    for frame in range(frames):
        energy = np.einsum("ck,kl,cl->c", candidates.conj(), gram[frame], candidates, optimize=True).real
        decided[frame] = numbers[(energy - 2 * (z[frame] @ candidates.conj().T).real).argmin(-1)]
    return decided


def failures(place: Place, frames: int, rng: np.random.Generator) -> int:
    """Number of frames with a symbol error, of ``frames`` simulated at a setting."""
    points = POINTS[place.modulation]
    bits = int(math.log2(len(points)))
    k = place.n_t if place.scheme == "blast" else {"siso": 1, "simo": 1, "alamouti": 2}.get(place.scheme, 4)
    sent_symbols = place.frame_bits // bits
    blocks = -(-sent_symbols // k)
    power = 2 if place.power == "printed" and place.scheme.startswith("stbc") else 1
    scale = math.sqrt(10 ** (place.snr_db / 10) * power / place.n_t)
    units = np.eye(k, dtype=complex)
    real, imaginary = (np.array([code_matrix(place.scheme, unit * e) for e in units]) for unit in (1, 1j))
    # Symbol periods that transmit conjugates: the received samples are conjugated there too.
    conjugated = np.abs(imaginary - 1j * real).sum((0, 2)) > 1e-9
    roots = place.ends and (root(place.ends[1], place.n_r), root(place.ends[0], place.n_t))

    def gains(count: int) -> Array:
        h = white(rng, count, place.n_r, place.n_t)
        return roots[0] @ h @ roots[1] if roots else h

    failed = 0
    for first in range(0, frames, 100):
        count = min(100, frames - first)
        h, sent = gains(count), rng.integers(0, len(points), (count, blocks, k))
        s = points[sent]
        code = np.einsum("fuk,ktn->futn", s.real, real) + np.einsum("fuk,ktn->futn", s.imag, imaginary)
        y = scale * np.einsum("futn,frn->futr", code, h)
        y += white(rng, *y.shape)
        y[:, :, conjugated] = y[:, :, conjugated].conj()
        known = h
        if place.nmse:
            known = (1 - place.nmse) * h + math.sqrt(place.nmse * (1 - place.nmse)) * gains(count)
        equivalent = scale * np.einsum("ktn,frn->ftrk", real, known)
        equivalent[:, conjugated] = equivalent[:, conjugated].conj()
        flat = equivalent.reshape(count, -1, k)
        decided = detect(place.detector, points, flat, y.reshape(count, blocks, -1))
        failed += int((decided != sent).reshape(count, -1)[:, :sent_symbols].any(1).sum())
    return failed


def ours(place: Place, frames: int) -> tuple[int, int]:
    """Failed frames and all frames of Crossfade's method phy at a setting."""
    antennas: dict[str, object] = {"n_t": place.n_t, "n_r": place.n_r}
    if place.ends:
        antennas["correlation"] = "custom"
        for name, (angle, spread, spacing) in zip(("transmitter", "receiver"), place.ends, strict=True):
            spread_rad = f"{math.radians(spread)} rad"
            antennas[name] = {
                "mean_angle": f"{angle} deg",
                "spread": spread_rad,
                "spacing_wavelengths": spacing,
            }
    keys: dict[str, object] = {
        "channel.antennas": antennas,
        "phy.modulation": place.modulation,
        "phy.stbc_power": place.power,
        "phy.estimation.nmse": place.nmse,
        "link.frame_size": f"{place.frame_bits // 8} B",
        "run.frames": 1000,
    }
    over = {"phy.scheme,phy.detector": [[place.scheme, place.detector]], "channel.snr_db": [place.snr_db]}
    row = cf.runs.phy("mimo-fer", set=keys, over=over, runs=frames // 1000, cache=False).iloc[0]
    return int(str(row["frame_errors"])), int(str(row["frames"]))


def main() -> None:
    """Print a line per setting, then mean and variance of the differences in standard errors."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    distances = []
    for number, place in enumerate(PLACES):
        theirs = failures(place, frames, np.random.default_rng(number)) / frames
        failed, sent = ours(place, 20_000)
        rate = failed / sent
        pooled = (theirs * frames + failed) / (frames + sent)
        error = math.sqrt(pooled * (1 - pooled) * (1 / frames + 1 / sent))
        distances.append((rate - theirs) / error if error else 0.0)
        words = [f"{place.n_t} x {place.n_r}", place.scheme, place.detector, place.modulation]
        words += [f"{place.snr_db} dB", *(["correlated"] if place.ends else []), place.power]
        words += [f"nmse {place.nmse}"] if place.nmse else []
        print(f"{', '.join(words)}: NumPy {theirs:.4f}, {rate:.4f}, {distances[-1]:+.2f}", flush=True)
    found = np.array(distances)
    print(f"mean {found.mean():+.2f}, variance {(found**2).mean():.2f} of {len(found)}")


if __name__ == "__main__":
    main()
