"""Collect the reasons for which Rust tests were skipped, and count them.

``python scripts/count_skips.py FILE COMMAND...`` runs the command (such as ``cargo test``), passes on its
output and exit code, and writes the lines with SKIPPED to FILE. ``python scripts/count_skips.py FILE`` prints
how often each of these lines came.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path


def main(file: Path, command: list[str]) -> int:
    """Run the command and store its skipped tests in ``file``, or count those in ``file``; returns the exit
    code.
    """
    if not command:
        lines = file.read_text().splitlines()
        print(f"{len(lines)} of the Rust tests skipped (those of the Python tests are above)")
        for line, times in sorted(Counter(lines).items()):
            print(f"SKIPPED: {times} x {line.removeprefix('SKIPPED: ')}")
        return 0
    file.parent.mkdir(exist_ok=True)
    with (
        file.open("w") as skipped,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            # The Rust test runner prints "test NAME ... " and the test's output on one line.
            if "SKIPPED: " in line:
                print("SKIPPED: " + line.partition("SKIPPED: ")[2].strip(), file=skipped)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
