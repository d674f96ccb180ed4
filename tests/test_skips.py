"""On a machine without some programs, their tests are skipped, counted and listed, without failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COUNT = [sys.executable, str(ROOT / "scripts" / "count_skips.py")]


def test_without_tshark_its_tests_are_skipped_and_named(tmp_path: Path) -> None:
    # One of the six is in the long form alone.
    short = {name: value for name, value in os.environ.items() if name != "CROSSFADE_LONG"}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "tests/test_pcap.py",
            "-k",
            "tshark or flows",
        ],
        cwd=ROOT,
        env={**short, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "SKIPPED: 5 of the Python tests" in done.stdout
    assert "SKIPPED: 5 x no tshark (Debian: apt-get install tshark)\n" in done.stdout


def test_skips_of_a_command_are_counted_and_its_status_kept(tmp_path: Path) -> None:
    file = tmp_path / "skipped.txt"
    # As in libtest's output, where two tests that print at once share a line with their names.
    program = (
        "import sys; print('test one ... SKIPPED: no x'); print('SKIPPED: no x', file=sys.stderr); "
        "print('SKIPPED: live: no y'); print('ok'); sys.exit(3)"
    )
    ran = subprocess.run(
        [*COUNT, file, sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 3
    assert "\nok\n" in ran.stdout
    told = subprocess.run([*COUNT, file], capture_output=True, text=True, check=True).stdout
    assert told.splitlines()[0].startswith("3 of the Rust tests skipped")
    assert told.splitlines()[1:] == ["SKIPPED: 1 x live: no y", "SKIPPED: 2 x no x"]
