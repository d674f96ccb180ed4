"""Option ``--page PORT``: moving plots in a browser, at a loopback address that needs a token."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from importlib.resources import files
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, parse_qs

from crossfade.cli import messages
from crossfade.cli.live.watching import Seen
from crossfade.errors import CrossfadeError
from crossfade.explorer.loopback import ADDRESS, Answer, LoopbackServer
from crossfade.results.rows import LINKS


class Page:
    """Server of the page on loopback during a run."""

    def __init__(self, port: int, rates: Sequence[float | None] = (None, None)) -> None:
        try:
            self._server = _Server(port)
            self._server.rates = list(rates)
        except OSError as reason:
            raise CrossfadeError(f"--page {port}: cannot listen on {ADDRESS} ({reason.strerror})") from None
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        messages.say(f"live: {self.address}")

    @property
    def address(self) -> str:
        """Address of the page, with its token."""
        return f"{self._server.origin}/?token={self._server.token}"

    def show(self, seen: Seen) -> None:
        """Provide new frames, which the page requests by itself."""
        self._server.seen = seen

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


def link_rates(description: Mapping[str, Any]) -> list[float | None]:
    """Rate of the links from the far host, and of those to it, in bit/s: the least of each direction.

    None for a direction without a rate, and for networks other than a path of links.
    """
    links = description.get("path", {}).get("links", [])
    return [
        min(
            (
                link["rate_bps"]
                for link in links
                if LINKS[link["name"]].is_forward is forward and link["rate_bps"]
            ),
            default=None,
        )
        for forward in (True, False)
    ]


class _Server(LoopbackServer):
    """HTTP server of the page, the rates of the links, and the frames since a given one."""

    refusal = (HTTPStatus.FORBIDDEN, "text/plain", "the address has a token\n")
    seen: Seen | None = None
    rates: Sequence[float | None] = (None, None)

    def token_in(self, asked: SplitResult) -> str:
        return _value(asked, "token", "")

    def answer(self, asked: SplitResult) -> Answer:
        if asked.path == "/":
            text = files("crossfade.cli.live").joinpath("page.html").read_text("utf-8")
            return HTTPStatus.OK, "text/html", text
        since = _value(asked, "since", "0")
        if asked.path == "/frames" and since.isascii() and since.isdigit() and len(since) < 10:
            frames, count = ([], 0) if self.seen is None else self.seen.frames(int(since))
            found = {"frames": list(map(asdict, frames)), "next": count, "rates": self.rates}
            return HTTPStatus.OK, "application/json", json.dumps(found)
        return HTTPStatus.NOT_FOUND, "text/plain", "there is no such thing\n"


def _value(asked: SplitResult, name: str, default: str) -> str:
    return parse_qs(asked.query).get(name, [default])[0]
