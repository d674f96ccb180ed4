"""Command ``crossfade live``: checks its options, then becomes the process of :mod:`helper`."""

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

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.cli import messages
from crossfade.cli.commands import Command
from crossfade.cli.groups import grouped
from crossfade.cli.live.config import OWN_FAILURE, Config
from crossfade.cli.live.options import AskedLive
from crossfade.cli.options import read_assignments, read_conditions
from crossfade.errors import CrossfadeError, OutputError, ScenarioError, one_line, shortened
from crossfade.files import check_outputs, inputs_of
from crossfade.plans.options import Options
from crossfade.quantities import in_numbers
from crossfade.tables import label

UNLIMITED = "10000 Gbit/s"
"""Rate of a link that only delays or loses: a packet of 1500 bytes takes about a nanosecond."""

CONGESTION = re.compile(r"[\w-]{1,15}", re.ASCII)
"""Names that the kernel allows for a congestion control (``TCP_CA_NAME_MAX`` of ``include/net/tcp.h``)."""


class LiveCommand(Command):
    """Command class that separates COMMAND and its options, which follow ``--``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before ``--``; an error in them exits with 125."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[place + 1 :]
        try:
            return super().parse_args(ctx, args[:place])
        except typer.TyperException as error:
            messages.say(f"error: {messages.without_long_words(error.format_message())}")
            raise typer.Exit(OWN_FAILURE) from None


@grouped()
def live(
    context: typer.Context,
    *,
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="[SCENARIO]", help="A scenario, or none with --rate, --delay or --loss."),
    ] = None,
    asked: AskedLive,
) -> int:
    """Run COMMAND (or a shell) behind a link in real time.

    COMMAND runs on the near host, a network namespace whose only network is the link. $CROSSFADE_SERVER is
    the address of the far host, which sends the scenario's data. Both hosts disappear when COMMAND ends. The
    exit code is COMMAND's, or 125 if crossfade failed. Linux only; crossfade doctor prints what is missing.

    \b
    crossfade live --rate "12 Mbit/s" --loss "1 %" --serve . -- sh -c 'curl -O $CROSSFADE_SERVER/file'
    crossfade live wifi-like-arq --far "iperf3 -s -1" -- sh -c 'iperf3 -R -c $CROSSFADE_SERVER'
    crossfade live my.toml --workload bulk --record rec.cfj
    """
    try:
        config = _config(context.meta["command"], scenario, asked)
    except CrossfadeError as error:
        messages.say(f"error: {one_line(str(error))}")
        return OWN_FAILURE
    return _become_helper(config)


def _config(command: list[str], scenario: str | None, asked: AskedLive) -> Config:
    """Configuration of the helper, checked as far as possible without hosts."""
    _check(command, scenario, asked)
    overrides = read_assignments("--set", asked.set)
    source = _shaped(asked) if scenario is None else scenario
    plan = _one_point(source, overrides, asked)
    if asked.air_pcap is not None and plan.description["network"] != "wlan":
        raise ScenarioError("--air-pcap: needs a scenario with a Wi-Fi network")
    captures = _pair("--pcap", "NEAR,FAR", asked.pcap)
    opportunities = _pair("--opportunities", "DOWN,UP", asked.opportunities)
    inputs = inputs_of(scenario, overrides)
    files = [
        asked.record,
        asked.events,
        asked.link_events,
        asked.air_pcap,
        asked.json,
        *map(Path, [*(captures or []), *(opportunities or [])]),
    ]
    check_outputs(files, *inputs)
    check_new("--record", asked.record)
    shell = os.environ.get("SHELL") or "/bin/sh"

    def named(path: Path | None) -> str | None:
        return None if path is None else str(path)

    return Config(
        plan={"name": plan.name, "text": plan.text, "overrides": plan.overrides, "files": plan.files},
        run=asked.run,
        bulk=asked.workload is not None,
        command=[] if asked.workload else command or [shell],
        is_shell=not command and asked.workload is None,
        far=asked.far,
        serve=None if asked.serve is None else str(Path(asked.serve).resolve()),
        internet=asked.internet,
        duration_s=None if asked.duration is None else seconds("--duration", asked.duration),
        congestion=asked.congestion,
        mtu=asked.mtu,
        ipv6=asked.ipv6,
        large_segments=(
            scenario is None and asked.rate is None and not asked.workload
            if asked.large_segments is None
            else asked.large_segments
        ),
        # A workload is compared with simulated transfers, which have no handshake.
        data_only=asked.data_only or asked.workload is not None,
        rebind=None if asked.rebind is None else _rebind(asked.rebind),
        corrupt=asked.corrupt,
        awake="never" if asked.let_sleep else "always" if asked.realtime else "while-passing",
        realtime=asked.realtime,
        strict=asked.strict,
        record=None if asked.record is None else os.path.abspath(asked.record),
        captures=captures and captures[::-1],
        events=named(asked.events),
        link_events=named(asked.link_events),
        air_pcap=named(asked.air_pcap),
        snaplen=asked.snaplen,
        opportunities=opportunities,
        watch=asked.watch,
        page=asked.page,
        json=named(asked.json),
        quiet=asked.quiet,
    )


def _check(command: list[str], scenario: str | None, asked: AskedLive) -> None:
    """Raise an error for options that conflict with each other or this machine, before hosts are created."""
    if sys.platform != "linux":
        raise ScenarioError("live: Linux only")
    if not hasattr(_crossfade, "Live"):
        raise ScenarioError("live: this build has none (cargo feature live)")
    given = [name for name in ("rate", "delay", "loss", "queue") if getattr(asked, name) is not None]
    if scenario is None and not given:
        raise ScenarioError("live: give a scenario, or at least one of --rate, --delay, --loss")
    if scenario is not None and given:
        raise ScenarioError(f"--{given[0]}: the scenario {shortened(scenario)} has the link; use --set")
    if asked.queue is not None and asked.rate is None and scenario is None:
        raise ScenarioError("--queue: needs --rate; a link without a rate keeps nothing waiting")
    if asked.workload not in (None, "bulk"):
        raise ScenarioError(f"--workload {shortened(asked.workload)}: must be bulk")
    # An empty text, as of an unset shell variable, is an error, not an absent option.
    if asked.far is not None and not asked.far.strip():
        raise ScenarioError(f"--far {asked.far!r}: must be a shell command, such as 'iperf3 -s'")
    if asked.serve == "":
        raise ScenarioError("--serve '': must be a folder, such as .")
    if asked.congestion is not None and not CONGESTION.fullmatch(asked.congestion):
        raise ScenarioError(
            f"--congestion {shortened(repr(asked.congestion))}: must be the kernel's name of a congestion "
            "control, such as bbr"
        )
    if asked.workload and (command or asked.far or asked.serve):
        raise ScenarioError("--workload bulk: runs alone, without COMMAND, --far or --serve")
    if asked.workload and asked.internet:
        raise ScenarioError("--workload bulk: runs between the two hosts, without --internet")
    if asked.workload and asked.mtu is not None:
        problem = "--workload bulk has the scenario's packets; set link.packet_size"
        raise ScenarioError(f"--mtu {asked.mtu}: {problem}")
    if asked.serve is not None and not Path(asked.serve).is_dir():
        raise ScenarioError(f"--serve {shortened(asked.serve)}: no such folder")
    if asked.mtu is not None and not 576 <= asked.mtu <= 65535:
        raise ScenarioError(f"--mtu {asked.mtu}: must be at least 576 and at most 65535")
    if not 0 <= asked.run < 1 << 32:
        raise ScenarioError(f"--run {asked.run}: must be the number of a run, counted from 0")
    if asked.page is not None and not 0 <= asked.page <= 65535:
        raise ScenarioError(f"--page {asked.page}: must be a port, at most 65535, or 0 for any that is free")
    if asked.snaplen is not None and asked.air_pcap is None:
        raise ScenarioError(f"--snaplen {asked.snaplen}: needs --air-pcap")
    if asked.snaplen is not None and not 1 <= asked.snaplen < 2**32:
        raise ScenarioError(f"--snaplen {asked.snaplen}: must be a number of bytes, 1 or more")
    if asked.watch and not (command or asked.workload):
        raise ScenarioError("--watch: a shell needs the terminal itself; give COMMAND, or use --page 0")
    if asked.watch and not (sys.stderr and sys.stderr.isatty()):
        raise ScenarioError("--watch: standard error is no terminal; use --page 0")
    if asked.ipv6 and asked.mtu is not None and asked.mtu < 1280:
        raise ScenarioError(f"--mtu {asked.mtu}: must be at least 1280 with --ipv6 (RFC 8200 section 5)")


def _one_point(source: str, overrides: dict[str, Any], asked: AskedLive) -> plans.Plan:
    """Plan of one point: the requested one, else the first.

    Keys of ``--set`` replace the axes of these keys.
    """
    seed, point, at = asked.seed, asked.point, read_conditions("--where", asked.where) or None
    text = plans.load(source, Options(seed=seed)).text
    swept = tomllib.loads(text).get("sweep", {})
    over: dict[str, Any] = {key: values for key, values in swept.items() if isinstance(values, list | str)}
    rest = {key: value for key, value in overrides.items() if key not in swept}
    over |= {key: [value] for key, value in overrides.items() if key in swept}
    plan = plans.load(source, Options(set=rest, over=over, seed=seed, point=point, at=at))
    points = plan.description["points"]
    if len(points) > 1:
        if at is not None:
            raise ScenarioError(f"--where: leaves {len(points)} points; live takes one")
        words = ", ".join(f"{key} = {label(value)}" for key, value in points[0]["axes"].items())
        messages.say(f"live: the first of {len(points)} points: {words}; --point or --set takes another")
        plan = plans.load(source, Options(set=rest, over=over, seed=seed, point=0))
    return plan


def _shaped(asked: AskedLive) -> str:
    """Scenario of a link that is equal in both directions."""

    def given(text: str | None, usual: str) -> str:
        return json_text.dumps(usual if text is None else text)

    way = f"rate = {given(asked.rate, UNLIMITED)}\ndelay = {given(asked.delay, '0 s')}\n"
    if asked.rate is not None:
        way += f"queue = {{ limit = {given(asked.queue, '1000 packets')} }}\n"
    channel = f"model = 'iid'\np_e = {given(asked.loss, '0')}\n"
    return (
        'schema = 2\ntcp = { flavour = "rfc", variant = "cubic" }\n'
        f'[channel]\n{channel}[link]\npacket_size = "1500 B"\n{way}'
        f"[reverse]\n{way}[reverse.channel]\n{channel}"
    )


def check_new(option: str, path: Path | None) -> None:
    """Raise ``OutputError`` if a file of this name exists.

    A journal overwrites nothing, and is not written to a pipe or a device, from which it could not be
    replayed.
    """
    if path is not None and os.path.lexists(path):
        raise OutputError(f"{option} {shortened(path)}: not overwritten (it must be the name of a new file)")


def seconds(option: str, text: str) -> float:
    """Time on the command line in seconds."""
    found = in_numbers([text, "1 s", "1 ms"])
    if found is None or found[0][0] <= 0.0:
        raise ScenarioError(f"{option} {shortened(text)}: must be a time above 0 such as 10 s")
    return found[0][0]


def _rebind(text: str) -> list[float]:
    """Times of ``--rebind`` in seconds: of the first rebinding, and between two rebindings."""
    times = text.split(",")
    if len(times) != 2:
        raise ScenarioError(f"--rebind {shortened(text)}: must be two times, such as 1 s,5 s")
    return [seconds("--rebind", one.strip()) for one in times]


def _pair(option: str, names: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    files = text.split(",")
    if len(files) != 2 or not all(files) or files[0] == files[1]:
        raise ScenarioError(f"{option} {shortened(text)}: must be two files, {names}")
    return [os.path.abspath(file) for file in files]


def _become_helper(config: Config) -> int:
    """Carry out the run in this process, or in a new one in its place if this one has several threads."""
    # The helper unblocks SIGINT once it can handle it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if len(os.listdir("/proc/self/task")) == 1:
        # Imported here, since a wrong option needs none of it.
        from crossfade.cli.live import helper

        helper.end_with(config)
    reader = os.memfd_create("crossfade-live", 0)
    os.write(reader, config.to_json().encode())
    os.lseek(reader, 0, os.SEEK_SET)
    os.set_inheritable(reader, True)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "crossfade.cli.live.helper", str(reader)])
