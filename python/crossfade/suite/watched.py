"""Wrapper of a program of a run: ``python watched.py server|client STATUS LIMIT COMMAND``.

It runs on a host of a live run as a process of its own, so it imports nothing of the package, and writes its
observations to the file STATUS as JSON. A server is ready once it listens on $CROSSFADE_PORT. A client starts
when the server's status says so, and is ended with all its processes after LIMIT seconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STARTS_S = 30.0
"""Time in seconds from its start within which a server must listen."""
GRACE_S = 4.0
"""Time in seconds in which a stopped program may write its logs; below the limit of ``crossfade live``."""
LOOK_S = 0.02
"""Time in seconds between two looks. A look at the sockets takes some ms: the kernel goes through all."""


class StoppedError(Exception):
    """Raised by the signal that ends a server."""


def tell(status: str, **found: Any) -> None:
    """Write the file ``status`` as JSON in one step, so that a reader never finds half of it."""
    draft = f"{status}.draft"
    Path(draft).write_text(json.dumps(found))
    os.replace(draft, status)


def listening() -> list[int]:
    """Ports on which sockets of this host listen, TCP and UDP."""
    found = set()
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        try:
            lines = Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        found |= {int(line.split()[1].rpartition(":")[2], 16) for line in lines if line.split()[3] == state}
    return sorted(found)


def start(command: str) -> subprocess.Popen[bytes]:
    """Start a shell command in a process group of its own, with an empty standard input."""
    return subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, start_new_session=True, close_fds=True
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command and its process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        until = time.monotonic() + GRACE_S
        while process.poll() is None and time.monotonic() < until:
            time.sleep(LOOK_S)


def serve(status: str, command: str) -> int:
    """Start a server, and wait until it ends."""
    port = int(os.environ["CROSSFADE_PORT"])
    process = start(command)

    def stop(*_: object) -> None:
        raise StoppedError

    signal.signal(signal.SIGTERM, stop)
    until = time.monotonic() + STARTS_S
    try:
        while port not in (there := listening()):
            code = process.poll()
            if code is not None or time.monotonic() > until:
                tell(status, ready=False, code=code, listening=there)
                end(process)
                return 1
            time.sleep(LOOK_S)
        tell(status, ready=True)
        code = process.wait()
    except StoppedError:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Not in the signal handler: waiting for the process there would block the poll of its end.
        end(process)
        return 0
    tell(status, ready=True, code=code)
    return code


def fetch(status: str, limit_s: float, command: str) -> int:
    """Wait for the server, then run a client."""
    of_server = Path(os.environ["CROSSFADE_SERVER_STATUS"])
    until = time.monotonic() + STARTS_S + 2.0 * GRACE_S
    while not of_server.exists() and time.monotonic() < until:
        time.sleep(LOOK_S)
    if not of_server.exists() or not json.loads(of_server.read_text())["ready"]:
        tell(status, started=False)
        return 1
    began = time.monotonic()
    process = start(command)
    try:
        code: int | None = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        code = None
    took_s = time.monotonic() - began
    end(process)
    tell(status, started=True, code=code, took_s=took_s)
    return 0


def main() -> int:
    """Act as server or client, as the first argument says."""
    role, status, limit_s, command = sys.argv[1:]
    return serve(status, command) if role == "server" else fetch(status, float(limit_s), command)


if __name__ == "__main__":
    sys.exit(main())
