"""Results do not depend on the instruction set that CROSSFADE_SIMD selects."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest


def outcome(simd: str, *commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Output of the commands in their own process, since a process selects its instruction set once."""
    environment = {**os.environ, "CROSSFADE_SIMD": simd}
    program = (
        f"import sys; from crossfade.cli.app import main\n"
        f"for words in {list(commands)!r}:\n"
        "    if code := main([*words, '--no-cache', '--quiet']):\n"
        "        sys.exit(code)"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_rows_are_the_same_on_all_instructions() -> None:
    refused = outcome("mmx", ["phy", "mimo-fer"])
    assert refused.returncode == 2
    found = re.search(r'CROSSFADE_SIMD = "mmx": must be one of (.*) on this processor', refused.stderr)
    assert found is not None, refused.stderr
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
    outcomes = [outcome(simd, *asked) for simd in available]
    assert all(each.returncode == 0 for each in outcomes), outcomes[0].stderr
    assert outcomes[0].stdout.count("\n") > 15
    assert all(each.stdout == outcomes[0].stdout for each in outcomes)
