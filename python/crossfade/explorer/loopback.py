"""Servers of pages: for this machine alone, and for who knows their token alone.

Of Python's own http.server: a few addresses need no framework.
"""

from __future__ import annotations

import secrets
import sys
from abc import abstractmethod
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import SplitResult, urlsplit

ADDRESS = "127.0.0.1"
# Nothing comes from elsewhere, and nothing goes there.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src {images}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Referrer-Policy": "no-referrer",  # the token is in the address
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Answer = tuple[HTTPStatus, str, str]
"""A status, a type of content, and the text."""

NOT_FOUND: Answer = (HTTPStatus.NOT_FOUND, "text/plain", "not found\n")


class LoopbackServer(ThreadingHTTPServer):
    """Answers on the loopback address, to those whose address has the token."""

    daemon_threads = True
    # What who has no token is told, and where pictures may come from.
    refusal = NOT_FOUND
    images = "data:"

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        super().__init__((ADDRESS, port), Handler)

    @property
    def origin(self) -> str:
        """The address without the token."""
        return f"http://{ADDRESS}:{self.server_port}"

    @abstractmethod
    def token_in(self, asked: SplitResult) -> str:
        """The token that an address has, right or wrong."""

    @abstractmethod
    def answer(self, asked: SplitResult) -> Answer:
        """What somebody is told who has it."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Who has gone away before the answer is told nothing, and nobody needs to know."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def reply(self, path: str, host: str | None) -> Answer:
        """What a request is told; ``host`` is whom the browser believes to talk to."""
        try:
            asked = urlsplit(path)
        except ValueError:  # "//[" is no address
            return self.refusal
        # A name that leads here from elsewhere (DNS rebinding) is not this address.
        is_here = host == f"{ADDRESS}:{self.server_port}"
        if is_here and secrets.compare_digest(self.token_in(asked).encode(), self.token.encode()):
            return self.answer(asked)
        return self.refusal


class Handler(BaseHTTPRequestHandler):
    """One request; whoever does not know the token learns nothing."""

    server: LoopbackServer
    server_version = "crossfade"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """What the server says."""
        status, kind, text = self.server.reply(self.path, self.headers.get("Host"))
        data = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", POLICY.format(images=self.server.images))
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: the token would stand in it."""
