"""Exceptions and warnings; ``except cf.errors.CrossfadeError`` catches all exceptions.

Every message is one line that names the key (or file), its value and what is allowed.
"""

from __future__ import annotations

import os.path
import signal
import sys


def _is_command() -> bool:
    """Whether this is the command ``crossfade`` or ``python -m crossfade``, and no program of a user."""
    is_module = sys.argv[0] == "-m" and "crossfade" in sys.orig_argv
    return os.path.basename(sys.argv[0]) == "crossfade" or is_module


# Ctrl-C while all is loaded: there is nobody yet who would take it, and nothing that it could spoil.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import re  # noqa: E402  # the first that takes time
import threading  # noqa: E402

__all__ = [
    "ClusterError",
    "CrossfadeError",
    "CrossfadeWarning",
    "GoldenError",
    "ImpossibleResultError",
    "OutputError",
    "ResultsError",
    "ScenarioError",
    "TraceError",
]

MOST_SHOWN = 200
"""Number of characters of a user's text that a message quotes."""

# What a terminal obeys, or does not show: C0 (but no line feed) and DEL, C1; soft hyphen; Arabic letter mark;
# zero widths, marks and overrides of direction (https://www.unicode.org/reports/tr9/), ends of lines and
# paragraphs; byte order mark; what was no UTF-8 in a name; interlinear marks; tags.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Text in which what would steer a terminal is spelled (``\\x1b``); lines stay lines."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Text as :func:`visible` makes it, with line feeds escaped too."""
    return visible(text).replace("\n", "\\n")


def shortened(text: object) -> str:
    """Text from outside as a message quotes it: at most :data:`MOST_SHOWN` characters of it."""
    shown = str(text)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[: MOST_SHOWN - 3]}..."


def as_bug(said: str) -> str:
    """The line for what must not happen, such as a panic: what it ``said``, and what to do."""
    asked = "please report it with this command and its files"
    return f"a bug in crossfade, not in your input: {shortened(one_line(said))}; {asked}"


class CrossfadeError(Exception):
    """The root of all errors of this package. What its message quotes cannot steer a terminal."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class ScenarioError(CrossfadeError):
    """A scenario, a key of it or an option of a run is wrong."""


class GoldenError(CrossfadeError):
    """A folder of golden traces cannot be read."""


class TraceError(CrossfadeError):
    """A loss trace cannot be read, or holds too little to fit a chain to it."""


class ResultsError(CrossfadeError):
    """A results table cannot be read, or lacks a column that is asked for."""


class ClusterError(CrossfadeError):
    """A cluster cannot be reached, or its workers cannot do the work."""


class ImpossibleResultError(CrossfadeError):
    """A run gave what cannot be, such as a goodput above the link's rate: a bug, and no result."""


class OutputError(CrossfadeError):
    """A file cannot be written."""


class CrossfadeWarning(UserWarning):
    """Something that does not stop a run but that its user should know."""


def outlive_peers() -> None:
    """Make a closed connection or pipe a ``BrokenPipeError``, from now on.

    A command ends quietly when the reader of its output has had enough (SIGPIPE); it must not for a client.
    """
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def all_is_loaded() -> None:
    """Make Ctrl-C a ``KeyboardInterrupt`` again, as is usual in Python."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
