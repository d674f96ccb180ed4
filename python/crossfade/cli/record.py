"""Command ``crossfade record``, which records a link between two machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli import messages
from crossfade.errors import CrossfadeError, shortened
from crossfade.files import check_outputs
from crossfade.fitting import recorder
from crossfade.quantities import in_common_unit


def record(
    host: Annotated[
        str | None, typer.Argument(metavar="[HOST]", help="Address of the machine that runs the receiver.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="RECORD.csv",
            help="Write when each packet was sent and when it arrived, if it did.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="ADDRESS", help="Receive one record at this address, instead of sending."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="Port of the receiver.")] = 7423,
    rate: Annotated[
        str, typer.Option("--rate", metavar="RATE", help="Bit rate of the bursts, at most 1 Gbit/s.")
    ] = "20 Mbit/s",
    lasts: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Duration, from 3 s to 120 s.")
    ] = "30 s",
    token: Annotated[
        Path | None,
        typer.Option(
            "--token", metavar="FILE", help="File with a secret of at least 16 bytes, equal at both ends."
        ),
    ] = None,
) -> None:
    """Record a link between two of your machines, for crossfade fit.

    \b
    crossfade record --listen 192.0.2.7 --token secret
    crossfade record 192.0.2.7 --token secret --rate "50 Mbit/s" --to mine.csv
    """
    secret = recorder.read_token(token)
    if not 0 <= port <= 65535:
        raise CrossfadeError(f"--port {port}: must be from 0 to 65535")
    if (host is None) == (listen is None):
        raise CrossfadeError("record: needs either HOST, to send, or --listen ADDRESS, to receive")
    if listen is not None:
        if to is not None:
            raise CrossfadeError("--to and --listen: the sender writes the record")
        packets = recorder.receive(
            listen, port, secret, lambda port: messages.say(f"listening at {listen} port {port}")
        )
        messages.say(f"{packets} packets arrived")
        return
    if to is None:
        raise CrossfadeError("record: needs --to RECORD.csv")
    assert host is not None
    check_outputs([to])
    found = recorder.send(host, port, to, _number("--rate", rate), _number("--for", lasts), secret)
    rtt = f"shortest round trip {found.rtt_s * 1e3:.3g} ms"
    messages.say(f"{found.packets} packets, {found.arrived} arrived; {rtt}")
    messages.say(f"wrote {to}")


def _number(option: str, text: str) -> float:
    """Parse a rate in bit/s, or a time in seconds."""
    unit = {"--rate": "bit/s", "--for": "s"}[option]
    found = in_common_unit(text)
    if found is None or found[1] != unit:
        example = {"bit/s": "20 Mbit/s", "s": "30 s"}[unit]
        raise CrossfadeError(f'{option} "{shortened(text)}": must be such as "{example}"')
    return found[0]
