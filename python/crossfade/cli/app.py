"""Entry point of the command ``crossfade``, a thin layer over the functions of :mod:`crossfade`.

Exit codes: 0 done, 1 a comparison failed, 2 bad input or a bug of this program (with one line on standard
error), 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, TextIO

import typer

import crossfade._crossfade as _crossfade
from crossfade.cli import completion, messages
from crossfade.cli.commands import Group
from crossfade.errors import CrossfadeError, CrossfadeWarning, all_is_loaded, as_bug, shortened, visible
from crossfade.files import shipped_scenarios, version

app = typer.Typer(
    name="crossfade", cls=Group, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"crossfade {version.version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def crossfade(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Cross-layer evaluation of transport protocols over fading wireless links.

    \b
    crossfade run quickstart                   three TCPs over a slowly fading link, in seconds
    crossfade run quickstart --plot out.png    as a figure
    crossfade sweep quickstart --runs 100      results file for plot, report, export, compare and best
    crossfade paper tcp-markov fig2            a figure of a paper, computed anew
    crossfade explore                          a page with sliders, served to this machine alone
    crossfade COMMAND --help                   options of a command, with examples
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@cache
def _command() -> Callable[..., object]:
    """The command with all its subcommands, made once per process."""
    return typer.main.get_command(app)


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Print each warning of this package once, as one line, inside the context."""

    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, CrossfadeWarning):
            from crossfade.cli import terminal

            terminal.print_warnings([str(message)])
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("once", CrossfadeWarning)
        warnings.showwarning = show
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (None: that of the process) and return its exit code."""
    _crossfade.keep_panics()
    completion.begin()
    try:
        with _shown_warnings():
            code = _command()(args=arguments, prog_name="crossfade", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CrossfadeError as error:
        return _fail(str(error))
    except typer.TyperException as error:  # an unknown command or option, a value of the wrong kind
        # An error about a value out of a list has one line for each possible value.
        said = re.sub(r"[\n\t]+", " ", error.format_message())
        return _fail(messages.without_long_words(said) + _meant(error))
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except _crossfade.PanicException as panic:
        return _fail(as_bug(_crossfade.panic_said() or str(panic)))
    except MemoryError:
        return _fail("there is not enough memory; fewer points, runs or jobs take less")


def _meant(error: typer.TyperException) -> str:
    """Hint for a user who gave a scenario in place of a command; empty if it is none."""
    found = re.fullmatch(r"No such command '(.*)'\.", error.format_message())
    if found is None:
        return ""
    is_scenario = found[1].removesuffix(".toml") in shipped_scenarios() or os.path.isfile(found[1])
    return f" It is a scenario: crossfade run {shortened(found[1])}" if is_scenario else ""


def _fail(message: str) -> int:
    messages.say(f"error: {' '.join(visible(message).split())}")
    return 2


def _open_standard_streams() -> None:
    """Replace standard streams that the shell has closed (``2>&-``) by the null device.

    Otherwise the next opened file, a database or a device, gets the stream's number, and messages are written
    into it. Python would also print error messages to standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, that is ``number``
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _has_folder() -> bool:
    """True if the working directory of this process still exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def entry() -> None:
    """Entry point of the process ``crossfade``."""
    _open_standard_streams()
    all_is_loaded()
    if hasattr(signal, "SIGPIPE"):  # end quietly if the reader of a pipe has closed it
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an encoding without "±" prints "?" in place of an error
            stream.reconfigure(errors="replace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # SIGPIPE is ignored since outlive_peers
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    except OSError as reason:
        # Another cause: standard output is a file on a full disk.
        lost = "the working folder was deleted: change to one that is there"
        code = _fail(f"standard output: cannot be written ({reason.strerror})" if _has_folder() else lost)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # unwritten text would fail again at exit
    sys.exit(code)
