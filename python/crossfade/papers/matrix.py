"""Verdicts on every claim of a paper under each of its readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossfade.papers.reading import Reading, Readings
from crossfade.papers.verdicts import WORDS, Verdict, Word
from crossfade.tables import Cell, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Matrix:
    """Verdicts on a paper's claims under each of its readings.

    Attributes
    ----------
    readings : Readings
        Readings of the paper.
    verdicts : mapping of str to sequence of Verdict
        Verdicts on the same claims, by the name of the reading.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.papers.readings("tcp-rlp", quick=True).table()  # doctest: +SKIP
    """

    readings: Readings
    verdicts: Mapping[str, Sequence[Verdict]]

    def score(self, reading: str) -> dict[Word, int]:
        """Number of claims by verdict under a reading.

        Parameters
        ----------
        reading : str
            Name of the reading.

        Returns
        -------
        dict of str to int
            Number of claims with each verdict.
        """
        found = Counter(verdict.verdict for verdict in self.verdicts[reading])
        return {word: found[word] for word in WORDS}

    def score_words(self, reading: str) -> str:
        """Score as text: numbers of claims that hold, hold partly and do not hold, and of other verdicts.

        Parameters
        ----------
        reading : str
            Name of the reading.

        Returns
        -------
        str
            Line of text.
        """
        score = self.score(reading)
        told = f"{score['holds']} hold, {score['holds partly']} partly, {score['does not hold']} not"
        others = [f"{count} {word}" for word, count in list(score.items())[3:] if count]
        return ", ".join([told, *others])

    @property
    def best(self) -> Reading:
        """Reading under which most claims hold; among equals the one with the fewest failing claims."""

        def rank(reading: Reading) -> tuple[int, int]:
            score = self.score(reading.name)
            return score["holds"], -score["does not hold"]

        return max((one for one in self.readings.listed if one.name in self.verdicts), key=rank)

    @property
    def words(self) -> str:
        """Line about the best reading, its score, and the number of readings that were tried."""
        best, tried = self.best, self.readings.tried
        how = f" ({self.readings.how})" if self.readings.how else ""
        return f"best single reading: {best.name} of {tried} tried{how}: {self.score_words(best.name)}"

    def table(self) -> pd.DataFrame:
        """Table with a row for each claim and a column for each reading; the last row has the scores.

        Returns
        -------
        pandas.DataFrame
            Columns ``claim``, ``figure``, and the names of the readings.
        """
        return matrix_table(self).to_pandas()


def matrix_table(matrix: Matrix) -> Table:
    """Result of :meth:`Matrix.table` as a :class:`Table`."""
    names = list(matrix.verdicts)
    rows: list[dict[str, Cell]] = []
    for judged in zip(*matrix.verdicts.values(), strict=True):
        cells = {name: cell(verdict) for name, verdict in zip(names, judged, strict=True)}
        rows.append({"claim": judged[0].claim, "figure": judged[0].figure, **cells})
    rows.append({"claim": "score", **{name: matrix.score_words(name) for name in names}})
    return Table.of(["claim", "figure", *names], rows)


def cell(verdict: Verdict) -> str:
    """Verdict with its points: ``holds (12 of 12)``."""
    if not verdict.outcomes:
        return verdict.verdict
    return f"{verdict.verdict} ({verdict.holding} of {verdict.points})"
