"""What ``crossfade live`` is asked for: the link, the hosts, what runs on them, what is kept of the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli.options import PointOption, QuietOption, SeedOption, SetOption, whole


@dataclass(frozen=True)
class AskedLive:
    """The options of ``crossfade live``, as they are given."""

    set: SetOption = None
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Bit rate each way (--rate '12 Mbit/s').")
    ] = None
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="TIME", help="Delay each way (--delay '20 ms').")
    ] = None
    loss: Annotated[
        str | None, typer.Option("--loss", metavar="SHARE", help="Packets lost each way (--loss '1 %').")
    ] = None
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="LIMIT", help="Queue each way with --rate (default: 1000 packets)."),
    ] = None
    far: Annotated[
        str | None,
        typer.Option(
            "--far",
            metavar="COMMAND",
            help="A shell command on the far host; COMMAND waits until it listens.",
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
            help="Run the scenario's transfers from the far host to the near one, with its TCP as the kernel "
            "has it, for run.duration.",
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
            help="The link's random numbers are those of this run of the scenario, counted from 0.",
        ),
    ] = 0
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="End COMMAND after this time (exit code 124)."),
    ] = None
    congestion: Annotated[
        str | None,
        typer.Option(
            "--congestion", metavar="NAME", help="The congestion control of both hosts (bbr, cubic)."
        ),
    ] = None
    mtu: Annotated[
        int | None,
        typer.Option("--mtu", metavar="BYTES", parser=whole, help="The largest packet (default: 1500)."),
    ] = None
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="The hosts have IPv6 too: $CROSSFADE_SERVER6 is the far one.")
    ] = False
    large_segments: Annotated[
        bool | None,
        typer.Option(
            "--large-segments/--no-large-segments",
            help="Cut large segments inside the link, and hand over as one what leaves it together, as "
            "network cards do (default: where it only delays or loses).",
        ),
    ] = None
    seed: SeedOption = None
    point: PointOption = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="KEY=VALUE",
            help="The point of a sweep at which an axis has this value. May be given several times.",
        ),
    ] = None
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help="Real-time priority for what passes packets, and processors that stay awake (root).",
        ),
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 where the run was outside its limits.")
    ] = False
    data_only: Annotated[
        bool,
        typer.Option("--data-only", help="Losses step for TCP segments with data alone, as in a simulation."),
    ] = False
    let_sleep: Annotated[
        bool,
        typer.Option(
            "--let-sleep",
            help="Let idle processors sleep while packets pass: less power, and packets up to 0.3 ms later.",
        ),
    ] = False
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Keep a journal (a new file, .cfj) for run --replay."),
    ] = None
    pcap: Annotated[
        str | None,
        typer.Option("--pcap", metavar="NEAR,FAR", help="Write what each host saw as a pcap file."),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(
            "--events", metavar="FILE", help="Write the kernel's cwnd, srtt, ... over time as CSV, for plot."
        ),
    ] = None
    link_events: Annotated[
        Path | None,
        typer.Option(
            "--link-events", metavar="FILE", help="Write what happened inside the links as CSV, for plot."
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
            help="How many bytes of each frame --air-pcap keeps (default: all).",
        ),
    ] = None
    opportunities: Annotated[
        str | None,
        typer.Option(
            "--opportunities",
            metavar="DOWN,UP",
            help="Write what each way delivered as a trace: the millisecond of each 1500 bytes.",
        ),
    ] = None
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Moving plots in the terminal; what COMMAND prints comes when it has ended."
        ),
    ] = False
    page: Annotated[
        int | None,
        typer.Option(
            "--page",
            metavar="PORT",
            parser=whole,
            help="Show the view of --watch in a browser: a page on 127.0.0.1 (0: any free port), whose "
            "address, with a token, is printed.",
        ),
    ] = None
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the closing report as JSON.")
    ] = None
    quiet: QuietOption = False
