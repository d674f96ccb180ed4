"""The table of bounds of tests over runs: what `core::testing::Runs` said while the Rust tests ran, as CSV.

    cargo test --lib --tests -- --nocapture --test-threads=1 > out.txt
    python scripts/test_bounds.py out.txt > docs/test-bounds.csv

With one thread the output of a test stands behind its name.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator

TEST = re.compile(r"^test ([\w:]+) \.\.\. ?")
NUMBER = r"(-?[\d.]+|-?inf|NaN)"
BOUND = re.compile(rf"^(.*): {NUMBER} \+- {NUMBER} over (\d+) runs, bounds {NUMBER} to {NUMBER}$")


def bounds(lines: list[str]) -> Iterator[list[str]]:
    """Test, what is bounded, runs, bounds of the true mean, the mean found and its half width."""
    test = ""
    for line in lines:
        if begins := TEST.match(line):
            test, line = begins[1], line[begins.end() :]
        if bound := BOUND.match(line.rstrip("\n")):
            what, mean, half, runs, low, high = bound.groups()
            numbers = [f"{float(number):.4g}" for number in (low, high, mean, half)]
            yield [test, what, runs, *numbers]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(bounds(file.readlines()))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["test", "what", "runs", "from", "to", "mean", "half"])
    out.writerows(found)


if __name__ == "__main__":
    main()
