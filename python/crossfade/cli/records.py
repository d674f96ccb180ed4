"""Options of ``crossfade run`` for records of single runs: events, samples, packets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO

import typer

from crossfade import api
from crossfade.cli.groups import Asked
from crossfade.cli.intervals import print_intervals
from crossfade.cli.options import whole
from crossfade.plans.options import Values, ViewOptions


@dataclass(frozen=True)
class Records:
    """Files of events, samples, transfers, delays and packets, and the lines of ``--interval``."""

    run: Annotated[
        int | None,
        typer.Option(
            "--run",
            metavar="N",
            parser=whole,
            help="Number of the run, from 0, that --events, --link-events, --samples, --interval, "
            "--trace-out, --pcap, --air-pcap and a figure over time show (default: 0).",
        ),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write every event of one run per point as CSV (at most 20 points).",
        ),
    ] = None
    link_events: Annotated[
        Path | None,
        typer.Option(
            "--link-events",
            metavar="FILE",
            help="Write the events inside links in one run per point as CSV: frames, queues, slots of "
            "cells, transmissions on the air (at most 20 points).",
        ),
    ] = None
    transfers: Annotated[
        Path | None,
        typer.Option(
            "--transfers",
            metavar="FILE",
            help="Write a row for each transfer of every run as CSV (at most 100 runs of 20 points).",
        ),
    ] = None
    delays: Annotated[
        Path | None,
        typer.Option(
            "--delays",
            metavar="FILE",
            help="Write the distributions of RTTs and one-way delays of every run as CSV.",
        ),
    ] = None
    samples: Annotated[
        Path | None,
        typer.Option(
            "--samples",
            metavar="FILE",
            help="Write the state of flows and links every run.sample, in one run per point, as CSV (at "
            "most 20 points).",
        ),
    ] = None
    trace_out: Annotated[
        Path | None,
        typer.Option(
            "--trace-out",
            metavar="FILE",
            help="Write a line with the time in milliseconds for each 1500 bytes delivered to one flow of a "
            "run: delivery opportunities, which link.trace and other emulators replay (a scenario of one "
            "point).",
        ),
    ] = None
    trace_user: Annotated[
        int,
        typer.Option(
            "--trace-user",
            metavar="NUMBER",
            parser=whole,
            help="Number of the flow that --trace-out writes, from 0; in a cell, number of the user.",
        ),
    ] = 0
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            metavar="TIME",
            help="Print a line for each flow and link every TIME of a run: 1 for a second, or '100 ms' (a "
            "scenario of one point).",
        ),
    ] = None
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            metavar="FILE",
            help="Write the packets at the senders' network interfaces in a run as a pcap file, for "
            "Wireshark and tshark (a scenario of one point).",
        ),
    ] = None
    air_pcap: Annotated[
        Path | None,
        typer.Option(
            "--air-pcap",
            metavar="FILE",
            help="Write the frames in the air of a mesh or a Wi-Fi network in a run as a pcap file with "
            "radiotap headers (a scenario of one point).",
        ),
    ] = None
    ipv6: Annotated[bool, typer.Option("--ipv6", help="Write IPv6 packets with --pcap and --air-pcap.")] = (
        False
    )
    snaplen: Annotated[
        int | None,
        typer.Option(
            "--snaplen",
            metavar="BYTES",
            parser=whole,
            help="Bytes to keep of each packet with --pcap and --air-pcap (default: all; 128 of a mesh's "
            "frames).",
        ),
    ] = None

    def files(self) -> tuple[Path | None, ...]:
        """Files that these options name."""
        of_points = (self.events, self.link_events, self.samples, self.transfers, self.delays)
        return (*of_points, self.trace_out, self.pcap, self.air_pcap)

    def shows_a_run(self) -> bool:
        """True if an option records a single run."""
        of_a_run = (self.events, self.link_events, self.samples, self.interval, self.trace_out)
        return any(one is not None for one in (*of_a_run, self.pcap, self.air_pcap))

    def write(self, scenario: str, asked: Asked, at: Values, lines_to: TextIO) -> None:
        """Write the files for the points ``at``; lines of ``--interval`` are printed to ``lines_to``."""
        of_runs = asked.options(ViewOptions) | {"at": at or None}
        viewed = of_runs | {"run": self.run or 0}
        if self.events is not None:
            api.write_events(self.events, scenario, **viewed)
        if self.link_events is not None:
            api.write_events(self.link_events, scenario, of_links=True, **viewed)
        if self.transfers is not None:
            api.write_rows(self.transfers, scenario, "transfers", runs=asked.runs, **of_runs)
        if self.delays is not None:
            api.write_rows(self.delays, scenario, "delays", runs=asked.runs, **of_runs)
        if self.samples is not None:
            api.write_samples(self.samples, scenario, **viewed)
        if self.interval is not None:
            print_intervals(scenario, self.interval, lines_to, **viewed)
        if self.trace_out is not None:
            api.write_opportunities(self.trace_out, scenario, self.trace_user, **viewed)
        if self.pcap is not None:
            api.write_pcap(self.pcap, scenario, ipv6=self.ipv6, snaplen=self.snaplen, **viewed)
        if self.air_pcap is not None:
            api.write_air_pcap(self.air_pcap, scenario, ipv6=self.ipv6, snaplen=self.snaplen, **viewed)
