"""Parameters of a fitted link (value, interval, verdict), and the protocol of a fit that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# Parameters whose verdict ``bounded`` means an upper bound: the loss if nothing was lost, and the base delay
# if the queue was never empty. Other bounds are lower bounds.
BOUNDED_ABOVE = ("delay", "loss")
UNITS = {"rate": ("Mbit/s", 1e-6), "delay": ("ms", 1e3), "queue": ("packets", 1.0), "loss": ("%", 100.0)}


@dataclass(frozen=True)
class LinkParameter:
    """Estimate of a parameter of a fitted link, and the ends ``low`` and ``high`` of its 90 % interval.

    ``verdict`` is ``identified``, ``bounded`` (the record shows only a bound) or ``not identified``. The unit
    is bit/s for the rate, s for the delay, packets for the queue limit, and 1 for the loss probability.
    """

    value: float
    low: float
    high: float
    verdict: str


class Fitted(Protocol):
    """Protocol of a fitted link: the parameters and findings from which its scenario is written."""

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
    """Text with the value and interval of the parameter ``name``, or with its upper or lower bound.

    Numbers are multiplied by ``scale``, the factor to the unit that is shown.
    """
    if of.verdict == "bounded":
        if name in BOUNDED_ABOVE:
            return f"at most {of.high * scale:.4g}"
        return f"at least {of.value * scale:.4g}"
    return f"{of.value * scale:.4g}, {of.low * scale:.4g} to {of.high * scale:.4g}"
