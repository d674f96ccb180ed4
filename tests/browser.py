"""What a real browser makes of a page, and whom it asks for anything."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def browse(address: str, folder: Path, virtual_s: int = 10) -> tuple[str, set[str], set[str]]:
    """The elements of a page in the end, who asked for something (a file that does is "null"), for what.

    The clock of the page is its own, and stands still where nothing happens: ``virtual_s`` is no waiting.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium: what a browser makes of a page is not tested")
    log = folder / "net.json"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--virtual-time-budget={1000 * virtual_s}"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}"]
    command = [program, *options, f"--log-net-log={log}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    asked = [event["params"] for event in _events(log) if "initiator" in event.get("params", {})]
    # What is "not an origin" is the browser itself.
    asked = [params for params in asked if params["initiator"] != "not an origin"]
    addresses = {params["url"] for params in asked if "url" in params}
    return done.stdout, {params["initiator"] for params in asked}, addresses


def _events(log: Path) -> list[dict[str, Any]]:
    text = log.read_text()
    try:
        found = json.loads(text)
    except json.JSONDecodeError:  # it ends in the middle where the browser did
        found = json.loads(text[: text.rindex("},\n") + 1] + "]}")
    events: list[dict[str, Any]] = found["events"]
    return events
