"""Crossfade: cross-layer evaluation of transport protocols over fading wireless links.

>>> import crossfade as cf
>>> results = cf.run("quickstart")
>>> results.column("throughput_per_slot")    # doctest: +SKIP
>>> results.plot("throughput.png")           # doctest: +SKIP
"""

import crossfade.errors  # noqa: F401  # first of all: it ends quietly while the rest is loaded

# isort: split
from typing import TYPE_CHECKING, Any

from crossfade._crossfade import RESULTS_VERSION
from crossfade.api import (
    Check,
    GoldenCase,
    Replayed,
    Scenario,
    air_pcap,
    check,
    delays,
    events,
    explain,
    journal_events,
    journal_link_events,
    journal_opportunities,
    link_events,
    markov_from_rayleigh,
    metrics,
    opportunities,
    parse_value,
    pcap,
    phy,
    plot_mesh,
    replay,
    reuse,
    run,
    samples,
    schema,
    transfers,
    verify,
    write_events,
    write_opportunities,
    write_pcap,
    write_samples,
)
from crossfade.comparison.best import Best, best
from crossfade.comparison.compare import Comparison, compare, crossings
from crossfade.comparison.knee import Knee, knee
from crossfade.comparison.threshold import threshold
from crossfade.errors import (
    ClusterError,
    CrossfadeError,
    CrossfadeWarning,
    GoldenError,
    ImpossibleResultError,
    OutputError,
    ResultsError,
    ScenarioError,
    TraceError,
)
from crossfade.explorer.server import explore
from crossfade.files.version import cite
from crossfade.files.version import version as _version
from crossfade.fitting import LinkFit, LinkTrace, MarkovFit, fit, fit_link, fit_rayleigh, trace
from crossfade.papers import Matrix, Verdict, claims, paper, readings
from crossfade.pictures import draw, fold, plot, plot_cdf, plot_events
from crossfade.plans import load_results
from crossfade.reports.page import report
from crossfade.results.datasets import open_results
from crossfade.results.export import export
from crossfade.results.interrupted import Interrupted
from crossfade.results.metrics import Metric
from crossfade.results.results import Estimate, Point, Results
from crossfade.suite.running import SuiteResult, run_suite
from crossfade.sweeps.sweep import merge, sweep
from crossfade.tables import Table

if TYPE_CHECKING:
    from crossfade.sweeps.cluster import Cluster

__version__ = _version()

__all__ = [
    "RESULTS_VERSION",
    "Best",
    "Check",
    "Cluster",
    "ClusterError",
    "Comparison",
    "CrossfadeError",
    "CrossfadeWarning",
    "Estimate",
    "GoldenCase",
    "GoldenError",
    "ImpossibleResultError",
    "Interrupted",
    "Knee",
    "LinkFit",
    "LinkTrace",
    "MarkovFit",
    "Matrix",
    "Metric",
    "OutputError",
    "Point",
    "Replayed",
    "Results",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "SuiteResult",
    "Table",
    "TraceError",
    "Verdict",
    "__version__",
    "air_pcap",
    "best",
    "check",
    "cite",
    "claims",
    "compare",
    "crossings",
    "delays",
    "draw",
    "events",
    "explain",
    "explore",
    "export",
    "fit",
    "fit_link",
    "fit_rayleigh",
    "fold",
    "journal_events",
    "journal_link_events",
    "journal_opportunities",
    "knee",
    "link_events",
    "load_results",
    "markov_from_rayleigh",
    "merge",
    "metrics",
    "open_results",
    "opportunities",
    "paper",
    "parse_value",
    "pcap",
    "phy",
    "plot",
    "plot_cdf",
    "plot_events",
    "plot_mesh",
    "readings",
    "replay",
    "report",
    "reuse",
    "run",
    "run_suite",
    "samples",
    "schema",
    "sweep",
    "threshold",
    "trace",
    "transfers",
    "verify",
    "write_events",
    "write_opportunities",
    "write_pcap",
    "write_samples",
]


def __getattr__(name: str) -> Any:
    if name == "Cluster":  # seldom wanted, and it takes a while to load
        from crossfade.sweeps.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
