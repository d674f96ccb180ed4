"""Results of a run that Ctrl-C stopped."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from crossfade.results.results import Results
from crossfade.tables import Table


class Interrupted(KeyboardInterrupt):
    """A run stopped by Ctrl-C.

    What is finished, ``rows`` runs and solutions, is in ``results`` (and, under the columns that were asked
    for, in ``table``) and, unless switched off, in the cache: the same run once more goes on from there. Both
    are made when they are asked for: of many points that takes longer than whoever stops a run wants to wait.

    Parameters
    ----------
    rows : int
        Number of runs and solutions that are finished.
    results : callable
        Makes the results of what is finished.
    table : callable, optional
        Makes them as a table.
    """

    def __init__(
        self, rows: int, results: Callable[[], Results], table: Callable[[], Table] | None = None
    ) -> None:
        super().__init__("interrupted")
        self.rows = rows
        self._results = results
        self._table = table

    @cached_property
    def results(self) -> Results:
        """The results of what is finished."""
        return self._results()

    @cached_property
    def table(self) -> Table:
        """The finished results as rows and columns."""
        return self.results.table() if self._table is None else self._table()

    def with_table(self, of: Callable[[Results], Table]) -> Interrupted:
        """The finished results with columns that were asked for.

        Parameters
        ----------
        of : callable
            Makes a table of results.

        Returns
        -------
        Interrupted
        """
        return Interrupted(self.rows, lambda: self.results, lambda: of(self.results))
