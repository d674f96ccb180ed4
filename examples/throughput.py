"""Example of the Python API: figure, table and best choice. Usage: python examples/throughput.py [FOLDER]."""

import sys
from pathlib import Path

import crossfade as cf


def main(folder: Path) -> None:
    """Run a sweep, draw it, export it, and print the best choice."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.sqlite"

    # Changed axes of the shipped scenario: fewer loss rates, two TCP variants.
    over = {"channel.p_e": [0.01, 0.03, 0.1], "tcp.variant": ["tahoe", "reno"]}
    cf.sweep("quickstart", over=over, runs=20, out=results)
    cf.plot(results, folder / "throughput.png", y="throughput_per_slot")
    cf.store.export(results, folder / "results.csv")
    print(cf.best(results, "tcp.variant").table().to_csv())
    print(cf.reference.cite("text"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/throughput"))
