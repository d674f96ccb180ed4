"""Options of ``crossfade live``: the link, the hosts, their programs, and the records of the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli.options import PointOption, QuietOption, SeedOption, SetOption, whole


@dataclass(frozen=True)
class AskedLive:
    """Options of ``crossfade live``, as texts of the command line."""

    set: SetOption = None
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="RATE", help="Bit rate of each direction (--rate '12 Mbit/s')."),
    ] = None
    delay: Annotated[
        str | None,
        typer.Option("--delay", metavar="TIME", help="One-way delay of each direction (--delay '20 ms')."),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss", metavar="SHARE", help="Share of packets lost in each direction (--loss '1 %')."
        ),
    ] = None
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue",
            metavar="LIMIT",
            help="Queue limit of each direction, with --rate (default: 1000 packets).",
        ),
    ] = None
    far: Annotated[
        str | None,
        typer.Option(
            "--far",
            metavar="COMMAND",
            help="Shell command to run on the far host; COMMAND waits until it listens.",
        ),
    ] = None
    serve: Annotated[
        str | None,
        typer.Option("--serve", metavar="DIR", help="Serve a folder over HTTP at port 80 of the far host."),
    ] = None
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="bulk",
            help="Run the scenario's transfers from the far host to the near one for run.duration, with the "
            "kernel's TCP set as close to the scenario's as it can be.",
        ),
    ] = None
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="Let COMMAND reach this machine's network through the link, by slirp4netns on the far host.",
        ),
    ] = False
    run: Annotated[
        int,
        typer.Option(
            "--run",
            metavar="N",
            parser=whole,
            help="Number of the scenario's run, from 0, whose random numbers the link draws.",
        ),
    ] = 0
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="End COMMAND after this time (exit code 124)."),
    ] = None
    congestion: Annotated[
        str | None,
        typer.Option("--congestion", metavar="NAME", help="Congestion control of both hosts (bbr, cubic)."),
    ] = None
    mtu: Annotated[
        int | None,
        typer.Option("--mtu", metavar="BYTES", parser=whole, help="Largest packet (default: 1500)."),
    ] = None
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="Give both hosts IPv6, too: $CROSSFADE_SERVER6 is the far one.")
    ] = False
    large_segments: Annotated[
        bool | None,
        typer.Option(
            "--large-segments/--no-large-segments",
            help="Pass segments of up to 64 kB, which the link cuts into packets and joins if they leave "
            "together, as network cards do (default: if the link only delays or loses).",
        ),
    ] = None
    seed: SeedOption = None
    point: PointOption = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="KEY=VALUE",
            help="Take the point of a sweep where a key has this value. May be given several times.",
        ),
    ] = None
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help="Run the emulator with real-time priority, and keep processors awake (needs root).",
        ),
    ] = False
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 1 if packets were late or dropped beyond the limits of the closing report.",
        ),
    ] = False
    data_only: Annotated[
        bool,
        typer.Option(
            "--data-only", help="Apply losses only to TCP segments that carry data, as in simulation."
        ),
    ] = False
    rebind: Annotated[
        str | None,
        typer.Option(
            "--rebind",
            metavar="FIRST,EVERY",
            help="Give the command's UDP flows other ports at a time and then at an interval, as a NAT does.",
        ),
    ] = None
    corrupt: Annotated[
        bool,
        typer.Option(
            "--corrupt",
            help="Deliver packets that the channel loses with a byte changed: UDP without a checksum.",
        ),
    ] = False
    let_sleep: Annotated[
        bool,
        typer.Option(
            "--let-sleep",
            help="Let idle processors sleep while packets pass: saves power, delays packets by up to 0.3 ms.",
        ),
    ] = False
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="FILE", help="Write a journal (a new file, .cfj), which run --replay reads."
        ),
    ] = None
    pcap: Annotated[
        str | None,
        typer.Option("--pcap", metavar="NEAR,FAR", help="Write the packets at each host as a pcap file."),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write the kernel's cwnd, srtt, ... over time as CSV, for crossfade plot.",
        ),
    ] = None
    link_events: Annotated[
        Path | None,
        typer.Option(
            "--link-events",
            metavar="FILE",
            help="Write the events inside the links as CSV, for crossfade plot.",
        ),
    ] = None
    air_pcap: Annotated[
        Path | None,
        typer.Option(
            "--air-pcap",
            metavar="FILE",
            help="Write the frames in the air of a Wi-Fi network as a pcap file with radiotap headers.",
        ),
    ] = None
    snaplen: Annotated[
        int | None,
        typer.Option(
            "--snaplen",
            metavar="BYTES",
            parser=whole,
            help="Bytes to keep of each frame with --air-pcap (default: all).",
        ),
    ] = None
    opportunities: Annotated[
        str | None,
        typer.Option(
            "--opportunities",
            metavar="DOWN,UP",
            help="Write delivery opportunities of each direction: a line of milliseconds per 1500 bytes.",
        ),
    ] = None
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Show plots in the terminal while COMMAND runs; its output is printed when it ends.",
        ),
    ] = False
    page: Annotated[
        int | None,
        typer.Option(
            "--page",
            metavar="PORT",
            parser=whole,
            help="Serve the plots of --watch as a page on 127.0.0.1 (port 0: any free one); its address, "
            "with a token, is printed.",
        ),
    ] = None
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the closing report (counts of the links, lateness) as JSON."
        ),
    ] = None
    quiet: QuietOption = False
