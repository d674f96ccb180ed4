"""Do frames whose symbols are detected and frames from a table agree? phy_fidelity.py [POINTS] [RUNS]

At each point (scheme, combining, SNR) a table is made by method phy from streams of its own; then the same
scenario runs with both fidelities, frames under ARQ, and the numbers of frames given up and delivered are
compared (chi-square, one degree of freedom), together with goodputs. p-values must be uniform: their
Kolmogorov-Smirnov distance is printed last. The table has a sampling error of its own, which is kept below
that of the runs by ten times as many frames.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import crossfade as cf

SCENARIO = (Path(cf.__file__).parent / "scenarios" / "mimo-arq.toml").read_text()
SCHEMES = [["blast", "mmse-osic"], ["stbc-2", "ml"], ["stbc-1", "ml"], ["stbc-half", "linear"]]
STAGES = ["none", "stacked"]
# Where some frames are given up: SNR in dB by scheme, without and with combining.
PLACES = {
    "blast": ([12.0, 13.0, 14.0], [6.0, 7.0, 8.0]),
    "stbc-2": ([6.0, 7.0, 7.5], [1.0, 2.0, 3.0]),
    "stbc-1": ([3.0, 3.5, 4.0], [-2.0, -1.0, 0.0]),
    "stbc-half": ([0.5, 1.0, 1.5], [-5.0, -4.0, -3.0]),
}


def compared(scheme: list[str], stage: str, snr_db: float, runs: int, seed: int) -> tuple[float, bool]:
    """The p-value of the numbers of frames given up, and whether the intervals of the goodputs overlap."""
    over: dict[str, Any] = {"phy.scheme,phy.detector": [scheme], "channel.snr_db": [snr_db]}
    keys = {"phy.combining.stage": stage, "run.frames": 20_000}
    table = cf.phy("mimo-arq", set=keys, over=over, runs=50, seed=seed + 1000, cache=False)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fer.csv").write_text(table.to_csv())
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO)
        of_table = {**keys, "phy.fidelity": "table", "phy.table": "fer.csv"}
        by_symbol, by_table = (
            cf.run(str(path), set=asked, over=over, runs=runs, seed=seed, cache=False).points[0]
            for asked in (keys, of_table)
        )
    counts = np.array(
        [
            [point.value(name) * runs for name in ("frames_given_up", "frames_delivered")]
            for point in (by_symbol, by_table)
        ]
    )
    goodputs = [point.metrics["goodput_bps"] for point in (by_symbol, by_table)]
    ends = [(metric.low or 0.0, metric.high or 0.0) for metric in goodputs]
    overlap = ends[0][0] <= ends[1][1] and ends[1][0] <= ends[0][1]
    return float(stats.chi2_contingency(counts, correction=False).pvalue), overlap


def main() -> None:
    """Print a line a point, and how uniform the p-values are."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    cases = [
        (scheme, stage, snr_db)
        for scheme in SCHEMES
        for stage, places in zip(STAGES, PLACES[scheme[0]], strict=True)
        for snr_db in places
    ][:points]
    found = []
    for number, (scheme, stage, snr_db) in enumerate(cases):
        p_value, overlap = compared(scheme, stage, snr_db, runs, number + 1)
        found.append(p_value)
        print(
            f"{scheme[0]:10} {stage:8} {snr_db:5} dB: p = {p_value:.3f}, goodputs overlap: {overlap}",
            flush=True,
        )
    print(f"Kolmogorov-Smirnov against uniform: p = {stats.kstest(found, 'uniform').pvalue:.3f}")


if __name__ == "__main__":
    main()
