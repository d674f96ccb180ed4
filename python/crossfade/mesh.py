"""Meshes and what a radio would hear of them: a file of its own, as public modules are."""

from crossfade.api import air_pcap, reuse
from crossfade.api import plot_mesh as plot

__all__ = ["air_pcap", "plot", "reuse"]
