"""Readers of records of a link, recognised by their content: captures, journals, and logs of other tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade.errors import ScenarioError, TraceError, shortened
from crossfade.files import reading, regular_file
from crossfade.fitting.traces import LinkTrace, _chunks, _translated, trace
from crossfade.records import JOURNAL_MAGIC

# First bytes of captures: pcap in either byte order, in us or ns; pcapng; and pcap with longer packet
# headers, which is refused.
CAPTURES = tuple(
    map(
        bytes.fromhex,
        ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a", "34cdb2a1", "a1b2cd34"),
    )
)
# Columns of the packets of a record: send time in s, size in bytes, time in s at which the arrival was seen
# (NaN if unknown), and fate.
COLUMNS = ("sent_s", "bytes", "seen_s", "fate")
# Values of the column ``fate``.
ARRIVED, LOST, UNKNOWN = 0, 1, 2
# Number of bytes at the beginning of a log by which its tool is recognised.
HEAD = 1 << 16
# Largest number of packets that represent all time intervals of a log together, unless it has more intervals.
MOST_SPREAD = 2_000_000
# Largest unpacked size, in bytes, of logs and traces that are read into memory as a whole.
LARGEST = 1 << 29
# Packets in flight of the assumed sender of a trace of delivery opportunities: as many as the mean rate has
# in this time (s), and at least the number below.
UNDER_WAY_S = 0.1
FEWEST_UNDER_WAY = 10
# Tools whose TCP sender is that of the operating system, which is usually Linux.
OF_LINUX = ("ss", "iperf3")
# Properties of a record beside its packets: values where a reader does not give others.
WHOLE: dict[str, Any] = {
    "kind": "packets",
    "is_cut": False,
    "ends_early": False,
    "offloads": False,
    "share": 1.0,
    "at_receiver": False,
    "are_probes": False,
    "is_of_linux": False,
    "has_sizes": True,
    "tick_s": 0.0,
    "held_s": 0.0,
    "reverse_sent_s": (),
    "reverse_delay_s": (),
}


def read_record(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Packets of a record as arrays (``COLUMNS``), and properties of the record (``WHOLE`` and others).

    A log of time intervals has its intervals as property ``rows``, and packets that are spread over them.
    Raises TraceError if the files are no record, or do not belong together.
    """
    kinds = [log_kind(path) for path in paths]
    if all(kind == "link" for kind in kinds):
        return _of_link_logs(paths)
    if all(_is_tunnel_log(path) for path in paths):
        _check_sizes(paths)
        return _of_tunnel(trace(*paths))
    if any(_is_journal(path) for path in paths):
        packets, about = _of_journal(paths)
        return packets, {**about, "is_of_linux": True}
    if all(_is_opportunities(path, len(paths) > 1) for path in paths):
        return _of_opportunities(paths)
    if len(paths) == 1 and kinds[0] is not None:
        packets, about = _of_log(paths[0])
        return packets, {**about, "is_of_linux": kinds[0] in OF_LINUX}
    for path, kind in zip(paths, kinds, strict=True):
        if kind is not None:
            raise TraceError(f"{shortened(path)}: is a log of {kind}: give it alone")
    return _of_captures(paths)


def is_record(path: str | PathLike[str]) -> bool:
    """True if a file is a record of a link, to which :func:`fit_link` fits a link.

    Records are captures, logs of known tools, journals, and traces named ``.up`` or ``.down``.
    """
    file = Path(fspath(path))
    begins = _begins(file)
    if begins[:4] in CAPTURES or begins == JOURNAL_MAGIC:
        return True
    if log_kind(file) is not None or (begins[:2] == b"# " and _is_tunnel(file)):
        return True
    return _is_opportunities(file, False)


def _begins(file: Path) -> bytes:
    """First bytes of a file, unpacked if it is packed by gzip, as many as a journal has to recognise it."""
    return next(iter(_chunks(file)), b"")[: len(JOURNAL_MAGIC)]


def _is_journal(path: Path) -> bool:
    return _begins(path) == JOURNAL_MAGIC


def _is_opportunities(path: Path, is_pair: bool) -> bool:
    """True if a file is a trace of delivery opportunities of mahimahi.

    A file that is not one of a pair must be named ``.up`` or ``.down``, since a list of lost packet numbers
    looks like a trace.
    """
    named = path.with_suffix("") if path.suffix == ".gz" else path
    if not is_pair and named.suffix not in (".up", ".down"):
        return False
    if _begins(path)[:4] in CAPTURES:
        return False
    try:
        return _crossfade.detect_trace(_chunks(path)) == "mahimahi"
    except _crossfade.TraceError:
        return False


def _check_sizes(paths: Sequence[Path]) -> None:
    for path in paths:
        size = 0
        for chunk in _chunks(path):
            size += len(chunk)
            if size > LARGEST:
                raise TraceError(f"{shortened(path)}: larger than {LARGEST >> 20} MiB: cut it")


def log_kind(file: Path) -> str | None:
    """Name of the tool that wrote a log, recognised by the first bytes of the log; None if it is unknown."""
    head = b""
    for chunk in _chunks(file):
        head += chunk
        if len(head) >= HEAD:
            break
    return _crossfade.detect_log(head)


def _is_tunnel(file: Path) -> bool:
    try:
        return _crossfade.detect_trace(_chunks(file)) == "pantheon-tunnel"
    except _crossfade.TraceError:
        return False


