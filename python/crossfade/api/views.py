"""Views of single runs: events, samples, transfers, delays, packet captures and delivery opportunities."""

from __future__ import annotations

import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from crossfade import errors, plans
from crossfade.files import whole_file, write_text
from crossfade.plans import Plan, translated_errors
from crossfade.plans.memory import check_memory
from crossfade.plans.options import LookOptions, Options, ScenarioLike, ViewOptions
from crossfade.tables import Table, csv_line, label

# Views that cover every run of a point; the others show one run.
OF_ALL_RUNS = ("transfers", "delays")

if TYPE_CHECKING:
    import pandas as pd


def events(scenario: ScenarioLike, **options: Unpack[LookOptions]) -> pd.DataFrame:
    """Every event of the senders in one run of each point.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points, whose events follow each other point by point.
    **options
        ``set``, ``over``, ``seed``, ``point`` and ``at`` as in :func:`run`; ``run`` is the number of the run,
        counted from 0 (default: 0).

    Returns
    -------
    pandas.DataFrame
        A row for each event: a column for each axis of a sweep, then ``time_s``, ``event``, ``flow``,
        ``seq``, ``cwnd``, ``ssthresh`` and more, windows in segments. If the scenario sets ``run.sample``,
        samples stand between the events, in the columns of :func:`samples`.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.

    See Also
    --------
    write_events : Writes events to a CSV file during the run, so that memory does not grow with its length.

    Examples
    --------
    >>> import crossfade as cf
    >>> events = cf.events("classics/slow-start", set={"run.duration": "1 s"})
    >>> float(events["cwnd"].iloc[0])
    10.0
    """
    return _frame_of(_viewed(scenario, options), "events")


def samples(
    scenario: ScenarioLike,
    every: str | None = None,
    **options: Unpack[LookOptions],
) -> pd.DataFrame:
    """State of each flow and link over time in a run: windows, goodput, delays, queues.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    every : str, optional
        Time between samples (``"100 ms"``). Default: ``run.sample`` of the scenario.
    **options
        ``set``, ``over`` and ``seed`` as in :func:`run`.

    Returns
    -------
    pandas.DataFrame
        One row for each flow and link at each sample: the columns of :func:`events`, with a flow's state at
        that time, and ``link``, ``goodput_bps``, ``rtt_mean_s``, ``queue_packets``, ``capacity_bps``,
        ``retransmissions``. Goodput, RTT, capacity and retransmissions cover the time since the previous
        sample; ``queue_packets`` is the queue length at the time of the sample. For a link, ``goodput_bps``
        counts all bytes that left it, and ``retransmissions`` counts frames. Flows of ``arrivals`` have no
        rows.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong, or neither ``every`` nor ``run.sample`` is set.

    Examples
    --------
    >>> import crossfade as cf
    >>> samples = cf.runs.samples("classics/slow-start", "500 ms", set={"run.duration": "1 s"})
    >>> sorted({float(time) for time in samples["time_s"]})
    [0.5, 1.0]
    """
    if every is not None:
        options["set"] = {**(options.get("set") or {}), "run.sample": every}
    return _frame_of(_viewed(scenario, options), "samples")


def write_samples(
    path: str | PathLike[str],
    scenario: ScenarioLike,
    every: str | None = None,
    **options: Unpack[LookOptions],
) -> None:
    """Write the samples of :func:`crossfade.runs.samples` to a CSV file during the run.

    Parameters
    ----------
    path : path
        File to write. It appears under this name once it is complete.
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    every : str, optional
        Time between samples (default: ``run.sample`` of the scenario).
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.runs.write_samples("samples.csv", "classics/slow-start", "100 ms", set={"run.duration": "1 s"})
    """
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="") as file:
        stream_samples(file.write, scenario, every, **options)


def stream_samples(
    write: Callable[[str], object],
    scenario: ScenarioLike,
    every: str | None = None,
    **options: Unpack[LookOptions],
) -> None:
    """Pass the CSV text of :func:`samples` to ``write``, piece by piece, during the run."""
    if every is not None:
        options["set"] = {**(options.get("set") or {}), "run.sample": every}
    _write_lines(_viewed(scenario, options), "samples", write)


