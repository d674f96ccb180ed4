"""Records of packets, and logs of other tools, as arrays: told by their content, read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade.errors import TraceError
from crossfade.files import reading, regular_file
from crossfade.fitting.traces import LinkTrace, _chunks, _translated, trace

# How pcap files begin, of either byte order and unit of time, and pcapng files.
CAPTURES = tuple(map(bytes.fromhex, ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")))
COLUMNS = ("sent_s", "bytes", "seen_s", "fate")
ARRIVED, LOST, UNKNOWN = 0, 1, 2
# So many bytes at the beginning tell what a log is.
HEAD = 1 << 16
# A stretch of time has at most so many packets.
MOST_OF_STRETCH = 1_000_000
# What is said of a record beside its packets, where it does not say otherwise.
WHOLE: dict[str, Any] = {
    "kind": "packets",
    "is_cut": False,
    "ends_early": False,
    "offloads": False,
    "share": 1.0,
    "at_receiver": False,
    "are_probes": False,
    "has_sizes": True,
    "tick_s": 0.0,
    "reverse_sent_s": (),
    "reverse_delay_s": (),
}


def read_record(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The packets of a record as arrays, and what else is said of it.

    Of a log without packets its stretches of time are in the latter.
    """
    if all(_is_tunnel_log(path) for path in paths):
        return _of_tunnel(trace(*paths))
    if len(paths) == 1 and log_kind(paths[0]) is not None:
        return _of_log(paths[0])
    return _of_captures(paths)


def is_record(path: str | PathLike[str]) -> bool:
    """Whether a file is a record of packets: a capture, or the log of a tunnel."""
    file = Path(fspath(path))
    with reading(file, TraceError), regular_file(file) as opened:
        begins = opened.read(4)
    if begins[:2] == b"\x1f\x8b":
        begins = next(iter(_chunks(file)), b"")[:4]
    if begins in CAPTURES:
        return True
    return log_kind(file) is not None or (begins[:2] == b"# " and _is_tunnel(file))


def log_kind(file: Path) -> str | None:
    """Which tool wrote a log, by its first bytes; None where none that is read."""
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
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _of_log(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with _translated(str(path)):
        found = _crossfade.read_log(_chunks(path))
    if found["kind"] == "stretches":
        return _spread(found["rows"], found["packet_bytes"]), {**WHOLE, "is_round_trip": True, **found}
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _spread(rows: Sequence[Sequence[float]], packet: float) -> dict[str, Any]:
    """The packets of stretches of time, evenly in each: what a replay of them has."""
    import numpy as np

    counts = [max(0, min(MOST_OF_STRETCH, round(row[2] / packet))) for row in rows]
    times = [
        np.linspace(row[0], row[1], count, endpoint=False) for row, count in zip(rows, counts, strict=True)
    ]
    sent = np.concatenate(times)
    return {
        "sent_s": sent,
        "bytes": np.full(len(sent), packet),
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
