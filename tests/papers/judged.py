"""Some claims of a paper judged, without the others, which may take minutes."""

from __future__ import annotations

import crossfade as cf
from crossfade.papers.verdicts import Verdict


def quickly_judged(key: str, *claims: str) -> dict[str, Verdict]:
    """The verdicts on these claims (on all where none is named), as ``--quick`` has them."""
    return {verdict.claim: verdict for verdict in cf.papers.claims(key, quick=True, only=claims or None)}
