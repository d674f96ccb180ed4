"""``crossfade explore``."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade.cli import terminal
from crossfade.cli.options import whole
from crossfade.explorer import server


def explore(
    at: Annotated[
        str,
        typer.Option("--at", metavar="STATE", help="Where to begin: what stands behind the # of a link."),
    ] = "",
    port: Annotated[
        int, typer.Option("--port", metavar="N", parser=whole, help="The port (default: any that is free).")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Open a page with sliders: exact curves, one connection.

    Exact throughput of each TCP over the packet error probability, solved anew while you drag; beside it one
    simulated connection, as its window over time and its segments one by one. Or, with "queue, path and ARQ",
    the goodput of CUBIC and BBR by link retransmissions, queue and RTT. A button saves what you see as a
    scenario file, and the address holds it as a link.

    The page is served to this machine alone (127.0.0.1), below an address with a random token, and asks the
    network for nothing else. Ctrl-C ends it.

    \b
    crossfade explore
    crossfade explore --at "variant=tahoe&p_e=0.05&fd_t=0.1"
    crossfade explore --at "model=link&variant=cubic&queue=400&channel=iid"
    """
    server.explore(at, port=port, browser=not no_browser, say=terminal.say_lines)
