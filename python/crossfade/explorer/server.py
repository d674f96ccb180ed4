"""The page to think with, and what it asks for."""

from __future__ import annotations

import json
import os
import stat
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import SplitResult, parse_qsl, urlencode

from crossfade.errors import CrossfadeError, ScenarioError
from crossfade.explorer.loopback import NOT_FOUND, Answer, LoopbackServer
from crossfade.explorer.states import COARSE, FINE, SENDERS, State, connection, curves, description
from crossfade.figures.html import plotly_js

# Longer questions than any that the page asks.
LONGEST_QUERY = 1000

# A page of a file sends no address of its own along.
SIGNPOST = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>crossfade explore</title>
<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">crossfade explore</a>
"""

Content = tuple[str, str]
"""A type of content, and the text."""


def page() -> str:
    """The page: one text that needs nothing else."""

    def asset(name: str) -> str:
        return (resources.files("crossfade.explorer") / "assets" / name).read_text(encoding="utf-8")

    told = json.dumps(description()).replace("<", "\\u003c")
    parts = {
        "STYLE": asset("explore.css"),
        "DATA": told,
        "PLOTLY": plotly_js(),
        "SCRIPT": asset("explore.js"),
    }
    before, *pieces = asset("explore.html").split("@@")
    return before + "".join(parts.get(piece, piece) for piece in pieces)


def _answer_curves(query: str) -> Content:
    state, asked = _split(query)
    variants = asked.get("variants", "").split(",")
    if not set(variants) <= set(SENDERS[state.model]):
        raise ScenarioError(f"variants: must be of {', '.join(SENDERS[state.model])}")
    points = FINE if asked.get("detail") == "fine" else COARSE
    return "application/json", json.dumps(curves(state, points, variants))


def _answer_connection(query: str) -> Content:
    return "application/json", json.dumps(connection(State.of(query)))


def _answer_scenario(query: str) -> Content:
    return "application/toml", State.of(query).scenario()


def _split(query: str) -> tuple[State, dict[str, str]]:
    """The state, and what else is asked for."""
    pairs = parse_qsl(query, keep_blank_values=True)
    extra = {name: text for name, text in pairs if name in ("detail", "variants")}
    return State.of(urlencode([pair for pair in pairs if pair[0] not in extra])), extra


ANSWERS: dict[str, Callable[[str], Content]] = {
    "curves": _answer_curves,
    "connection": _answer_connection,
    "scenario.toml": _answer_scenario,
}


class Server(LoopbackServer):
    """Has its token as a path: addresses below it are relative."""

    images = "data: blob:"

    def __init__(self, port: int = 0, text: str | None = None) -> None:
        self.text = page() if text is None else text
        super().__init__(port)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"{self.origin}/{self.token}/"

    def token_in(self, asked: SplitResult) -> str:
        """The first folder."""
        return asked.path.removeprefix("/").partition("/")[0]

    def answer(self, asked: SplitResult) -> Answer:
        """The page, or what it asks for."""
        name = asked.path.removeprefix("/").partition("/")[2]
        if name == "":
            return HTTPStatus.OK, "text/html", self.text
        if name not in ANSWERS or len(asked.query) > LONGEST_QUERY:
            return NOT_FOUND
        try:
            return HTTPStatus.OK, *ANSWERS[name](asked.query)
        except CrossfadeError as error:
            return HTTPStatus.BAD_REQUEST, "application/json", json.dumps({"error": str(error)})


@contextmanager
def serving(port: int = 0, text: str | None = None) -> Iterator[Server]:
    """A server that answers in a thread of its own until the block ends."""
    with Server(port, text) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def explore(
    at: str = "", *, port: int = 0, browser: bool = True, say: Callable[[str], object] = print
) -> None:
    """Show the page to think with until Ctrl-C: exact curves beside one simulated connection.

    The page is served to this machine alone (127.0.0.1), below an address that holds a random token; it asks
    for nothing else.

    Parameters
    ----------
    at : str
        The state of a link (what stands behind its #).
    port : int
        Port (0: any that is free).
    browser : bool
        Whether a browser is opened.
    say : callable
        Told the address.

    Raises
    ------
    ScenarioError
        If there can be no such state, or the port cannot be used.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.pages.explore("p_e=0.01&variant=reno")  # doctest: +SKIP
    """
    state = State.of(at.lstrip("#"))
    if not 0 <= port <= 65535:
        raise ScenarioError(f"port = {port}: must be from 0 (any that is free) to 65535")
    try:
        server = Server(port)
    except OSError as error:
        raise ScenarioError(f"port = {port}: cannot be used ({error.strerror})") from None
    with server:
        url = server.url + (f"#{state.query}" if at else "")
        say(f"{url}\nCtrl-C ends it")
        with suppress(KeyboardInterrupt), _signpost(url) as file:
            if browser:
                webbrowser.open(file)
            server.serve_forever()


def _runtime_folder() -> str | None:
    """The user's own folder for as long as somebody is logged in, where there is one as the XDG
    rule has it.
    """
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    with suppress(OSError):
        status = os.lstat(folder)
        is_own = hasattr(os, "geteuid") and status.st_uid == os.geteuid()
        if os.path.isabs(folder) and is_own and stat.S_IMODE(status.st_mode) == 0o700:
            return folder
    return None


@contextmanager
def _signpost(url: str) -> Iterator[str]:
    """The address of a page that leads on to another, as long as the block lasts.

    Every user of a machine sees what programs are started with; this page only its own user may read.
    """
    with TemporaryDirectory(prefix="crossfade-", dir=_runtime_folder(), ignore_cleanup_errors=True) as name:
        page = Path(name, "explore.html")
        words = {"url": escape(url, quote=True)}
        page.write_text(SIGNPOST.format(**words), encoding="utf-8")
        page.chmod(0o600)
        yield page.as_uri()
