"""Shared helpers of tests of ``crossfade live``."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crossfade.cli.live import doctor

SCENARIO = """\
schema = 1
run = { duration = "2 s", runs = 1 }
channel = { model = "iid", p_e = 0.02 }
link = { rate = "20 Mbit/s", packet_size = "1500 B", delay = "5 ms", queue = { limit = "100 packets" } }
reverse = { delay = "5 ms" }
tcp = { flavour = "rfc", variant = "cubic", w_max = 200, rfc = { profile = "linux" } }
"""


@functools.cache
def reason_against() -> str | None:
    return doctor.reason_against()


def need_live() -> None:
    if reason := reason_against():
        pytest.skip(f"crossfade live: {reason}")


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def live(*arguments: str | Path, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        live_command(*arguments), capture_output=True, text=True, timeout=timeout, check=False
    )


def without_flags(errors: str) -> str:
    """What a run said on standard error, but for what it says of the machine: a hypervisor takes its time."""
    return re.sub(r"^warning: .*( late|was stolen by the hypervisor)\n", "", errors, flags=re.MULTILINE)


def live_command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "crossfade", "live", *map(str, arguments)]