def link_events(scenario: ScenarioLike, **options: Unpack[LookOptions]) -> pd.DataFrame:
    """Events inside the links of a run: frames with their outcomes, slots, airtime, queues, delays.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    **options
        ``set``, ``over`` and ``seed`` as in :func:`run`.

    Returns
    -------
    pandas.DataFrame
        A row for each event: a column for each axis of a sweep, then ``time_s``, ``link``, ``event``
        (``frame``, ``slot``, ``air``, ``defer``, ``queue``, ``delay``), ``user``, ``node``, ``frame``,
        ``attempt``, ``scheme``, ``snr_db``, ``verdict``, ``bin``, ``end_s``, ``nulls``, ``change``,
        ``packets``, ``bytes``, ``kind``, ``to``, ``nulled``, ``delay_queue_s`` to ``delay_reordering_s``,
        ``bearer``; a cell is missing if its column does not apply to the event.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"channel.p_e": [0.1], "link.arq.max_retransmissions": [7]}
    >>> set = {"run.duration": "0.1 s", "run.warmup": "0 s"}
    >>> events = cf.runs.link_events("wifi-like-arq", set=set, over=over)
    >>> bool((events["event"] == "frame").any())
    True
    """
    return _frame_of(_viewed(scenario, options), "link_events")


def transfers(
    scenario: ScenarioLike, *, runs: int | None = None, **options: Unpack[ViewOptions]
) -> pd.DataFrame:
    """One row for each transfer, in every run of each point.

    The runs of :func:`run`, which keeps only means, are simulated once more.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    runs : int, optional
        Number of runs, at most 100.
    **options
        ``set``, ``over`` and ``seed`` as in :func:`run`.

    Returns
    -------
    pandas.DataFrame
        Columns: the axes, ``run``, ``flow``, ``start_s``, ``segments``, ``completion_time_s`` (from the start
        to the last delivery), and ``unfinished_s``. A transfer unfinished at the end of the run has no
        ``completion_time_s``, and ``unfinished_s`` is the time from its start to the end of the run.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"link.queue.limit": ["500 packets"]}
    >>> transfers = cf.runs.transfers("classics/bufferbloat", runs=1, set={"run.duration": "20 s"}, over=over)
    >>> list(transfers.columns[-4:])
    ['start_s', 'segments', 'completion_time_s', 'unfinished_s']
    """
    return _frame_of(_of_all_runs(scenario, options, runs), "transfers")


def delays(
    scenario: ScenarioLike, *, runs: int | None = None, **options: Unpack[ViewOptions]
) -> pd.DataFrame:
    """Distributions of round-trip times and one-way delays, in every run of each point.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    runs : int, optional
        Number of runs, at most 100.
    **options
        ``set``, ``over`` and ``seed`` as in :func:`run`.

    Returns
    -------
    pandas.DataFrame
        Columns: the axes, ``run``, ``flow``, ``delay`` (``"rtt_s"`` or ``"one_way_delay_s"``), ``share``,
        ``value_s``: the quantile of the run's delays, in seconds, below which a ``share`` of them lies, with
        a relative error of at most 1/64.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> delays = cf.runs.delays("classics/slow-start", runs=2, set={"run.duration": "1 s"})
    >>> sorted(set(delays["delay"]))
    ['one_way_delay_s', 'rtt_s']
    """
    return _frame_of(_of_all_runs(scenario, options, runs), "delays")


def write_rows(
    path: str | PathLike[str],
    scenario: ScenarioLike,
    view: str,
    *,
    runs: int | None = None,
    **options: Unpack[ViewOptions],
) -> None:
    """Write the rows of :func:`transfers` or :func:`delays`, chosen by ``view``, to a CSV file."""
    plan = _of_all_runs(scenario, options, runs)
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="") as file:
        _write_lines(plan, view, file.write)


def _frame_of(plan: Plan, view: str) -> pd.DataFrame:
    return Table.from_csv(_text_of(plan, view), view).to_pandas()


def _text_of(plan: Plan, view: str) -> str:
    text = io.StringIO()
    _write_lines(plan, view, text.write)
    return text.getvalue()


def write_events(
    path: str | PathLike[str],
    scenario: ScenarioLike,
    *,
    of_links: bool = False,
    **options: Unpack[LookOptions],
) -> None:
    """Write the events of a run to a CSV file during the run.

    Parameters
    ----------
    path : path
        File to write. It appears under this name once it is complete.
    scenario : Scenario, mapping, path or str
        Scenario, or a sweep of at most 20 points.
    of_links : bool
        Whether to write the events of links (:func:`crossfade.runs.link_events`) in place of those of
        senders.
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.runs.write_events("events.csv", "classics/slow-start", set={"run.duration": "1 s"})
    >>> with open("events.csv") as file:
    ...     file.readline().split(",")[:3]
    ['time_s', 'event', 'flow']
    """
    plan = _viewed(scenario, options)
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="") as file:
        _write_lines(plan, "link_events" if of_links else "events", file.write)


