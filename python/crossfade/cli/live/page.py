"""``--page PORT``: moving plots in a browser, at a loopback address that only who has the token may read."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from crossfade.cli import terminal
from crossfade.cli.live.watching import Seen
from crossfade.errors import CrossfadeError

HOST = "127.0.0.1"
# Nothing comes from elsewhere, and nothing goes there.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


class Page:
    """A web server on loopback, as long as a run lasts."""

    def __init__(self, port: int) -> None:
        self._token = secrets.token_urlsafe(16)
        self._seen: Seen | None = None
        try:
            self._server = ThreadingHTTPServer((HOST, port), self._handler())
        except OSError as reason:
            raise CrossfadeError(f"--page {port}: cannot listen on {HOST} ({reason.strerror})") from None
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        terminal.say(f"live: {self.address}")

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self._server.server_address[1]}/?token={self._token}"

    def show(self, seen: Seen) -> None:
        """The page asks when it wants to."""
        self._seen = seen

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str, host: str) -> tuple[int, str, str]:
        """Status, type and text for a request; ``host`` is whom the browser believes to talk to."""
        asked = urlsplit(path)
        query = parse_qs(asked.query)
        # A name that somebody has pointed at this machine is not ours, and who guesses has no token.
        is_ours = host == f"{HOST}:{self._server.server_address[1]}"
        if not is_ours or not compare_digest(query.get("token", [""])[0].encode(), self._token.encode()):
            return 403, "text/plain", "the address has a token\n"
        if asked.path == "/":
            return 200, "text/html", files("crossfade.cli.live").joinpath("page.html").read_text("utf-8")
        since = query.get("since", ["0"])[0]
        if asked.path == "/frames" and since.isascii() and since.isdigit() and len(since) < 10:
            frames, count = ([], 0) if self._seen is None else self._seen.frames(int(since))
            return 200, "application/json", json.dumps({"frames": list(map(asdict, frames)), "next": count})
        return 404, "text/plain", "there is no such thing\n"

    def _handler(page) -> type[BaseHTTPRequestHandler]:  # noqa: N805 (self is the request below)
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, text = page._answer(self.path, self.headers.get("Host", ""))
                body = text.encode()
                self.send_response(status)
                for name, value in (
                    ("Content-Type", f"{kind}; charset=utf-8"),
                    ("Content-Length", str(len(body))),
                    ("Content-Security-Policy", POLICY),
                    ("X-Content-Type-Options", "nosniff"),
                    ("Referrer-Policy", "no-referrer"),
                    ("Cache-Control", "no-store"),
                ):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        return Handler
