"""Watch over a process: files that it opens to write, removes or changes, processes it starts, addresses it
opens.

Python reports each such step (PEP 578, :func:`sys.addaudithook`). Steps below Python, in SQLite or in the
extension, show in a comparison of all other files before and after: names, contents, modes and times.
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

# Bytes that a command may allocate beyond those of the process, and seconds of processor time that it may
# take.
MOST_BYTES = 3 << 30
MOST_SECONDS = 30.0

WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# Audit events that change a file, with the number of leading arguments that are file names.
CHANGES = {
    **dict.fromkeys(
        ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate", "os.utime"), 1
    ),
    **dict.fromkeys(("os.setxattr", "os.removexattr", "os.listxattr", "shutil.rmtree", "shutil.chown"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.copyfile", "shutil.move"), 2),
}
# Audit events with a folder's open descriptor, with the index of the argument; the name is relative to that
# folder.
FOLDERS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2}
# Audit events that reading an untrusted file must never cause.
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
    """Records forbidden steps of this process in ``found``, from :meth:`begin` on; the watch cannot be
    ended.
    """

    def __init__(self, outputs: Sequence[Path]) -> None:
        self.found: list[str] = []
        # Python may write its bytecode caches, whose paths do not depend on any input.
        own = [
            sysconfig.get_paths()["stdlib"],
            sysconfig.get_paths()["purelib"],
            str(Path(__file__).parents[2]),
        ]
        self._caches = tuple(own)
        self._outputs = tuple(os.path.realpath(path) for path in outputs)
        self._is_on = False

    def begin(self) -> None:
        """Start the watch."""
        sys.addaudithook(self._hook)
        self._is_on = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ignore steps within the context, which are those of the trial itself."""
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
                    # The name is relative to an open folder, as in shutil.rmtree.
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
    """Limit the memory of this process to its present size and ``MOST_BYTES``, and forbid core dumps."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, taken + MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt, as Ctrl-C does, once the context has lasted that many seconds."""

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
    """Every entry of a folder by its relative path: mode, owner, inode, size, times, and content as a link
    target or hash.
    """
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = ""
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            with open(path, "rb") as file:  # the first 64 MiB, for huge sparse files
                content = hashlib.sha256(file.read(1 << 26)).hexdigest()
        # Times of folders are left out: they change with the files inside, which the names show.
        times = () if path.is_dir() else (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_ino, *times, content)
    return found


def difference(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    """Lines for the entries created, removed or changed between two snapshots."""
    return [
        *(f"gone: {name}" for name in before.keys() - after.keys()),
        *(f"new: {name}" for name in after.keys() - before.keys()),
        *(f"changed: {name}" for name in before.keys() & after.keys() if before[name] != after[name]),
    ]


def canaries(folder: Path) -> Path:
    """Fill a folder with a home, a temporary folder and a neighbour's folder, whose files must stay as they
    are.
    """
    for name in (
        *("home/.bashrc", "home/.ssh/id_ed25519", "home/.ssh/authorized_keys", "home/thesis.tex"),
        *("home/.config/matplotlib/matplotlibrc", "home/.cache/crossfade/controls/mine.so"),
        *("tmp/of-another.sock", "tmp/results.sqlite", "tmp/.X11-unix/X0", "neighbour/a.toml", "victim.txt"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("" if name.endswith("rc") else f"canary of {name}\n")
    return folder


# Shell script that makes every file system read-only except the given folder, then runs the command.
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
    """A command line that runs a command in separate namespaces: no network, no other processes, ``folder``
    at ``/mnt`` as the only writable place, and its ``tmp`` at ``/tmp``. Without namespaces on the machine, it
    only runs in ``folder``.
    """
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
    """Processor time of this process in seconds."""
    return time.process_time()
