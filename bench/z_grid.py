"""Deviation of simulation from exact analysis in standard errors (z), over all points of a paper's figures.

Usage: python bench/z_grid.py FILE.csv

Takes every distinct point of figures 1 to 6 of the paper on TCP over channels with memory (papers/tcp-markov)
by both methods. z is simulated less exact throughput in packets per slot, over the standard error of the
simulation. With ten runs and no error in either method, z has Student's t distribution with nine degrees of
freedom; single points cannot show that, but the distribution over all points can. Writes a row for each point
to FILE.csv, and prints the table of docs/verification.md, with a line for each TCP variant.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

import crossfade as cf
from crossfade.comparison.paired import Sample
from crossfade.files import SCENARIOS
from crossfade.tables import Table, label

METRIC = "throughput_per_slot"
COLUMNS = ["figure", "variant", "channel", "w_max", "k", "p_e", "exact", "simulated", "standard_error", "z"]


def points() -> Iterator[dict[str, float | int | str | None]]:
    """Each distinct point with its z; a seed of its own makes it independent of the others."""
    seen = set()
    for number in range(1, 7):
        figure = SCENARIOS / "papers" / "tcp-markov" / f"fig{number}.toml"
        for exact in cf.run(figure, methods=["analysis"]).points:
            tcp, channel = exact.scenario["tcp"], dict(exact.scenario["channel"])
            p_e = channel.pop("p_e")
            shown = {key: value for key, value in channel.items() if key in ("model", "fd_t")}
            place = (tcp["variant"], label(shown), tcp["w_max"], tcp["dupthresh"], p_e)
            if place in seen:
                continue
            seen.add(place)
            here = {key: [value] for key, value in exact.axes.items()}
            (simulated,) = cf.run(figure, over=here, methods=["simulation"], seed=1000 + len(seen)).points
            sample, truth = Sample.of(simulated, METRIC), exact.value(METRIC)
            error = sample.variance_of_mean**0.5
            values = (f"fig{number}", *place, truth, sample.mean, error, (sample.mean - truth) / error)
            yield dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    """Write the rows and print the distribution of z by TCP variant."""
    table = Table.of(COLUMNS, points())
    Path(sys.argv[1]).write_text(table.to_csv(), encoding="utf-8")
    z = table.column("z")
    variants = np.array(table.cells("variant"))
    print("variant,points,mean of z,deviation of z,beyond the 95 % interval,largest,p of Kolmogorov-Smirnov")
    student = stats.t(9)
    print(f"expected,,0,{student.std():.2f},5 %,,above 0.01")
    for name in [*dict.fromkeys(variants), "all"]:
        some = z if name == "all" else z[variants == name]
        beyond = np.mean(np.abs(some) > student.ppf(0.975))
        p = stats.kstest(some, student.cdf).pvalue
        largest = np.abs(some).max()
        print(
            f"{name},{len(some)},{some.mean():+.2f},{some.std(ddof=1):.2f},{beyond:.1%},{largest:.1f},{p:.2f}"
        )


if __name__ == "__main__":
    main()