def _viewed(scenario: ScenarioLike, options: LookOptions) -> Plan:
    """The plan for a view of one run of each point; :class:`ScenarioError` if it may take too much memory."""
    return _checked(plans.load(scenario, Options.of(LookOptions, options)))


def _of_all_runs(scenario: ScenarioLike, options: ViewOptions, runs: int | None) -> Plan:
    """The plan for a view of every run; :class:`ScenarioError` if it may take too much memory."""
    return _checked(plans.load(scenario, Options.of(ViewOptions, options, runs=runs)))


def _checked(plan: Plan) -> Plan:
    check_memory(plan)
    return plan


def _write_lines(plan: Plan, view: str, write: Callable[[str], object]) -> None:
    """Write the CSV texts of all points as one table; in a sweep each line begins with the values of the
    axes.
    """
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

    single = () if view in OF_ALL_RUNS or not plan.run else (plan.run,)
    with translated_errors():
        getattr(plan.core, view)(take, *single)


def pcap(
    scenario: ScenarioLike,
    *,
    ipv6: bool = False,
    snaplen: int | None = None,
    **options: Unpack[LookOptions],
) -> bytes:
    """Packets at the senders' network interfaces in a run of a single point, as a packet capture.

    IP and TCP headers are real, with options and right checksums; the payload is zeros. Flow n has port
    50000 + n. The handshake is not simulated: its packets have the time of the flow's first packet.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario of one point.
    ipv6 : bool
        True for IPv6 headers in place of IPv4.
    snaplen : int, optional
        Number of bytes kept of each packet (default: all); its full length is recorded in any case.
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Returns
    -------
    bytes
        Content of a pcap file, all in memory; for a long run use :func:`crossfade.runs.write_pcap`.

    Raises
    ------
    ScenarioError
        If the scenario has several points, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> capture = cf.runs.pcap("classics/slow-start", set={"run.duration": "1 s"}, snaplen=96)
    >>> capture[:4].hex()  # nanoseconds, little endian
    '4d3cb2a1'
    """
    file = io.BytesIO()
    plan = _viewed(scenario, options)
    with translated_errors():
        plan.core.pcap(ipv6, _snaplen(snaplen), file.write, plan.run)
    return file.getvalue()


def write_pcap(
    path: str | PathLike[str],
    scenario: ScenarioLike,
    *,
    ipv6: bool = False,
    snaplen: int | None = None,
    **options: Unpack[LookOptions],
) -> None:
    """Write the capture of :func:`crossfade.runs.pcap` to a file during the run.

    Parameters
    ----------
    path : path
        File to write. It appears under this name once it is complete.
    scenario : Scenario, mapping, path or str
        Scenario of one point.
    ipv6 : bool
        True for IPv6 headers in place of IPv4.
    snaplen : int, optional
        Number of bytes kept of each packet (default: all); its full length is recorded in any case.
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Raises
    ------
    ScenarioError
        If the scenario has several points, or an option is wrong.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.runs.write_pcap("slow-start.pcap", "classics/slow-start", set={"run.duration": "1 s"})
    """
    plan = _viewed(scenario, options)
    with whole_file(Path(path)) as name, open(name, "wb") as file, translated_errors():
        plan.core.pcap(ipv6, _snaplen(snaplen), file.write, plan.run)


def _snaplen(bytes_kept: int | None) -> int | None:
    if bytes_kept is not None and not 1 <= bytes_kept < 2**32:
        raise errors.ScenarioError(f"snaplen = {bytes_kept}: must be a number of bytes, 1 or more")
    return bytes_kept


def air_pcap(
    scenario: ScenarioLike,
    *,
    ipv6: bool = False,
    snaplen: int | None = None,
    **options: Unpack[LookOptions],
) -> bytes:
    """All frames on the air in a run of a mesh or a Wi-Fi network, as a packet capture.

    Frames have real radiotap and 802.11 headers, with their duration fields. Node n has the address
    02:00:00:00:XX:XX, with n in the last two bytes; node 0 of a Wi-Fi network is the access point. The frames
    of a mesh carry zeros.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario with a mesh or a Wi-Fi network, of one point.
    ipv6 : bool
        Whether packets in a Wi-Fi network have IPv6 headers.
    snaplen : int, optional
        Number of bytes kept of each frame (default: all in a Wi-Fi network, 128 in a mesh).
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Returns
    -------
    bytes
        Content of a pcap file, all in memory; for a long run use :func:`crossfade.runs.write_air_pcap`.

    Raises
    ------
    ScenarioError
        If the scenario has neither a mesh nor a Wi-Fi network, or several points, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> set = {"run.duration": "100 ms", "run.warmup": "0 s"}
    >>> len(cf.mesh.air_pcap("mesh-chain", point=0, set=set)) > 1000
    True
    """
    file = io.BytesIO()
    plan = _viewed(scenario, options)
    with translated_errors():
        plan.core.air_pcap(ipv6, _snaplen(snaplen), file.write, plan.run)
    return file.getvalue()


