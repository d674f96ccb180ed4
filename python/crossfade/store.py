"""Results, their files, clusters that compute them: a file of its own, as each public module is one."""

from typing import TYPE_CHECKING, Any

from crossfade.plans import load_results as load
from crossfade.results.export import export
from crossfade.results.interrupted import Interrupted
from crossfade.results.points import Estimate, Point
from crossfade.results.results import Results
from crossfade.sweeps.sweep import merge
from crossfade.tables import Table

if TYPE_CHECKING:
    from crossfade.sweeps.cluster import Cluster

__all__ = ["Cluster", "Estimate", "Interrupted", "Point", "Results", "Table", "export", "load", "merge"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":  # loaded on demand: it is rarely used, and slow to import
        from crossfade.sweeps.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
