"""Property tests with newly drawn cases, each for a given processor time (a minute by default).

The ordinary test run repeats a few hundred fixed cases (``.cargo/config.toml``, ``tests/conftest.py``).
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = (
    "cargo",
    "test",
    "--profile",
    "checked",
    "--no-run",
    "--quiet",
    "--message-format",
    "json",
    "--lib",
    "--test",
    "all",
)
# Test function in a `proptest!` block: its parameters are the drawn values, unlike those of a plain test.
PROPERTY = re.compile(r"#\[test\]\s+fn (\w+)\(\s*[\w(]")
# Limits of rejected cases after which proptest gives up, set so high as never to be met.
PATIENT = {f"PROPTEST_MAX_{what}_REJECTS": str(2**32 - 1) for what in ("GLOBAL", "LOCAL")}
FIRST_CASES = 256
MOST_CASES = 50_000_000


@dataclass(frozen=True)
class Property:
    """A Rust property test: the folder of its crate, the test program that contains it, and its name in the
    program.
    """

    folder: Path
    program: str
    name: str

    def run(self, cases: int, seed: int) -> tuple[float, str]:
        """Run a number of cases; gives the processor time in seconds, and the output of the test if it
        failed.
        """
        environment = {
            **os.environ,
            **PATIENT,
            "PROPTEST_CASES": str(cases),
            "PROPTEST_RNG_SEED": str(seed),
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [self.program, "--exact", self.name, "--include-ignored"],
                cwd=self.folder,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return usage.ru_utime + usage.ru_stime, said.read() if status else ""

    def hunt(self, seconds: float) -> tuple[int, float, str]:
        """Run newly drawn cases until the processor time in seconds is spent, or one fails. Gives the number
        of cases, the time, and the failure with its seed (empty if none failed).
        """
        cases, tried, spent = FIRST_CASES, 0, 0.0
        while True:
            seed = secrets.randbits(32)
            took, said = self.run(cases, seed)
            tried, spent = tried + cases, spent + took
            if said:
                return tried, spent, f"PROPTEST_RNG_SEED={seed} PROPTEST_CASES={cases}\n{said}"
            if spent > 0.8 * seconds or tried >= MOST_CASES:
                return tried, spent, ""
            # The time of few cases is mostly that of starting the program, so that the number grows in steps.
            times = min(64.0, (seconds - spent) / max(took, 0.01))
            cases = max(1, min(int(cases * times), MOST_CASES))


def properties() -> list[Property]:
    """Every property test of the workspace, built with overflow checks and debug assertions."""
    known: dict[Path, set[str]] = {}
    command = [*BUILD]
    for file in sorted((ROOT / "crates").glob("*/**/*.rs")):
        folder = ROOT.joinpath(*file.relative_to(ROOT).parts[:2])
        _, *blocks = file.read_text(encoding="utf-8").split("proptest! {")
        names = {name for block in blocks for name in PROPERTY.findall(block)}
        if names and folder not in known:
            command += ["--package", f"crossfade-{folder.name}"]
        if names:
            known.setdefault(folder, set()).update(names)
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = []
    for message in map(json.loads, built.splitlines()):
        if not message.get("executable"):
            continue
        folder, program = Path(message["manifest_path"]).parent, message["executable"]
        listed = subprocess.run(
            [program, "--list", "--format", "terse"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for line in listed.stdout.splitlines():
            name, _, kind = line.rpartition(": ")
            if kind == "test" and name.rpartition("::")[2] in known[folder]:
                found.append(Property(folder, program, name))
    return found


def property_tests(seconds: float, only: str = "") -> Counter[str]:
    """Run each property test for that many seconds of processor time; ``only`` selects the tests whose crate
    and name contain it.
    """
    counts: Counter[str] = Counter()
    failures: list[str] = []
    tests = [test for test in properties() if only in f"{test.folder.name} {test.name}"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for test, (cases, spent, failure) in zip(
            tests, pool.map(lambda test: test.hunt(seconds), tests), strict=True
        ):
            print(f"  {cases:>10,} cases, {spent:5.1f} s: {test.folder.name} {test.name}", flush=True)
            counts += Counter({"tests": 1, "cases": cases, "seconds": round(spent)})
            if failure:
                failures.append(f"{test.folder.name} {test.name}: {failure}")
    assert not failures, "\n\n".join(failures)
    return counts


def python_properties() -> None:
    """Run Python's property tests on fifty times as many examples (profile ``hunt``)."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "--hypothesis-profile", "hunt"]
    subprocess.run(command, cwd=ROOT, check=True)
