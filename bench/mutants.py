"""Mutation tests: applies the changes of bench/mutants.toml, one by one, and names the test that fails.

Usage: python bench/mutants.py [CRATE ...] [--only WORDS] [--then COMMAND] [--most SECONDS]

For each mutant the unit tests of its crate run first (``cargo test -p crossfade-CRATE --lib``), then the
crate's integration tests, then each COMMAND, until one fails. After the tests the file is restored. A mutant
with a key ``equivalent`` changes no result, for the reason given there, and is not run. Without CRATE the
mutants of all crates run; --only keeps those whose description has WORDS.

Prints a row of a table for each mutant: its file, what it changes, the test that fails, and the elapsed
seconds with compilation. A command that takes more than --most seconds (600) counts as a failure. The exit
code is 1 if a mutant survives all tests, or its old text is not in the file exactly once.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Failures are wanted here: proptest neither keeps nor shrinks them, and snapshots stay as they are.
QUIET = {"PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1", "PROPTEST_MAX_SHRINK_ITERS": "0", "INSTA_UPDATE": "no"}
FAILED = re.compile(r"^(?:test (\S+) \.\.\. FAILED|---- (\S+) stdout ----|FAILED (\S+))", re.MULTILINE)


def failure(command: str, most: float) -> str | None:
    """Name of the first test that fails in ``command`` within ``most`` seconds; ``None`` if all pass."""
    job = subprocess.Popen(
        command,
        shell=True,
        cwd=ROOT,
        env=os.environ | QUIET,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = job.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        return f"no end within {most:.0f} s"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    if job.returncode == 0:
        return None
    if "could not compile" in output:
        raise ValueError(output[-2000:])
    found = FAILED.search(output)
    return next(filter(None, found.groups())) if found else f"status {job.returncode}"


def judge(mutant: dict[str, str], then: list[str], most: float) -> str:
    """Kind and name of the test that fails with the mutant applied, or that the mutant lives."""
    crate = ROOT / "crates" / mutant["crate"]
    path = crate / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        raise ValueError(f"{path}: {mutant['old']!r} must stand there once")
    test = f"cargo test --locked -p crossfade-{mutant['crate']}"
    commands = {"unit": f"{test} --lib"}
    if (crate / "tests").is_dir():
        commands["integration"] = f"{test} --test '*'"
    commands |= {command: command for command in then}
    try:
        path.write_text(text.replace(mutant["old"], mutant["new"]))
        for kind, command in commands.items():
            if failed := failure(command, most):
                return f"{kind}: `{failed}`"
        return "**lives**"
    finally:
        path.write_text(text)


def main() -> int:
    """Run the chosen mutants and print a row for each; 1 if one survives or does not fit, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("crates", nargs="*", metavar="CRATE", help="crates, such as nr (default: all)")
    parser.add_argument("--only", default="", metavar="WORDS", help="keep mutants described so")
    parser.add_argument("--then", action="append", default=[], metavar="COMMAND", help="run COMMAND too")
    parser.add_argument("--most", type=float, default=600.0, metavar="SECONDS", help="time limit")
    given = parser.parse_args()
    # Termination by a signal restores the file, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    mutants = tomllib.loads((ROOT / "bench/mutants.toml").read_text())["mutant"]
    chosen = [m for m in mutants if m["crate"] in (given.crates or [m["crate"]]) and given.only in m["what"]]
    lives = 0
    for mutant in chosen:
        start = time.monotonic()
        try:
            same = mutant.get("equivalent")
            verdict = f"equivalent: {same}" if same else judge(mutant, given.then, given.most)
        except ValueError as error:
            verdict = f"**does not fit**: {error}"
        lives += verdict.startswith("**")
        where = f"{mutant['crate']}/{mutant['file'].removeprefix('src/')}"
        print(f"| `{where}` | {mutant['what']} | {verdict} | {time.monotonic() - start:.0f} |", flush=True)
    return int(lives > 0)


if __name__ == "__main__":
    sys.exit(main())
