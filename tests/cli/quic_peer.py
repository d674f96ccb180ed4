"""A QUIC client and server (aioquic): ``serve ADDRESS CERTIFICATE KEY`` and ``fetch ADDRESS BYTES FILE``.

The client requests a number of bytes, which the server generates as both sides know, and writes them to a
file.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import sys
from pathlib import Path

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration

PORT = 4433
PROTOCOL = ["crossfade-test"]


def content(size: int) -> bytes:
    return random.Random(size).randbytes(size)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(content(int(await reader.read())))
    writer.write_eof()


def on_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    running.add(asyncio.ensure_future(answer(reader, writer)))


# Holds references to tasks, which could otherwise be garbage-collected.
running: set[asyncio.Future[None]] = set()


async def main(verb: str, address: str, *rest: str) -> None:
    configuration = QuicConfiguration(is_client=verb == "fetch", alpn_protocols=PROTOCOL)
    if verb == "serve":
        configuration.load_cert_chain(*rest)
        await serve(address, PORT, configuration=configuration, stream_handler=on_stream)
        await asyncio.Event().wait()
    configuration.verify_mode = ssl.CERT_NONE
    async with connect(address, PORT, configuration=configuration) as connection:
        assert isinstance(connection, QuicConnectionProtocol)
        reader, writer = await connection.create_stream()
        writer.write(rest[0].encode())
        writer.write_eof()
        Path(rest[1]).write_bytes(await reader.read())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
