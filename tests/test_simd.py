"""Results do not depend on the instruction set that CROSSFADE_SIMD selects."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

# Each set of instructions has a process of its own, since a process selects once: a copy of one that has
# loaded the program and has run nothing.
PROGRAM = """
import json, os, sys
from crossfade.cli.app import main
commands, folder = json.loads(sys.argv[1]), sys.argv[2]
for simd in sys.argv[3:]:
    if (process := os.fork()) == 0:
        os.environ["CROSSFADE_SIMD"] = simd
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{folder}/{simd}.{name}", os.O_WRONLY | os.O_CREAT), number)
        code = 1
        try:
            code = next((code for words in commands if (code := main([*words, "--no-cache", "--quiet"]))), 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def outcomes(folder: Path, sets: Sequence[str], *commands: list[str]) -> list[Outcome]:
    """Outcome of the commands with each of these sets of instructions."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands), str(folder), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        Outcome(int(code), *((folder / f"{simd}.{name}").read_text() for name in ("out", "err")))
        for simd, code in zip(sets, done.stdout.split(), strict=True)
    ]


def test_rows_are_the_same_on_all_instructions(tmp_path: Path) -> None:
    (refused,) = outcomes(tmp_path, ["mmx"], ["phy", "mimo-fer"])
    assert refused.code == 2
    found = re.search(r'CROSSFADE_SIMD = "mmx": must be one of (.*) on this processor', refused.err)
    assert found is not None, refused.err
    available = found[1].split(", ")
    if len(available) == 1:
        pytest.skip("this processor has one kind of instructions")
    moving = ["--set", "run.duration=1 s", "--set", "channel.fd_t=0.01", "--set", "phy.estimation.nmse=0.01"]
    # All detectors and stages; then varying gains with an estimated channel, under ARQ and TCP.
    asked = (
        ["paper", "mimo-arq", "combining", "--over", "snr_db=4", "--set", "run.max_frames=30", "--csv", "-"],
        ["paper", "mimo-arq", "fer", "--over", "snr_db=9", "--set", "run.max_frames=30", "--csv", "-"],
        ["run", "mimo-arq", *moving, "--over", "channel.snr_db=6", "--runs", "2", "--json"],
    )
    found_by = outcomes(tmp_path, available, *asked)
    assert all(each.code == 0 for each in found_by), found_by[0].err
    assert found_by[0].out.count("\n") > 15
    assert all(each.out == found_by[0].out for each in found_by)
