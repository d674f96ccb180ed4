"""Server of the explorer: its page, and the data that the page requests."""

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

# Longest accepted query of an address, in characters; those of the page are shorter.
LONGEST_QUERY = 1000

# Page in a file that redirects to the address with the token, without sending its own address as referrer.
SIGNPOST = """<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>crossfade explore</title>
<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">crossfade explore</a>
"""

Content = tuple[str, str]
"""Content type and body of an answer."""


def page() -> str:
    """HTML of the explorer's page, which includes all its scripts and styles."""

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
    """State of the page in a query, and its other parameters (``detail``, ``variants``)."""
    pairs = parse_qsl(query, keep_blank_values=True)
    extra = {name: text for name, text in pairs if name in ("detail", "variants")}
    return State.of(urlencode([pair for pair in pairs if pair[0] not in extra])), extra


ANSWERS: dict[str, Callable[[str], Content]] = {
    "curves": _answer_curves,
    "connection": _answer_connection,
    "scenario.toml": _answer_scenario,
}


class Server(LoopbackServer):
    """Server of the explorer; the token is the first folder of its addresses, so relative ones keep it."""

    images = "data: blob:"

    def __init__(self, port: int = 0, text: str | None = None) -> None:
        self.text = page() if text is None else text
        super().__init__(port)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"{self.origin}/{self.token}/"

    def token_in(self, asked: SplitResult) -> str:
        """First folder of the address."""
        return asked.path.removeprefix("/").partition("/")[0]

    def answer(self, asked: SplitResult) -> Answer:
        """Answer to a request with the right token: the page, or the data it asks for."""
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
    """Context of a server that answers in its own thread until the block ends."""
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
    """Show the explorer in a browser until Ctrl-C: exact curves beside one simulated connection.

    The page is served to this machine alone (127.0.0.1), under an address with a random token; it needs no
    other server.

    Parameters
    ----------
    at : str
        State of the page: the text after the ``#`` of a link to it; empty for the default.
    port : int
        Port (0: any free port).
    browser : bool
        Whether to open a browser.
    say : callable
        Called with the address and a hint how to stop.

    Raises
    ------
    ScenarioError
        If the state is not valid, or the port cannot be used.

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
    """The user's runtime folder (``XDG_RUNTIME_DIR``), if it belongs to this user with mode 0700; otherwise
    None.
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
    """Address of a local file that redirects to ``url``; it exists until the block ends.

    Every user of a machine can see the arguments of a started browser, and so would learn the token; only
    this user can read the file.
    """
    with TemporaryDirectory(prefix="crossfade-", dir=_runtime_folder(), ignore_cleanup_errors=True) as name:
        page = Path(name, "explore.html")
        words = {"url": escape(url, quote=True)}
        page.write_text(SIGNPOST.format(**words), encoding="utf-8")
        page.chmod(0o600)
        yield page.as_uri()
