"""What a run that Ctrl-C stopped leaves."""

from __future__ import annotations

from crossfade.results.results import Results
from crossfade.tables import Table


class Interrupted(KeyboardInterrupt):
    """A run stopped by Ctrl-C.

    What is finished is in ``results`` (and, under the columns that were asked for, in ``table``) and, unless
    switched off, in the cache: the same run once more goes on from there.
    """

    def __init__(self, results: Results, table: Table | None = None) -> None:
        super().__init__("interrupted")
        self.results = results
        self.table = table or results.table()
