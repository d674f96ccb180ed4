"""``--internet``: a way out of the far host, by slirp4netns, which needs no right and leaves nothing behind.

It takes the packets that reach a device of the far host apart, and opens sockets of this machine, as the user
who called, for what is in them: a service of this machine that listens at all addresses, or at one that is
not loopback, is reached as any other. It ends when its pipe does, and with it all that it had.
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
# Its network on the far host. Its third address answers for the name servers of this machine.
NETWORK, NAME_SERVER = "10.78.0.0/24", "10.78.0.3"
READY_S = 10.0
# The most bytes of a packet that it takes (its manual).
MOST_MTU = 65521

WARNING = (
    "live: --internet: COMMAND reaches the network of this machine as you, through the link, and services of "
    f"this machine at its addresses other than loopback; connections end at {PROGRAM} on the far host, whose "
    "TCP is its own"
)


class WayOut:
    """The program, as long as a run lasts."""

    def __init__(self, live: Live, mtu: int) -> None:
        if shutil.which(PROGRAM) is None:
            raise CrossfadeError(f"--internet: {MISSING}; see crossfade doctor")
        ending, self._end = os.pipe()
        ready, told = os.pipe()
        command = [PROGRAM, "--configure", f"--mtu={min(mtu, MOST_MTU)}", f"--cidr={NETWORK}"]
        command += ["--disable-host-loopback", "--netns-type=path"]
        # What takes COMMAND's packets apart sees none of this machine's files, and keeps no right that it
        # had.
        command += ["--enable-sandbox"]
        command += [f"--exit-fd={ending}", f"--ready-fd={told}"]
        # Never blocks who writes, and keeps no more than a pipe holds: the rest of what is said is lost.
        self._said, saying = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._process = subprocess.Popen(
            [*command, live.far_namespace(), DEVICE],
            pass_fds=(ending, told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=saying,
            start_new_session=True,  # Ctrl-C is COMMAND's
        )
        for given in (ending, told, saying):
            os.close(given)
        # An end of file says that it has ended instead.
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
        """End it, and wait until it has."""
        os.close(self._end)
        self._process.wait()
        os.close(self._said)

    def _reason(self) -> str:
        """Output of the program, in one line."""
        try:
            said = os.read(self._said, 10_000).decode(errors="replace").split()
        except BlockingIOError:  # a child of its own is left, and is silent
            said = []
        return shortened(" ".join(said)) if said else "it said nothing"
