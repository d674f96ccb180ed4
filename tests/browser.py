"""Rendering of a page in a real browser, and the addresses that it requests."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

# Who asked for something (a file that does is "null"), and for what.
Asked = tuple[set[str], set[str]]


def browse(page: str, folder: Path) -> tuple[str, set[str]]:
    """The elements of a page in the end, and who asked for something."""
    command = [*_headless(folder), "--virtual-time-budget=10000", "--dump-dom", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, _asked(folder)[0]


def visit(page: str, folder: Path, done: Event) -> Asked:
    """Leave a page open until it is ``done``."""
    # The browser's clock does not wait for answers: it has time without end.
    command = [*_headless(folder), "--virtual-time-budget=1000000000", "--dump-dom", page]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            assert done.wait(120), "the page has not come to its end"
        finally:
            browser.terminate()
    return _asked(folder)


def chromium() -> str:
    """Path of the browser; a test without one is skipped."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium: what a browser makes of a page is not tested")
    return program


def _headless(folder: Path) -> list[str]:
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]
    return [
        chromium(),
        *options,
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={folder / 'net.json'}",
    ]


def _asked(folder: Path) -> Asked:
    events = _events(folder / "net.json")
    asked = [event["params"] for event in events if "initiator" in event.get("params", {})]
    # What is "not an origin" is the browser itself.
    asked = [params for params in asked if params["initiator"] != "not an origin"]
    return {params["initiator"] for params in asked}, {params["url"] for params in asked if "url" in params}


def _events(log: Path) -> list[dict[str, Any]]:
    """A line each; the last one ends in its middle where the browser did."""
    found = []
    for line in log.read_text().splitlines():
        with suppress(json.JSONDecodeError):
            event = json.loads(line.rstrip(","))
            found += [event] if isinstance(event, dict) else []
    return found
