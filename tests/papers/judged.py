"""Verdicts on selected claims of a paper, without the claims that take minutes."""

from __future__ import annotations

from typing import Any

import crossfade as cf
from crossfade.papers.verdicts import Verdict


def quickly_judged(key: str, *claims: str, **options: Any) -> dict[str, Verdict]:
    """Verdicts on these claims (all without names), as ``crossfade paper --quick`` computes them with these
    options of a run.
    """
    found = cf.papers.claims(key, quick=True, only=claims or None, **options)
    return {verdict.claim: verdict for verdict in found}
