"""Fits to measurements: recorded losses, recorded packets, recordings of links."""

import sys
import warnings
from types import ModuleType
from typing import Any

from crossfade.api import markov_from_rayleigh
from crossfade.fitting import LinkFit, LinkTrace, MarkovFit, trace
from crossfade.fitting import fit as losses
from crossfade.fitting import fit_link as link
from crossfade.fitting import fit_rayleigh as rayleigh

__all__ = [
    "LinkFit",
    "LinkTrace",
    "MarkovFit",
    "link",
    "losses",
    "markov_from_rayleigh",
    "rayleigh",
    "trace",
]


class _Callable(ModuleType):
    """Type of this module, which can still be called like the function ``crossfade.fit`` of release 0.1
    (deprecated).
    """

    def __call__(self, *arguments: Any, **options: Any) -> MarkovFit:
        warnings.warn(
            "crossfade.fit(...) is crossfade.fit.losses(...) now, and goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return losses(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
