"""The long form of the trials: ``python -m tests.trials``, half an hour on two cores."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.trials.attacks import (
    cluster_ports,
    flipped_bits,
    killed_merges,
    killed_sweeps,
    make_results,
    tampered_reads,
)

ROOT = Path(__file__).parents[2]
# What is not done in this process: their own output tells what they did.
PROGRAMS = {
    "mutated scenarios, with overflow checks": (
        *("cargo", "test", "--profile", "checked", "-p", "crossfade-experiment", "--test", "mutated"),
        *("--", "--ignored", "--nocapture"),
    ),
    "attacks on a cluster by one who knows its ports": (
        *(sys.executable, "-m", "pytest", "-q", "tests/sweeps/test_cluster_security.py"),
    ),
}

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    results = make_results(folder)
    trials = {flipped_bits: 1_500, tampered_reads: 4_000, killed_sweeps: 20, killed_merges: 10}
    for trial, count in trials.items():
        began = time.monotonic()
        found = trial(results, folder, count)
        print(f"{trial.__name__}: {count} in {time.monotonic() - began:.0f} s, none failed", flush=True)
        for outcome, times in sorted(found.items()):
            print(f"  {times:5} {outcome}", flush=True)
began = time.monotonic()
found = cluster_ports()
print(f"cluster_ports: {found.total()} in {time.monotonic() - began:.0f} s, nobody got in", flush=True)
for outcome, times in sorted(found.items()):
    print(f"  {times:5} {outcome}", flush=True)
for what, program in PROGRAMS.items():
    began = time.monotonic()
    print(f"{what}:", flush=True)
    subprocess.run(program, cwd=ROOT, check=True)
    print(f"  in {time.monotonic() - began:.0f} s", flush=True)
