"""``crossfade live``: reads what is asked for, and becomes the process that does it (:mod:`helper`)."""

from __future__ import annotations

import json as json_text
import os
import re
import signal
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from crossfade import plans
from crossfade.cli import terminal
from crossfade.cli.live.config import Config
from crossfade.cli.options import QuietOption, SeedOption, SetOption, read_assignments, whole
from crossfade.errors import CrossfadeError, OutputError, ScenarioError, one_line, shortened
from crossfade.files import check_outputs, inputs_of
from crossfade.plans.options import Options
from crossfade.quantities import in_numbers

OWN_FAILURE = 125
"""The exit code where COMMAND could not be run; every other one is COMMAND's."""

UNLIMITED = "10000 Gbit/s"
"""What stands for a link that only delays or loses: a packet of 1500 bytes takes a nanosecond."""

CONGESTION = re.compile(r"[\w-]{1,15}", re.ASCII)
"""What the kernel may call a congestion control (``TCP_CA_NAME_MAX`` of its ``include/net/tcp.h``)."""


class LiveCommand(TyperCommand):
    """Keeps what follows ``--`` apart: it is COMMAND's, options and all. What is wrong before is ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What comes before ``--`` is ours."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[place + 1 :]
        try:
            return super().parse_args(ctx, args[:place])
        except typer.TyperException as error:
            terminal.say(f"error: {terminal.without_long_words(error.format_message())}")
            raise typer.Exit(OWN_FAILURE) from None


def live(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="[SCENARIO]", help="A scenario, or none with --rate, --delay or --loss."),
    ] = None,
    set: SetOption = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="Bit rate each way (--rate '12 Mbit/s').")
    ] = None,
    delay: Annotated[
        str | None, typer.Option("--delay", metavar="TIME", help="Delay each way (--delay '20 ms').")
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss", metavar="SHARE", help="Packets lost each way (--loss '1 %').")
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="LIMIT", help="Queue each way with --rate (default: 1000 packets)."),
    ] = None,
    far: Annotated[
        str | None,
        typer.Option(
            "--far",
            metavar="COMMAND",
            help="A shell command on the far host; COMMAND waits until it listens.",
        ),
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option("--serve", metavar="DIR", help="Serve a folder over HTTP at port 80 of the far host."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="bulk",
            help="Run the scenario's transfers from the far host to the near one, with its TCP as the kernel "
            "has it, for run.duration.",
        ),
    ] = None,
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="Let COMMAND reach this machine's network through the link, by slirp4netns on the far host.",
        ),
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option("--duration", metavar="TIME", help="End COMMAND after this time (exit code 124)."),
    ] = None,
    congestion: Annotated[
        str | None,
        typer.Option(
            "--congestion", metavar="NAME", help="The congestion control of both hosts (bbr, cubic)."
        ),
    ] = None,
    mtu: Annotated[
        int | None,
        typer.Option("--mtu", metavar="BYTES", parser=whole, help="The largest packet (default: 1500)."),
    ] = None,
    ipv6: Annotated[
        bool, typer.Option("--ipv6", help="The hosts have IPv6 too: $CROSSFADE_SERVER6 is the far one.")
    ] = False,
    large_segments: Annotated[
        bool | None,
        typer.Option(
            "--large-segments/--no-large-segments",
            help="Cut large segments inside the link, and hand over as one what leaves it together, as "
            "network cards do (default: where it only delays or loses).",
        ),
    ] = None,
    seed: SeedOption = None,
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help="Real-time priority for what passes packets, and processors that stay awake (root).",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 where the run was outside its limits.")
    ] = False,
    data_only: Annotated[
        bool,
        typer.Option("--data-only", help="Losses step for TCP segments with data alone, as in a simulation."),
    ] = False,
    let_sleep: Annotated[
        bool,
        typer.Option(
            "--let-sleep",
            help="Let idle processors sleep while packets pass: less power, and packets up to 0.3 ms later.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Keep a journal (a new file, .cfj) for run --replay."),
    ] = None,
    pcap: Annotated[
        str | None,
        typer.Option("--pcap", metavar="NEAR,FAR", help="Write what each host saw as a pcap file."),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events", metavar="FILE", help="Write the kernel's cwnd, srtt, ... over time as CSV, for plot."
        ),
    ] = None,
    link_events: Annotated[
        Path | None,
        typer.Option(
            "--link-events", metavar="FILE", help="Write what happened inside the links as CSV, for plot."
        ),
    ] = None,
    opportunities: Annotated[
        str | None,
        typer.Option(
            "--opportunities",
            metavar="DOWN,UP",
            help="Write what each way delivered as a trace: the millisecond of each 1500 bytes.",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Moving plots in the terminal; what COMMAND prints comes when it has ended."
        ),
    ] = False,
    page: Annotated[
        int | None,
        typer.Option(
            "--page",
            metavar="PORT",
            parser=whole,
            help="The same in a browser: a page on 127.0.0.1 (0: any free port) whose address, with a "
            "token, is told.",
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the closing report as JSON.")
    ] = None,
    quiet: QuietOption = False,
) -> int:
    """Run COMMAND (or a shell) behind a link in real time.

    COMMAND runs on the near host, whose only network is the link; $CROSSFADE_SERVER is the address of the far
    host, from which the scenario's data come. Linux. Both hosts are gone when COMMAND ends, however it ends.
    The exit code is COMMAND's; 125 says that crossfade itself failed. crossfade doctor says what is missing.

    \b
    crossfade live --rate "12 Mbit/s" --loss "1 %" --serve . -- sh -c 'curl -O $CROSSFADE_SERVER/file'
    crossfade live wifi-like-arq --far "iperf3 -s -1" -- sh -c 'iperf3 -R -c $CROSSFADE_SERVER'
    crossfade live my.toml --workload bulk --record rec.cfj
    """
    try:
        config = _config(
            context.meta["command"],
            scenario=scenario,
            set=set,
            shape={"rate": rate, "delay": delay, "loss": loss, "queue": queue},
            far=far,
            serve=serve,
            workload=workload,
            duration=duration,
            congestion=congestion,
            mtu=mtu,
            large_segments=large_segments,
            seed=seed,
            page=page,
            outputs={
                "record": record,
                "pcap": pcap,
                "events": events,
                "link_events": link_events,
                "opportunities": opportunities,
                "json": json,
            },
            flags={
                "realtime": realtime,
                "strict": strict,
                "data_only": data_only,
                "let_sleep": let_sleep,
                "internet": internet,
                "ipv6": ipv6,
                "watch": watch,
                "quiet": quiet,
            },
        )
    except CrossfadeError as error:
        terminal.say(f"error: {one_line(str(error))}")
        return OWN_FAILURE
    return _become_helper(config)


def _config(
    command: list[str],
    *,
    scenario: str | None,
    set: list[str] | None,
    shape: dict[str, str | None],
    far: str | None,
    serve: str | None,
    workload: str | None,
    duration: str | None,
    congestion: str | None,
    mtu: int | None,
    large_segments: bool | None,
    seed: int | None,
    page: int | None,
    outputs: dict[str, Any],
    flags: dict[str, bool],
) -> Config:
    """All that the helper needs, checked as far as it can be without the hosts."""
    if sys.platform != "linux":
        raise ScenarioError("live: Linux only")
    given = [name for name, value in shape.items() if value is not None]
    if scenario is None and not given:
        raise ScenarioError("live: give a scenario, or at least one of --rate, --delay, --loss")
    if scenario is not None and given:
        raise ScenarioError(f"--{given[0]}: the scenario {shortened(scenario)} has the link; use --set")
    if shape["queue"] is not None and shape["rate"] is None and scenario is None:
        raise ScenarioError("--queue: needs --rate; a link without a rate keeps nothing waiting")
    if workload not in (None, "bulk"):
        raise ScenarioError(f"--workload {shortened(workload)}: must be bulk")
    # As of a variable of the shell that is not set: nothing, and neither no program nor the folder one is in.
    if far is not None and not far.strip():
        raise ScenarioError(f"--far {far!r}: must be a shell command, such as 'iperf3 -s'")
    if serve == "":
        raise ScenarioError("--serve '': must be a folder, such as .")
    if congestion is not None and not CONGESTION.fullmatch(congestion):
        raise ScenarioError(
            f"--congestion {shortened(repr(congestion))}: must be the kernel's name of a congestion control, "
            "such as bbr"
        )
    if workload and (command or far or serve):
        raise ScenarioError("--workload bulk: runs alone, without COMMAND, --far or --serve")
    if workload and flags["internet"]:
        raise ScenarioError("--workload bulk: runs between the two hosts, without --internet")
    if workload and mtu is not None:
        raise ScenarioError(f"--mtu {mtu}: --workload bulk has the scenario's packets; set link.packet_size")
    if serve is not None and not Path(serve).is_dir():
        raise ScenarioError(f"--serve {shortened(serve)}: no such folder")
    if mtu is not None and not 576 <= mtu <= 65535:
        raise ScenarioError(f"--mtu {mtu}: must be at least 576 and at most 65535")
    if page is not None and not 0 <= page <= 65535:
        raise ScenarioError(f"--page {page}: must be a port, at most 65535, or 0 for any that is free")
    if flags["watch"] and not (command or workload):
        raise ScenarioError("--watch: a shell needs the terminal itself; give COMMAND, or use --page 0")
    if flags["watch"] and not (sys.stderr and sys.stderr.isatty()):
        raise ScenarioError("--watch: standard error is no terminal; use --page 0")
    if flags["ipv6"] and mtu is not None and mtu < 1280:
        raise ScenarioError(f"--mtu {mtu}: must be at least 1280 with --ipv6 (RFC 8200 section 5)")
    overrides = read_assignments("--set", set)
    source = shaped(shape) if scenario is None else scenario
    plan = _one_point(source, overrides, seed)
    captures = _pair("--pcap", "NEAR,FAR", outputs["pcap"])
    opportunities = _pair("--opportunities", "DOWN,UP", outputs["opportunities"])
    inputs = inputs_of(scenario, overrides)
    files = [
        outputs["record"],
        outputs["events"],
        outputs["link_events"],
        outputs["json"],
        *map(Path, [*(captures or []), *(opportunities or [])]),
    ]
    check_outputs(files, *inputs)
    check_new("--record", outputs["record"])
    shell = os.environ.get("SHELL") or "/bin/sh"

    def named(name: str) -> str | None:
        return None if outputs[name] is None else str(outputs[name])

    return Config(
        plan={"name": plan.name, "text": plan.text, "overrides": plan.overrides, "files": plan.files},
        bulk=workload is not None,
        command=[] if workload else command or [shell],
        is_shell=not command and workload is None,
        far=far,
        serve=None if serve is None else str(Path(serve).resolve()),
        internet=flags["internet"],
        duration_s=None if duration is None else seconds("--duration", duration),
        congestion=congestion,
        mtu=mtu,
        ipv6=flags["ipv6"],
        large_segments=(
            scenario is None and shape["rate"] is None and not workload
            if large_segments is None
            else large_segments
        ),
        # A transfer is compared with simulated ones, which have no handshake.
        data_only=flags["data_only"] or workload is not None,
        awake="never" if flags["let_sleep"] else "always" if flags["realtime"] else "while-passing",
        realtime=flags["realtime"],
        strict=flags["strict"],
        record=None if outputs["record"] is None else os.path.abspath(outputs["record"]),
        captures=captures and captures[::-1],
        events=named("events"),
        link_events=named("link_events"),
        opportunities=opportunities,
        watch=flags["watch"],
        page=page,
        json=named("json"),
        quiet=flags["quiet"],
    )


def _one_point(source: str, overrides: dict[str, Any], seed: int | None) -> plans.Plan:
    """A plan of one point: of a sweep the first, with what is set in the place of what is swept."""
    text = plans.load(source, Options(seed=seed)).text
    swept = tomllib.loads(text).get("sweep", {})
    over: dict[str, Any] = {key: values for key, values in swept.items() if isinstance(values, list | str)}
    rest = {key: value for key, value in overrides.items() if key not in swept}
    over |= {key: [value] for key, value in overrides.items() if key in swept}
    plan = plans.load(source, Options(set=rest, over=over, seed=seed))
    points = plan.description["points"]
    if len(points) > 1:
        first = points[0]["axes"]
        words = ", ".join(f"{key} = {value}" for key, value in first.items())
        terminal.say(f"live: the first of {len(points)} points: {words}; --set chooses another")
        over = {
            key: [[first[part.strip()] for part in key.split(",")] if "," in key else first[key]]
            for key in swept
        }
        plan = plans.load(source, Options(set=rest, over=over, seed=seed))
    return plan


def shaped(shape: dict[str, str | None]) -> str:
    """The scenario of a link that is the same both ways."""

    def given(name: str, usual: str) -> str:
        text = shape[name]
        return json_text.dumps(usual if text is None else text)

    way = f"rate = {given('rate', UNLIMITED)}\ndelay = {given('delay', '0 s')}\n"
    if shape["rate"] is not None:
        way += f"queue = {{ limit = {given('queue', '1000 packets')} }}\n"
    channel = f"model = 'iid'\np_e = {given('loss', '0')}\n"
    return (
        'schema = 2\ntcp = { flavour = "rfc", variant = "cubic" }\n'
        f'[channel]\n{channel}[link]\npacket_size = "1500 B"\n{way}'
        f"[reverse]\n{way}[reverse.channel]\n{channel}"
    )


def check_new(option: str, path: Path | None) -> None:
    """Raise ``OutputError`` where there is something of that name: a journal takes the place of nothing, nor
    does it go to a pipe or a device, from which nobody could replay it."""
    if path is not None and os.path.lexists(path):
        raise OutputError(f"{option} {shortened(path)}: not overwritten (it must be the name of a new file)")


def seconds(option: str, text: str) -> float:
    """A time on the command line in seconds."""
    found = in_numbers([text, "1 s", "1 ms"])
    if found is None or found[0][0] <= 0.0:
        raise ScenarioError(f"{option} {shortened(text)}: must be a time above 0 such as 10 s")
    return found[0][0]


def _pair(option: str, names: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    files = text.split(",")
    if len(files) != 2 or not all(files) or files[0] == files[1]:
        raise ScenarioError(f"{option} {shortened(text)}: must be two files, {names}")
    return [os.path.abspath(file) for file in files]


def _become_helper(config: Config) -> int:
    """This process becomes a fresh one, with one thread: only such a process may enter a user namespace."""
    reader = os.memfd_create("crossfade-live", 0)
    os.write(reader, config.to_json().encode())
    os.lseek(reader, 0, os.SEEK_SET)
    os.set_inheritable(reader, True)
    # It hears of Ctrl-C once there is somebody who takes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "crossfade.cli.live.helper", str(reader)])
