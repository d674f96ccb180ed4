"""Papers: their figures and tables computed anew, and verdicts on their claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Unpack

from crossfade.errors import ScenarioError, shortened
from crossfade.papers import mimo_arq, mimo_mac, nr, tcp_markov, tcp_rlp, transports, wipemu
from crossfade.papers.figure import Figure
from crossfade.papers.figures import Figures
from crossfade.papers.matrix import Matrix
from crossfade.papers.options import Options
from crossfade.papers.reading import Reading
from crossfade.papers.verdicts import Verdict
from crossfade.plans.options import RunOptions
from crossfade.results.cache import Cache, open_cache
from crossfade.tables import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Matrix", "Verdict", "claims", "paper", "readings"]


class Paper(Protocol):
    """Interface of the module of a paper."""

    KEY: str
    CITATION: str
    FIGURES: dict[str, Figure]
    SET: Figures

    def table(self, name: str, options: Options) -> Table:
        """Rows of a figure or table of the paper."""
        ...


PAPERS: dict[str, Paper] = {
    module.KEY: module for module in (tcp_markov, wipemu, mimo_mac, tcp_rlp, mimo_arq, transports, nr)
}


def find(key: str) -> Paper:
    """Paper with this key; ``ScenarioError`` names the known keys."""
    if key not in PAPERS:
        raise ScenarioError(f"paper {key}: no such paper (there are: {', '.join(PAPERS)})")
    return PAPERS[key]


def paper(
    key: str,
    name: str,
    *,
    quick: bool = False,
    reading: str | None = None,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> pd.DataFrame:
    """Rows of a paper's figure or table, as ``crossfade paper KEY NAME --csv`` writes them.

    Parameters
    ----------
    key : str
        Key of the paper (``"tcp-markov"``; ``crossfade paper`` lists them).
    name : str
        Name of the figure or table (``"fig2"``).
    quick : bool
        True for shorter runs, for a first look.
    reading : str, optional
        Name of the reading that decides what the paper leaves open (default: that of its figures).
    methods : sequence of str, optional
        Names of methods, in place of those of the figure.
    **options
        Options of :func:`crossfade.run`; ``over`` replaces an axis, named as its column
        (``{"p_e": [0.01, 0.1], "channel": ["iid", 0.08]}``).

    Returns
    -------
    pandas.DataFrame
        A row for each point and method; the paper's page in the documentation has the columns and units.

    Raises
    ------
    ScenarioError
        If there is no such paper, figure or reading, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> table = cf.papers.paper("tcp-markov", "table1")
    >>> float(table["p_gg"].round(6)[0])
    0.999329
    """
    return paper_table(key, name, quick=quick, reading=reading, methods=methods, **options).to_pandas()


def paper_table(
    key: str,
    name: str,
    *,
    quick: bool = False,
    reading: str | None = None,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Result of :func:`paper` as a :class:`Table`."""
    asked = Options.of(RunOptions, options, methods=methods, quick=quick, reading=_reading(key, reading))
    return find(key).table(name, asked)


def claims(
    key: str,
    *,
    quick: bool = False,
    reading: str | None = None,
    only: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> list[Verdict]:
    """Verdicts on a paper's claims, computed from our own results and their intervals.

    Parameters
    ----------
    key : str
        Key of the paper (``"tcp-markov"``; ``crossfade paper`` lists them).
    quick : bool
        True for shorter runs, for a first look.
    reading : str, optional
        Name of the reading that decides what the paper leaves open (default: that of its figures).
    only : sequence of str, optional
        Names of the claims to judge (default: all).
    methods : sequence of str, optional
        Names of methods, in place of those of the figures.
    **options
        Options of :func:`crossfade.run`, without ``over``.

    Returns
    -------
    list of Verdict
        A verdict for each claim, in the order of the paper.

    Raises
    ------
    ScenarioError
        If there is no such paper, claim or reading, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> verdicts = cf.papers.claims("tcp-markov", only=["small-window"])  # doctest: +SKIP
    >>> [verdict.verdict for verdict in verdicts]  # doctest: +SKIP
    ['holds']
    """
    asked = Options.of(RunOptions, options, methods=methods, quick=quick, reading=_reading(key, reading))
    with _one_store(asked) as stored:
        return _judged(key, stored, only)


def readings(
    key: str,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> Matrix:
    """Verdicts on a paper's claims under each of its readings, as in ``crossfade paper KEY --readings``.

    Parameters
    ----------
    key : str
        Key of the paper (``"tcp-rlp"``; ``crossfade paper`` lists them).
    quick : bool
        True for shorter runs, for a first look.
    only : sequence of str, optional
        Names of the claims to judge (default: all).
    methods : sequence of str, optional
        Names of methods, in place of those of the figures.
    **options
        Options of :func:`crossfade.run`, without ``over``.

    Returns
    -------
    Matrix
        Verdicts by the names of the readings.

    Raises
    ------
    ScenarioError
        If there is no such paper or claim, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> matrix = cf.papers.readings("tcp-rlp", quick=True)  # doctest: +SKIP
    >>> matrix.best.name  # doctest: +SKIP
    """
    asked = Options.of(RunOptions, options, methods=methods, quick=quick)
    there = find(key).SET.readings()
    with _one_store(asked) as stored:
        found = {one.name: _judged(key, replace(stored, reading=one), only) for one in there.listed}
    return Matrix(there, found)


def _reading(key: str, name: str | None) -> Reading | None:
    return None if name is None else find(key).SET.readings().find(key, name)


@contextmanager
def _one_store(asked: Options) -> Iterator[Options]:
    """Options with one store of runs for all figures: even without a cache no run is computed twice."""
    if asked.over is not None:
        raise ScenarioError("over: claims are judged at points of their own; cf.papers.paper takes axes")
    with nullcontext(asked.cache) if isinstance(asked.cache, Cache) else open_cache(asked.cache) as store:
        yield replace(asked, cache=store)


def _judged(key: str, options: Options, only: Sequence[str] | None) -> list[Verdict]:
    there = find(key).SET
    names = [claim["id"] for claim in there.listed()]
    for name in only or []:
        if name not in names:
            raise ScenarioError(
                f"claim {name}: no such claim of {key} (there are: {shortened(', '.join(names))})"
            )
    return there.claims(options, only)
