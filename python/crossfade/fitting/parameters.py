"""Parameters of a fitted link: values, intervals and verdicts, and what has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# What a record bounds from above: losses where nothing was lost, the path's delay where a queue always stood.
BOUNDED_ABOVE = ("delay", "loss")
UNITS = {"rate": ("Mbit/s", 1e-6), "delay": ("ms", 1e3), "queue": ("packets", 1.0), "loss": ("%", 100.0)}


@dataclass(frozen=True)
class LinkParameter:
    """A value and its 90 % interval; the verdict is ``identified``, ``bounded`` or ``not identified``."""

    value: float
    low: float
    high: float
    verdict: str


class Fitted(Protocol):
    """Parameters of a link for its scenario."""

    @property
    def source(self) -> str: ...
    @property
    def flow(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def rate(self) -> LinkParameter: ...
    @property
    def delay(self) -> LinkParameter: ...
    @property
    def queue(self) -> LinkParameter: ...
    @property
    def loss(self) -> LinkParameter: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    @property
    def found(self) -> Mapping[str, Any]: ...
    @property
    def parameters(self) -> dict[str, LinkParameter]: ...


def said(name: str, of: LinkParameter, scale: float) -> str:
    """A parameter's value with its interval, or its bound, in words."""
    if of.verdict == "bounded":
        if name in BOUNDED_ABOVE:
            return f"at most {of.high * scale:.4g}"
        return f"at least {of.value * scale:.4g}"
    return f"{of.value * scale:.4g}, {of.low * scale:.4g} to {of.high * scale:.4g}"
