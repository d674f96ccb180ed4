"""Servers of pages and misbehaving clients: slow, silent, disconnected, or of a foreign page."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from pathlib import Path
from threading import Event
from urllib.parse import unquote, urlsplit

import pytest

from crossfade.cli.live.page import Page
from crossfade.explorer import loopback, server
from crossfade.explorer.loopback import ADDRESS
from crossfade.explorer.server import ANSWERS, serving
from tests.browser import visit
from tests.explorer.clients import half_open, outlives, say


def status(url: str, **headers: str) -> int:
    parts = urlsplit(url)
    link = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        link.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        answer = link.getresponse()
        answer.read()
        return answer.status
    finally:
        link.close()


def test_explore_outlives_every_client() -> None:
    """The explorer in its own process, where SIGPIPE could end it, survives every misbehaving client."""
    program = "import sys; from crossfade.cli.app import entry; sys.argv[0] = 'crossfade'; entry()"
    command = [sys.executable, "-c", program, "explore", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            url = process.stderr.readline().strip()
            parts = urlsplit(url)
            assert parts.hostname is not None
            assert parts.port is not None
            outlives((parts.hostname, parts.port), parts.path, lambda: status(url) == 200)
            assert process.poll() is None
        finally:
            process.terminate()


def test_the_page_of_a_live_run_outlives_every_client(capfd: pytest.CaptureFixture[str]) -> None:
    shown = Page(0)
    try:
        parts = urlsplit(shown.address)
        assert parts.port is not None
        path = f"/?{parts.query}"
        outlives((ADDRESS, parts.port), path, lambda: status(shown.address) == 200)
    finally:
        shown.close()
    assert "Traceback" not in capfd.readouterr().err


def test_silent_clients_hold_few_threads_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "REQUEST_TAKES_S", 1.0)
    before = threading.active_count()
    with serving(text="") as served:
        address = (ADDRESS, served.server_port)
        with half_open(address, 150) as clients:
            assert status(served.url) == 200
            until = time.monotonic() + 30
            while (
                threading.active_count() - before > loopback.MOST_WAITING + 3
            ):  # threads of abandoned requests end soon
                assert time.monotonic() < until
                time.sleep(0.05)
            # A client that sends single bytes slowly is also disconnected.
            while _takes(clients[-1]):
                assert time.monotonic() < until
                time.sleep(0.1)
            while threading.active_count() - before > 2:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert status(served.url) == 200


def test_who_asks_without_a_token_is_told_the_same_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(text="the page") as served:
        address = (ADDRESS, served.server_port)
        host = f"Host: {ADDRESS}:{served.server_port}".encode()
        for path in (b"/", b"/scenario.toml", b"/x/curves?p_e=0.1", b"/%2e%2e/"):
            for origin in (b"", b"Origin: http://page.example\r\n", b"Sec-Fetch-Site: cross-site\r\n"):
                told = say(address, b"GET " + path + b" HTTP/1.1\r\n" + host + b"\r\n" + origin + b"\r\n")
                assert told.startswith(b"HTTP/1.0 404 Not Found")
                assert b"the page" not in told
                assert b"Access-Control" not in told
                assert b"Cross-Origin-Resource-Policy: same-origin" in told
        assert say(address, b"OPTIONS / HTTP/1.1\r\n" + host + b"\r\n\r\n").split()[1] == b"501"


def test_the_token_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o755)
    assert server._runtime_folder() is None
    tmp_path.chmod(0o700)
    assert server._runtime_folder() == str(tmp_path)
    opened: list[str] = []
    told: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        file = Path(unquote(urlsplit(address).path))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        found = re.search(r'url=([^"]+)"', file.read_text())
        assert found is not None
        told.append(found[1].replace("&amp;", "&"))
        return True

    monkeypatch.setattr(webbrowser, "open", browse)

    def at_once(_: object) -> None:
        raise KeyboardInterrupt

    said: list[str] = []
    monkeypatch.setattr(server.Server, "serve_forever", at_once)
    server.explore("w_max=6&p_e=0.1", say=said.append)
    assert told[0] == said[0].splitlines()[0]
    token = urlsplit(told[0]).path.strip("/")
    assert len(token) == 32
    assert token not in opened[0]
    assert os.listdir(tmp_path) == []


# Script that searches for the token as another user: in command lines, environments, and redirecting pages.
SEARCH = """
import glob, sys
found = []
for name in [*glob.glob("/proc/[0-9]*/cmdline"), *glob.glob("/proc/[0-9]*/environ"), *sys.argv[1:]]:
    try:
        found.append(open(name, "rb").read())
    except OSError:
        pass
