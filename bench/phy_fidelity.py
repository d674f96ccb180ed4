"""Agreement of the fidelities symbol and table of the physical layer, by p-values of chi-square tests.

Usage: python bench/phy_fidelity.py [--short]

At each of 20 points (scheme, detector, SNR, retransmissions, stage of combining, and some antennas,
correlations and constellations) method phy first computes an error table from random streams of its own. Then
the scenario mimo-arq, TCP over ARQ, runs with both fidelities. The link events tell for each frame in which
attempt it was accepted, if ever. A chi-square test compares these counts, with attempts of few frames
combined; the goodputs agree if their intervals overlap. If both fidelities draw from one distribution, the
p-values are uniform: the last line has their Kolmogorov-Smirnov test.

The sampling error of the table makes p-values a little too small: since the table has at least ten times the
frames of the runs, chi-square is at most 5 % too large. --short takes five of the points and a fifth of the
frames, as the tests do.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import crossfade as cf

SCENARIO = (Path(cf.__file__).parent / "scenarios" / "mimo-arq.toml").read_text()


@dataclass(frozen=True)
class Place:
    """A point of the comparison: scheme, detector, SNR in dB, retransmissions, combining and further keys."""

    scheme: str
    detector: str
    snr_db: float
    retransmissions: int
    combining: dict[str, str] = field(default_factory=lambda: {"stage": "none"})
    keys: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [self.scheme, self.detector, f"{self.snr_db:g} dB", f"n = {self.retransmissions}"]
        return ", ".join([*words, *self.combining.values(), *map(str, self.keys.values())])


@dataclass(frozen=True)
class Found:
    """Result at a point: frames of both fidelities by accepted attempt (last: never), p-value, goodputs."""

    counts: np.ndarray
    p_value: float
    goodputs: list[cf.store.Estimate]

    @property
    def goodputs_overlap(self) -> bool:
        """True if the intervals of both goodputs overlap."""
        one, other = map(ends, self.goodputs)
        return one[0] <= other[1] and other[0] <= one[1]


def ends(found: cf.store.Estimate) -> tuple[float, float]:
    """The ends of the interval of a goodput; both are its value if all runs are equal."""
    value = found.value or 0.0
    return (
        value if found.low is None else found.low,
        value if found.high is None else found.high,
    )


STACKED = {"stage": "stacked"}
EITHER = {"stage": "stacked", "accept": "either"}
JOINT, JOINT_EQUAL = {"stage": "joint"}, {"stage": "joint", "weights": "equal-gain"}
POSTHOC, POSTHOC_EQUAL = {"stage": "posthoc"}, {"stage": "posthoc", "weights": "equal-gain"}
SHORT = [
    Place("blast", "mmse-osic", 14.0, 3),
    Place("blast", "mmse-osic", 9.0, 3, JOINT),
    Place("stbc-2", "ml", 4.0, 3, STACKED),
    Place("stbc-1", "ml", 3.5, 10),
    Place("stbc-half", "linear", -2.5, 3, STACKED),
]
PLACES = [
    *SHORT,
    Place("blast", "mmse-osic", 7.5, 3, STACKED),
    Place("blast", "mmse-osic", 3.5, 10, STACKED),
    Place("blast", "mmse-osic", 9.5, 3, JOINT_EQUAL),
    Place("blast", "mmse-osic", 16.0, 3, POSTHOC),
    Place("blast", "mmse-osic", 14.0, 3, POSTHOC_EQUAL),
    Place("blast", "ml", 12.0, 1, STACKED),
    Place("blast", "mmse", 9.0, 3, EITHER),
    Place("blast", "zf", 30.0, 10, STACKED, {"channel.antennas.correlation": "urban"}),
    Place("blast", "sphere", 12.0, 1, STACKED),
    Place("stbc-2", "ml", 8.0, 3),
    Place("stbc-2", "mmse-osic", 5.0, 3, POSTHOC),
    Place("stbc-1", "mmse-osic", 2.0, 1, JOINT, {"phy.stbc_power": "printed"}),
    Place("stbc-half", "linear", 9.0, 3, keys={"channel.antennas.n_r": 3, "phy.modulation": "16-qam"}),
    Place("alamouti", "linear", 4.5, 3, EITHER, {"channel.antennas.n_r": 2}),
    Place("siso", "linear", 13.0, 3, STACKED),
]


def compared(place: Place, number: int, *, frames: int, seconds: int, runs: int) -> Found:
    """Both fidelities at a point, all with seeds that follow from its ``number``.

    ``frames`` of the table, ``seconds`` of a run whose frames are counted, ``runs`` for the goodputs.
    """
    over: dict[str, Any] = {
        "phy.scheme,phy.detector": [[place.scheme, place.detector]],
        "channel.snr_db": [place.snr_db],
    }
    keys: dict[str, Any] = {
        **place.keys,
        "phy.combining": place.combining,
        "link.arq.max_retransmissions": place.retransmissions,
    }
    batches = {"run.frames": 10_000}
    asked = {**keys, **batches}
    table = cf.runs.phy(
        "mimo-arq", set=asked, over=over, runs=frames // 10_000, seed=1000 + number, cache=False
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fer.csv").write_text(table.to_csv(index=False))
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO)
        counts, goodputs = [], []
        for seed, fidelity in (
            (2000 + number, {}),
            (3000 + number, {"phy.fidelity": "table", "phy.table": "fer.csv"}),
        ):
            asked = {**keys, **fidelity}
            longer = {**asked, "run.duration": f"{seconds} s"}
            counts.append(
                attempts(
                    cf.runs.link_events(str(path), set=longer, over=over, seed=seed).to_csv(index=False),
                    place,
                )
            )
            point = cf.run(str(path), set=asked, over=over, runs=runs, seed=seed, cache=False).points[0]
            goodputs.append(point.metrics["goodput_bps"])
    return Found(np.array(counts), p_value(np.array(counts)), goodputs)


def attempts(events: str, place: Place) -> list[int]:
    """Number of frames accepted in attempt 1, 2, ..., and number of frames never accepted."""
    accepted: dict[str, int] = {}
    last: dict[str, int] = {}
    for event in csv.DictReader(io.StringIO(events)):
        if event["event"] != "frame":
            continue
        frame, attempt = event["frame"], int(event["attempt"])
        last[frame] = max(attempt, last.get(frame, 0))
        if event["verdict"] in ("good", "combined"):
            accepted.setdefault(frame, attempt)
    # Frames cut off by the end of the run are neither accepted nor abandoned.
    most = place.retransmissions
    never = sum(frame not in accepted and attempt == most for frame, attempt in last.items())
    found = Counter(accepted.values())
    return [*(found[attempt] for attempt in range(most + 1)), never]


def p_value(counts: np.ndarray) -> float:
    """The p-value of the chi-square test for equal distributions; columns with few frames are combined."""
    kept: list[np.ndarray] = []
    for column in counts.T[::-1]:
        if kept and kept[-1].sum() < 20:
            kept[-1] = kept[-1] + column
        else:
            kept.append(column)
    if len(kept) > 1 and kept[-1].sum() < 20:
        few = kept.pop()
        kept[-1] = kept[-1] + few
    return float(stats.chi2_contingency(np.array(kept).T, correction=False).pvalue) if len(kept) > 1 else 1.0


def main() -> None:
    """Print the counts of both fidelities at each point, and the test that p-values are uniform."""
    places = SHORT if "--short" in sys.argv[1:] else PLACES
    share = 5 if "--short" in sys.argv[1:] else 1
    p_values, apart = [], 0
    for number, place in enumerate(places):
        found = compared(place, number, frames=1_000_000 // share, seconds=300 // share, runs=10)
        p_values.append(found.p_value)
        apart += not found.goodputs_overlap
        print(f"{place}: p = {found.p_value:.3f}")
        for fidelity, counts, goodput in zip(("symbol", "table"), found.counts, found.goodputs, strict=True):
            row = " ".join(f"{count:6d}" for count in counts)
            low, high = (end / 1e3 for end in ends(goodput))
            kbps = f"{low:.3f} to {high:.3f} kbit/s"
            print(f"  {fidelity:6} accepted in attempt 1, 2, ..., never: {row}   goodput {kbps}")
        sys.stdout.flush()
    uniform = stats.kstest(p_values, "uniform")
    print(f"goodputs apart: {apart} of {len(places)}")
    print(f"Kolmogorov-Smirnov of p-values: D = {uniform.statistic:.3f}, p = {uniform.pvalue:.3f}")


if __name__ == "__main__":
    main()
