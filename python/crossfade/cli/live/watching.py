"""Display of a live run in progress, for the terminal and the page."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from crossfade._crossfade import Live

PERIOD_S = 0.1
# Largest number of kept frames, one hour of them; the oldest are dropped first.
MOST_FRAMES = 36_000
WAYS = ("from the far host", "to the far host")


@dataclass(frozen=True)
class Frame:
    """State at one time of the sockets that send data, and of both directions between the hosts."""

    time_s: float
    sockets: dict[str, dict[str, Any]]
    """State by socket ``HOST:PORT-PORT``: cwnd, srtt_s, delivery_rate_bps, retransmissions, congestion."""
    ways: list[dict[str, float]]
    """Counters from the far host, then to it: rate_bps since the last frame, lost, dropped, inside."""


class Viewer(Protocol):
    """Display of a live run."""

    def show(self, seen: Seen) -> None:
        """Show the frames so far."""

    def close(self) -> None:
        """End the display at the end of the run."""


class Seen:
    """Frames of a run; other threads than the one that adds them may read them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._frames: deque[Frame] = deque(maxlen=MOST_FRAMES)
        self._count = 0
        self._next = (0, 0)
        self._before: dict[str, Any] | None = None

    def look(self, live: Live) -> bool:
        """Add a frame from the samples since the last call; returns True if there were any."""
        found = json.loads(live.seen(self._next))
        self._next = tuple(found["next"])
        if not found["links"]:
            return False
        link = found["links"][-1]
        latest: dict[str, dict[str, Any]] = {}
        for socket in found["sockets"]:  # the last sample of each socket since the previous frame
            name = f"{socket['host']}:{socket['port']}-{socket['remote_port']}"
            latest[name] = {key: value for key, value in socket.items() if key not in _NAMED}
        frame = Frame(link["time_s"], latest, [self._way(link, way) for way in range(len(WAYS))])
        self._before = link
        with self._lock:
            self._frames.append(frame)
            self._count += 1
        return True

    def _way(self, link: dict[str, Any], way: int) -> dict[str, float]:
        before = self._before or {"time_s": 0.0, "arrived_bytes": [0, 0]}
        bits = 8.0 * (link["arrived_bytes"][way] - before["arrived_bytes"][way])
        span_s = max(link["time_s"] - before["time_s"], 1e-3)
        return {
            "rate_bps": bits / span_s,
            **{name: link[name][way] for name in ("lost", "dropped", "inside")},
        }

    def frames(self, since: int = 0) -> tuple[list[Frame], int]:
        """Frames from number ``since`` on that are not dropped yet, and the number of the next frame."""
        with self._lock:
            forgotten = self._count - len(self._frames)
            return list(self._frames)[max(0, since - forgotten) :], self._count


_NAMED = ("time_s", "host", "port", "remote_port")
