"""Folders and files that no other user can change, since their content is loaded as code."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from crossfade.errors import ScenarioError, shortened

# Largest library that is read, in bytes; a control takes a few hundred kB.
LARGEST_LIBRARY = 64 * 1024 * 1024


def private_folder(folder: Path) -> Path:
    """Create a folder with mode 0700, or check the existing one.

    Raises :class:`ScenarioError` if the folder belongs to another user, if others can write to it, or if they
    can write to a folder above it without the sticky bit (which temporary folders of a system have).
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode):
            raise ScenarioError(f"{shortened(folder)}: is no folder; remove it")
        _refuse_others(folder, status, may_be_roots=False)
        real = Path(os.path.realpath(folder))
        for above in real.parents:
            _refuse_others(above, os.stat(above), may_be_roots=True)
        if hasattr(os, "geteuid") and stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(folder, 0o700)
    except OSError as reason:
        raise ScenarioError(f"{shortened(folder)}: cannot be made ({reason.strerror or reason})") from None
    return folder


def read_private(path: Path) -> bytes:
    """Bytes of a file that belongs to this user and that no other user can write.

    Raises ``OSError`` if it cannot be read, and :class:`ScenarioError` if it belongs to another user or
    others can write to it. The file is opened once, and not through a symbolic link.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ScenarioError(f"{shortened(path)}: is no file; remove it")
        _refuse_others(path, status, may_be_roots=False)
        data = file.read(LARGEST_LIBRARY + 1)
    if len(data) > LARGEST_LIBRARY:
        raise ScenarioError(f"{shortened(path)}: larger than {LARGEST_LIBRARY // 1024**2} MiB; remove it")
    return data


def _refuse_others(path: Path, status: os.stat_result, *, may_be_roots: bool) -> None:
    if not hasattr(os, "geteuid"):  # Windows has access control lists, inherited from the profile folder
        return
    user = os.geteuid()
    if status.st_uid != user and not (may_be_roots and status.st_uid == 0):
        raise ScenarioError(
            f"{shortened(path)}: belongs to another user (uid {status.st_uid}, not {user}), who "
            "could put code there; remove it, or set XDG_CACHE_HOME to a folder of your own"
        )
    if stat.S_ISDIR(status.st_mode) and may_be_roots and status.st_mode & stat.S_ISVTX:
        return  # the sticky bit forbids renaming files of other users
    is_open = status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)
    )
    if is_open:
        raise ScenarioError(
            f"{shortened(path)}: others may write to it (mode {stat.S_IMODE(status.st_mode):04o}), "
            f"and so put code there; remove what they may have changed, and chmod go-w {shortened(path)}"
        )


@cache
def _is_own_group(group: int) -> bool:
    """True if a group is the user's private group: of this user's name, without other members."""
    import grp
    import pwd

    with suppress(KeyError):
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        return (
            found.gr_gid == user.pw_gid
            and found.gr_name == user.pw_name
            and not (set(found.gr_mem) - {user.pw_name})
        )
    return False


def as_file(data: bytes, suffix: str) -> str:
    """Name of a file with exactly these bytes, which no other user can change while it is loaded.

    On Linux it is a sealed file in memory, otherwise a file in a temporary folder that only this user can
    enter. It exists as long as the process, since a loader takes a file of a known name for the same library.
    """
    if hasattr(os, "memfd_create"):
        import fcntl

        with suppress(OSError):
            descriptor = os.memfd_create("crossfade-control", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            name = f"/proc/self/fd/{descriptor}"
            if os.path.exists(name):
                return name
            os.close(descriptor)
    file_of_its_own, name = tempfile.mkstemp(suffix, dir=_passing_folder())
    with open(file_of_its_own, "wb") as file:
        file.write(data)
    return name


@cache
def _passing_folder() -> str:
    return passing_folder("crossfade-library-")


def passing_folder(prefix: str) -> str:
    """Temporary folder of this user, removed when the process ends."""
    import atexit
    import shutil

    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
