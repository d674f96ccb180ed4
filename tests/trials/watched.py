"""A process that is watched: what it opens to write, starts, removes or connects to, and what changed.

Python tells of each such step (PEP 578, :func:`sys.addaudithook`); what happens below Python, in SQLite or
in the extension, is seen by comparing the other files before and after: names, contents, modes and times.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Memory that a command may take beyond what the process has, and seconds of a processor.
MOST_BYTES = 3 << 30
MOST_SECONDS = 30.0

WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# Steps that change a file, and how many of their first arguments are names.
CHANGES = {
    **dict.fromkeys(
        ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate", "os.utime"), 1
    ),
    **dict.fromkeys(("os.setxattr", "os.removexattr", "os.listxattr", "shutil.rmtree", "shutil.chown"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.copyfile", "shutil.move"), 2),
}
# Which argument of these is the open folder that a name is in.
FOLDERS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2}
# Steps that no file of a stranger may lead to.
FORBIDDEN = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile"),
    *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
    *(
        "socket.gethostbyname",
        "socket.gethostbyaddr",
        "webbrowser.open",
        "urllib.Request",
        "http.client.connect",
    ),
    *("ctypes.dlopen", "sqlite3.enable_load_extension", "sqlite3.load_extension", "pickle.find_class"),
    *("os.kill", "pty.spawn", "ftplib.connect", "smtplib.connect", "telnetlib.Telnet.open"),
)


class Watch:
    """Watches the actions of this process, from :meth:`begin` on; it cannot be ended."""

    def __init__(self, outputs: Sequence[Path]) -> None:
        self.found: list[str] = []
        # Python's own files it compiles into caches that nobody's input names.
        own = [
            sysconfig.get_paths()["stdlib"],
            sysconfig.get_paths()["purelib"],
            str(Path(__file__).parents[2]),
        ]
        self._caches = tuple(own)
        self._outputs = tuple(os.path.realpath(path) for path in outputs)
        self._is_on = False

    def begin(self) -> None:
        """Watch from now on."""
        sys.addaudithook(self._hook)
        self._is_on = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Mark actions of the trial itself, which are allowed."""
        self._is_on = False
        try:
            yield
        finally:
            self._is_on = True

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on:
            return
        if event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = (isinstance(flags, int) and flags & WRITES) or (
                isinstance(mode, str) and set(mode) & set("wax+")
            )
            if writes and not isinstance(path, int):
                self._check(event, path)
        elif event in CHANGES:
            folder = arguments[FOLDERS[event]] if event in FOLDERS else -1
            for path in arguments[: CHANGES[event]]:
                if not isinstance(path, int):
                    # A name within an open folder, as shutil.rmtree gives it.
                    self._check(event, path if folder < 0 else f"/proc/self/fd/{folder}/{os.fsdecode(path)}")
        elif event in FORBIDDEN:
            self.found.append(f"{event} {arguments!r:.200}")

    def _check(self, event: str, path: Any) -> None:
        name = os.path.join(
            os.path.realpath(os.path.dirname(os.fsdecode(path)) or "."), os.path.basename(os.fsdecode(path))
        )
        if "__pycache__" in name and name.startswith(self._caches):
            return
        if name != os.devnull and not any(name == one or name.startswith(f"{one}/") for one in self._outputs):
            self.found.append(f"{event} {name:.200}")


def limit() -> None:
    """Bound what this process may take."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, taken + MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Press Ctrl-C after this time."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that is in a folder: kind, mode, owner, size, times of a change, and what it is."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = ""
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            with open(path, "rb") as file:  # of a file with holes, a terabyte long, the beginning
                content = hashlib.sha256(file.read(1 << 26)).hexdigest()
        # A folder's time changes as a file comes and goes in it, which the names tell.
        times = () if path.is_dir() else (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_ino, *times, content)
    return found


def difference(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    """Files that were created, removed or changed."""
    return [
        *(f"gone: {name}" for name in before.keys() - after.keys()),
        *(f"new: {name}" for name in after.keys() - before.keys()),
        *(f"changed: {name}" for name in before.keys() & after.keys() if before[name] != after[name]),
    ]


def canaries(folder: Path) -> Path:
    """A home, a temporary folder and a neighbour's folder, with files that somebody would miss."""
    for name in (
        *("home/.bashrc", "home/.ssh/id_ed25519", "home/.ssh/authorized_keys", "home/thesis.tex"),
        *("home/.config/matplotlib/matplotlibrc", "home/.cache/crossfade/controls/mine.so"),
        *("tmp/of-another.sock", "tmp/results.sqlite", "tmp/.X11-unix/X0", "neighbour/a.toml", "victim.txt"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("" if name.endswith("rc") else f"canary of {name}\n")
    return folder


# So that the rest of the machine can be read and not written to, but for what is under the folder.
ENCLOSE = """\
set -e
mount --make-rprivate /
mount --bind "$1" /mnt
for place in $(awk '{print $5}' /proc/self/mountinfo | sort -u); do
  case "$place" in /mnt|/mnt/*|/proc|/proc/*|/dev|/dev/*|/sys|/sys/*) ;;
  *) mount -o remount,bind,ro "$place" 2>/dev/null || true ;; esac
done
mount --bind /mnt/tmp /tmp
shift
exec "$@"
"""


def enclosed(folder: Path, command: Sequence[str]) -> list[str]:
    """A command in namespaces of its own: no network, no other processes, and ``folder``, as ``/mnt``, the
    only
    one that can be written to, with its ``tmp`` as ``/tmp``. As it is where the machine allows none."""
    plain = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command]
    if shutil.which("unshare") is None:
        return plain
    inside = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh", "-c", ENCLOSE, "sh"]
    for front in ([], ["--map-root-user", "--user"]):
        ways = [inside[0], *front, *inside[1:]]
        tried = subprocess.run([*ways, str(folder), "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return [*ways, str(folder), *command]
    return plain


def processor_seconds() -> float:
    """Of this process."""
    return time.process_time()
