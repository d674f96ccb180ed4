"""Option ``--internet``: access of the far host to the internet by slirp4netns, without privileges.

slirp4netns terminates the connections of packets that reach a device of the far host, and opens sockets of
this machine as the calling user in their place. A service of this machine that listens on all addresses, or
on one other than loopback, can be reached. The process ends when its pipe is closed.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from typing import TYPE_CHECKING

from crossfade.errors import CrossfadeError, shortened

if TYPE_CHECKING:
    from crossfade._crossfade import Live

PROGRAM = "slirp4netns"
MISSING = f"{PROGRAM} is not installed"
DEVICE = "tap0"
# Network of slirp4netns on the far host; its third address forwards to the name servers of this machine.
NETWORK, NAME_SERVER = "10.78.0.0/24", "10.78.0.3"
READY_S = 10.0
# Largest MTU in bytes that slirp4netns accepts (its manual).
MOST_MTU = 65521

WARNING = (
    "live: --internet: COMMAND reaches the network of this machine as you, through the link, and services of "
    f"this machine at its addresses other than loopback; connections end at {PROGRAM} on the far host, whose "
    "TCP is its own"
)


class WayOut:
    """The process slirp4netns during a run."""

    def __init__(self, live: Live, mtu: int) -> None:
        if shutil.which(PROGRAM) is None:
            raise CrossfadeError(f"--internet: {MISSING}; see crossfade doctor")
        ending, self._end = os.pipe()
        ready, told = os.pipe()
        command = [PROGRAM, "--configure", f"--mtu={min(mtu, MOST_MTU)}", f"--cidr={NETWORK}"]
        command += ["--disable-host-loopback", "--netns-type=path"]
        # The parser of COMMAND's packets has no access to files of this machine, and drops its privileges.
        command += ["--enable-sandbox"]
        command += [f"--exit-fd={ending}", f"--ready-fd={told}"]
        # Pipe for error messages that never blocks slirp4netns; output beyond the size of a pipe is lost.
        self._said, saying = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._process = subprocess.Popen(
            [*command, live.far_namespace(), DEVICE],
            pass_fds=(ending, told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=saying,
            start_new_session=True,  # Ctrl-C goes to COMMAND only
        )
        for given in (ending, told, saying):
            os.close(given)
        # A byte means that slirp4netns is ready; an end of file, that it has ended.
        is_ready = select.select([ready], [], [], READY_S)[0] and os.read(ready, 1)
        os.close(ready)
        if not is_ready:
            self._process.kill()
            self._process.wait()
            why = self._reason()
            self.close()
            raise CrossfadeError(f"--internet: {PROGRAM} could not join the far host ({why})")
        live.lead_on(DEVICE)

    def close(self) -> None:
        """End the process, and wait for its end."""
        os.close(self._end)
        self._process.wait()
        os.close(self._said)

    def _reason(self) -> str:
        """Output of the process, in one line."""
        try:
            said = os.read(self._said, 10_000).decode(errors="replace").split()
        except BlockingIOError:  # nothing written, but a child of slirp4netns still holds the pipe open
            said = []
        return shortened(" ".join(said)) if said else "it said nothing"
