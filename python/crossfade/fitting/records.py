"""Records of packets, and logs of other tools, as arrays: told by their content, read in chunks."""

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

# How pcap files begin, of either byte order and unit of time, and pcapng files; and files with longer headers
# of packets, which are not read.
CAPTURES = tuple(
    map(
        bytes.fromhex,
        ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a", "34cdb2a1", "a1b2cd34"),
    )
)
COLUMNS = ("sent_s", "bytes", "seen_s", "fate")
ARRIVED, LOST, UNKNOWN = 0, 1, 2
# So many bytes at the beginning tell what a log is.
HEAD = 1 << 16
# All stretches of time together have at most so many packets, or one each.
MOST_SPREAD = 2_000_000
# Logs and traces that are read as a whole are no larger, unpacked.
LARGEST = 1 << 29
# The sender of a trace of opportunities has so much under way, in s of its rate, and at least so much.
UNDER_WAY_S = 0.1
FEWEST_UNDER_WAY = 10
# Logs of programs that send by the TCP of the system, which is Linux as a rule.
OF_LINUX = ("ss", "iperf3")
# What is said of a record beside its packets, where it does not say otherwise.
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
    """The packets of a record as arrays, and what else is said of it.

    Of a log without packets its stretches of time are in the latter.
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
    """Whether a file is a record: a capture, a log, a journal, or a trace named ``.up`` or ``.down``."""
    file = Path(fspath(path))
    begins = _begins(file)
    if begins[:4] in CAPTURES or begins == JOURNAL_MAGIC:
        return True
    if log_kind(file) is not None or (begins[:2] == b"# " and _is_tunnel(file)):
        return True
    return _is_opportunities(file, False)


def _begins(file: Path) -> bytes:
    """The first bytes of a file, unpacked."""
    return next(iter(_chunks(file)), b"")[: len(JOURNAL_MAGIC)]


def _is_journal(path: Path) -> bool:
    return _begins(path) == JOURNAL_MAGIC


def _is_opportunities(path: Path, is_pair: bool) -> bool:
    """Whether a file is a trace of mahimahi: one of a pair, or named so, as lost numbers look alike."""
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
    """Tool that wrote a log, by the log's first bytes; None if it is unknown."""
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
    """Logs of both ends of a link: the way that carried more, and the delays of the other."""
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
    from crossfade.api.journals import of_journal  # here, as captures need nothing of it

    try:
        found = dict(of_journal(paths[0], "journal_packets"))
    except ScenarioError as error:
        raise TraceError(str(error)) from None
    if not len(found["sent_s"]):
        raise TraceError(f"{shortened(paths[0])}: no packet came to the links of the run")
    packets = {name: found.pop(name) for name in COLUMNS}
    return packets, {**WHOLE, "flow": "live run", "is_round_trip": False, **found}


def _of_opportunities(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A trace of mahimahi as the record of a sender that always had packets under way; of two the first."""
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
    """The packets of stretches of time, evenly in each: what a replay of them has."""
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
