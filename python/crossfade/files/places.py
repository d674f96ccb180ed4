"""The user's cache folder: a file of its own, since results and compiled controls need nothing else here."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """The folder of this user's cache that is ours, or None where the user has no home at all."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG rule: a relative path is to be ignored
        base = os.path.expanduser("~/.cache")
        if not os.path.isabs(base):
            return None
    return Path(base) / "crossfade"
