"""HTTP servers on the loopback address, which answer only requests that carry the server's token.

They use Python's ``http.server``: a few addresses need no framework. Every process of the machine can
connect, so no slow, silent or disconnected client may stop a server or block other clients.
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
# The page may load and send nothing beyond this server.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src {images}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# Longest time for a request to arrive in full, and largest number of pending requests; a new one beyond it
# closes the oldest.
REQUEST_TAKES_S = 10.0
MOST_WAITING = 32

Answer = tuple[HTTPStatus, str, str]
"""Status, content type and body of an HTTP response."""

NOT_FOUND: Answer = (HTTPStatus.NOT_FOUND, "text/plain", "not found\n")


class LoopbackServer(ThreadingHTTPServer):
    """Server on the loopback address that answers only requests whose address has its token."""

    daemon_threads = True
    request_queue_size = 128
    # Answer to a request without the token, and allowed sources of images (``img-src``).
    refusal = NOT_FOUND
    images = "data:"

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        # Connections whose request has not arrived yet, with the time (s, monotonic) at which each was
        # opened.
        self._waiting: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        outlive_peers()
        super().__init__((ADDRESS, port), Handler)

    @property
    def origin(self) -> str:
        """Address of the server without the token: scheme, host and port."""
        return f"http://{ADDRESS}:{self.server_port}"

    @abstractmethod
    def token_in(self, asked: SplitResult) -> str:
        """The token in the address of a request, right or wrong."""

    @abstractmethod
    def answer(self, asked: SplitResult) -> Answer:
        """Answer to a request with the right token."""

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in its own thread; if too many are pending, the oldest are closed."""
        with self._lock:
            self._waiting[request] = time.monotonic()
            crowd = list(self._waiting)[: max(0, len(self._waiting) - MOST_WAITING)]
            self._give_up(crowd)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close connections whose request did not arrive in time; called twice a second."""
        with self._lock:
            now = time.monotonic()
            self._give_up([one for one, since in self._waiting.items() if now - since > REQUEST_TAKES_S])

    def has_come(self, request: socket.socket) -> None:
        """Note that the request of a connection arrived, or that the connection ended."""
        with self._lock:
            self._waiting.pop(request, None)

    def _give_up(self, requests: list[socket.socket]) -> None:
        for request in requests:
            del self._waiting[request]
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # a pending read of this socket then ends

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that was answered or has ended."""
        self.has_come(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that left before the answer, and of connections for which no thread could
        start.
        """
        if not isinstance(sys.exc_info()[1], OSError | RuntimeError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def reply(self, path: str, host: str | None) -> Answer:
        """Answer to a request; the refusal if its token or its ``Host`` header is wrong."""
        try:
            asked = urlsplit(path)
        except ValueError:  # such as "//["
            return self.refusal
        # Another host name that resolves to this address (DNS rebinding) is refused.
        is_here = host == f"{ADDRESS}:{self.server_port}"
        if is_here and secrets.compare_digest(self.token_in(asked).encode(), self.token.encode()):
            return self.answer(asked)
        return self.refusal


class Handler(BaseHTTPRequestHandler):
    """Handler of one request; a client without the token learns nothing."""

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