sys.stdout.buffer.write(b" ".join(found))
"""


def test_another_user_finds_no_token_and_gets_no_page(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become somebody else")
    note = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {note}; sleep 30\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{browser} %s &"}
    environment.pop("XDG_RUNTIME_DIR", None)
    command = [sys.executable, "-m", "crossfade", "explore"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            url = process.stderr.readline().strip()
            until = time.monotonic() + 30
            while not note.exists() or not note.read_text():
                assert time.monotonic() < until
                time.sleep(0.05)
            page_of_it = unquote(urlsplit(note.read_text().strip()).path)
            assert urlsplit(url).path.strip("/") in Path(page_of_it).read_text()
            nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]
            told = subprocess.run(
                [*nobody, "-c", SEARCH, page_of_it], capture_output=True, check=True, cwd="/"
            )
            assert b"explore" in told.stdout
            assert urlsplit(url).path.strip("/").encode() not in told.stdout
            assert status(url) == 200
        finally:
            process.terminate()


def test_the_page_that_a_browser_is_given_leads_to_the_other(tmp_path: Path) -> None:
    done = Event()

    def note(_: str) -> tuple[str, str]:
        done.set()
        return "text/plain", ""

    ANSWERS["seen"] = note
    script = "<body><script>fetch('seen?' + location.hash.length)</script></body>"
    try:
        with serving(text=script) as served, server._signpost(f"{served.url}#w_max=6&p_e=0.1") as file:
            visit(file, tmp_path, done)
    finally:
        del ANSWERS["seen"]


# Page of another origin that tries to read the server's pages, by fetch, image, frame and script, and to
# submit a form.
STRANGER = """<body><script>
const to = "http://127.0.0.1:PORT/";
const seen = {};
const wait = (element, name) => new Promise((done) => {
  element.onload = () => { seen[name] = "loaded"; done(); };
  element.onerror = () => { seen[name] = "refused"; done(); };
  setTimeout(() => { seen[name] = seen[name] || "silent"; done(); }, 3000);
  document.body.append(element);
});
(async () => {
  for (const mode of ["cors", "no-cors"]) {
    try { seen[mode] = (await (await fetch(to, { mode })).text()).length; } catch { seen[mode] = "refused"; }
  }
  for (const kind of ["img", "script"]) {
    const element = document.createElement(kind);
    element.src = to + "curves";
    await wait(element, kind);
  }
  await fetch("/told?" + encodeURIComponent(JSON.stringify(seen)));
})();
</script></body>"""


def learned_by_a_page_of_another_origin(victim: int, folder: Path) -> list[str]:
    """Results that the page ``STRANGER`` reports in a browser about the server at a port."""
    told: list[str] = []
    done = Event()
    body = STRANGER.replace("PORT", str(victim))
    head = f"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_server((ADDRESS, 0)) as other:

        def serve_stranger() -> None:
            while not done.is_set():
                try:
                    client, _ = other.accept()
                except OSError:  # closed: there is no browser, or it reported nothing
                    return
                with client:
                    asked = client.recv(65536).decode().split(" ")[1]
                    if asked.startswith("/told?"):
                        told.append(unquote(asked.partition("?")[2]))
                    client.sendall((head + body).encode())
                    if told:
                        done.set()

        threading.Thread(target=serve_stranger, daemon=True).start()
        visit(f"http://{ADDRESS}:{other.getsockname()[1]}/", folder, done)
    return told


NOTHING = ['{"cors":"refused","no-cors":"refused","img":"refused","script":"refused"}']


def test_a_page_of_another_origin_learns_nothing(tmp_path: Path) -> None:
    with serving(text="a secret page") as served:
        assert learned_by_a_page_of_another_origin(served.server_port, tmp_path) == NOTHING
        assert status(served.url) == 200


def test_a_page_of_another_origin_learns_nothing_of_a_live_run(tmp_path: Path) -> None:
    shown = Page(0)
    try:
        port = urlsplit(shown.address).port
        assert port is not None
        assert learned_by_a_page_of_another_origin(port, tmp_path) == NOTHING
        assert status(shown.address) == 200
    finally:
        shown.close()


def _takes(client: socket.socket) -> bool:
    """True if one more byte can be sent on a connection."""
    try:
        client.sendall(b"x")
    except OSError:
        return False
    return True
