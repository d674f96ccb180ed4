"""Command ``crossfade explore``, which serves an interactive page."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade.cli import messages
from crossfade.cli.options import whole
from crossfade.explorer import server


def explore(
    at: Annotated[
        str,
        typer.Option("--at", metavar="STATE", help="Initial state of the page: the part of a link after #."),
    ] = "",
    port: Annotated[
        int, typer.Option("--port", metavar="N", parser=whole, help="The port (default: any that is free).")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Open a page with sliders: exact curves, one connection.

    The page shows the exact throughput of each TCP over the packet error probability, solved again while you
    drag, and one simulated connection with its window over time and its segments. With "queue, path and ARQ"
    it shows the goodput of CUBIC and BBR by link retransmissions, queue and RTT. A button saves the view as a
    scenario file, and the page's address is a link to it.

    The page is served on 127.0.0.1 alone, at an address with a random token, and uses no other network.
    Ctrl-C ends it.

    \b
    crossfade explore
    crossfade explore --at "variant=tahoe&p_e=0.05&fd_t=0.1"
    crossfade explore --at "model=link&variant=cubic&queue=400&channel=iid"
    """
    server.explore(at, port=port, browser=not no_browser, say=messages.say_lines)
