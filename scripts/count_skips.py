"""Run a command, pass on what it prints, and keep the lines that begin with SKIPPED; or count those at last.

``count_skips.py FILE COMMAND...`` runs the command and ends with its status; the lines go to FILE as well.
``count_skips.py FILE`` prints how often each of them came.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path


def main(file: Path, command: list[str]) -> int:
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
            # A test of libtest that prints aloud does so behind "test NAME ... ".
            if "SKIPPED: " in line:
                print("SKIPPED: " + line.partition("SKIPPED: ")[2].strip(), file=skipped)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
