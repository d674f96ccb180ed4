"""Mesh networks: spatial reuse, a map, and captures of the frames on the air."""

from crossfade.api import air_pcap, reuse
from crossfade.api import plot_mesh as plot

__all__ = ["air_pcap", "plot", "reuse"]
