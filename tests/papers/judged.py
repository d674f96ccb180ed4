"""Some claims of a paper judged, without the others, which may take minutes."""

from __future__ import annotations

import crossfade as cf
from crossfade.papers import PAPERS, verdicts
from crossfade.papers.verdicts import Verdict
from crossfade.results.cache import open_cache


def quickly_judged(key: str, *claims: str) -> dict[str, Verdict]:
    """The verdicts on these claims (on all where none is named), as ``--quick`` has them."""
    if not claims:
        return {verdict.claim: verdict for verdict in cf.claims(key, quick=True)}
    figures = PAPERS[key]._FIGURES  # type: ignore[attr-defined]
    listed = {claim["id"]: claim for claim in figures.listed()}
    with open_cache(True) as store:
        options = cf.papers.Options(quick=True, cache=store)
        return {
            claim: verdicts.judge(listed[claim], lambda check: figures._outcomes(check, options))
            for claim in claims
        }
