"""Crossfade: cross-layer evaluation of transport protocols over fading wireless links.

>>> import crossfade as cf
>>> results = cf.run("quickstart")
>>> results.column("throughput_per_slot")    # doctest: +SKIP
>>> results.plot("throughput.png")           # doctest: +SKIP
"""

from crossfade._crossfade import RESULTS_VERSION, __version__
from crossfade.api import (
    Check,
    GoldenCase,
    check,
    events,
    explain,
    markov_from_rayleigh,
    parse_value,
    pcap,
    plot,
    run,
    schema,
    verify,
)
from crossfade.best import Best, best
from crossfade.comparing import Comparison, compare, crossings
from crossfade.datasets import load_results, open_results
from crossfade.errors import (
    CrossfadeError,
    CrossfadeWarning,
    GoldenError,
    Interrupted,
    OutputError,
    ResultsError,
    ScenarioError,
    TraceError,
)
from crossfade.exporting import export
from crossfade.fitting import MarkovFit, fit, fit_rayleigh
from crossfade.htmlreport import report
from crossfade.papers import Verdict, claims, paper
from crossfade.results import Estimate, Point, Results
from crossfade.sweeps import merge, sweep
from crossfade.tables import Table
from crossfade.threshold import threshold

__all__ = [
    "RESULTS_VERSION",
    "Best",
    "Check",
    "Comparison",
    "CrossfadeError",
    "CrossfadeWarning",
    "Estimate",
    "GoldenCase",
    "GoldenError",
    "Interrupted",
    "MarkovFit",
    "OutputError",
    "Point",
    "Results",
    "ResultsError",
    "ScenarioError",
    "Table",
    "TraceError",
    "Verdict",
    "__version__",
    "best",
    "check",
    "claims",
    "compare",
    "crossings",
    "events",
    "explain",
    "export",
    "fit",
    "fit_rayleigh",
    "load_results",
    "markov_from_rayleigh",
    "merge",
    "open_results",
    "paper",
    "parse_value",
    "pcap",
    "plot",
    "report",
    "run",
    "schema",
    "sweep",
    "threshold",
    "verify",
]
