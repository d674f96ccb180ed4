"""Single runs: events, samples over time, transfers, delays, captures; also error rates of frames and
blocks.
"""

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