def write_air_pcap(
    path: str | PathLike[str],
    scenario: ScenarioLike,
    *,
    ipv6: bool = False,
    snaplen: int | None = None,
    **options: Unpack[LookOptions],
) -> None:
    """Write the capture of :func:`crossfade.mesh.air_pcap` to a file during the run.

    Parameters
    ----------
    path : path
        File to write. It appears under this name once it is complete.
    scenario : Scenario, mapping, path or str
        A scenario with a mesh or a Wi-Fi network, of one point.
    ipv6 : bool
        Whether packets in a Wi-Fi network have IPv6 headers.
    snaplen : int, optional
        Number of bytes kept of each frame (default: all in a Wi-Fi network, 128 in a mesh).
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Raises
    ------
    ScenarioError
        If the scenario has neither a mesh nor a Wi-Fi network, or several points, or an option is wrong.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> set = {"run.duration": "100 ms", "run.warmup": "0 s"}
    >>> cf.runs.write_air_pcap("air.pcap", "wifi/home", point=0, set=set, snaplen=256)
    """
    plan = _viewed(scenario, options)
    with whole_file(Path(path)) as name, open(name, "wb") as file, translated_errors():
        plan.core.air_pcap(ipv6, _snaplen(snaplen), file.write, plan.run)


def opportunities(scenario: ScenarioLike, user: int = 0, **options: Unpack[LookOptions]) -> pd.DataFrame:
    """Delivery opportunities of a flow: the time of each 1500 bytes delivered, in a run of a single point.

    If packets of the flow are always waiting, as with traffic ``saturated``, these are the link's capacity.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        Scenario of one point.
    user : int
        Flow, counted from 0; in a cell, its user.
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Returns
    -------
    pandas.DataFrame
        Column ``time_ms``: whole milliseconds since the start, a row for each delivery of 1500 bytes.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong, or it has more than one point.

    See Also
    --------
    write_opportunities : Writes a file in the format of ``link.trace.opportunities`` and other emulators.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.runs.opportunities("classics/slow-start", set={"run.duration": "1 s"})
    >>> bool(found["time_ms"].is_monotonic_increasing)
    True
    """
    return opportunities_frame(opportunities_text(scenario, user, **options))


def write_opportunities(
    path: str | PathLike[str], scenario: ScenarioLike, user: int = 0, **options: Unpack[LookOptions]
) -> None:
    """Write the delivery opportunities of :func:`crossfade.runs.opportunities` as a trace for emulators.

    Parameters
    ----------
    path : path
        File to write: one line for each opportunity, in whole milliseconds.
    scenario : Scenario, mapping, path or str
        Scenario of one point.
    user : int
        Flow, counted from 0; in a cell, its user.
    **options
        ``set``, ``over``, ``seed``, ``point``, ``at`` and ``run`` as in :func:`crossfade.events`.

    Raises
    ------
    ScenarioError
        If the scenario has several points, or an option is wrong.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.runs.write_opportunities("down.trace", "classics/slow-start", set={"run.duration": "1 s"})
    """
    write_text(Path(path), opportunities_text(scenario, user, **options))


def opportunities_text(scenario: ScenarioLike, user: int = 0, **options: Unpack[LookOptions]) -> str:
    """Delivery opportunities of a flow (:func:`opportunities`) as text: one time in milliseconds per line."""
    plan = _viewed(scenario, options)
    if not 0 <= user < 2**32:
        raise errors.ScenarioError(f"user = {user}: must be 0 or more")
    with translated_errors():
        return plan.core.opportunities(user, plan.run)


def opportunities_frame(text: str) -> pd.DataFrame:
    """A DataFrame with column ``time_ms``, from the text of a trace of delivery opportunities."""
    return Table(["time_ms"], [[int(line)] for line in text.split()]).to_pandas()
