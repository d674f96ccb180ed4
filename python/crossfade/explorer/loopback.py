"""Servers of pages: for this machine alone, and for who knows their token alone.

Of Python's own http.server: a few addresses need no framework. Every process of this machine may connect,
so that no client, slow, silent or gone, may end a server or keep it from its reader.
"""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
from abc import abstractmethod
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, urlsplit

from crossfade.errors import outlive_peers

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

# So long may a request take to come, in all; so many may be on their way, of which the oldest makes room.
REQUEST_TAKES_S = 10.0
MOST_WAITING = 32

Answer = tuple[HTTPStatus, str, str]
"""A status, a type of content, and the text."""

NOT_FOUND: Answer = (HTTPStatus.NOT_FOUND, "text/plain", "not found\n")


class LoopbackServer(ThreadingHTTPServer):
    """Answers on the loopback address, to those whose address has the token."""

    daemon_threads = True
    request_queue_size = 128
    # What who has no token is told, and where pictures may come from.
    refusal = NOT_FOUND
    images = "data:"

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        # Connections whose request has not come, and since when.
        self._waiting: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        outlive_peers()
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
        """Answer to a request with the right token."""

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own."""
        with self._lock:
            self._waiting[request] = time.monotonic()
            crowd = list(self._waiting)[: max(0, len(self._waiting) - MOST_WAITING)]
            self._give_up(crowd)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Give up requests that do not come: called twice a second."""
        with self._lock:
            now = time.monotonic()
            self._give_up([one for one, since in self._waiting.items() if now - since > REQUEST_TAKES_S])

    def has_come(self, request: socket.socket) -> None:
        """A request has come, or its connection has ended."""
        with self._lock:
            self._waiting.pop(request, None)

    def _give_up(self, requests: list[socket.socket]) -> None:
        for request in requests:
            del self._waiting[request]
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # who reads from it is told the end

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, since its request has come or it has ended, and close it."""
        self.has_come(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the errors of clients that left before their answer, or came when no thread was left."""
        if not isinstance(sys.exc_info()[1], OSError | RuntimeError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def reply(self, path: str, host: str | None) -> Answer:
        """Answer to a request; a refusal if its token or its ``Host`` header is wrong."""
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
    """One request; a client without the token learns nothing."""

    server: LoopbackServer
    server_version = "crossfade"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer a GET request."""
        self.server.has_come(self.connection)
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
        """Log nothing, since a log would contain the token."""
