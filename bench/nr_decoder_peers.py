"""Decoding speed of LDPC decoders in Mbit/s of information bits: Crossfade's beside PyPI's ``ldpc``.

Usage: python bench/nr_decoder_peers.py [SECONDS [TURNS]]

Codes of 5G NR on both base graphs, QPSK over white Gaussian noise 0.4 dB above the SNR at which a tenth of
the blocks fails, sum-product decoding with at most 20 iterations. Both decoders get the same parity-check
matrix and log-likelihood ratios, and stop at a code word. Each runs SECONDS (1) of CPU time on one core in
each of TURNS turns (3), of which the fastest counts. Prints a table with speed, the share of blocks not
decoded, and the mean number of iterations.

For equal schedules the shares should agree: flooding, which ``ldpc`` calls parallel, and layered, whose
counterpart is its serial schedule, bit by bit. Needs cargo, and ``ldpc`` with SciPy in the Python that runs
this program; without them only Crossfade is measured. (``pyldpc`` 0.7.9 takes no irregular matrices, and
Sionna needs gigabytes of packages.)
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ITERATIONS = 20
# Code, program, schedule, Mbit/s, share of blocks that fail, mean number of iterations if known.
Line = tuple[str, str, str, float, float, float | None]
Decode = Callable[[np.ndarray], np.ndarray]


def binary() -> str:
    """Build the Rust benchmark `decoder_peers`; return the path of its program."""
    command = ["cargo", "bench", "-p", "crossfade-nr", "--bench", "decoder_peers", "--no-run"]
    command += ["--message-format=json"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return next(m["executable"] for m in messages if m.get("executable"))


def ours(program: str, folder: str, seconds: float) -> Iterator[Line]:
    """Results of the Rust benchmark, which also writes codes and blocks to ``folder``."""
    output = subprocess.run(
        [program, folder, str(seconds)], check=True, capture_output=True, text=True
    ).stdout
    for line in output.splitlines():
        code, schedule, *numbers = line.split()
        mbit_s, failed, iterations = map(float, numbers)
        yield code, "Crossfade (f32)", schedule.lower(), mbit_s, failed, iterations


class Code:
    """A parity-check matrix, and blocks of information bits with received log-likelihood ratios."""

    def __init__(self, folder: Path, name: str) -> None:
        from scipy.sparse import csr_matrix

        pairs = np.fromfile(folder / f"{name}.checks", "<u4").reshape(-1, 2)
        ones = (np.ones(len(pairs), np.uint8), (pairs[:, 0], pairs[:, 1]))
        self.name = name
        self.matrix = csr_matrix(ones)
        self.ratios = np.fromfile(folder / f"{name}.ratios", "<f4").reshape(-1, self.matrix.shape[1])
        self.blocks = np.fromfile(folder / f"{name}.blocks", np.uint8).reshape(len(self.ratios), -1)

    def measure(self, decode: Decode, seconds: float) -> tuple[float, float]:
        """Speed in Mbit/s of information bits, and the share of blocks with wrong information bits."""
        bits, failed, decoded, start = self.blocks.shape[1], 0, 0, time.process_time()
        while True:
            for block, ratios in zip(self.blocks, self.ratios, strict=True):
                failed += int((decode(ratios)[:bits] != block).any())
                decoded += 1
                elapsed = time.process_time() - start
                # The first pass decodes all blocks, so that all decoders' shares cover the same blocks.
                if elapsed > seconds and decoded >= len(self.blocks):
                    return decoded * bits / elapsed / 1e6, failed / decoded


def of_ldpc(code: Code, schedule: str) -> Decode:
    """Belief propagation of ``ldpc``, which finds the errors of hard decisions from their probabilities."""
    from ldpc import BpDecoder

    decoder = BpDecoder(
        code.matrix,
        error_rate=0.1,
        max_iter=ITERATIONS,
        bp_method="product_sum",
        schedule={"flooding": "parallel", "layered": "serial"}[schedule],
        input_vector_type="syndrome",
    )
    matrix = code.matrix.astype(np.int32)

    def decode(ratios: np.ndarray) -> np.ndarray:
        hard = (ratios < 0.0).astype(np.uint8)
        decoder.update_channel_probs(1.0 / (1.0 + np.exp(np.abs(ratios.astype(np.float64)))))
        syndrome = (matrix @ hard % 2).astype(np.uint8)
        found: np.ndarray = hard ^ decoder.decode(syndrome)
        return found

    return decode


def peers(folder: Path, names: list[str], seconds: float) -> Iterator[Line]:
    """Results of ``ldpc`` on the blocks in ``folder``."""
    for name in names:
        code = Code(folder, name)
        for schedule in ("flooding", "layered"):
            mbit_s, failed = code.measure(of_ldpc(code, schedule), seconds)
            yield name, "ldpc (f64)", schedule, mbit_s, failed, None


def main() -> None:
    """Measure in turns and print the table of the fastest ones."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    has_peer = importlib.util.find_spec("ldpc") is not None
    if not has_peer:
        print("skipped: ldpc and scipy are not installed")
    program, best = binary(), {}
    with TemporaryDirectory() as folder:
        for _ in range(turns):
            lines = list(ours(program, folder, seconds))
            names = list(dict.fromkeys(line[0] for line in lines))
            for line in [*lines, *(peers(Path(folder), names, seconds) if has_peer else [])]:
                if line[:3] not in best or best[line[:3]][3] < line[3]:
                    best[line[:3]] = line
    print("| bits - 100 R | program | schedule | Mbit/s a core | blocks not decoded | iterations |")
    print("|---|---|---|---|---|---|")
    for code, who, schedule, mbit_s, failed, iterations in sorted(best.values()):
        mean = "" if iterations is None else f"{iterations:.1f}"
        print(f"| {code} | {who} | {schedule} | {mbit_s:.3g} | {failed:.3f} | {mean} |")


if __name__ == "__main__":
    main()
