"""Verdicts on selected claims of a paper, without the claims that take minutes."""

from __future__ import annotations

import crossfade as cf
from crossfade.papers.verdicts import Verdict


def quickly_judged(key: str, *claims: str) -> dict[str, Verdict]:
    """Verdicts on these claims (all without names), as ``crossfade paper --quick`` computes them."""
    return {verdict.claim: verdict for verdict in cf.papers.claims(key, quick=True, only=claims or None)}
