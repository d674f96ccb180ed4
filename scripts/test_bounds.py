"""List the bounds of statistical tests as CSV: each claim on a mean over runs, with what the test measured.

``core::testing::Runs`` prints a line for each bound while the Rust tests run. Usage::

    cargo test --lib --tests -- --nocapture --test-threads=1 > out.txt
    python scripts/test_bounds.py out.txt > docs/test-bounds.csv

One test thread is needed, so that the output of a test follows its name.
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
    """Rows of the table: test, quantity, runs, bounds of the true mean, measured mean and its half-width."""
    test = ""
    for line in lines:
        if begins := TEST.match(line):
            test, line = begins[1], line[begins.end() :]
        if bound := BOUND.match(line.rstrip("\n")):
            what, mean, half, runs, low, high = bound.groups()
            numbers = [f"{float(number):.4g}" for number in (low, high, mean, half)]
            yield [test, what, runs, *numbers]


def main() -> None:
    """Read the output of the tests from a file, and print the table."""
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(bounds(file.readlines()))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["test", "what", "runs", "from", "to", "mean", "half"])
    out.writerows(found)


if __name__ == "__main__":
    main()
