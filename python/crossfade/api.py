"""The functions of ``import crossfade as cf``; the command line is a thin layer over them."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

import crossfade._crossfade as _crossfade
from crossfade import errors, plans
from crossfade.figures.choice import number
from crossfade.figures.meshmap import plot_map
from crossfade.files import read_bytes, read_text, whole_file
from crossfade.plans import Options, Plan, translated_errors
from crossfade.plans import Scenario as Scenario
from crossfade.plans import Values as Values
from crossfade.results.cache import Cache, open_cache
from crossfade.results.frames import frames_table
from crossfade.results.interrupted import Interrupted
from crossfade.results.metrics import metric_of, near_metrics
from crossfade.results.metrics import metrics as metrics
from crossfade.results.results import Results
from crossfade.sweeps.engines import Threads
from crossfade.sweeps.stored import StoredRows
from crossfade.tables import Cell, Table, csv_line, label


def run(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
    jobs: int | None = None,
    cache: bool | Cache = True,
    progress: bool = False,
) -> Results:
    """Solve or simulate a scenario: every point of its sweep by each of its methods.

    ``set`` changes keys (``{"tcp.w_max": 6}``; None takes a key out), ``over`` replaces or adds axes
    (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"``, ``"start:stop:step"``). ``runs`` or
    ``precision`` (``"1 %"``), ``seed`` and ``methods`` (``["analysis", "simulation"]``) stand
    above the file's. ``jobs`` is the number of
    threads (all cores where None); results do not depend on it.

    Finished runs are taken from the user's cache and kept there; ``cache=False`` leaves it alone.

    Raises :class:`ScenarioError` on anything wrong in the scenario or an option, and on Ctrl-C
    :class:`Interrupted` (a ``KeyboardInterrupt``), which carries what is finished.
    """
    return solve(scenario, Options(set, over, runs, precision, seed, methods, jobs, cache, progress))


def solve(scenario: Scenario, options: Options) -> Results:
    """What :func:`run` does: a sweep whose rows are kept in the user's cache."""
    tell = partial(plans.tell_of_many, partial(print, file=sys.stderr)) if options.progress else None
    plan = plans.load(scenario, options, tell)
    engine, cache = Threads(options.jobs), options.cache
    with nullcontext(cache) if isinstance(cache, Cache) else open_cache(cache) as store:
        rows = StoredRows(plan, store)
        complete = rows.make(engine, progress=options.progress)
    if not complete:
        raise Interrupted(len(rows.known), lambda: rows.results(complete=False))
    return rows.results(complete)


def phy(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
    jobs: int | None = None,
    cache: bool | Cache = True,
    progress: bool = False,
) -> Table:
    """Error rates of the frames of a physical layer, without link protocol and transport.

    A row for each point, method (``phy``; ``formula`` gives closed forms) and number of transmissions: bit
    and frame error rate, the share that is not accepted after so many transmissions, the effective rate. The
    table of a single scheme, as CSV, is what ``phy.table`` reads. The rest is as in :func:`run`.
    """
    asked = ["phy"] if methods is None else methods
    return frames_table(solve(scenario, Options(set, over, runs, None, seed, asked, jobs, cache, progress)))


@dataclass(frozen=True)
class Check:
    """What a scenario would run: its axes, points and runs a point, and what to be careful about."""

    title: str
    axes: dict[str, int]
    points: int
    methods: list[str]
    stop: dict[str, Any]
    seed: int
    warnings: list[str]
    memory: float
    """Bytes that a run may take at most, as it is judged from the scenario."""
    mesh: dict[str, Any] | None = None
    """Of a mesh, at the first point of a sweep: how long an exchange lasts, what a window of one reaches."""
    cell: dict[str, Any] | None = None
    """Of a cell, at the first point of a sweep: its slot and bins, its users and their switch levels."""
    path: dict[str, Any] | None = None
    """Of links, at the first point of a sweep: what each is, the slot, and each flow's round trip and
    bandwidth-delay product."""
    scenario: dict[str, Any] = field(default_factory=dict)
    """The scenario at the first point of a sweep, all defaults filled in."""
    memory_of_rows: int = 0
    """Bytes that the rows of a point take while they are summed up; 0 where a stop rule says how many."""


def check(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
) -> Check:
    """Read a scenario and say what it would run; :class:`ScenarioError` where it is wrong."""
    plan = plans.load(scenario, Options(set, over, runs, precision, seed, methods))
    plans.check_memory(plan)
    description = plan.description
    return Check(
        title=plan.title,
        axes=description["steps"],
        points=len(description["points"]),
        methods=description["methods"],
        stop=description["stop"],
        seed=description["seed"],
        warnings=description["warnings"],
        memory=plan.core.memory()[0],
        memory_of_rows=plans.memory_of_rows(plan),
        mesh=description.get("mesh"),
        cell=description.get("cell"),
        path=description.get("path"),
        scenario=description["scenario"],
    )


def reuse(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    cache: bool | Cache = True,
    progress: bool = False,
    simulated: bool = True,
) -> Table:
    """The largest set of exchanges that a mesh can have under way at one time, beside the simulated mean.

    A row a point: the axes, ``links`` on the routes of the flows, ``antennas`` of a node, ``exchanges`` in
    the largest set (``exact`` unless the search had to end early), the ``set`` as pairs of nodes, and the
    simulated ``exchanges_mean`` with its ``ci95`` (left out where not ``simulated``).
    """
    options = Options(set, over, runs, None, seed, ["simulation"], jobs, cache, progress)
    plan = plans.load(scenario, options)
    with translated_errors():
        found = json.loads(plan.core.reuse())
    points = solve(scenario, options).points if simulated else []
    axes = plan.description["axes"]
    records = []
    for item in found:
        at = plan.description["points"][item["point"]]["axes"]
        record: dict[str, Cell] = {axis: label(at[axis]) for axis in axes}
        record |= {"links": item["links"], "antennas": item["antennas"], "exchanges": item["exchanges"]}
        record |= {"exact": "true" if item["is_exact"] else "false"}
        record["set"] = " ".join(f"{a}-{b}" for a, b in item["set"])
        if points and (mean := points[item["point"]].metrics.get("exchanges_mean")):
            record |= {"exchanges_mean": mean.value, "ci95": mean.ci95}
        records.append(record)
    return Table.of([*axes, *REUSE_COLUMNS], records)


def plot_mesh(
    scenario: Scenario,
    path: str | PathLike[str],
    *,
    set: Values | None = None,
    over: Values | None = None,
    title: str | None = None,
    width: str | float = "single",
) -> None:
    """Draw where the nodes of a mesh stand, the hops of its routes, and the largest set of exchanges.

    The scenario has one point.
    """
    plan = plans.load(scenario, Options(set, over))
    with translated_errors():
        found = json.loads(plan.core.reuse())
    if len(found) > 1:
        raise errors.ScenarioError(f"a map shows one mesh; the plan has {len(found)} points")
    mesh = plan.description["mesh"]
    plot_map(
        fspath(path),
        mesh["positions"],
        mesh["links"],
        found[0]["set"],
        range_m=mesh["range_m"],
        interference_m=mesh["interference_m"],
        title=plan.title if title is None else title,
        width=width,
    )


REUSE_COLUMNS = ["links", "antennas", "exchanges", "exact", "set", "exchanges_mean", "ci95"]


def events(
    scenario: Scenario, *, set: Values | None = None, over: Values | None = None, seed: int | None = None
) -> str:
    """Every event of run 0 as CSV text (time_s, event, flow, seq, cwnd, ...).

    Of a scenario with a sweep, the events of each of its points (20 at the most), one after the other, behind
    columns for the axes. :func:`write_events` takes no memory for the text of a long run. With ``run.sample``
    there are samples between the events, in the columns of :func:`samples`.
    """
    return _text_of(_viewed(scenario, set, over, seed), "events")


def samples(
    scenario: Scenario,
    every: str | None = None,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> str:
    """What each flow and link did over time in run 0 as CSV text: a line each, every so often (``"100 ms"``).

    Without ``every`` the scenario says it (``run.sample``). Columns are those of :func:`events` (a flow's
    state as it is then), and link, goodput_bps, rtt_mean_s, queue_packets, capacity_bps, retransmissions: of
    the time since the line before, but for the queue, which is as it is then. Of a link goodput_bps is all
    that came out of it, retransmissions are frames. Flows that arrive and go have no lines. Of a sweep as in
    :func:`events`.
    """
    text = io.StringIO()
    stream_samples(text.write, scenario, every, set=set, over=over, seed=seed)
    return text.getvalue()


def write_samples(
    path: str | PathLike[str],
    scenario: Scenario,
    every: str | None = None,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> None:
    """Write what :func:`samples` gives to a file while the run goes on, as :func:`write_events` does."""
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="") as file:
        stream_samples(file.write, scenario, every, set=set, over=over, seed=seed)


def stream_samples(
    write: Callable[[str], object],
    scenario: Scenario,
    every: str | None = None,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> None:
    """Hand the text of :func:`samples` to ``write``, piece by piece, while the run goes on."""
    asked = {**(set or {}), **({} if every is None else {"run.sample": every})}
    _write_lines(_viewed(scenario, asked, over, seed), "samples", write)


def link_events(
    scenario: Scenario, *, set: Values | None = None, over: Values | None = None, seed: int | None = None
) -> str:
    """What happened inside links in run 0 as CSV text: frames with their verdicts, slots, the air, queues.

    Columns: time_s, link, event (``frame``, ``slot``, ``air``, ``defer``, ``queue``), user, node, frame,
    attempt, scheme, snr_db, verdict, bin, end_s, nulls, change, packets, bytes, kind, to, nulled; a cell is
    empty where it says nothing.
    Of a sweep as in :func:`events`.
    """
    return _text_of(_viewed(scenario, set, over, seed), "link_events")


def transfers(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    seed: int | None = None,
) -> Table:
    """A row for each transfer that came to its end, in every run of each point (100 runs, 20 points at most).

    Columns: the axes, run, flow, start_s, segments, completion_time_s (from the start to the last delivery).
    The runs are simulated anew: they are those of :func:`run`, which keeps their means.
    """
    return _rows_of(_viewed(scenario, set, over, seed, runs), "transfers")


def delays(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    seed: int | None = None,
) -> Table:
    """How round trips and one-way delays are distributed, in every run of each point.

    Columns: the axes, run, flow, delay (``rtt_s`` or ``one_way_delay_s``), share, value_s: that part of the
    delays of the run is no longer than the value (within 1/64 of it). The rest is as in :func:`transfers`.
    """
    return _rows_of(_viewed(scenario, set, over, seed, runs), "delays")


def _rows_of(plan: Plan, view: str) -> Table:
    return Table.from_csv(_text_of(plan, view), view)


def _text_of(plan: Plan, view: str) -> str:
    text = io.StringIO()
    _write_lines(plan, view, text.write)
    return text.getvalue()


def write_events(
    path: str | PathLike[str],
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
    of_links: bool = False,
) -> None:
    """Write what :func:`events` gives, or :func:`link_events`, to a file while the run goes on.

    The file gets its name when it is whole; :class:`OutputError` where it cannot be written.
    """
    plan = _viewed(scenario, set, over, seed)
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="") as file:
        _write_lines(plan, "link_events" if of_links else "events", file.write)


def _viewed(
    scenario: Scenario, set: Values | None, over: Values | None, seed: int | None, runs: int | None = None
) -> Plan:
    """The plan of which single runs are looked at."""
    plan = plans.load(scenario, Options(set, over, runs, seed=seed))
    plans.check_memory(plan)
    return plan


def _write_lines(plan: Plan, view: str, write: Callable[[str], object]) -> None:
    """The CSV texts of all points as one, behind columns for the axes where there are any."""
    axes, points = plan.description["axes"], plan.description["points"]
    begun = -1

    def take(number: int, text: str) -> None:
        nonlocal begun
        if not axes:
            write(text)
            return
        before = csv_line(label(points[number]["axes"][axis]) for axis in axes)
        lines = text.splitlines(keepends=True)
        if number != begun:
            header = lines.pop(0)
            if begun < 0:
                write(csv_line(axes) + "," + header)
            begun = number
        write("".join(f"{before},{line}" for line in lines))

    with translated_errors():
        getattr(plan.core, view)(take)


def pcap(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
    ipv6: bool = False,
    snaplen: int | None = None,
) -> bytes:
    """What the senders' network interfaces see in run 0 of a single point, as the bytes of a pcap file.

    IPv4 (or IPv6) and TCP headers are real, with options and right checksums; the payload is zeros. Flow n
    has port 50000 + n. The handshake is not simulated: it stands at the instant of the flow's first packet.
    ``snaplen`` bytes of each are kept (default: all; their lengths are told in any case).
    :func:`write_pcap` takes no memory for the packets of a long run.
    """
    file = io.BytesIO()
    plan = _viewed(scenario, set, over, seed)
    with translated_errors():
        plan.core.pcap(ipv6, _snaplen(snaplen), file.write)
    return file.getvalue()


def write_pcap(
    path: str | PathLike[str],
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
    ipv6: bool = False,
    snaplen: int | None = None,
) -> None:
    """Write what :func:`pcap` gives to a file while the run goes on; as :func:`write_events` otherwise."""
    plan = _viewed(scenario, set, over, seed)
    with whole_file(Path(path)) as name, open(name, "wb") as file, translated_errors():
        plan.core.pcap(ipv6, _snaplen(snaplen), file.write)


def _snaplen(bytes_kept: int | None) -> int | None:
    if bytes_kept is not None and not 1 <= bytes_kept < 2**32:
        raise errors.ScenarioError(f"snaplen = {bytes_kept}: must be a number of bytes, 100 or more")
    return bytes_kept


def air_pcap(
    scenario: Scenario, *, set: Values | None = None, over: Values | None = None, seed: int | None = None
) -> bytes:
    """What a radio that hears everything would have seen of a mesh in run 0, as the bytes of a pcap file.

    Radiotap and 802.11 headers are real, with the duration fields; node n has the address 02:00:00:00:XX:XX
    with its number. What the frames carry is zeros.
    """
    plan = plans.load(scenario, Options(set, over, seed=seed))
    with translated_errors():
        return plan.core.air_pcap()


def opportunities(
    scenario: Scenario,
    user: int = 0,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> str:
    """When a flow was delivered each 1500 bytes in run 0 of a single point, as a trace of opportunities.

    A line each with whole milliseconds since the start: the format of ``link.trace.opportunities``, and of
    other emulators. ``user`` counts flows from 0; in a cell they are its users. It is what the link could
    have carried for it where packets of it were always waiting, as those of traffic ``saturated`` are.
    """
    plan = plans.load(scenario, Options(set, over, seed=seed))
    plans.check_memory(plan)
    if not 0 <= user < 2**32:
        raise errors.ScenarioError(f"user = {user}: must be 0 or more")
    with translated_errors():
        return plan.core.opportunities(user)


@dataclass(frozen=True)
class Replayed:
    """One link of a journal, replayed: where it first differs, or None where all is identical."""

    link: str
    packets: int
    arrived: int
    lost: int
    dropped: int
    difference: str | None


def replay(journal: str | PathLike[str]) -> list[Replayed]:
    """Put the arrivals that ``crossfade live --record`` kept through the simulated links, one by one.

    Each packet has the same fate at the same nanosecond, or the first difference is told. Raises
    :class:`ScenarioError` where the journal is damaged; every byte of it is checked.
    """
    found = json.loads(of_journal(journal, "replay"))
    for warning in found["warnings"]:
        warnings.warn(warning, errors.CrossfadeWarning, stacklevel=2)
    return [Replayed(**lane) for lane in found["lanes"]]


def journal_events(journal: str | PathLike[str]) -> Table:
    """What the kernel's TCP did in a recorded run, in the columns of :func:`events` and more.

    Where the scenario's own transfers ran, the simulated sender of the same scenario, seed and run stands
    beside it until the same time: a column ``method`` tells them apart.
    """
    table = Table.from_csv(of_journal(journal, "journal_events"), str(journal))
    simulated = of_journal(journal, "journal_simulated")
    if simulated is None or not table.rows:
        return table
    beside = Table.from_csv(simulated, str(journal))
    last = max(map(number, table.cells("time_s")))
    records = [{"method": "live", **record} for record in table.records()]
    records += [
        {"method": "simulation", **record} for record in beside.records() if number(record["time_s"]) <= last
    ]
    return Table.of(["method", *table.columns], records)


def journal_link_events(journal: str | PathLike[str]) -> str:
    """What happened inside the links of a recorded run as CSV text, in the columns of :func:`link_events`.

    It comes from the replay, which is that run to the nanosecond.
    """
    return str(of_journal(journal, "journal_link_events"))


def journal_opportunities(journal: str | PathLike[str]) -> tuple[str, str]:
    """What came out from the far host, and to it, in a recorded run: the millisecond of each 1500 bytes.

    Of a link that always had something to send this is a trace of it, as ``link.trace`` reads them.
    """
    down, up = of_journal(journal, "journal_opportunities")
    return down, up


def of_journal(journal: str | PathLike[str], function: str) -> Any:
    """What the core makes of a journal."""
    if not hasattr(_crossfade, function):
        raise errors.ScenarioError(f"{journal}: journals of live runs are read on Linux only")
    data = read_bytes(Path(journal), errors.ScenarioError)
    try:
        with translated_errors():
            return getattr(_crossfade, function)(data)
    except errors.ScenarioError as error:
        raise errors.ScenarioError(f"{errors.shortened(journal)}: {error}") from None


def schema() -> str:
    """The JSON Schema of a scenario, for editors."""
    return json.dumps(json.loads(_crossfade.schema()), indent=2)


def explain(key: str) -> str:
    """What a key of a scenario means (type, unit, default, what is allowed), or what a metric counts."""
    try:
        with translated_errors():
            return _crossfade.explain(key)
    except errors.ScenarioError:
        if (metric := metric_of(key)) is not None:
            return f"{metric}\n"
        if "." not in key and (meant := near_metrics(key)):
            raise errors.ScenarioError(f"{errors.shortened(key)}: no key and no metric; {meant}") from None
        raise


def parse_value(text: str) -> Any:
    """A value as the command line takes it: a TOML number, list or inline table, else the text itself."""
    with translated_errors():
        return json.loads(_crossfade.parse_value(text))


def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> dict[str, float]:
    """The two-state Markov channel of a Rayleigh fading link with a threshold (Zorzi, Rao and Milstein 1995).

    ``fd_t`` is the Doppler frequency times the slot; exactly one of ``p_e`` (mean packet error probability)
    and ``fading_margin_db`` says how deep the threshold lies. Gives fd_t, p_e, fading_margin_db, p_gg, p_bb,
    mean_burst (slots) and rho.
    """
    with translated_errors():
        found = _crossfade.markov_from_rayleigh(fd_t, p_e=p_e, fading_margin_db=fading_margin_db)
    return cast(dict[str, float], found)


@dataclass(frozen=True)
class GoldenCase:
    """One golden case repeated: where it first differs, or None where it agrees.

    Of a case that is one number, ``found`` has both and how far they may be apart.
    """

    case: str
    rows: int
    difference: str | None
    found: str | None = None


def verify(folder: str | PathLike[str]) -> list[GoldenCase]:
    """Repeat a folder of golden data of another program.

    It holds traces (``patterns.json`` and ``sends_SET_VARIANT.csv`` or ``.csv.gz``; every row has to be
    identical), throughputs of chains of 802.11 stations (``equal.csv`` and ``wider.csv``: within 4 and 5 %,
    0.5 % where the window is one packet; about a minute) or antenna weights (``vectors.json``; 1e-9).

    Raises :class:`GoldenError` where the folder cannot be read as one of these.
    """
    path = Path(folder)
    if not os.path.isdir(path):
        raise errors.GoldenError(f"{errors.shortened(path)}: no such folder")
    names = [path / name for name in ("equal.csv", "wider.csv", "vectors.json") if (path / name).exists()]
    patterns = None
    if not names:
        patterns = read_text(path / "patterns.json", errors.GoldenError)
        names = sorted([*path.glob("sends_*.csv"), *path.glob("sends_*.csv.gz")])
    files = [(name.name.removesuffix(".gz"), read_text(name, errors.GoldenError)) for name in names]
    with translated_errors():
        cases = json.loads(_crossfade.verify(files, patterns))
    return [
        GoldenCase(_case_name(case["case"]), case["rows"], case["difference"], case["found"])
        for case in cases
    ]


def _case_name(name: str) -> str:
    return name.replace(".csv/", " ").replace(".json/", " ")
