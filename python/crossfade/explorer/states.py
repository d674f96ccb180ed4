"""State of the explorer's page: a link and a sender in a few numbers, and the values derived from them."""

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
from crossfade.figures.style import ALGORITHMS, PALETTE
from crossfade.tables import Table
from crossfade.wording import WORDS

VARIANTS = ["old-tahoe", "tahoe", "reno", "newreno"]
# Senders by model of the page: TCP variants of the exact analysis, and congestion controls over a simulated
# link.
SENDERS = {"paper": VARIANTS, "link": ["reno", "cubic", "bbr-v1", "bbr-v3"]}
CURVES_OVER = (0.001, 0.3)
# Number of samples of a run; and a slow-start threshold from which on it counts as not set: the senders'
# maximum window, in packets.
SAMPLES, UNSET = 200, 4000
# Rate of the simulated link (model ``link``), in Mbit/s.
LINK_MBPS = 5.0
# Number of points of a curve: few while a slider moves, more once it is released.
COARSE, FINE = 7, 15


@dataclass(frozen=True)
class Range:
    """Range of a slider, with its label and unit; with ``log`` each step multiplies by the same factor."""

    low: float
    high: float
    words: str
    log: bool = False
    unit: str = ""


# The exact analysis needs a timeout of at least 2 w_max + 2 slots (crossfade explain tcp.rto.fixed). A window
# of 40 takes about ten times as long as one of 24, so above 24 packets curves have few points.
USUAL_WINDOW = 24
RANGES = {
    "p_e": Range(*CURVES_OVER, "Packet error probability", log=True),
    "fd_t": Range(0.001, 0.5, "Doppler frequency f_d T", log=True),
    "w_max": Range(2, 40, "Maximum window", unit="packets"),
    "rto": Range(50, 400, "Timeout", unit="slots"),
    "slots": Range(200, 3000, "Length of the run", unit="slots"),
    "retransmissions": Range(0, 20, "Link retransmissions, at most"),
    "queue": Range(5, 1000, "Queue of the link", log=True, unit="packets"),
    "rtt": Range(5, 600, "RTT without queue", log=True, unit="ms"),
    "seconds": Range(5, 60, "Length of the run", unit="s"),
    "seed": Range(0, 1e6, "Seed"),
}


@dataclass(frozen=True)
class State:
    """State of the explorer's page, with which a link to the page and a scenario file can be made.

    ``model`` is ``paper`` (exact curves of a sender with immediate feedback) or ``link`` (simulated curves of
    a congestion control over a link with a queue, an RTT and ARQ). ``channel`` is ``markov`` (fading with
    normalised Doppler frequency ``fd_t``) or ``iid`` (independent errors).
    """

    model: str = "paper"
    channel: str = "markov"
    p_e: float = 0.02
    fd_t: float = 0.01
    w_max: int = 24
    rto: int = 100
    variant: str = "reno"
    slots: int = 800
    retransmissions: int = 3
    queue: int = 100
    rtt: int = 40
    seconds: int = 20
    seed: int = 1

    @staticmethod
    def of(query: str) -> State:
        """State from the query of a link; :class:`ScenarioError` names a value that is not allowed."""
        found: dict[str, Any] = {}
        known = {field.name: field.type for field in fields(State)}
        every = list(dict.fromkeys(name for names in SENDERS.values() for name in names))
        words = {"model": [*SENDERS], "channel": ["markov", "iid"], "variant": every}
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
        if state.variant not in SENDERS[state.model]:
            those = ", ".join(SENDERS[state.model])
            raise ScenarioError(
                f"variant = {state.variant}: must be one of {those} where model = {state.model}"
            )
        if state.model == "paper" and state.rto < (least := 2 * state.w_max + 2):
            raise ScenarioError(f"rto = {state.rto}: must be at least 2 w_max + 2 = {least}")
        return state

    @property
    def query(self) -> str:
        """The state as the query of a link, which :meth:`of` reads."""
        return urlencode(asdict(self))

    def scenario(self) -> str:
        """TOML text of a scenario for this state: curves over packet error probability, with intervals."""
        if self.model == "link":
            return self._link_scenario()
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

    def _link_scenario(self) -> str:
        """TOML text of the scenario for model ``link``: each congestion control over a link with queue, RTT
        and ARQ.
        """
        markov = f'{{ model = "markov", fd_t = {self.fd_t:.6g} }}'
        low, high = CURVES_OVER
        retries = self.retransmissions
        return f"""\
# crossfade explore --at "{self.query}"
schema = 2
title = "Explored: {WORDS[self.variant]}, {retries} link retransmissions, a queue of {self.queue} packets"
methods = ["simulation"]
run = {{ duration = "{self.seconds} s", runs = 10, seed = {self.seed} }}
channel = {markov if self.channel == "markov" else '{ model = "iid" }'}
wired = {{ rtt = "{self.rtt} ms" }}
tcp = {{ congestion = "{self.variant}", variant = "sack", w_max = 4000, rfc = {{ profile = "linux" }} }}
figure = {{ x = "channel.p_e", y = "goodput_bps", by = "tcp.congestion" }}

[link]
rate = "{LINK_MBPS:g} Mbit/s"
packet_size = "1500 B"
frame_size = "1500 B"
framing = {{ payload = "1500 B", slotted = false }}
queue = {{ limit = "{self.queue} packets" }}
arq = {{ protocol = "selective-repeat", max_retransmissions = {retries}, feedback = {{ delay = "100 us" }} }}

[sweep]
"tcp.congestion" = ["reno", "cubic", "bbr-v1", "bbr-v3"]
"channel.p_e" = "log:{low:g}:{high:g}:{FINE}"
"""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def curves(state: State, points: int, variants: list[str]) -> dict[str, Any]:
    """Exact throughput (packets per slot) of each variant over the packet error probability.

    For model ``link``: goodput (Mbit/s) of one simulated run per point.
    """
    low, high = CURVES_OVER
    if state.model == "link":
        over = {"tcp.congestion": variants, "channel.p_e": f"log:{low:g}:{high:g}:{points}"}
        return _found(api.run(state.scenario(), over=over, runs=1, cache=False), "goodput_bps", 1e-6)
    results = api.run(
        state.scenario(),
        methods=["analysis"],
        over={
            "tcp.variant": variants,
            "channel.p_e": f"log:{low:g}:{high:g}:{points if state.w_max <= USUAL_WINDOW else COARSE}",
        },
        cache=False,
    )
    return _found(results, "throughput_per_slot")


