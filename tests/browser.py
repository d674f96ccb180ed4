"""Rendering of a page in headless Chromium, and the addresses that the page requests."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

# Origins that made requests ("null" for a page from a file), and the requested addresses.
Asked = tuple[set[str], set[str]]


def browse(page: str, folder: Path) -> tuple[str, set[str]]:
    """Final DOM of a page as HTML, and the origins that made requests."""
    command = [*_headless(folder), "--virtual-time-budget=10000", "--dump-dom", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, _asked(folder)[0]


def visit(page: str, folder: Path, done: Event) -> Asked:
    """Keep a page open until ``done`` is set; returns the origins that made requests, and the addresses."""
    # The browser's virtual clock does not wait for answers, so its time limit is practically infinite.
    command = [*_headless(folder), "--virtual-time-budget=1000000000", "--dump-dom", page]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            assert done.wait(120), "the page has not come to its end"
        finally:
            browser.terminate()
    return _asked(folder)


def chromium() -> str:
    """Path of the browser; skips the test if there is none."""
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
    # Requests of the browser itself have the initiator "not an origin".
    asked = [params for params in asked if params["initiator"] != "not an origin"]
    return {params["initiator"] for params in asked}, {params["url"] for params in asked if "url" in params}


def _events(log: Path) -> list[dict[str, Any]]:
    """Events of a network log, one per line; an incomplete last line, left by a terminated browser, is
    ignored.
    """
    found = []
    for line in log.read_text().splitlines():
        with suppress(json.JSONDecodeError):
            event = json.loads(line.rstrip(","))
            found += [event] if isinstance(event, dict) else []
    return found
