"""Single runs: every event, samples over time, transfers, delays, captures; error rates of frames, blocks."""

from crossfade.api import (
    delays,
    events,
    link_events,
    nr_error_table,
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
    "nr_error_table",
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