def _found(results: Any, metric: str, unit: float = 1.0) -> dict[str, Any]:
    """Values of a metric (times ``unit``) over the packet error probability, by sender."""
    found: dict[str, list[tuple[float, float]]] = {}
    for point in results.points:
        sender = str(next(value for axis, value in point.axes.items() if axis != "channel.p_e"))
        found.setdefault(sender, []).append((point.axes["channel.p_e"], point.value(metric) * unit))
    return {name: [list(axis) for axis in zip(*of, strict=True)] for name, of in found.items()}


def connection(state: State) -> dict[str, Any]:
    """Simulate one connection: window and slow-start threshold over time (slots), and the fate of each
    segment.

    For model ``link`` times are in seconds, and the RTT (ms) and queue (packets) replace the segments.
    """
    if state.model == "link":
        return _connection_over_link(state)
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


def _connection_over_link(state: State) -> dict[str, Any]:
    """Simulate one flow over a link: window (packets), RTT (ms) and queue (packets) over time (s)."""
    text = state.scenario().partition("[sweep]")[0].partition("figure =")
    single = text[0] + text[2].partition("\n")[2]
    every = state.seconds / SAMPLES
    single = single.replace("runs = 10,", f'runs = 1, sample = "{every * 1e3:g} ms",')
    single = single.replace("channel = {", f"channel = {{ p_e = {state.p_e:.6g},")
    events = api.events(single)
    flow = events[events["flow"].notna()]
    shown = flow[["time_s", "cwnd", "ssthresh"]].replace(math.inf, math.nan)
    changed = (shown[["cwnd", "ssthresh"]] != shown[["cwnd", "ssthresh"]].shift()).any(axis=1)
    window = [
        (round(time, 4), float(cwnd), None if not threshold < UNSET else float(threshold))
        for time, cwnd, threshold in shown[changed].itertuples(index=False)
    ]
    window.append((float(state.seconds), *window[-1][1:]))
    samples = flow[flow["event"] == "sample"]
    rtts = samples[samples["rtt_mean_s"].notna()]
    queued = events[(events["event"] == "sample") & (events["link"] == "forward")]
    marks = {
        name: flow[flow["event"] == name][["time_s", "cwnd"]].values.tolist()
        for name in ("fast_retransmit", "timeout")
    }
    return {
        "window": _columns(window, 3),
        "marks": {name: _columns(of, 2) for name, of in marks.items()},
        "rtt": [rtts["time_s"].tolist(), (rtts["rtt_mean_s"] * 1e3).tolist()],
        "queue": [queued["time_s"].tolist(), queued["queue_packets"].astype(float).tolist()],
        "throughput": float(samples["goodput_bps"].mean()) * 1e-6,
    }


def _single(state: State) -> str:
    """TOML text of a scenario of one point and one run, for :func:`connection`."""
    text = state.scenario().partition("figure =")[0]
    return (
        text.replace("50000 slots", f"{state.slots} slots")
        .replace('"1000 slots"', '"0 s"')
        .replace("channel = {", f"channel = {{ p_e = {state.p_e:.6g},")
    )


@cache
def slot_s() -> float:
    """Duration of a slot of the analysed link, in seconds: 1400 bytes at 1.5 Mbit/s."""
    return 1400 * 8 / 1.5e6


def _columns(rows: list[Any], count: int) -> list[list[float]]:
    return [[row[index] for row in rows] for index in range(count)]


def description() -> Mapping[str, Any]:
    """Ranges, senders, colours and defaults of the page's controls, for its script."""
    return {
        "ranges": {name: asdict(allowed) for name, allowed in RANGES.items()},
        "senders": {model: {name: WORDS[name] for name in names} for model, names in SENDERS.items()},
        "colours": {name: PALETTE[ALGORITHMS[name][0]] for names in SENDERS.values() for name in names},
        "rate": LINK_MBPS,
        "usual": asdict(State()),
        "fine": FINE,
        "coarse": COARSE,
    }
