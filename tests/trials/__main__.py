"""Attack trials in their long form: ``python -m tests.trials [TRIAL ...]``, an hour and a half on two
cores.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.trials.attacks import (
    cluster_ports,
    flipped_bits,
    killed_merges,
    killed_sweeps,
    make_results,
    tampered_reads,
)
from tests.trials.properties import property_tests, python_properties
from tests.trials.strangers import strangers

ROOT = Path(__file__).parents[2]
# Attacks on a results file, and the number of repetitions of each.
ATTACKS = {flipped_bits: 1_500, tampered_reads: 4_000, killed_sweeps: 20, killed_merges: 10}
MUTATED = (
    *("cargo", "test", "--profile", "checked", "-p", "crossfade-experiment", "--test", "mutated"),
    *("--", "--ignored", "--nocapture"),
)
CLUSTER = (sys.executable, "-m", "pytest", "-q", "tests/sweeps/test_cluster_security.py")


def attack(trial: Callable[[Path, Path, int], Counter[str]], count: int) -> Counter[str]:
    """Run a trial on a newly made results file in a temporary folder; gives the count of each outcome."""
    with tempfile.TemporaryDirectory() as name:
        return trial(make_results(Path(name)), Path(name), count)


def program(*command: str) -> None:
    """Run a trial as a command in a process of its own, whose output the user reads; fails as the command
    does.
    """
    subprocess.run(command, cwd=ROOT, check=True)


def hunt() -> Counter[str]:
    """Run the property tests for the processor time of ``--seconds`` each."""
    return property_tests(options.seconds, options.only)


TRIALS: dict[str, Callable[[], Counter[str] | None]] = {
    **{trial.__name__: partial(attack, trial, count) for trial, count in ATTACKS.items()},
    "cluster_ports": cluster_ports,
    "cluster_security": partial(program, *CLUSTER),
    "mutated_scenarios": partial(program, *MUTATED),
    "property_tests": hunt,
    "python_properties": python_properties,
    "strangers": lambda: strangers(options.files, options.seed),
}

parser = argparse.ArgumentParser(prog="python -m tests.trials", description=__doc__)
parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"{', '.join(TRIALS)} (default: all)")
parser.add_argument("--seconds", type=float, default=60.0, help="of a processor, for each of property_tests")
parser.add_argument("--only", default="", help="those of property_tests whose crate and name have this")
parser.add_argument("--files", type=int, default=5_000, help="hostile files of strangers")
parser.add_argument("--seed", type=int, default=1, help="of strangers")
options: argparse.Namespace = parser.parse_args()
if unknown := set(options.trials) - set(TRIALS):
    parser.error(f"no trial {', '.join(sorted(unknown))}; there are {', '.join(TRIALS)}")
for name in options.trials or TRIALS:
    began = time.monotonic()
    print(f"{name}:", flush=True)
    found = TRIALS[name]()
    for outcome, times in sorted((found or {}).items()):
        print(f"  {times:>10,} {outcome}", flush=True)
    print(f"  in {time.monotonic() - began:.0f} s, none failed", flush=True)
