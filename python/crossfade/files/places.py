"""The user's cache folder: a file of its own, since results and compiled controls both use it."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Crossfade's folder in this user's cache (XDG base directories); None if the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # XDG: a relative path is to be ignored
        base = os.path.expanduser("~/.cache")
        if not os.path.isabs(base):
            return None
    return Path(base) / "crossfade"
