"""Configuration that ``crossfade live`` passes to its helper as JSON; all keys must be known and present."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypedDict

OWN_FAILURE = 125
"""Exit code if COMMAND could not be run; every other one is COMMAND's."""


class Source(TypedDict):
    """Source of a plan: name, text, overrides, and texts of its files."""

    name: str
    text: str
    overrides: dict[str, Any]
    files: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """Options of the hosts, as :class:`_crossfade.Live` takes them."""

    bulk: bool
    congestion: str | None
    mtu: int | None
    ipv6: bool
    large_segments: bool
    data_only: bool
    rebind: list[float] | None
    """Times in seconds of the first rebinding of UDP ports, and between two rebindings."""
    corrupt: bool
    awake: Literal["never", "while-passing", "always"]
    captures: list[str] | None
    """Paths of the captures at the far host and at the near host; None: no captures."""


@dataclass(frozen=True, kw_only=True)
class Config(Hosts):
    """Configuration of a live run. Paths are absolute if another process opens them."""

    plan: Source
    run: int
    command: list[str]
    is_shell: bool
    far: str | None
    serve: str | None
    internet: bool
    duration_s: float | None
    realtime: bool
    strict: bool
    record: str | None
    events: str | None
    link_events: str | None
    air_pcap: str | None
    snaplen: int | None
    opportunities: list[str] | None
    watch: bool
    page: int | None
    json: str | None
    quiet: bool

    def hosts(self) -> dict[str, Any]:
        """Fields of :class:`Hosts`, by name."""
        return {field.name: getattr(self, field.name) for field in fields(Hosts)}

    def to_json(self) -> str:
        """Configuration as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Config:
        """Configuration from the text of :meth:`to_json`; ``TypeError`` for a missing or unknown key."""
        return cls(**json.loads(text))
