"""Shared helpers of tests of ``crossfade live``."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crossfade.cli.live import doctor
from tests.browser import chromium

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
    """Standard error of a run without warnings about the machine, such as CPU time taken by a hypervisor."""
    return re.sub(r"^warning: .*( late|was stolen by the hypervisor)\n", "", errors, flags=re.MULTILINE)


def live_command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "crossfade", "live", *map(str, arguments)]


def browse(scenario: Path, folder: Path, size: int) -> list[dict[str, Any]]:
    """Directions of a live run in which a browser loads a page with a script of ``size`` bytes."""
    program = chromium()
    site = folder / "site"
    site.mkdir()
    (site / "words.js").write_text(f"document.title = 'loaded'; // {'x' * size}\n")
    (site / "index.html").write_text("<!doctype html><title>not yet</title><script src=words.js></script>")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [program, *options, "--dump-dom", "http://10.77.0.1/"]
    report = folder / "report.json"
    done = live(scenario, "--serve", site, "--json", report, "--", *command, timeout=300.0)
    assert done.returncode == 0, done.stderr
    assert re.search("<title>loaded</title>", done.stdout)
    directions: list[dict[str, Any]] = json.loads(report.read_text())["directions"]
    return directions
