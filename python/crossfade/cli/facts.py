"""What ``crossfade check`` says of a scenario's links and flows: one line each, no more than is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The tables of the links, by the names that results have for them.
TABLES = {"wired": "wired", "forward": "link", "reverse": "reverse", "wired_reverse": "wired"}


def path_lines(path: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """The links in the order in which packets take them, times and products, channels, and every flow."""
    links = {link["name"]: link for link in path["links"]}
    there = [name for name in ("wired", "forward") if name in links]
    back = [name for name in ("reverse", "wired_reverse") if name in links]
    route = " > ".join(["sender", *(_link(links[name], scenario) for name in there), "receiver"])
    lines = [f"{route}; back: {', '.join(_link(links[name], scenario) for name in back)}"]
    lines += [_channel(links[name], scenario) for name in ("forward", "reverse") if name in links]
    slot, bytes_ = path["slot_s"], path["packet_bytes"]
    lines.append(f"slot {time_text(slot)} (a packet of {bytes_} B at the rate of the link)")
    lines += [_flow(flow, bytes_, scenario) for flow in path["flows"]]
    return [line for line in lines if line]


def _link(link: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """Its rate, delay, frames and queue."""
    name = TABLES[link["name"]]
    table = scenario.get(name, {})
    rate = "no rate" if link["rate_bps"] is None else rate_text(link["rate_bps"])
    parts = [rate, time_text(link["delay_s"])]
    if (frame := link["frame_s"]) is not None:
        arq = table.get("arq", {}).get("protocol", "none")
        repeats = "not repeated" if arq == "none" else arq
        parts.append(f"frames of {table['frame_size']} ({time_text(frame)}), {repeats}")
    if link["rate_bps"] is not None and link["name"] != "wired_reverse":
        discipline = table.get("queue", {}).get("discipline", "drop-tail")
        parts.append(f"{discipline}, {link['queue_limit'] or 'unlimited'}")
    return f"{name} ({'; '.join(parts)})"


def _channel(link: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """What it loses, how long bursts are, and how fast its gains change."""
    table = scenario.get("channel") if link["name"] == "forward" else scenario["reverse"].get("channel")
    model = (table or {}).get("model")
    if model in (None, "none"):
        return ""
    what = "packets" if link["frame_s"] is None else "frames"
    parts = []
    if link["loss_rate"] is not None:
        parts.append(f"{100 * link['loss_rate']:.4g} % of the {what} lost")
    if link["mean_burst"] is not None:
        parts.append(f"mean burst {link['mean_burst']:.4g}")
    if link["fd_t"] is not None:
        moving = f"f_d T = {link['fd_t']:.4g}, {link['doppler_hz']:.4g} Hz"
        if link["speed_and_carrier"] is not None:
            speed, carrier = link["speed_and_carrier"]
            moving += f": {3.6 * speed:.4g} km/h at {carrier / 1e9:.4g} GHz"
        parts.append(moving)
    key = "channel" if link["name"] == "forward" else "reverse.channel"
    return f"{key} {model}: {', '.join(parts)}" if parts else f"{key} {model}"


def flow_lines(scenario: Mapping[str, Any], users: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Every flow of a mesh, or of a cell with its ``users``: what it sends, from where and to where."""
    lines, first = [], 0
    for name, table in (scenario.get("flows") or {"": {}}).items():
        line = _sender(name, scenario)
        if "from" in table and "to" in table:
            line += f"; from {table['from']} to {table['to']}"
        theirs = users[first : first + table.get("count", 1)]
        first += len(theirs)
        if theirs:
            which = f"user {first - 1}" if len(theirs) == 1 else f"users {first - len(theirs)} to {first - 1}"
            ratios = _range([user["mean_snr_db"] for user in theirs], "dB")
            speeds = _range([3.6 * user["speed_mps"] for user in theirs], "km/h")
            line += f"; {which}: {ratios}, {speeds}"
        lines.append(line)
    return lines


def _range(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g} {unit}" if low == high else f"{low:.4g} to {high:.4g} {unit}"


def _flow(flow: Mapping[str, Any], packet_bytes: int, scenario: Mapping[str, Any]) -> str:
    """What it sends, by which TCP, its round trip, and what the link carries in it."""
    product = flow["bdp_bytes"]
    fits = ""
    if product is not None:
        fits = f", bandwidth-delay product {_bytes(product)} ({product / packet_bytes:.4g} packets)"
    return f"{_sender(flow['name'], scenario)}; round trip {time_text(flow['round_trip_s'])}{fits}"


def _sender(flow: str, scenario: Mapping[str, Any]) -> str:
    """What it sends, and by which TCP."""
    table = scenario.get("flows", {}).get(flow, {})
    tcp = {**scenario["tcp"], **(table.get("tcp") or {})}
    traffic = table.get("traffic", "bulk")
    count = table.get("count", 1)
    many = f"{count} x " if count != 1 else ""
    sender = ""
    if traffic in ("bulk", "transfer", "arrivals") and "variant" in tcp:
        window = f" with {tcp['congestion']}" if "congestion" in tcp else ""
        profile = tcp.get("rfc", {}).get("profile")
        rules = ", ".join(filter(None, [tcp.get("flavour"), profile]))
        sender = f", TCP {tcp['variant']}{window} ({rules}), window {tcp.get('w_max')}"
    return f"{f'flow {flow}' if flow else 'flow'}: {many}{traffic}{sender}"


def time_text(seconds: float) -> str:
    """A time in the largest unit of which it is one or more."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns" if seconds else "0 s"


def rate_text(bps: float) -> str:
    """A bit rate, the same way."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= scale:
            return f"{bps / scale:.4g} {unit}"
    return f"{bps:.4g} bit/s"


def _bytes(number: float) -> str:
    for scale, unit in ((1e6, "MB"), (1e3, "kB")):
        if number >= scale:
            return f"{number / scale:.4g} {unit}"
    return f"{number:.4g} B"
