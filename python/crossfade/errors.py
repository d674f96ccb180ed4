"""Exceptions and warnings; ``except cf.errors.CrossfadeError`` catches all exceptions.

Every message is one line that names the key (or file), its value and the allowed values.
"""

from __future__ import annotations

import os.path
import signal
import sys


def _is_command() -> bool:
    """True if this process is the command ``crossfade`` or ``python -m crossfade``, not a user's program."""
    is_module = sys.argv[0] == "-m" and "crossfade" in sys.orig_argv
    return os.path.basename(sys.argv[0]) == "crossfade" or is_module


# While modules load, Ctrl-C ends the command at once: no handler exists yet, and no work can be lost.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import re  # noqa: E402  # the first slow import
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

# Characters that control a terminal or are invisible: C0 (except line feed) and DEL, C1; soft hyphen; Arabic
# letter mark; zero-width characters, marks and overrides of direction (https://www.unicode.org/reports/tr9/),
# line and paragraph separators; byte order mark; surrogates, which stand for bytes of a name that are not
# UTF-8; interlinear marks; tags.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Text with characters that could control a terminal written as escapes (``\\x1b``); line feeds stay."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Text on one line: control characters and line feeds are written as escapes, as in :func:`visible`."""
    return visible(text).replace("\n", "\\n")


def shortened(text: object) -> str:
    """A user's text as a message quotes it: at most its first :data:`MOST_SHOWN` characters."""
    shown = str(text)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[: MOST_SHOWN - 3]}..."


def as_bug(said: str) -> str:
    """One-line message for an internal error such as a panic, with the request to report it; ``said`` is the
    panic's message.
    """
    asked = "please report it with this command and its files"
    return f"a bug in crossfade, not in your input: {shortened(one_line(said))}; {asked}"


class CrossfadeError(Exception):
    """Base class of all errors of this package. Text quoted in a message cannot control a terminal."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class ScenarioError(CrossfadeError):
    """Error for a scenario, a key of it or an option of a run that is wrong."""


class GoldenError(CrossfadeError):
    """Error for a folder of golden data that cannot be read."""


class TraceError(CrossfadeError):
    """Error for a loss trace that cannot be read, or is too short to fit a Markov chain."""


class ResultsError(CrossfadeError):
    """Error for a results table that cannot be read, or lacks a requested column."""


class ClusterError(CrossfadeError):
    """Error for a cluster that cannot be reached, or whose workers cannot do the work."""


class ImpossibleResultError(CrossfadeError):
    """Error for a run with an impossible result, such as a goodput above the link's rate: a bug."""


class OutputError(CrossfadeError):
    """Error for a file that cannot be written."""


class CrossfadeWarning(UserWarning):
    """Warning that does not stop a run, about something that the user should know."""


def outlive_peers() -> None:
    """Ignore SIGPIPE from now on: writing to a closed connection or pipe raises ``BrokenPipeError``.

    By default SIGPIPE ends a command quietly when the reader of its output closes; a closed client connection
    must not end a server.
    """
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def all_is_loaded() -> None:
    """Make Ctrl-C raise ``KeyboardInterrupt`` again, as usual in Python, once all modules are loaded."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
