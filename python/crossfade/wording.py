"""Wording of figures: names of axes and metrics, units, names of curves.

Symbols are written as mathtext (``$f_d T$``), which matplotlib typesets; :func:`html` converts them to HTML.
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

# Label of an axis and its unit, by the last part of a key or column (p_e for channel.p_e). The core names
# metrics.
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
# Metric of a column of a paper's table that holds it by one method.
METRICS_OF_COLUMNS = {"throughput_sim": "throughput_per_slot", "throughput_exact": "throughput_per_slot"}
# Units of other columns by the suffix of their names.
_ENDINGS = {"_bps": "bit/s", "_s": "s", "_db": "dB", "_packets": "packets", "_slots": "slots"}

# Units to choose from for an axis, largest first, so that its numbers are short.
_READABLE = {"bit/s": ["Gbit/s", "Mbit/s", "kbit/s", "bit/s"], "s": ["s", "ms", "us"]}

# Name of a curve in a legend, by the value of its axis.
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
# Symbols that a legend puts beside the numbers of a column.
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

    For a flow or link the label contains its name: ``near.goodput_bps`` is "Goodput, near" in bit/s.
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
    """All metrics of the core; see ``_crossfade.metrics``."""
    found: list[dict[str, Any]] = json.loads(_crossfade.metrics())
    return found


@lru_cache(maxsize=1)
def _metrics() -> dict[str, tuple[str, str]]:
    """Label and unit of each metric of the core, as figures show them."""
    return {
        metric["name"]: (metric["words"], _shown_unit(metric["words"], metric["unit"]))
        for metric in registry()
    }


def _shown_unit(words: str, unit: str) -> str:
    """Unit shown beside a label: none for pure numbers, and none if the label names the counted thing."""
    counted = unit.partition("/")[0]
    if counted == "1" or counted in words.lower().split():
        return ""
    return unit if unit in UNITS else unit.replace("/", " per ")


def _in_words(name: str) -> str:
    """Name of a key or column with spaces, and abbreviations in capitals."""
    for key, written in _COMPOUNDS.items():
        name = name.replace(key, written)
    return " ".join(word.upper() if _ABBREVIATIONS.fullmatch(word) else word for word in name.split("_"))


_COMPOUNDS = {"d_sack": "D-SACK", "f_rto": "F-RTO", "five_qi": "5QI", "tcp_ip": "TCP/IP", "ampdu": "A-MPDU"}
_ABBREVIATIONS = re.compile(
    r"ack|aql|arq|bler|bsr|cqi|drx|ecn|harq|mac|mcs|mss|mtu|nack|ntn|ofdma|pdcp|pdu|prb|prr|rack|rlc|rtt|"
    r"rto|rts|rv|sack|sinr|sn|snr|sr|tcp|tdd|ttl"
)


def _parts(name: str) -> tuple[str, str]:
    """Words of a column or key, and the unit in its suffix: ``air_time_s`` is "air time" in s."""
    ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
    return _in_words(name.removesuffix(ending)), _ENDINGS.get(ending, "")


def _spelled(name: str) -> tuple[str, str]:
    """Words of a column or key with a capital letter, and the unit in its suffix."""
    words, unit = _parts(name)
    return words[:1].upper() + words[1:], unit


def axis_name(key: str) -> tuple[str, str]:
    """Label of a scenario key's axis, and its unit if the key's name shows it."""
    last = key.rsplit(".", 1)[-1]
    return NAMES.get(key) or NAMES.get(last) or _spelled(last)


def with_unit(words: str, unit: str) -> str:
    """Label of an axis with its unit in parentheses."""
    return f"{words} ({'µs' if unit == 'us' else unit})" if unit else words


def readable_unit(unit: str, values: Sequence[float]) -> tuple[str, float]:
    """The unit that makes the largest of the values a short number, and its size in ``unit``."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for candidate in _READABLE.get(unit, []) if largest > 0.0 else []:
        factor = float(UNITS[candidate][1])
        if largest >= factor:
            return candidate, factor
    return unit, 1.0


class Label(str):
    """Label that a user gave to a value; a legend shows it without the symbol of its column."""

    of: Cell
    """Value that has this label."""

    def __new__(cls, text: str, of: Cell = None) -> Self:
        """A label with its text and its value."""
        made = super().__new__(cls, text)
        made.of = of
        return made


def curve_word(column: str, value: Cell) -> str:
    """Name of a curve in the legend, from one column and its value."""
    if isinstance(value, Label):
        return plain(value)
    last = column.rsplit(".", 1)[-1]
    symbol = SYMBOLS.get(last) or with_unit(*_parts(last))
    if isinstance(value, str) and not value[:1].isdigit():
        # A cell may hold a table of keys: `markov fd_t=0.01`.
        return ", ".join(_item(item) for item in re.split(r" (?=[\w.-]+=)", value))
    # Like a number, a quantity or a list of numbers is shown with the name of its key.
    if isinstance(value, float):
        return f"{symbol} = {value:.{3 if abs(value) < 1.0 else 6}g}"
    return f"{symbol} = {'none' if value is None else plain(str(value))}"


def _item(item: str) -> str:
    key, equals, value = item.partition("=")
    return f"{SYMBOLS.get(key, plain(key))} = {plain(value)}" if equals else WORDS.get(item, plain(item))


def plain(text: str) -> str:
    """A user's text with escaped dollar signs, which would start mathematics."""
    return text.replace("$", "\\$")


def typeset(title: str) -> str:
    """A user's title with the symbols in it (f_d T, W_max, P_E) as mathematics."""
    title = plain(title)
    for spelled, symbol in {"f_d T": "$f_d T$", "W_max": "$W_\\max$", "P_E": "$P_E$"}.items():
        title = title.replace(spelled, symbol)
    return title


def without_symbols(text: str) -> str:
    """Text with symbols as plain text, for places without typesetting."""
    return html_module.unescape(re.sub(r"<[^>]*>", "", html(text)))


def html(text: str) -> str:
    """Text with symbols as HTML; everything else is escaped."""
    pieces = re.split(r"(?<!\\)\$", html_module.escape(text))
    for index in range(1, len(pieces), 2):
        pieces[index] = re.sub(r"_\\?([A-Za-z]+)", r"<sub>\1</sub>", f"<i>{pieces[index]}</i>")
    return "".join(pieces).replace("\\$", "$")


def between(low: float | None, high: float | None) -> str:
    """An interval in words; None is an end that reaches the end of the axis."""
    if low is None or high is None:
        return "everywhere" if low == high else f"up to {high:.4g}" if low is None else f"from {low:.4g} on"
    return f"{low:.4g} to {high:.4g}"