def _is_tunnel_log(path: Path) -> bool:
    with reading(path, TraceError), regular_file(path) as opened:
        begins = opened.read(2)
    return begins == b"# " and _is_tunnel(path)


def _of_captures(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    chunks: list[Iterator[bytes]] = [_chunks(path) for path in paths for _ in range(2)]
    with _translated(" and ".join(map(str, paths))):
        found = _crossfade.read_capture(*chunks)
    if found.get("kind") == "stretches":
        return _spread(found["rows"], found["packet_bytes"]), {**WHOLE, "is_round_trip": True, **found}
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _of_log(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with _translated(str(path)):
        found = _crossfade.read_log(_chunks(path))
    if found["kind"] == "stretches":
        return _spread(found["rows"], found["packet_bytes"]), {**WHOLE, "is_round_trip": True, **found}
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _of_link_logs(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Packets of the direction that carried more bytes, from logs of one or both directions of a link.

    The other direction gives the delay of the reverse path: the shortest in each second.
    """
    logs = [_of_log(path) for path in paths]
    (packets, about), *others = sorted(logs, key=lambda log: -float(log[0]["bytes"].sum()))
    for other, of in others:
        shortest: dict[int, tuple[float, float]] = {}
        sent = other["sent_s"] + (of["starts_s"] - about["starts_s"])
        arrived = other["fate"] == ARRIVED
        for at, delay in zip(sent[arrived], (other["seen_s"] - other["sent_s"])[arrived], strict=True):
            best = shortest.get(int(at), (at, delay))
            shortest[int(at)] = min(best, (float(at), float(delay)), key=lambda pair: pair[1])
        reverse = sorted(shortest.values())
        about["reverse_sent_s"] = [at for at, _ in reverse]
        about["reverse_delay_s"] = [delay for _, delay in reverse]
    return packets, about


def _of_journal(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(paths) != 1:
        raise TraceError("a journal has both ends: give it alone")
    from crossfade.api.journals import of_journal  # here, since captures are read without it

    try:
        found = dict(of_journal(paths[0], "journal_packets"))
    except ScenarioError as error:
        raise TraceError(str(error)) from None
    if not len(found["sent_s"]):
        raise TraceError(f"{shortened(paths[0])}: no packet came to the links of the run")
    packets = {name: found.pop(name) for name in COLUMNS}
    return packets, {**WHOLE, "flow": "live run", "is_round_trip": False, **found}


def _of_opportunities(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Packets of an assumed sender that used every delivery opportunity of a trace of mahimahi.

    It always has data in flight, so no opportunity passes unused. Of the traces of two directions, the first
    is taken. The second value has the properties of the record.
    """
    import numpy as np

    _check_sizes(paths)
    found = trace(*paths)
    if len(found.files) == 2 and len(found.ways) != 2:
        raise TraceError("two traces of opportunities are the two ways of a link, up first")
    of = LinkTrace(found.files[:1], found.delay_interval_s).frame()
    seen = of["time_s"].to_numpy(float)
    lasts = max(float(found.files[0].lasts_s), 1e-3)
    under_way = max(FEWEST_UNDER_WAY, round(UNDER_WAY_S * len(seen) / lasts))
    if len(seen) <= under_way:
        raise TraceError(f"{shortened(paths[0])}: {len(seen)} opportunities are too few for a fit")
    sent = np.concatenate([np.full(under_way, min(0.0, float(seen[0]))), seen[:-under_way]])
    packets = {
        "sent_s": sent,
        "bytes": np.full(len(seen), 1500.0),
        "seen_s": np.maximum(seen, sent),
        "fate": np.zeros(len(seen), dtype="int8"),
    }
    about = {"kind": "opportunities", "flow": "mahimahi", "is_round_trip": True, "tick_s": 1e-3}
    return packets, {**WHOLE, **about}


def _spread(rows: Sequence[Sequence[float]], packet: float) -> dict[str, Any]:
    """Packets that represent the time intervals ``rows`` of a log in a replay, spread evenly over each.

    ``packet`` is the size of a full packet in bytes.
    """
    import numpy as np

    most = max(1, MOST_SPREAD // max(1, len(rows)))
    counts = [min(most, math.ceil(row[2] / packet)) for row in rows]
    sizes = [np.full(count, row[2] / max(1, count)) for row, count in zip(rows, counts, strict=True)]
    times = [
        np.linspace(row[0], row[1], count, endpoint=False) for row, count in zip(rows, counts, strict=True)
    ]
    sent = np.concatenate(times)
    return {
        "sent_s": sent,
        "bytes": np.concatenate(sizes),
        "seen_s": sent,
        "fate": np.zeros(len(sent), dtype="int8"),
    }


def _of_tunnel(logs: LinkTrace) -> tuple[dict[str, Any], dict[str, Any]]:
    frame = logs.packets()
    frame = frame[frame["direction"] == frame["direction"].iloc[0]].sort_values("sent_s", kind="stable")
    arrived = frame["arrived_s"].notna().to_numpy()
    packets = {
        "sent_s": frame["sent_s"].to_numpy(float),
        "bytes": frame["bytes"].to_numpy(float),
        "seen_s": frame["arrived_s"].to_numpy(float),
        "fate": (~arrived).astype("int8"),
    }
    return packets, {**WHOLE, "flow": "tunnel", "is_round_trip": False}
