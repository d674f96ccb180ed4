"""Transfer of a file over QUIC by aioquic: ``serve`` and ``fetch``, configured by a run's environment.

The client names a file on a stream of its own, and the server answers with its bytes. With QLOGDIR both write
a qlog.
"""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
from pathlib import Path

PROTOCOL = "hq-interop"


async def main(verb: str) -> None:
    """Serve until the process ends, or fetch one file."""
    from aioquic.asyncio.client import connect
    from aioquic.asyncio.server import serve
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.logger import QuicFileLogger

    folder = os.environ.get("QLOGDIR")
    configuration = QuicConfiguration(
        is_client=verb == "fetch",
        alpn_protocols=[PROTOCOL],
        quic_logger=QuicFileLogger(folder) if folder else None,
        congestion_control_algorithm=os.environ.get("AIOQUIC_CONGESTION", "reno"),
    )
    port = int(os.environ["CROSSFADE_PORT"])
    if verb == "serve":
        configuration.load_cert_chain(os.environ["CROSSFADE_CERTIFICATE"], os.environ["CROSSFADE_KEY"])
        root, running = Path(os.environ["CROSSFADE_ROOT"]), set()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            name = Path((await reader.read()).decode()).name
            writer.write((root / name).read_bytes())
            writer.write_eof()

        def on_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(answer(reader, writer))
            running.add(task)  # a task without a reference may be garbage-collected
            task.add_done_callback(running.discard)

        await serve("0.0.0.0", port, configuration=configuration, stream_handler=on_stream)
        # The server is stopped between two steps of the loop, so that a qlog is written whole.
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()
        return
    # The certificate is not verified: it is made for the run, and no other host is in its two namespaces.
    configuration.verify_mode = ssl.CERT_NONE
    async with connect(os.environ["CROSSFADE_SERVER"], port, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(os.environ["CROSSFADE_FILE"].encode())
        writer.write_eof()
        Path(os.environ["CROSSFADE_DOWNLOAD"]).write_bytes(await reader.read())


if __name__ == "__main__":
    if sys.argv[1:] not in (["serve"], ["fetch"]):
        sys.exit("aioquic_peer serve | fetch")
    asyncio.run(main(sys.argv[1]))
