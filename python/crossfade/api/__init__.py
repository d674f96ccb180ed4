"""The functions of ``import crossfade as cf``; the command line is a thin layer over them."""

from crossfade.api.journals import (
    Replayed,
    journal_events,
    journal_link_events,
    journal_opportunities,
    of_journal,
    replay,
)
from crossfade.api.meshes import (
    REUSE_COLUMNS,
    plot_mesh,
    reuse,
)
from crossfade.api.reference import (
    GoldenCase,
    explain,
    markov_from_rayleigh,
    parse_value,
    schema,
    verify,
)
from crossfade.api.scenarios import Scenario
from crossfade.api.solving import (
    Check,
    check,
    phy,
    run,
    solve,
)
from crossfade.api.views import (
    air_pcap,
    delays,
    events,
    link_events,
    opportunities,
    pcap,
    samples,
    stream_samples,
    transfers,
    write_events,
    write_pcap,
    write_samples,
)
from crossfade.plans.options import ScenarioLike, Values
from crossfade.results.metrics import metrics

__all__ = [
    "REUSE_COLUMNS",
    "Check",
    "GoldenCase",
    "Replayed",
    "Scenario",
    "ScenarioLike",
    "Values",
    "air_pcap",
    "check",
    "delays",
    "events",
    "explain",
    "journal_events",
    "journal_link_events",
    "journal_opportunities",
    "link_events",
    "markov_from_rayleigh",
    "metrics",
    "of_journal",
    "opportunities",
    "parse_value",
    "pcap",
    "phy",
    "plot_mesh",
    "replay",
    "reuse",
    "run",
    "samples",
    "schema",
    "solve",
    "stream_samples",
    "transfers",
    "verify",
    "write_events",
    "write_pcap",
    "write_samples",
]
