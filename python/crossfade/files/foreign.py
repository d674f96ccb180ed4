"""Checks for other users' symbolic links and pipes on the path of an output, in folders that others can
write.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from crossfade.errors import OutputError, shortened

MOST_LINKS = 40
"""Largest number of symbolic links on a path, as in Linux."""


def check_own_way(path: Path) -> None:
    """Raise :class:`OutputError` if another user's link is on the path of an output, or the output is another
    user's pipe or device.

    In a folder that others can write, a link is followed only if it belongs to the user or to the owner of
    the folder. This is Linux's rule for sticky folders (``fs.protected_symlinks``), which does not protect
    programs that rename their output into place; here it also holds in folders without the sticky bit.
    """
    if not hasattr(os, "geteuid"):
        return
    way, left = Path(os.sep), _parts(os.path.abspath(path))
    links = 0
    while left:
        part = left.pop()
        if part == "..":
            way = way.parent
            continue
        here = way / part
        try:
            found = os.lstat(here)
        except (OSError, ValueError):
            return  # a missing file is reported when it is opened
        if stat.S_ISLNK(found.st_mode):
            _refuse(path, here, found, way, "link")
            links += 1
            if links > MOST_LINKS:
                return
            target = os.readlink(here)
            way = Path(os.sep) if os.path.isabs(target) else way
            left += _parts(target)
            continue
        if not left and not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            _refuse(path, here, found, way, "pipe or device")
        way = here


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split(os.sep)) if part not in ("", ".")]


def _refuse(path: Path, here: Path, found: os.stat_result, folder: Path, what: str) -> None:
    above = os.stat(folder)
    others_write = above.st_mode & (stat.S_IWOTH | stat.S_IWGRP)
    if others_write and found.st_uid not in (os.geteuid(), above.st_uid):
        raise OutputError(
            f"{shortened(path)}: not written ({shortened(here)} is another user's {what} in a folder where "
            "others may make files)"
        )
