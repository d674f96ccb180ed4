"""Files that a command never overwrites: its own inputs, and records.

Records are results files with their SQLite companion files, and journals of live runs. Other existing files
are replaced.
"""

from __future__ import annotations

import errno
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from crossfade.errors import OutputError

SQLITE_MAGIC = b"SQLite format 3\0"
# Application id of a results file in the header of its database: https://www.sqlite.org/fileformat2.html,
# 1.3.
APPLICATION_ID = 0x43465253  # "CFRS"
APPLICATION_ID_AT = 68
# Suffixes of the files that SQLite keeps beside a database in use, which may hold rows that are nowhere else.
PARTS = ("-wal", "-shm", "-journal")
# First bytes of these files: a write-ahead log (section 4.1 there), its index in this machine's byte order, a
# rollback journal (section 3).
PART_MAGICS = (
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
    struct.pack("=I", 3_007_000),
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
)
# First bytes of the journal of a live run, which cannot be repeated (crates/live/src/recording/writer.rs).
JOURNAL_MAGIC = b"crossfade journal "
NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)

Input = str | PathLike[str]
"""A file that a command reads."""


def check_not_kept(path: Path, inputs: tuple[Input, ...] = ()) -> None:
    """Raise ``OutputError`` for a file that is a record or one of the ``inputs``, under whatever name."""
    for given in inputs:
        if _is_same(path, Path(given)):
            raise OutputError(f"{path}: not overwritten (it is the input)")
    for name in dict.fromkeys([path, Path(os.path.realpath(path))]):
        if is_results(name):
            raise OutputError(f"{path}: not overwritten (it is a results file)")
        for part in PARTS:
            whole = name.with_name(name.name.removesuffix(part))
            if whole != name and is_results(whole):
                raise OutputError(f"{path}: not overwritten (it belongs to the results file {whole})")
    if begins(path, max(map(len, PART_MAGICS))).startswith(PART_MAGICS):
        raise OutputError(f"{path}: not overwritten (it belongs to a database)")
    if begins(path, len(JOURNAL_MAGIC)) == JOURNAL_MAGIC:
        raise OutputError(f"{path}: not overwritten (it is the journal of a live run)")


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Context with the name of a temporary file in the folder of ``path``; what is left of it is removed at
    the end.
    """
    try:
        folder = tempfile.TemporaryDirectory(
            prefix=".crossfade-", dir=path.parent, ignore_cleanup_errors=True
        )
    except (OSError, ValueError) as reason:
        raise OutputError(f"{path}: cannot be written ({getattr(reason, 'strerror', reason)})") from None
    with folder as name:
        file = Path(name, path.name)
        try:
            yield file
        except OutputError as error:
            raise OutputError(str(error).replace(str(file), str(path))) from None


def publish(file: Path, path: Path) -> bool:
    """Give a finished file its final name atomically, never in place of an existing file.

    False if a file of that name exists by now, or the file system has no hard links. Raises ``OutputError``
    if the log of a missing database lies there, since SQLite would take it for the log of this file.
    """
    for part in PARTS:
        if os.path.lexists(f"{path}{part}") and not os.path.lexists(path):
            raise OutputError(f"{path}: cannot be written ({path.name}{part} is left of another database)")
    try:
        os.link(file, path)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError) as reason:
        if getattr(reason, "errno", errno.ENOSYS) in NO_HARD_LINKS:
            return False
        raise OutputError(f"{path}: cannot be written ({getattr(reason, 'strerror', reason)})") from None
    with suppress(OSError):
        file.unlink()
    return True


def is_results(path: Path) -> bool:
    """True if a file is a results file, or a database in use that may be about to become one."""
    header = begins(path, 100)
    if not header.startswith(SQLITE_MAGIC):
        return False
    if header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4] == APPLICATION_ID.to_bytes(4, "big"):
        return True
    return any(path.with_name(f"{path.name}{part}").exists() for part in PARTS)


def begins(path: Path, size: int) -> bytes:
    """First bytes of a regular file; empty for others, since reading a pipe could block for ever."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with open(path, "rb") as file:
                return file.read(size)
    return b""


def _is_same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        # Only regular files count: a device or a pipe (/dev/null) loses no content.
        return path.is_file() and path.samefile(other)
    return False
