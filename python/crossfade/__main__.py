"""Entry point of ``python -m crossfade``, the same program as the command ``crossfade``."""

from crossfade.cli.app import entry

if __name__ == "__main__":
    entry()
