"""Entry point of ``python -m crossfade``: a file of its own, because Python requires this name."""

from crossfade.cli.app import entry

if __name__ == "__main__":
    entry()
