"""``python -m crossfade`` is the command ``crossfade``."""

from crossfade.cli import entry

if __name__ == "__main__":
    entry()
