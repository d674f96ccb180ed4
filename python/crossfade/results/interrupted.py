"""Results of a run that was stopped by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from crossfade.results.results import Results
from crossfade.tables import Table


class Interrupted(KeyboardInterrupt):
    """Results of a run stopped by Ctrl-C.

    The ``rows`` finished runs and solutions are in ``results``, in ``table`` under the requested columns,
    and, unless it is switched off, in the cache, from which a repeated run continues. Results and table are
    made on access, since this may take long for many points.

    Parameters
    ----------
    rows : int
        Number of finished runs and solutions.
    results : callable
        Function that makes the results of the finished runs.
    table : callable, optional
        Function that makes the table of the finished runs.
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
        """Results of the finished runs."""
        return self._results()

    @cached_property
    def table(self) -> Table:
        """Results of the finished runs as rows and columns."""
        return self.results.table() if self._table is None else self._table()

    def with_table(self, of: Callable[[Results], Table]) -> Interrupted:
        """Copy whose table has other columns.

        Parameters
        ----------
        of : callable
            Function that makes a table of results.

        Returns
        -------
        Interrupted
        """
        return Interrupted(self.rows, lambda: self.results, lambda: of(self.results))
