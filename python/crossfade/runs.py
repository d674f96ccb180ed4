"""Single runs: every event, samples over time, transfers, delays, packet captures; error rates of frames."""

from crossfade.api import (
    delays,
    events,
    link_events,
    opportunities,
    pcap,
    phy,
    samples,
    transfers,
    write_air_pcap,
    write_events,
    write_opportunities,
    write_pcap,
    write_samples,
)

__all__ = [
    "delays",
    "events",
    "link_events",
    "opportunities",
    "pcap",
    "phy",
    "samples",
    "transfers",
    "write_air_pcap",
    "write_events",
    "write_opportunities",
    "write_pcap",
    "write_samples",
]
