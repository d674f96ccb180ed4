"""What the page can be asked: a link and a sender by a few numbers, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from crossfade import api
from crossfade.errors import ScenarioError, shortened
from crossfade.figures.choice import number
from crossfade.tables import Table
from crossfade.wording import WORDS

VARIANTS = ["old-tahoe", "tahoe", "reno", "newreno"]
CURVES_OVER = (0.001, 0.3)
# Points of a curve: few while somebody drags, more when they let go.
COARSE, FINE = 7, 15


@dataclass(frozen=True)
class Range:
    """What a slider runs over; ``log``: each step by the same factor."""

    low: float
    high: float
    words: str
    log: bool = False
    unit: str = ""


# The exact analysis needs a timeout of at least 2 w_max + 2 slots (crossfade explain tcp.rto.fixed). A window
# of 40 takes some ten times as long as one of 24: curves then have few points.
USUAL_WINDOW = 24
RANGES = {
    "p_e": Range(*CURVES_OVER, "Packet error probability", log=True),
    "fd_t": Range(0.001, 0.5, "Doppler frequency f_d T", log=True),
    "w_max": Range(2, 40, "Maximum window", unit="packets"),
    "rto": Range(50, 400, "Timeout", unit="slots"),
    "slots": Range(200, 3000, "Length of the run", unit="slots"),
    "seed": Range(0, 1e6, "Seed"),
}


@dataclass(frozen=True)
class State:
    """Where the page stands. ``channel`` is ``markov`` (fading by ``fd_t``) or ``iid``."""

    channel: str = "markov"
    p_e: float = 0.02
    fd_t: float = 0.01
    w_max: int = 24
    rto: int = 100
    variant: str = "reno"
    slots: int = 800
    seed: int = 1

    @staticmethod
    def of(query: str) -> State:
        """The state that a link tells; :class:`ScenarioError` names what is wrong with it."""
        found: dict[str, Any] = {}
        known = {field.name: field.type for field in fields(State)}
        words = {"channel": ["markov", "iid"], "variant": VARIANTS}
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name not in known:
                raise ScenarioError(f"{shortened(name)}: not part of a state ({', '.join(known)})")
            if name in words:
                if text not in words[name]:
                    raise ScenarioError(
                        f"{name} = {shortened(text)}: must be one of {', '.join(words[name])}"
                    )
                found[name] = text
                continue
            allowed, value = RANGES[name], _number(text)
            if not allowed.low <= value <= allowed.high:
                raise ScenarioError(
                    f"{name} = {shortened(text)}: must be from {allowed.low:g} to {allowed.high:g}"
                )
            found[name] = round(value) if known[name] == "int" else value
        state = State(**found)
        if state.rto < (least := 2 * state.w_max + 2):
            raise ScenarioError(f"rto = {state.rto}: must be at least 2 w_max + 2 = {least}")
        return state

    @property
    def query(self) -> str:
        """The state as the end of a link, which :meth:`of` reads."""
        return urlencode(asdict(self))

    def scenario(self) -> str:
        """A scenario file of it: the curves by analysis and simulation, of its channel and sender."""
        markov = f'{{ model = "markov", fd_t = {self.fd_t:.6g} }}'
        low, high = CURVES_OVER
        return f"""\
# crossfade explore --at "{self.query}"
schema = 2
title = "Explored: {WORDS[self.variant]}, W_max {self.w_max}, timeout {self.rto} slots"
methods = ["analysis", "simulation"]
run = {{ duration = "50000 slots", warmup = "1000 slots", runs = 10, seed = {self.seed} }}
channel = {markov if self.channel == "markov" else '{ model = "iid" }'}
link = {{ rate = "1.5 Mbit/s", packet_size = "1400 B" }}
tcp = {{ flavour = "paper", variant = "{self.variant}", w_max = {self.w_max}, \
rto = {{ fixed = "{self.rto} slots" }} }}
figure = {{ x = "channel.p_e", y = "throughput_per_slot", by = "tcp.variant" }}

[sweep]
"tcp.variant" = ["tahoe", "reno", "newreno"]
"channel.p_e" = "log:{low:g}:{high:g}:{FINE}"
"""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def curves(state: State, points: int, variants: list[str]) -> dict[str, Any]:
    """The exact throughput (packets a slot) of each variant over the packet error probability."""
    low, high = CURVES_OVER
    results = api.run(
        state.scenario(),
        methods=["analysis"],
        over={
            "tcp.variant": variants,
            "channel.p_e": f"log:{low:g}:{high:g}:{points if state.w_max <= USUAL_WINDOW else COARSE}",
        },
        cache=False,
    )
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for point in results.points:
        found[point.axes["tcp.variant"]].append(
            (point.axes["channel.p_e"], point.value("throughput_per_slot"))
        )
    return {name: [list(axis) for axis in zip(*of, strict=True)] for name, of in found.items()}


def connection(state: State) -> dict[str, Any]:
    """One simulated connection: its window and threshold over time (slots), and each segment's fate."""
    single = _single(state)
    table = Table.of_frame(api.events(single))
    place = {name: index for index, name in enumerate(table.columns)}
    slot = slot_s()
    window: list[tuple[float, float, float]] = []
    marks: dict[str, list[tuple[float, float]]] = {"fast_retransmit": [], "timeout": []}
    seen: dict[str, list[tuple[float, float]]] = {"sent": [], "again": [], "lost": [], "acknowledged": []}
    highest = -1.0
    for row in table.rows:
        event = row[place["event"]]
        time, seq, cwnd, threshold = (
            number(row[place[name]]) for name in ("time_s", "seq", "cwnd", "ssthresh")
        )
        time = round(time / slot, 3)
        if not window or window[-1][1:] != (cwnd, threshold):
            window.append((time, cwnd, threshold))
        if event in marks:
            marks[str(event)].append((time, cwnd))
        if event == "send":
            seen["sent" if seq > highest else "again"].append((time, seq))
            highest = max(highest, seq)
        elif event in ("lost", "queue_drop"):
            seen["lost"].append((time, seq))
        elif event in ("ack", "duplicate_ack"):
            seen["acknowledged"].append((time, seq))
    if window:
        window.append((float(state.slots), *window[-1][1:]))
    acknowledged = [seq for _, seq in seen["acknowledged"]]
    return {
        "window": _columns(window, 3),
        "marks": {name: _columns(of, 2) for name, of in marks.items()},
        "segments": {name: _columns(of, 2) for name, of in seen.items()},
        "throughput": max(acknowledged, default=0.0) / state.slots,
    }


def _single(state: State) -> str:
    """The scenario of the connection: one point, one run."""
    text = state.scenario().partition("figure =")[0]
    return (
        text.replace("50000 slots", f"{state.slots} slots")
        .replace('"1000 slots"', '"0 s"')
        .replace("channel = {", f"channel = {{ p_e = {state.p_e:.6g},")
    )


@cache
def slot_s() -> float:
    """How long a slot of the page's link lasts, in seconds."""
    return 1400 * 8 / 1.5e6


def _columns(rows: list[Any], count: int) -> list[list[float]]:
    return [[row[index] for row in rows] for index in range(count)]


def description() -> Mapping[str, Any]:
    """What the page makes its controls of."""
    return {
        "ranges": {name: asdict(allowed) for name, allowed in RANGES.items()},
        "variants": {name: WORDS[name] for name in VARIANTS},
        "usual": asdict(State()),
        "fine": FINE,
        "coarse": COARSE,
    }
