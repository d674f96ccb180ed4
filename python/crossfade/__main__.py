"""``python -m crossfade`` is the command ``crossfade``."""

from crossfade.cli.app import entry

if __name__ == "__main__":
    entry()
