"""``python -m crossfade`` is the command: a file of its own, since Python asks for one of this name."""

from crossfade.cli.app import entry

if __name__ == "__main__":
    entry()
