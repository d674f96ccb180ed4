"""Crossfade: cross-layer evaluation of transport protocols over fading wireless links.

>>> import crossfade as cf
>>> results = cf.run("quickstart", methods=["formula"])
>>> results.column("throughput_per_slot").shape
(27,)

Further functions are in modules: ``cf.runs`` (events, samples, captures of single runs), ``cf.pictures``,
``cf.curves`` (crossings, knees, thresholds), ``cf.store`` (results and their files), ``cf.pages`` (report,
explorer), ``cf.live``, ``cf.mesh``, ``cf.papers``, ``cf.suite``, ``cf.fit``, ``cf.teaching``,
``cf.reference`` and ``cf.errors``.
"""

import crossfade.errors  # noqa: F401  # first of all: it ends quietly while the rest is loaded

# isort: split
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crossfade.files.version import version as _version

if TYPE_CHECKING:
    from crossfade import (
        curves,
        errors,
        fit,
        live,
        mesh,
        pages,
        papers,
        pictures,
        reference,
        runs,
        store,
        suite,
    )
    from crossfade import teaching as teaching
    from crossfade.api import Scenario, check, events, explain, run
    from crossfade.comparison.best import best
    from crossfade.comparison.compare import compare
    from crossfade.pictures import plot
    from crossfade.results.datasets import open_results
    from crossfade.sweeps.sweep import sweep

__version__ = _version()

__all__ = [
    "Scenario",
    "__version__",
    "best",
    "check",
    "compare",
    "curves",
    "errors",
    "events",
    "explain",
    "fit",
    "live",
    "mesh",
    "open_results",
    "pages",
    "papers",
    "pictures",
    "plot",
    "reference",
    "run",
    "runs",
    "store",
    "suite",
    "sweep",
    "teaching",
]

MODULES = [
    "curves",
    "errors",
    "fit",
    "live",
    "mesh",
    "pages",
    "papers",
    "pictures",
    "reference",
    "runs",
    "store",
    "suite",
    "teaching",
]
"""The public modules, each loaded when it is asked for."""

_HOMES = {
    "Scenario": "api",
    "best": "comparison.best",
    "check": "api",
    "compare": "comparison.compare",
    "events": "api",
    "explain": "api",
    "open_results": "results.datasets",
    "plot": "pictures",
    "run": "api",
    "sweep": "sweeps.sweep",
}
"""Modules of the public names; each is loaded at first use, since not every command needs it."""

_MOVED = {
    "curves": ["Best", "Comparison", "Knee", "crossings", "knee", "threshold"],
    "errors": [
        *("ClusterError", "CrossfadeError", "CrossfadeWarning", "GoldenError", "ImpossibleResultError"),
        *("OutputError", "ResultsError", "ScenarioError", "TraceError"),
    ],
    "fit": ["LinkFit", "LinkTrace", "MarkovFit", "markov_from_rayleigh", "trace"],
    "live": ["Replayed", "replay"],
    "mesh": ["air_pcap", "reuse"],
    "pages": ["explore", "report"],
    "papers": ["Matrix", "Verdict", "claims", "paper", "readings"],
    "pictures": ["draw", "fold", "plot_cdf", "plot_events"],
    "reference": [
        *("RESULTS_VERSION", "Check", "GoldenCase", "Metric", "cite", "metrics"),
        *("parse_value", "schema", "verify"),
    ],
    "runs": [
        *("delays", "link_events", "opportunities", "pcap", "phy", "samples", "transfers"),
        *("write_events", "write_opportunities", "write_pcap", "write_samples"),
    ],
    "store": ["Cluster", "Estimate", "Interrupted", "Point", "Results", "Table", "export", "merge"],
}
MOVED = {name: f"{module}.{name}" for module, names in _MOVED.items() for name in names} | {
    "fit_link": "fit.link",
    "fit_rayleigh": "fit.rayleigh",
    "journal_events": "live.events",
    "journal_link_events": "live.link_events",
    "journal_opportunities": "live.opportunities",
    "load_results": "store.load",
    "plot_mesh": "mesh.plot",
}
"""Names that stood here until 0.1, with their places today; they go with 0.3."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"crossfade.{name}")
    if name in _HOMES:
        found = getattr(import_module(f"crossfade.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name in MOVED:
        module, _, today = MOVED[name].partition(".")
        warnings.warn(
            f"crossfade.{name} is crossfade.{MOVED[name]} now; the old name goes with 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(import_module(f"crossfade.{module}"), today)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
