"""Checks of the files beside an SQLite database before SQLite opens it.

SQLite rolls back a ``NAME-journal`` beside a database, and then removes the file that the journal names, with
the rights of the reader. Crossfade's databases have a write-ahead log and never a journal, so a journal is
another program's.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crossfade.errors import ResultsError

State = tuple[int, ...]
"""State of a file and its log: inode, time and size of each, by which a change is noticed."""

LOG = "-wal"
INDEX = "-shm"
JOURNAL = "-journal"
# Longest time in seconds for which a process keeps the name of the journal while it makes or opens a file.
PATIENCE_S = 1.0


def check(path: Path, *, to_write: bool) -> None:
    """Raise :class:`ResultsError` for a file beside a database that this program did not make.

    SQLite itself makes a journal when it creates a database: one of this user is waited for.
    """
    deadline = time.monotonic() + PATIENCE_S
    while os.path.lexists(f"{path}{JOURNAL}"):
        if not (_is_own(f"{path}{JOURNAL}") and time.monotonic() < deadline):
            raise ResultsError(
                f"{path}: not opened: {path.name}{JOURNAL} lies beside it, which crossfade never leaves and "
                "SQLite would play back; move it away"
            )
        time.sleep(0.01)
    check_log(path, to_write=to_write)


def check_log(path: Path, *, to_write: bool) -> None:
    """Raise :class:`ResultsError` for a log or its index that is a link or, to write, another user's."""
    for part in (LOG, INDEX):
        name = f"{path}{part}"
        with suppress(FileNotFoundError):
            found = os.lstat(name)
            is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink <= 1
            if not is_plain or (to_write and not _is_own(name) and found.st_uid != os.stat(path).st_uid):
                what = "another user's" if is_plain else "no plain file"
                raise ResultsError(f"{path}: not opened: {path.name}{part} beside it is {what}; move it away")


def _is_own(name: str) -> bool:
    try:
        found = os.lstat(name)
    except OSError:
        return True
    return stat.S_ISREG(found.st_mode) and (not hasattr(os, "geteuid") or found.st_uid == os.geteuid())


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Prevent others from placing a journal beside ``path`` while SQLite opens it for writing.

    In a folder where others can create files, the journal's name is taken by an empty file, which SQLite does
    not play back.
    """
    check(path, to_write=True)
    name = f"{path}{JOURNAL}"
    taken = _others_write_to(path.parent) and _take(path, name)
    try:
        yield
    finally:
        if taken:
            with suppress(OSError):
                os.unlink(name)


def in_use(path: Path) -> bool:
    """True if a process of this machine has the database open: SQLite then locks the index of its log.

    The list of the system's locks is read, since opening and closing the index would end this process's
    locks.
    """
    try:
        index = os.lstat(f"{path}{INDEX}")
    except OSError:
        return False
    device = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as locks:
            return any(device in line.split() for line in locks)
    except OSError:  # not Linux
        return True


def state(path: Path) -> State:
    """State of the database's file and log (inode, time, size), which every write changes."""
    found: list[int] = []
    for part in ("", LOG):
        with suppress(OSError):
            seen = os.stat(f"{path}{part}", follow_symlinks=not part)
            found += [seen.st_ino, seen.st_mtime_ns, seen.st_size]
    return tuple(found)


def has_log(path: Path) -> bool:
    """True if there is a write-ahead log that is not empty."""
    with suppress(OSError):
        return os.lstat(f"{path}{LOG}").st_size > 0
    return False


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Temporary copy of a database and its log in a private folder, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="crossfade-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "copy.sqlite")
        for part in (LOG, ""):
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) * bool(part) | getattr(os, "O_NONBLOCK", 0)
            with open(os.open(f"{path}{part}", flags), "rb") as source, open(f"{copy}{part}", "xb") as target:
                if os.fstat(source.fileno()).st_size > shutil.disk_usage(folder).free:
                    raise ResultsError(
                        f"{path}: cannot be read (no room in {tempfile.gettempdir()} for a copy)"
                    )
                shutil.copyfileobj(source, target, 1 << 20)
        yield copy


def _others_write_to(folder: Path) -> bool:
    if not hasattr(os, "geteuid"):
        return False
    found = os.stat(folder)
    return found.st_uid not in (os.geteuid(), 0) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _take(path: Path, name: str) -> bool:
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        check(path, to_write=True)
        return False
    return True


def harden(database: sqlite3.Connection, most_bytes: int) -> None:
    """Let a file run no code: no trusted schema, whole cells, no text or blob above ``most_bytes``."""
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    database.execute("PRAGMA mmap_size = 0")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most_bytes)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for name, value in (("DEFENSIVE", True), ("ENABLE_TRIGGER", False), ("ENABLE_VIEW", False)):
        # Python 3.12 and newer.
        if (setting := getattr(sqlite3, f"SQLITE_DBCONFIG_{name}", None)) is not None:
            database.setconfig(setting, value)  # type: ignore[attr-defined,unused-ignore]
