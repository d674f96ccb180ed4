"""Fit of a link (rate, delay, queue limit, loss) to a record of packets or of time intervals."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade.errors import TraceError, shortened
from crossfade.fitting.link_scenarios import packets_within
from crossfade.fitting.links import LinkFit
from crossfade.fitting.parameters import LinkParameter
from crossfade.fitting.records import COLUMNS, LOST, read_record
from crossfade.fitting.traces import _translated
from crossfade.fitting.warnings import ALONE, warnings

# Assumed range of a queue limit that the record does not show, as multiples of the data in flight (the
# bandwidth-delay product).
USUAL_QUEUE = (0.2, 5.0)
# Largest assumed limit of a queue that was never full, as a multiple of its largest backlog.
LONGEST = 4.0
# Values of ``tcp.rfc.profile``, indexed by whether the sender is Linux: rules of the RFCs, rules of Linux.
PROFILES = ("recommended", "linux")
# If queueing of the flow's own packets explains at least this share of the deviations of the delays, other
# flows in the capture did not share its queue.
EXPLAINED = 0.98
# Fractional part of the golden ratio: the fractional parts of its multiples cover 0 to 1 evenly.
GOLDEN = 0.618034
# Lowest rate of a link in a scenario, in bit/s; a record with a lower rate is refused.
SLOWEST_BPS = 1.0


def fit_link(
    *records: str | PathLike[str],
    seed: int = 1,
    rtt: str | float | None = None,
    profile: str | None = None,
) -> LinkFit:
    """Fit a link to a record.

    Parameters
    ----------
    *records : path
        A capture of one end of TCP, or what both ends recorded, the sender's first. A capture is a pcap or
        pcapng file, also packed by gzip; its largest flow is taken. Of both ends also UDP and QUIC can be
        joined, by the content of their packets. Two logs of a tunnel of Pantheon or its merged log, logs of
        ``mm-link``, qlog of a QUIC sender, journals and events of this program are records too. Encrypted
        QUIC at one end, JSON of iperf3 and irtt, output of ``ping`` and ``ss -ti`` and traces of mahimahi
        (``cell.up``, or both ways, the one of the data first) say less.
    seed : int
        Seed of the bootstrap.
    rtt : str or float, optional
        Round trip of the empty path ("40 ms", or seconds), where it is known and the record does not have it,
        as of UDP.
    profile : str, optional
        ``tcp.rfc.profile`` of the scenario and of predictions: "linux" or "recommended", as the RFCs do. By
        default Linux's where the sender of the record is one: by its SYN, or as of ``iperf3``, ``ss`` and
        journals.

    Returns
    -------
    LinkFit
        Rate (bit/s), delay (s), queue (packets) and loss, with 90 % intervals.

    Raises
    ------
    TraceError
        If a file is no record, or one of too little.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.fit.link("download.pcap")  # doctest: +SKIP
    >>> found.write("link.toml")  # doctest: +SKIP
    """
    if not 1 <= len(records) <= 2:
        raise TraceError(f"fit_link: needs the record of one end, or of both, not {len(records)} files")
    if profile not in (None, *PROFILES):
        raise TraceError(f"profile = {shortened(str(profile))}: must be one of {', '.join(PROFILES)}")
    paths = [Path(fspath(record)) for record in records]
    source = " and ".join(path.name for path in paths)
    packets, about = read_record(paths)
    with _translated(source):
        found = json.loads(_fitted(packets, about, seed))
    found |= {
        name: about[name]
        for name in ("offloads", "share", "is_round_trip", "at_receiver", "has_sizes", "held_s")
    }
    found["left_by_others"] = False
    found["kind"] = "probes" if about["are_probes"] else about["kind"]
    found["profile"] = profile or PROFILES[about["is_of_linux"]]
    found["captured_whole"] = not (about["is_cut"] or about["ends_early"])
    of = {name: LinkParameter(**found[name]) for name in ("rate", "delay", "queue", "loss")}
    if not of["rate"].value >= SLOWEST_BPS and not about["are_probes"]:
        raise TraceError(
            f"{source}: {of['rate'].value:.3g} bit/s in {found['lasts_s']:.3g} s are too little for a fit"
        )
    queue, packet = of["queue"], found["packet_bytes"]
    value, low, high = (float(packets_within(end, packet)) for end in (queue.value, queue.low, queue.high))
    of["queue"] = LinkParameter(value, low, high, queue.verdict)
    if rtt is not None:
        # The given delay replaces that of each draw; rate, queue limit and losses of the draws stay.
        delay, has_delays = _seconds(rtt), of["delay"].value > 0
        of["delay"] = LinkParameter(delay, delay, delay, "identified")
        found["draws"] = [[rate, delay, *rest] for rate, _, *rest in found["draws"]]
        if not has_delays and found["kind"] != "opportunities":
            _usual_queue(found, of, delay)
    has_shared = found["share"] < ALONE and (found["explained"] or 0.0) < EXPLAINED
    if has_shared and of["rate"].verdict == "identified":
        of["rate"] = _left_by_others(found, of["rate"])
    if about["are_probes"]:
        for name in ("rate", "queue"):
            of[name] = replace(of[name], verdict="not identified")
    if found["kind"] == "opportunities":
        _say_no_more(found, of, rtt is not None, seed)
    return LinkFit(
        source,
        about["flow"],
        found["model"],
        **of,
        warnings=warnings(found, of),
        found=found,
        packets=packets,
    )


def _left_by_others(found: dict[str, Any], rate: LinkParameter) -> LinkParameter:
    """Bounded rate of a link that other flows of the capture shared.

    The link has at least the rate that the others left to the fitted flow, and at most the rate that all
    flows carried together. The draws in ``found`` are spread evenly over this range on a logarithmic scale.
    """
    more = 1 / found["share"]
    found["left_by_others"] = True
    found["draws"] = [
        [rate * more ** (number * GOLDEN % 1), *rest] for number, (rate, *rest) in enumerate(found["draws"])
    ]
    return LinkParameter(rate.value, rate.low, rate.high * more, "bounded")


def _usual_queue(found: dict[str, Any], of: dict[str, LinkParameter], delay: float) -> None:
    """Rescale the draws of the queue limit for a record without delays whose RTT ``delay`` (s) is given.

    Without an RTT the data in flight is unknown, and the fit draws limits of one to four packets. Each draw
    keeps its relative place, now between 0.2 and 5 times the data in flight (``USUAL_QUEUE``).
    """
    packet = float(found["packet_bytes"])
    low, high = USUAL_QUEUE

    def limit(rate: float, held: float) -> float:
        place = min(max(math.log(max(held, packet) / packet) / math.log(LONGEST), 0.0), 1.0)
        under_way = rate / 8 * delay
        least = max(packet, low * under_way)
        most = max(LONGEST * packet, high * under_way)
        return float(least * (most / least) ** place)

    found["draws"] = [[rate, path, limit(rate, held), *rest] for rate, path, held, *rest in found["draws"]]
    of["queue"] = _drawn_queue(found)


def _drawn_queue(found: dict[str, Any]) -> LinkParameter:
    """Queue limit in packets, not identified by the record: median, 5 % and 95 % quantile of its draws."""
    limits = sorted(draw[2] for draw in found["draws"])
    ends = (limits[len(limits) // 2], limits[len(limits) // 20], limits[-1 - len(limits) // 20])
    middle, low, high = (float(packets_within(held, found["packet_bytes"])) for held in ends)
    return LinkParameter(middle, low, high, "not identified")


def _say_no_more(found: dict[str, Any], of: dict[str, LinkParameter], has_rtt: bool, seed: int) -> None:
    """Complete the fit of a trace of delivery opportunities, which shows only the rate.

    The queue limit is drawn between 0.2 and 5 times the data in flight, the loss is 0, and without a given
    RTT (``has_rtt``) so is the delay; all three count as not identified, except a given RTT.
    """
    random_of = random.Random(seed)
    if not has_rtt:
        of["delay"] = LinkParameter(0.0, 0.0, 0.0, "not identified")
    delay, packet = of["delay"].value, float(found["packet_bytes"])
    low, high = USUAL_QUEUE

    def queue(rate: float) -> float:
        of_bdp: float = low * (high / low) ** random_of.random()
        return max(packet, rate / 8 * delay * of_bdp)

    found["draws"] = [[rate, delay, queue(rate), 0.0, None] for rate, *_ in found["draws"]]
    of["queue"] = _drawn_queue(found)
    of["loss"] = LinkParameter(0.0, 0.0, 0.0, "not identified")
    found |= {"random_losses": 0, "congestive_losses": 0, "mean_burst": None}


def _fitted(packets: Mapping[str, Any], about: Mapping[str, Any], seed: int) -> str:
    """JSON text of the link that the extension fits to the packets, or to the time intervals of a log."""
    if about["kind"] == "stretches":
        return _crossfade.fit_stretches(
            about["rows"],
            about["is_udp"],
            about["packet_bytes"],
            about["lost_share"],
            about["least_rtt_s"],
            seed,
        )
    sent_s, sizes, seen_s, fate = (packets[name] for name in COLUMNS)
    if about["are_probes"]:
        # Each probe is an application-limited interval of 1 ms of its own, so it shows nothing of the rate.
        rtt = seen_s - sent_s
        rows = [
            (at, at + 1e-3, size, 1.0, float(lost), delay, True)
            for at, size, lost, delay in zip(sent_s, sizes, fate == LOST, rtt, strict=True)
        ]
        return _crossfade.fit_stretches(rows, False, float(sizes.max()), None, None, seed)
    reverse = list(zip(about["reverse_sent_s"], about["reverse_delay_s"], strict=True))
    return _crossfade.fit_link(
        sent_s, sizes, seen_s, fate, about["is_round_trip"], seed, about["tick_s"], reverse
    )


def _seconds(rtt: str | float) -> float:
    """Round-trip time in seconds, from a number of seconds or a text with the unit s, ms or us."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(s|ms|us)\s*", rtt) if isinstance(rtt, str) else None
    value = float(match[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[match[2]] if match else rtt
    if isinstance(value, str) or not 0 < value <= 10:
        raise TraceError(f'rtt = {shortened(str(rtt))}: must be a time of at most 10 s, such as "40 ms"')
    return float(value)
