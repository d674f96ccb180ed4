"""Simulated congestion controls under test, as keys of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crossfade.errors import ScenarioError, shortened

QUIC = "quic"


@dataclass(frozen=True)
class Control:
    """A congestion control in the form of ``--control``.

    ``cubic``, ``bbr-v3``, ``mine.py``, ``mine.py:Class`` and ``mine.rs`` are values of ``tcp.congestion``.
    ``quic:NAME`` is that control with the recovery of RFC 9002 in place of TCP's, ``quic`` is CUBIC with it.
    """

    name: str

    def keys(self, under_test: Sequence[str]) -> dict[str, Any]:
        """Keys of a case that select the control; ``under_test`` are the keys for a congestion control."""
        flavour, colon, congestion = self.name.partition(":")
        if flavour != QUIC:
            return dict.fromkeys(under_test, self.name)
        found: dict[str, Any] = {}
        for key in under_test:
            table = key.rpartition(".")[0]
            found |= {f"{table}.flavour": QUIC, f"{table}.variant": None, f"{table}.rfc": None}
            found[key] = congestion if colon else "cubic"
        if any(key.startswith("flows.") for key in under_test):
            raise ScenarioError(
                f"control {shortened(self.name)}: a flow of its own beside TCP flows takes no flavour quic"
            )
        return found


def read_controls(text: str) -> list[Control]:
    """Controls in the list of ``--control``; :class:`ScenarioError` for an empty or a repeated name."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not name:
            raise ScenarioError(f"control {shortened(repr(text))}: must be names by commas, as cubic,mine.rs")
        if names.count(name) > 1:
            raise ScenarioError(f"control {shortened(name)}: stands twice")
    return [Control(name) for name in names]
