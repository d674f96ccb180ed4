"""What can go wrong, as a small tree: ``except cf.CrossfadeError`` catches all of it.

Every message is one line that names the key (or file), its value and what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossfade.results import Results
    from crossfade.tables import Table


class CrossfadeError(Exception):
    """The root of all errors of this package."""


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


class OutputError(CrossfadeError):
    """A file cannot be written."""


class CrossfadeWarning(UserWarning):
    """Something that does not stop a run but that its user should know."""


class Interrupted(KeyboardInterrupt):
    """A run stopped by Ctrl-C.

    What is finished is in ``results`` (and, under the columns that were asked for, in ``table``) and, unless
    switched off, in the cache: the same run once more goes on from there.
    """

    def __init__(self, results: Results, table: Table | None = None) -> None:
        super().__init__("interrupted")
        self.results = results
        self.table = table or results.table()
