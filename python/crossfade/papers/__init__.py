"""The papers: every figure and table as ours, and every sentence that states a result with its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Protocol, Unpack

from crossfade.errors import ScenarioError
from crossfade.papers import mimo_arq, mimo_mac, tcp_markov, tcp_rlp, transports, wipemu
from crossfade.papers.figure import Figure
from crossfade.papers.figures import Figures
from crossfade.papers.matrix import Matrix
from crossfade.papers.options import Options
from crossfade.papers.reading import Reading
from crossfade.papers.verdicts import Outcome, Verdict, verdict_table
from crossfade.plans import RunOptions
from crossfade.results.cache import Cache, open_cache
from crossfade.tables import Table

__all__ = [
    "PAPERS",
    "Matrix",
    "Options",
    "Outcome",
    "Paper",
    "Reading",
    "Verdict",
    "claims",
    "find",
    "paper",
    "readings",
    "verdict_table",
]


class Paper(Protocol):
    """What the module of a paper offers."""

    KEY: str
    CITATION: str
    FIGURES: dict[str, Figure]
    SET: Figures

    def table(self, name: str, options: Options) -> Table:
        """The rows of a figure or table."""
        ...


PAPERS: dict[str, Paper] = {
    module.KEY: module for module in (tcp_markov, wipemu, mimo_mac, tcp_rlp, mimo_arq, transports)
}


def find(key: str) -> Paper:
    """The paper of a key; ``ScenarioError`` names the keys there are."""
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
) -> Table:
    """The rows of a paper's figure or table, as ``crossfade paper KEY NAME --csv`` writes them.

    ``quick`` makes runs shorter, for a first look; ``reading`` decides what the paper leaves open as the
    reading of that name does; ``over`` replaces an axis, named as its column
    (``{"p_e": [0.01, 0.1], "channel": ["iid", 0.08]}``). The rest is as in :func:`crossfade.run`.

    >>> import crossfade as cf
    >>> table = cf.paper("tcp-markov", "table1")
    >>> float(round(table.column("p_gg")[0], 6))
    0.999329
    """
    asked = Options(methods=methods, quick=quick, reading=_reading(key, reading), **options)
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
    """The verdicts on a paper's claims, each computed from our own results and their intervals.

    All are of one ``reading`` of what the paper leaves open, that of its figures unless another is named;
    ``only`` names the claims to judge.
    """
    asked = Options(methods=methods, quick=quick, reading=_reading(key, reading), **options)
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
    """The verdicts on a paper's claims under each of its readings, as ``crossfade paper KEY --readings``."""
    asked = Options(methods=methods, quick=quick, **options)
    there = find(key).SET.readings()
    with _one_store(asked) as stored:
        found = {one.name: _judged(key, replace(stored, reading=one), only) for one in there.listed}
    return Matrix(there, found)


def _reading(key: str, name: str | None) -> Reading | None:
    return None if name is None else find(key).SET.readings().find(key, name)


@contextmanager
def _one_store(asked: Options) -> Iterator[Options]:
    """One store for all figures: with the cache off, runs that several claims need are computed once."""
    if asked.over is not None:
        raise ScenarioError("over: claims are judged at points of their own; cf.paper takes axes")
    with nullcontext(asked.cache) if isinstance(asked.cache, Cache) else open_cache(asked.cache) as store:
        yield replace(asked, cache=store)


def _judged(key: str, options: Options, only: Sequence[str] | None) -> list[Verdict]:
    there = find(key).SET
    names = [claim["id"] for claim in there.listed()]
    for name in only or []:
        if name not in names:
            raise ScenarioError(f"claim {name}: no such claim of {key} (there are: {', '.join(names)})")
    return there.claims(options, only)
