"""Spatial reuse in meshes, and captures of frames on the air: a file of its own, as each public module is
one.
"""

from crossfade.api import air_pcap, reuse
from crossfade.api import plot_mesh as plot

__all__ = ["air_pcap", "plot", "reuse"]
