"""Lines on standard error and data on standard output, without the tables of :mod:`terminal`.

Tables load slowly, and a command that only tells a line, such as a live run, needs none.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from crossfade.errors import one_line, shortened, visible


def say(line: str) -> None:
    """Print a line on standard error."""
    with suppress(OSError):  # a closed standard error cannot report its own failure
        print(one_line(line), file=sys.stderr)


def say_lines(text: str) -> None:
    """Print several lines on standard error."""
    for line in text.splitlines():
        say(line)


def without_long_words(message: str) -> str:
    """Message of the command-line parser with its long words shortened."""
    return " ".join(shortened(word) for word in message.split(" "))


def write_out(text: str) -> None:
    """Write data to standard output: unchanged to a program, without control characters to a terminal."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
