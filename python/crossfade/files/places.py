"""The user's cache folder, in its own module because results and compiled controls share nothing else."""

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
