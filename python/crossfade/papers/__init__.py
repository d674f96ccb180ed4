"""The papers: every figure and table as ours, and every sentence that states a result with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol, Unpack

from crossfade.errors import ScenarioError
from crossfade.papers import mimo_arq, mimo_mac, tcp_markov, tcp_rlp, transports, wipemu
from crossfade.papers.figure import Figure
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome, Verdict, verdict_table
from crossfade.plans.options import RunOptions
from crossfade.results.cache import Cache, open_cache
from crossfade.tables import Table

__all__ = ["PAPERS", "Options", "Outcome", "Paper", "Verdict", "claims", "find", "paper", "verdict_table"]


class Paper(Protocol):
    """What the module of a paper offers."""

    KEY: str
    CITATION: str
    FIGURES: dict[str, Figure]

    def table(self, name: str, options: Options) -> Table:
        """The rows of a figure or table."""
        ...

    def claims(self, options: Options) -> list[Verdict]:
        """The verdicts on the paper's claims."""
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
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """The rows of a paper's figure or table, as ``crossfade paper KEY NAME --csv`` writes them.

    ``quick`` makes runs shorter, for a first look; ``over`` replaces an axis, named as its column
    (``{"p_e": [0.01, 0.1], "channel": ["iid", 0.08]}``). The rest is as in :func:`crossfade.run`.

    >>> import crossfade as cf
    >>> table = cf.paper("tcp-markov", "table1")
    >>> float(round(table.column("p_gg")[0], 6))
    0.999329
    """
    return find(key).table(name, Options.of(RunOptions, options, methods=methods, quick=quick))


def claims(
    key: str,
    *,
    quick: bool = False,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> list[Verdict]:
    """The verdicts on a paper's claims, each computed from our own results and their intervals."""
    if options.get("over") is not None:
        raise ScenarioError("over: claims are judged at points of their own; cf.paper takes axes")
    asked = Options.of(RunOptions, options, methods=methods, quick=quick)
    # One store for all figures: with the cache off, runs that several claims need are still computed once.
    with nullcontext(asked.cache) if isinstance(asked.cache, Cache) else open_cache(asked.cache) as store:
        return find(key).claims(replace(asked, cache=store))
