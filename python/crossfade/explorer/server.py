"""The server of the page: this machine alone, and who knows its token alone.

Of Python's own http.server: three addresses, answered one at a time each, need no framework.
"""

from __future__ import annotations

import json
import secrets
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from threading import Thread
from urllib.parse import parse_qsl, urlencode, urlsplit

from crossfade.errors import CrossfadeError, ScenarioError
from crossfade.explorer.states import COARSE, FINE, VARIANTS, State, connection, curves, description
from crossfade.figures.html import plotly_js

ADDRESS = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",  # the token is in the address
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Longer questions than any that the page asks.
LONGEST_QUERY = 1000

Answer = tuple[str, str]
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


def _answer_curves(query: str) -> Answer:
    state, asked = _split(query)
    variants = asked.get("variants", "").split(",")
    if not set(variants) <= set(VARIANTS):
        raise ScenarioError(f"variants: must be of {', '.join(VARIANTS)}")
    points = FINE if asked.get("detail") == "fine" else COARSE
    return "application/json", json.dumps(curves(state, points, variants))


def _answer_connection(query: str) -> Answer:
    return "application/json", json.dumps(connection(State.of(query)))


def _answer_scenario(query: str) -> Answer:
    return "application/toml", State.of(query).scenario()


def _split(query: str) -> tuple[State, dict[str, str]]:
    """The state, and what else is asked for."""
    pairs = parse_qsl(query, keep_blank_values=True)
    extra = {name: text for name, text in pairs if name in ("detail", "variants")}
    return State.of(urlencode([pair for pair in pairs if pair[0] not in extra])), extra


ANSWERS: dict[str, Callable[[str], Answer]] = {
    "curves": _answer_curves,
    "connection": _answer_connection,
    "scenario.toml": _answer_scenario,
}


class Server(ThreadingHTTPServer):
    """Answers on the loopback address, below a path that nobody guesses."""

    daemon_threads = True

    def __init__(self, port: int = 0, text: str | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.text = page() if text is None else text
        super().__init__((ADDRESS, port), Handler)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """One request; whoever does not know the token learns nothing."""

    server: Server
    server_version = "crossfade"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """The page, or what it asks for."""
        asked = urlsplit(self.path)
        token, _, name = asked.path.removeprefix("/").partition("/")
        # A name that leads here from elsewhere (DNS rebinding) is not this address.
        is_here = self.headers.get("Host") == f"{ADDRESS}:{self.server.server_port}"
        if not is_here or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "not found\n")
        elif name == "":
            self._send(HTTPStatus.OK, "text/html", self.server.text)
        elif name not in ANSWERS or len(asked.query) > LONGEST_QUERY:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "not found\n")
        else:
            try:
                self._send(HTTPStatus.OK, *ANSWERS[name](asked.query))
            except CrossfadeError as error:
                self._send(HTTPStatus.BAD_REQUEST, "application/json", json.dumps({"error": str(error)}))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: the token would stand in it."""


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
    """Show the page until Ctrl-C: exact curves while one drags, beside one simulated connection.

    ``at`` is the state of a link (what stands behind its #). The page is served to this machine alone
    (127.0.0.1), below an address that holds a random token, which ``say`` is told; it asks for nothing else.
    :class:`ScenarioError` for a state or a port that cannot be.
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
        if browser:
            webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
