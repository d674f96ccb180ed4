"""What a command never overwrites: its own input, and records (results files with all that belongs to
them, journals of live runs).

Other files that are there are replaced, as every program does.
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
# In the header of a database: https://www.sqlite.org/fileformat2.html, 1.3.
APPLICATION_ID = 0x43465253  # "CFRS"
APPLICATION_ID_AT = 68
# What SQLite keeps beside a database that is in use, and may hold rows that are nowhere else.
PARTS = ("-wal", "-shm", "-journal")
# How such files begin: a write-ahead log (4.1 there), its index in this machine's byte order, a journal (3).
PART_MAGICS = (
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
    struct.pack("=I", 3_007_000),
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
)
# Of a live run, which nobody can repeat (crates/live/src/recording/writer.rs).
JOURNAL_MAGIC = b"crossfade journal "
NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)

Input = str | PathLike[str]
"""A file that a command reads."""


def check_not_kept(path: Path, inputs: tuple[Input, ...] = ()) -> None:
    """Raise ``OutputError`` for a file that is a record or one of the ``inputs``, by whatever name."""
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
    """The name of a file to be made in the folder of ``path``; what is left of it in the end is removed."""
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
    """Give a finished file its name at once, never in place of another one.

    False where there is something of that name by now, or where the disk cannot do it (no hard links).
    Raises ``OutputError`` beside the log of a database that is gone: SQLite would take it for this one's.
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
    """Whether a file is a results file, or a database in use, which may be about to become one."""
    header = begins(path, 100)
    if not header.startswith(SQLITE_MAGIC):
        return False
    if header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4] == APPLICATION_ID.to_bytes(4, "big"):
        return True
    return any(path.with_name(f"{path.name}{part}").exists() for part in PARTS)


def begins(path: Path, size: int) -> bytes:
    """The first bytes of a regular file: to read from a pipe would wait for ever."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with open(path, "rb") as file:
                return file.read(size)
    return b""


def _is_same(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        # A device or a pipe (/dev/null) loses nothing.
        return path.is_file() and path.samefile(other)
    return False
