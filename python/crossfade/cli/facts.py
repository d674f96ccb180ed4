"""Lines of ``crossfade check`` about a scenario's network and flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crossfade.results.rows import LINKS, value_at


def path_lines(path: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about a path: its links in the order of packets, delays and BDPs, channels, and every flow."""
    links = path["links"]
    there, back = (
        [_link(link, scenario) for link in links if LINKS[link["name"]].is_forward is way]
        for way in (True, False)
    )
    lines = [f"{' > '.join(['sender', *there, 'receiver'])}; back: {', '.join(back)}"]
    lines += [_channel(link, key, scenario) for link in links if (key := LINKS[link["name"]].channel)]
    slot, bytes_ = path["slot_s"], path["packet_bytes"]
    lines.append(f"slot {time_text(slot)} (a packet of {bytes_} B at the rate of the link)")
    lines += [_flow(flow, bytes_, scenario) for flow in path["flows"]]
    return [line for line in lines if line]


def cell_lines(cell: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about a cell: its size, switch levels of its first user, and every flow with its users."""
    users = cell["users"]
    levels = users[0]["levels_db"]
    limits = " ".join("-" if level is None else f"{level:.2f}" for level in levels)
    fastest = max(user["fd_t"] for user in users)
    coherence = cell["coherence_bandwidth_hz"]
    wide = "" if coherence is None else f"; channels coherent over {coherence / 1e3:.4g} kHz"
    lines = [
        f"cell of {len(users)} user{'s' if len(users) > 1 else ''}: {cell['bins']} bins of "
        f"{cell['bin_width_hz'] / 1e3:g} kHz, slots of {cell['slot_s'] * 1e3:.4g} ms, "
        f"{cell['symbols']} symbols, f_d T up to {fastest:.3g}; 1 to 8 bits from {limits} dB on "
        f"at a mean of {users[0]['mean_snr_db']:.4g} dB{wide}"
    ]
    if (uplink := cell.get("uplink")) is not None:
        lines.append(
            f"uplink in slots {uplink['pattern']}: {_range(uplink['mean_snr_db'], 'dB')}, "
            f"a grant takes {time_text(uplink['grant_delay_s'])}"
        )
    first = 0
    for flow in cell["flows"]:
        last = first + flow["users"] - 1
        which = f"user {first}" if first == last else f"users {first} to {last}"
        line = f"{_sender(flow['name'], scenario)}; {which}: {_users(users[first : last + 1])}"
        lines.append(f"{line}; round trip {time_text(flow['round_trip_s'])}")
        first = last + 1
    return lines


def _users(users: Sequence[Mapping[str, Any]]) -> str:
    """Text with SNRs, speeds, coherence times and prediction errors of users."""
    ratios = _range([user["mean_snr_db"] for user in users], "dB")
    if users[0]["is_recorded"]:
        return f"recorded ratios, mean {ratios}"
    parts = [ratios, _range([3.6 * user["speed_mps"] for user in users], "km/h")]
    parts.append(f"f_d T {_range([user['fd_t'] for user in users], '').strip()}")
    if times := [user["coherence_time_s"] for user in users if user["coherence_time_s"] is not None]:
        parts.append(f"coherent for {_range([1e3 * time for time in times], 'ms')}")
    parts.append(f"NMSE of predictions {_range([user['nmse'] for user in users], '').strip()}")
    return ", ".join(parts)


def _link(link: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """Text with the rate, delay, frames and queue of a link."""
    of = LINKS[link["name"]]
    table = scenario.get(of.table, {})
    rate = "no rate" if link["rate_bps"] is None else rate_text(link["rate_bps"])
    held = link.get("held")
    until = "" if held is None else f" until {time_text(held['from_s'])}, then "
    if held is not None:
        rate = f"mean {rate}{until}{rate_text(held['rate_bps'])}"
    parts = [rate, time_text(link["delay_s"])]
    if "recorded_delay_s" in link:
        least, mean, largest = map(time_text, link["recorded_delay_s"])
        then = "" if held is None else f"{until}{time_text(held['delay_s'])}"
        parts.append(f"recorded delays of {least} to {largest}, mean {mean}{then}")
    if "satellite" in link:
        parts.append(_satellite(link["satellite"]))
    if (frame := link["frame_s"]) is not None:
        arq = table.get("arq", {}).get("protocol", "none")
        repeats = "not repeated" if arq == "none" else arq
        parts.append(f"frames of {table['frame_size']} ({time_text(frame)}), {repeats}")
    if link["rate_bps"] is not None and of.queue:
        discipline = value_at(scenario, f"{of.queue}.discipline") or "drop-tail"
        parts.append(f"{discipline}, {link['queue_limit'] or 'unlimited'}")
    return f"{of.table} ({'; '.join(parts)})"


def _satellite(facts: Mapping[str, Any]) -> str:
    """Text with slots, delay, wait for grants and outages of a satellite link."""
    parts = [
        f"satellite {facts['direction']}, slots of {time_text(facts['slot_s'])}",
        f"mean delay {time_text(facts['mean_delay_s'])}",
    ]
    if facts["idle_wait_s"] > 0:
        parts.append(f"{time_text(facts['idle_wait_s'])} for a grant")
    if facts["outage_share"] > 0:
        parts.append(f"out for {100 * facts['outage_share']:.3g} % of the time")
    return ", ".join(parts)


def _channel(link: Mapping[str, Any], key: str, scenario: Mapping[str, Any]) -> str:
    """Text with the loss rate, mean burst and Doppler frequency of a channel."""
    model = value_at(scenario, f"{key}.model")
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
    return f"{key} {model}: {', '.join(parts)}" if parts else f"{key} {model}"


def mesh_lines(mesh: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about a mesh: duration of an exchange, goodput of a window of one packet, and every flow."""
    bounds = [
        f"{flow['name'] or 'the flow'} ({flow['round_trip_hops']} hops there and back) "
        f"{flow['window_1_bps'] / 1e6:.4g} Mbit/s, round trip {flow['round_trip_s'] * 1e3:.4g} ms"
        for flow in mesh["flows"]
        if flow["window_1_bps"] is not None
    ]
    exchange, slot = mesh["exchange_s"] * 1e3, mesh["slot_s"] * 1e3
    text = f"mesh of {mesh['nodes']} nodes: an exchange takes {exchange:.4g} ms, {slot:.4g} ms with its wait"
    text += f"; a window of one packet reaches at most: {', '.join(bounds)}" if bounds else ""
    return [text, *_flow_lines(scenario)]


def _flow_lines(scenario: Mapping[str, Any]) -> list[str]:
    """Line about each flow of a mesh: its traffic, and its source and destination."""
    lines = []
    for name, table in (scenario.get("flows") or {"": {}}).items():
        line = _sender(name, scenario)
        if "from" in table and "to" in table:
            line += f"; from {table['from']} to {table['to']}"
        lines.append(line)
    return lines


def nr_lines(nr: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about an NR cell: slots, peak rate, schemes, HARQ round trips, and every flow."""
    schemes, users = nr["schemes_from_db"], nr["mean_snr_db"]
    least, mean, greatest = (f"{1e3 * trip:.4g}" for trip in nr["harq_round_trip_s"])
    return [
        f"NR cell of {len(users)} user{'s' if len(users) > 1 else ''} at {_range(users, 'dB')}: "
        f"{nr['resource_blocks']} resource blocks, slots of {time_text(nr['slot_s'])} ({nr['pattern']}), "
        f"peak {rate_text(nr['peak_bps'])}; schemes 0 to {len(schemes) - 1} from {min(schemes):.2f} to "
        f"{max(schemes):.2f} dB on",
        f"HARQ round trip {least}, {mean}, {greatest} ms (least, mean, greatest); one user takes "
        f"{nr['harq_processes_needed']} processes to fill the downlink",
        *_nr_uplink(nr),
        *_nr_block(nr),
        # A scenario of transport blocks only has no TCP sender.
        *(
            _sender(name, scenario)
            for name in scenario.get("flows") or ({"": {}} if "variant" in scenario["tcp"] else {})
        ),
    ]


def _nr_block(nr: Mapping[str, Any]) -> list[str]:
    """Line about the transport block of method phy; no line without one."""
    if (block := nr.get("block")) is None:
        return []
    count = block["code_blocks"]
    return [
        f"block of method phy: {block['bits']} bits in {count} code block{'s' if count > 1 else ''} of "
        f"{block['code_block_bits']}, {block['bits_per_symbol']} bits a symbol at "
        f"{block['rate_times_1024']:g}/1024, {block['symbols']} symbols on {block['resource_blocks']} "
        "resource blocks"
    ]


def wlan_lines(wlan: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about a Wi-Fi network: access point, stations, goodput of a lone station, and every flow."""
    count, groups = wlan["stations"], wlan["groups"]
    queues = "one FIFO" if wlan["is_fifo"] else "queues per station"
    near = wlan["neighbours"]
    others = f", {near} neighbour{'s' if near > 1 else ''}" if near else ""
    waits = ", ".join(time_text(category["aifs_s"]) for category in wlan["categories"])
    links = len(wlan.get("links", []))
    where = f"on {links} link{'s' if links > 1 else ''}" if links else f"at {wlan['band']}"
    backoff = ", backoff of DCF" if scenario["wlan"].get("backoff") == "dcf" else ""
    lines = [
        f"Wi-Fi network of {count} station{'s' if count > 1 else ''} {where}: {queues}, "
        f"AIFS {waits}{backoff}{others}"
    ]
    if (ofdma := wlan.get("ofdma")) is not None:
        ways = " and ".join(way for way in ("downlink", "uplink") if ofdma[way])
        size = "" if ofdma["ru_tones"] is None else f" in RUs of {ofdma['ru_tones']} tones"
        lines.append(f"OFDMA {ways}: PPDUs of up to {ofdma['users']} stations{size}")
    if (emlsr := wlan.get("emlsr")) is not None:
        delays = f"{time_text(emlsr['padding_delay_s'])} and {time_text(emlsr['transition_delay_s'])}"
        some = f"{emlsr['stations']} station{'s' if emlsr['stations'] > 1 else ''}"
        lines.append(f"EMLSR, one link at a time, of {some}: padding and transition delay {delays}")
    for number, link in enumerate(wlan.get("links", [])):
        near = link["neighbours"]
        others = f", {near} neighbour{'s' if near > 1 else ''}" if near else ""
        lines.append(
            f"link {number}, {link['name']}: {link['band']}, {link['width_mhz']} MHz, "
            f"{link['stations']} station{'s' if link['stations'] > 1 else ''}{others}; "
            f"alone up to {rate_text(link['alone_bps'])}"
        )
    for group in groups:
        name = f"{group['name']}: " if group["name"] else ""
        streams = f"{group['streams']} stream{'s' if group['streams'] > 1 else ''}"
        rates = group["rates_bps"]
        rate = (
            rate_text(rates[1]) if rates[0] == rates[1] else f"{rate_text(rates[0])} to {rate_text(rates[1])}"
        )
        line = (
            f"{name}{group['count']} x 802.11{group['standard']}, {group['width_mhz']} MHz, {streams}, "
            f"{group['rate']} rate of {rate}, window {group['window']}; "
            f"alone up to {rate_text(group['alone_bps'])} "
            f"({group['mpdus']} MPDUs in {time_text(group['aggregate_s'])})"
        )
        if group["snr_db"] is not None and group["required_db"] is not None:
            low, high = group["required_db"]
            line += f"; at {_range(group['snr_db'], 'dB')}, modes from {low:.1f} to {high:.1f} dB"
        lines.append(line)
    for name in scenario.get("flows") or {"": {}}:
        table = scenario.get("flows", {}).get(name, {})
        where = (
            f"{table.get('direction', 'down')}, {table['station']}"
            if "station" in table
            else table.get("direction", "")
        )
        category = table.get("category", "best-effort")
        parts = [_sender(name, scenario), where, category if category != "best-effort" else ""]
        lines.append("; ".join(part for part in parts if part))
    return lines


def _nr_uplink(nr: Mapping[str, Any]) -> list[str]:
    """Line about the grants and the peak rate of an NR uplink; no line without an uplink."""
    uplink = nr.get("uplink")
    if uplink is None:
        return []
    asks = uplink["grants"] == "requested"
    asked = f", requests each {time_text(uplink['request_period_s'])}" if asks else ""
    return [
        f"uplink with {uplink['grants']} grants{asked}: peak {rate_text(uplink['peak_bps'])}; "
        f"RLC {uplink['rlc']} both ways"
    ]


# Functions that write lines about each kind of network, by the key of its facts in a plan.
LINES = {
    "path": path_lines,
    "mesh": mesh_lines,
    "cell": cell_lines,
    "nr": nr_lines,
    "wlan": wlan_lines,
}


def _range(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g} {unit}" if low == high else f"{low:.4g} to {high:.4g} {unit}"


def _flow(flow: Mapping[str, Any], packet_bytes: int, scenario: Mapping[str, Any]) -> str:
    """Text with traffic, TCP, RTT and bandwidth-delay product of a flow."""
    product = flow["bdp_bytes"]
    fits = ""
    if product is not None:
        fits = f", bandwidth-delay product {_bytes(product)} ({product / packet_bytes:.4g} packets)"
    return f"{_sender(flow['name'], scenario)}; round trip {time_text(flow['round_trip_s'])}{fits}"


def _sender(flow: str, scenario: Mapping[str, Any]) -> str:
    """Text with traffic and TCP of a flow."""
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
        name = "QUIC's recovery" if rules == "quic" else f"TCP {tcp['variant']}"
        sender = f", {name}{window} ({rules}), window {tcp.get('w_max')}"
    return f"{f'flow {flow}' if flow else 'flow'}: {many}{traffic}{sender}"


def time_text(seconds: float) -> str:
    """Text of a time in the largest unit that gives a number of at least 1."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns" if seconds else "0 s"


def rate_text(bps: float) -> str:
    """Text of a bit rate in the largest unit that gives a number of at least 1."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= scale:
            return f"{bps / scale:.4g} {unit}"
    return f"{bps:.4g} bit/s"


def _bytes(number: float) -> str:
    for scale, unit in ((1e6, "MB"), (1e3, "kB")):
        if number >= scale:
            return f"{number / scale:.4g} {unit}"
    return f"{number:.4g} B"


def _other_lines(kind: str, facts: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about a kind of network without lines of its own; names of facts end with their units."""
    parts = []
    for name, value in facts.items():
        words, _, unit = name.rpartition("_")
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if words and unit == "s":
            parts.append(f"{words.replace('_', ' ')} {time_text(value)}")
        elif words and unit == "bps":
            parts.append(f"{words.replace('_', ' ')} {rate_text(value)}")
        else:
            parts.append(f"{name.replace('_', ' ')} {value:.4g}")
    return [f"{kind}: {', '.join(parts)}" if parts else kind, *_flow_lines(scenario)]


def network_lines(kind: str, facts: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Lines about the network of a scenario and its flows."""
    lines = LINES.get(kind)
    return _other_lines(kind, facts, scenario) if lines is None else lines(facts, scenario)
