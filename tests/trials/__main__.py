"""The long form of the trials: ``python -m tests.trials``."""

import tempfile
import time
from pathlib import Path

from tests.trials.attacks import flipped_bits, killed_merges, make_results, tampered_reads

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    results = make_results(folder)
    for trial, count in ((flipped_bits, 1_500), (tampered_reads, 4_000), (killed_merges, 10)):
        began = time.monotonic()
        found = trial(results, folder, count)
        print(f"{trial.__name__}: {count} in {time.monotonic() - began:.0f} s, none failed")
        for outcome, times in sorted(found.items()):
            print(f"  {times:5} {outcome}")
