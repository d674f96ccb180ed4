"""Outputs of commands: files, printed results, and the message after Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from crossfade.cli import messages, terminal
from crossfade.cli.groups import Asked
from crossfade.errors import ResultsError, ScenarioError
from crossfade.figures.style import check_plot_file
from crossfade.files import check_outputs, inputs_of, write_text
from crossfade.results.interrupted import Interrupted
from crossfade.tables import Table

if TYPE_CHECKING:
    from rich.console import Console

# Largest number of rows printed after Ctrl-C; more would take too long to print.
MOST_ROWS_SHOWN = 1000


class _Found(Protocol):
    def to_json(self) -> str: ...


class Outputs:
    """Output files and printed results of a command; the files are checked before any run.

    An output file may not be an input: a scenario or results file, or a file that a scenario or option names.
    """

    def __init__(
        self,
        asked: Asked,
        source: str | None = None,
        *,
        csv: str | None,
        plot: Path | None = None,
        json: bool = False,
        others: Iterable[Path | None] = (),
    ) -> None:
        inputs = inputs_of(source, asked.keys, asked.axes)
        if json and csv == "-":
            raise ScenarioError("--json and --csv -: both want standard output")
        if plot is not None:
            check_plot_file(plot)
        check_outputs([None if csv in (None, "-") else Path(str(csv)), plot, *others], *inputs)
        self._asked = asked
        self._csv = csv
        self._plot = plot
        self._json = json
        self.on_stdout = json or csv == "-"

    @property
    def console(self) -> Console:
        """Console for tables: standard output, or standard error if standard output has data."""
        return terminal.console(stderr=self.on_stdout)

    def print(self, table: Callable[[Console], object], found: _Found | None = None) -> None:
        """Print results as JSON or as a table; no table under ``--quiet`` or with data on standard output."""
        if self._json and found is not None:
            messages.write_out(found.to_json() + "\n")
        elif not (self._asked.quiet or self.on_stdout):
            table(terminal.console())

    def draw(self, how: Callable[[Path], object]) -> None:
        """Draw the figure of ``--plot``, if requested."""
        if self._plot is not None:
            how(self._plot)
            messages.say(f"wrote {self._plot}")

    def write(self, table: Table) -> None:
        """Write the table of ``--csv``, if requested."""
        if self._csv == "-":
            messages.write_out(table.to_csv())
        elif self._csv is not None:
            write_text(Path(self._csv), table.to_csv())
            messages.say(f"wrote {self._csv}")


def beside(results: Path, suffix: str) -> Path:
    """Default name of a file made from ``results``: the same name with another ending."""
    if not results.name:
        raise ResultsError(f"{results}: cannot be read (a folder)")
    return results.with_suffix(suffix)


@contextmanager
def telling_what_is_left(kept: bool, show: Callable[[Interrupted], object] | None = None) -> Iterator[None]:
    """After Ctrl-C, show small results, tell what is kept, and exit with code 130.

    ``kept`` is true if finished runs are in the cache or a results file.
    """
    try:
        yield
    except Interrupted as error:
        if error.rows > MOST_ROWS_SHOWN:
            messages.say(f"{error.rows:,} runs and solutions are finished")
        else:
            if show is not None:
                show(error)
            terminal.print_warnings(error.results.warnings)
        rest = "finished runs are kept: the same command goes on from there"
        messages.say(f"interrupted: {rest if kept else 'nothing is kept (--no-cache)'}")
        raise typer.Exit(130) from None
