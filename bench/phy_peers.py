"""Speed of 4 x 4 QPSK detectors in million vectors per second: Crossfade's beside IT++ and scikit-commpy.

Usage: python bench/phy_peers.py [SECONDS]

MMSE with ordered successive interference cancellation and maximum likelihood, at 12 dB, SECONDS (1) of CPU
time each on one core, with a new channel every 30 vectors. Prints a table with the speed of detection,
including the set-up per channel, the speed end to end (channel, noise, mapping, counting), and the bit error
rate, which must agree between programs within chance. Crossfade is measured with each instruction set of the
processor. Needs cargo; a peer is skipped if it is not installed (Debian's libitpp-dev with g++, PyPI's
scikit-commpy in the Python that runs this program).
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
USES = 30
Line = tuple[str, str, float, float, float]


def ours(seconds: float) -> Iterator[Line]:
    """Results of the Rust benchmark `detection` with each instruction set of this processor."""
    command = ["cargo", "bench", "-p", "crossfade-phy", "--bench", "detection", "--no-run"]
    command += ["--message-format=json"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    binary = next(m["executable"] for m in messages if m.get("executable"))
    for simd in ("avx512", "avx2", "sse2", "scalar"):
        environment = {**os.environ, "CROSSFADE_SIMD": simd}
        asked = [binary, str(seconds), "blast"]
        found = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
        if found.returncode != 0:
            print(f"skipped: {simd} is not on this processor")
            continue
        for line in found.stdout.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 5 and cells[1] in ("mmse-osic", "ml"):
                yield f"Crossfade, {simd}", cells[1], *map(float, cells[2:])


def itpp(seconds: float) -> Iterator[Line]:
    """Results of bench/itpp_mimo.cpp, if IT++ is installed."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/itpp/itcomm.h").exists():
        print("skipped: IT++ is not installed (Debian's libitpp-dev, with g++)")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "itpp_mimo")
        source = str(ROOT / "bench" / "itpp_mimo.cpp")
        subprocess.run([compiler, "-O3", "-march=native", "-o", program, source, "-litpp"], check=True)
        output = subprocess.run([program, str(seconds)], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        detector, *numbers = line.split()
        alone, whole, ber = map(float, numbers)
        yield "IT++ (f64)", detector, alone, whole, ber


def commpy(seconds: float) -> Iterator[Line]:
    """Results of maximum likelihood in scikit-commpy, which decides vector by vector."""
    if importlib.util.find_spec("commpy") is None:
        print("skipped: scikit-commpy is not installed")
        return
    from commpy.modulation import mimo_ml

    rng = np.random.default_rng(1)
    points = np.array([1 + 1j, -1 + 1j, 1 - 1j, -1 - 1j]) / math.sqrt(2)
    rho = 10**1.2

    def gaussians(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) * math.sqrt(0.5)

    vectors, errors, detecting = 0, 0, 0.0
    start = time.process_time()
    while time.process_time() - start < 2 * seconds:
        gains = math.sqrt(rho / 4) * gaussians(4, 4)
        sent = points[rng.integers(0, 4, (USES, 4))]
        received = sent @ gains.T + gaussians(USES, 4)
        before = time.process_time()
        decided = np.array([mimo_ml(y, gains, points) for y in received])
        detecting += time.process_time() - before
        errors += int(((decided.real < 0) != (sent.real < 0)).sum())
        errors += int(((decided.imag < 0) != (sent.imag < 0)).sum())
        vectors += USES
    whole = time.process_time() - start
    yield "scikit-commpy (f64)", "ml", vectors / detecting / 1e6, vectors / whole / 1e6, errors / vectors / 8


def main() -> None:
    """Measure all programs and print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    lines = [line for measured in (ours, itpp, commpy) for line in measured(seconds)]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| program | detector | detection, M vectors/s | end to end, M vectors/s | BER |")
    print("|---|---|---|---|---|")
    for program, detector, alone, whole, ber in sorted(lines, key=lambda line: (line[1], -line[2])):
        print(f"| {program} | {detector} | {alone:.3g} | {whole:.3g} | {ber:.2e} |")


if __name__ == "__main__":
    main()
