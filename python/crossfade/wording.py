"""Words of figures: names of axes and metrics, units, names of curves.

Symbols are spelled as mathtext (``$f_d T$``), which matplotlib sets; :func:`html` makes HTML of them.
"""

from __future__ import annotations

import html as html_module
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import crossfade._crossfade as _crossfade
from crossfade.quantities import UNITS
from crossfade.tables import Cell

# What stands on the axis of a key or column, with its unit, by the last part (channel.p_e is p_e). Metrics
# are named by the core.
NAMES = {
    "rtt_s": ("Round-trip time", "s"),
    "one_way_delay_s": ("One-way delay", "s"),
    "p_e": ("Packet error probability $P_E$", ""),
    "fd_t": ("Normalised Doppler frequency $f_d T$", ""),
    "snr_db": ("SNR", "dB"),
    "mean_snr_db": ("Mean SNR", "dB"),
    "fading_margin_db": ("Fading margin", "dB"),
    "fer": ("Frame error rate", ""),
    "ber": ("Bit error rate", ""),
    "residual": ("Residual frame error rate", ""),
    "cwnd": ("Congestion window", "segments"),
    "time_s": ("Time", "s"),
    "mean_burst": ("Mean error burst", "packets"),
    "burst": ("Mean error burst", "frames"),
    "max_retransmissions": ("Retransmissions of a frame at most", ""),
    "rthc": ("Round-trip hop count", ""),
    "cwl": ("Congestion window limit (CWL)", "packets"),
    "optimal_cwl": ("Optimal CWL", "packets"),
    "mean_k": ("Mean of CWL / round-trip hop count", ""),
    "missing_percent": ("Missing from the best throughput", "%"),
    "w_max": ("Maximum window", "packets"),
    "dupthresh": ("Fast retransmit threshold $K$", ""),
    "variant": ("TCP", ""),
    "tcp.variant": ("TCP", ""),
    "mac": ("MAC", ""),
    "tcp": ("TCP", ""),
    "nmse": ("Error of the prediction (NMSE)", ""),
    "target_nmse": ("NMSE that levels are made for", ""),
    "rtt_ms": ("Wired round trip", "ms"),
    "margin_db": ("Margin", "dB"),
    "access_delay": ("Access delay, one way", ""),
    "link.queue.limit": ("Queue limit", ""),
    "link.rate": ("Rate of the link", ""),
    "reverse.rate": ("Rate of the reverse path", ""),
}
# Columns of papers that are a metric by one method.
METRICS_OF_COLUMNS = {"throughput_sim": "throughput_per_slot", "throughput_exact": "throughput_per_slot"}
# How the name of any other column tells its unit.
_ENDINGS = {"_bps": "bit/s", "_s": "s", "_db": "dB", "_packets": "packets", "_slots": "slots"}

# The units an axis may be counted in, from the largest, so that its numbers are short.
_READABLE = {"bit/s": ["Gbit/s", "Mbit/s", "kbit/s", "bit/s"], "s": ["s", "ms", "us"]}

# What a curve is called, by its value.
WORDS = {
    "old-tahoe": "OldTahoe",
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "cubic": "CUBIC",
    "highspeed": "HighSpeed",
    "bbr-v1": "BBRv1",
    "bbr-v3": "BBRv3",
    "dctcp": "DCTCP",
    "prague": "Prague",
    "red": "RED",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "blast": "BLAST",
    "siso": "SISO",
    "simo": "SIMO",
    "alamouti": "Alamouti",
    "stbc-half": "rate 1/2",
    "stbc-1": "rate 1",
    "stbc-2": "rate 2",
    "ml": "ML",
    "mmse": "MMSE",
    "mmse-osic": "MMSE-OSIC",
    "zf": "ZF",
    "linear": "linear",
    "pie": "PIE",
    "dualpi2": "DualPI2",
    "iid": "i.i.d.",
    "markov": "Markov",
    "rayleigh": "Rayleigh",
}
# Columns whose numbers need their symbol beside them in the legend.
SYMBOLS = {
    "channel": "$f_d T$",
    "fd_t": "$f_d T$",
    "w_max": "$W_\\max$",
    "k": "$K$",
    "dupthresh": "$K$",
    "n": "$n$",
    "target_nmse": "levels for NMSE",
    "max_retransmissions": "$n$",
    "mss": "MSS",
    "fading_margin_db": "fading margin (dB)",
    "transmissions": "sent",
    "p_e": "$P_E$",
    "snr_db": "SNR (dB)",
    "mean_snr_db": "mean SNR (dB)",
    "drops": "lost",
    "delayed_ack": "delayed ACK",
}


@dataclass(frozen=True)
class Method:
    """Description of a method by the core; see ``_crossfade.methods``."""

    name: str
    alias: str | None
    words: str
    look: str
    random: bool
    repeatable: bool


METHODS = {found["name"]: Method(**found) for found in json.loads(_crossfade.methods())}
"""The methods by name, in the order of drawing."""


def method_words(name: str) -> str:
    """Label of a method in figures; its own name if the method no longer exists."""
    return METHODS[name].words if name in METHODS else name


def look_of(name: str) -> str:
    """Drawing style of a method; that of simulation if the method no longer exists."""
    return METHODS[name].look if name in METHODS else "marks"


def metric_name(column: str) -> tuple[str, str]:
    """Label of a metric's axis, and its unit (empty if it has none).

    That of a flow or link says whose it is: ``near.goodput_bps`` is the "Goodput, near" in bit/s.
    """
    if "/" in column:
        above, below = (name.strip() for name in column.split("/", 1))
        if above.rpartition(".")[2] == below.rpartition(".")[2] and "." in above and "." in below:
            owners = " / ".join(name.rpartition(".")[0] for name in (above, below))
            return f"{metric_name(above.rpartition('.')[2])[0]}, {owners}", ""
        return " / ".join(metric_name(name)[0] for name in (above, below)), ""
    part, _, last = column.rpartition(".")
    words, unit = _metrics().get(METRICS_OF_COLUMNS.get(last, last)) or NAMES.get(last) or _spelled(last)
    return f"{words}, {part}" if part else words, unit


@lru_cache(maxsize=1)
def registry() -> list[dict[str, Any]]:
    """The core's metrics; see ``_crossfade.metrics``."""
    found: list[dict[str, Any]] = json.loads(_crossfade.metrics())
    return found


@lru_cache(maxsize=1)
def _metrics() -> dict[str, tuple[str, str]]:
    """The words and the unit of each metric of the core, as a figure shows them."""
    return {
        metric["name"]: (metric["words"], _shown_unit(metric["words"], metric["unit"]))
        for metric in registry()
    }


def _shown_unit(words: str, unit: str) -> str:
    """A unit beside the words: none for pure numbers, nor where the words say what is counted."""
    counted = unit.partition("/")[0]
    if counted == "1" or counted in words.lower().split():
        return ""
    return unit if unit in UNITS else unit.replace("/", " per ")


def _in_words(name: str) -> str:
    """Name of a key or column with spaces, its abbreviations as the field writes them."""
    for key, written in _COMPOUNDS.items():
        name = name.replace(key, written)
    return " ".join(word.upper() if _ABBREVIATIONS.fullmatch(word) else word for word in name.split("_"))


_COMPOUNDS = {"d_sack": "D-SACK", "f_rto": "F-RTO", "five_qi": "5QI", "tcp_ip": "TCP/IP", "ampdu": "A-MPDU"}
_ABBREVIATIONS = re.compile(
    r"ack|aql|arq|bler|bsr|cqi|drx|ecn|harq|mac|mcs|mss|mtu|nack|ntn|ofdma|pdcp|pdu|prb|prr|rack|rlc|rtt|"
    r"rto|rts|rv|sack|sinr|sn|snr|sr|tcp|tdd|ttl"
)


def _parts(name: str) -> tuple[str, str]:
    """Words of a column or key, and the unit at its end: ``air_time_s`` is "air time" in s."""
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    return _in_words(name.removesuffix(ending)), _ENDINGS.get(ending, "")


def _spelled(name: str) -> tuple[str, str]:
    """Words of a column or key as a heading, and the unit at its end."""
    words, unit = _parts(name)
    return words[:1].upper() + words[1:], unit


def axis_name(key: str) -> tuple[str, str]:
    """Label of a scenario key's axis, and its unit if the key's name gives it."""
    last = key.rsplit(".", 1)[-1]
    return NAMES.get(key) or NAMES.get(last) or _spelled(last)


def with_unit(words: str, unit: str) -> str:
    """The label of an axis."""
    return f"{words} ({'µs' if unit == 'us' else unit})" if unit else words


def readable_unit(unit: str, values: Sequence[float]) -> tuple[str, float]:
    """The unit that makes the largest of the values a short number, and how many of ``unit`` one is."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for candidate in _READABLE.get(unit, []) if largest > 0.0 else []:
        factor = float(UNITS[candidate][1])
        if largest >= factor:
            return candidate, factor
    return unit, 1.0


class Label(str):
    """Label of a value that a user named: the value itself, without the symbol of its column."""

    of: Cell
    """The value."""

    def __new__(cls, text: str, of: Cell = None) -> Self:
        """The words for a value."""
        made = super().__new__(cls, text)
        made.of = of
        return made


def curve_word(column: str, value: Cell) -> str:
    """Name of a curve in the legend, by one column and its value."""
    if isinstance(value, Label):
        return plain(value)
    last = column.rsplit(".", 1)[-1]
    symbol = SYMBOLS.get(last) or with_unit(*_parts(last))
    if isinstance(value, str) and not value[:1].isdigit():
        # A table of keys is one cell: `markov fd_t=0.01`.
        return ", ".join(_item(item) for item in re.split(r" (?=[\w.-]+=)", value))
    # A quantity or a list of numbers is told by its key, as a number is.
    if isinstance(value, float):
        return f"{symbol} = {value:.{3 if abs(value) < 1.0 else 6}g}"
    return f"{symbol} = {'none' if value is None else plain(str(value))}"


def _item(item: str) -> str:
    key, equals, value = item.partition("=")
    return f"{SYMBOLS.get(key, plain(key))} = {plain(value)}" if equals else WORDS.get(item, plain(item))


def plain(text: str) -> str:
    """Text from outside, in which a dollar does not begin mathematics."""
    return text.replace("$", "\\$")


def typeset(title: str) -> str:
    """A title from outside, with the symbols that it spells out (f_d T) set as mathematics."""
    title = plain(title)
    for spelled, symbol in {"f_d T": "$f_d T$", "W_max": "$W_\\max$", "P_E": "$P_E$"}.items():
        title = title.replace(spelled, symbol)
    return title


def without_symbols(text: str) -> str:
    """Text with symbols as plain text, where there can be nothing else."""
    return html_module.unescape(re.sub(r"<[^>]*>", "", html(text)))


def html(text: str) -> str:
    """Text with symbols as HTML; everything else in it is escaped."""
    pieces = re.split(r"(?<!\\)\$", html_module.escape(text))
    for index in range(1, len(pieces), 2):
        pieces[index] = re.sub(r"_\\?([A-Za-z]+)", r"<sub>\1</sub>", f"<i>{pieces[index]}</i>")
    return "".join(pieces).replace("\\$", "$")


def between(low: float | None, high: float | None) -> str:
    """A range in words; None where it goes on to the end of its axis."""
    if low is None or high is None:
        return "everywhere" if low == high else f"up to {high:.4g}" if low is None else f"from {low:.4g} on"
    return f"{low:.4g} to {high:.4g}"
