"""Text of the scenario of a fitted link, and of the CSV files with its draws and its rates over time."""

from __future__ import annotations

import bisect
import csv
import io
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from crossfade.errors import shortened
from crossfade.fitting.parameters import UNITS, Fitted, said
from crossfade.fitting.rate_paths import filled

# Number of runs of the written scenario; each run has its own draw of the link's parameters.
RUNS = 50
# Smallest and largest duration of a run in seconds; between them a run lasts as long as the record.
SHORTEST_RUN_S = 10
LONGEST_RUN_S = 600
# A record whose duration is within this time (s) of a whole number of seconds is taken to last that number:
# its last packet is sent shortly before its end.
NEARLY_S = 0.2
# One table of rates out of this many begins at another time of the record.
SHIFTED = 4
# Smallest number of windows with an observed rate from which unobserved changes of the rate are drawn.
FEWEST_SEEN = 20
# Relative difference below which a rate of the table is taken for ``quiet_bps``, the lower bound at times
# when the link was faster than the traffic.
ALIKE = 0.01
# Largest assumed factor of a rate over its lower bound, if the record shows only the bound.
BEYOND = 4.0


def scenario_text(fit: Fitted, draws: str, rates: str) -> str:
    """TOML text of the scenario of a fitted link, which names its CSV files ``draws`` and ``rates``."""
    rate = f'rate = "{_mbps(fit.found["link_rate"]["value"])}"'
    if fit.found["rates"]:
        rate = f'trace = {{ rates = "{rates}", at_end = "loop", period = "{fit.found["lasts_s"]:.3f} s" }}'
    if policer := fit.found["policer"]:
        bucket = f'rate = "{_mbps(policer["rate_bps"])}", burst = "{policer["burst_bytes"]:.0f} B"'
        rate += f"\n# In front of the link, which is faster.\npolicer = {{ {bucket} }}"
    loss = f'model = "iid"\np_e = {fit.loss.value:.6g}'
    if fit.found["mean_burst"]:
        loss = f'model = "markov"\np_e = {fit.loss.value:.6g}\nmean_burst = {fit.found["mean_burst"]:.4g}'
    return document(fit, rate, loss, draws)


def _rules(fit: Fitted) -> list[str]:
    if fit.found["profile"] != "linux":
        return []
    return ["# TCP as Linux has it, as the sender of the record is one.", 'rfc = { profile = "linux" }']


def document(fit: Fitted, rate: str, loss: str, draws: str) -> str:
    """TOML text of the scenario of a fitted link; each value has its interval and verdict as a comment.

    ``rate`` has the keys of the link's rate and ``loss`` those of ``[channel]``; ``draws`` is the name of the
    CSV file with the draws, or empty for a scenario without draws.
    """
    lines = [
        "schema = 2",
        f'title = "{_quoted(f"Link of {Path(fit.source).name}")}"',
        "",
        f"# Fitted to {_quoted(fit.source)} ({_quoted(fit.flow)}), {fit.found['lasts_s']:.1f} s.",
        f"# Model {fit.model}; intervals hold with 90 %.",
        *(f"# Warning: {warning}." for warning in fit.warnings),
        "",
        "[link]",
        f'packet_size = "{fit.found["packet_bytes"]:.0f} B"',
        _comment(fit, "rate"),
        rate,
        _comment(fit, "delay"),
        f'delay = "{_usual_delay(fit) * 500:.4f} ms"',
        _comment(fit, "queue"),
        f'queue.limit = "{_usual_queue(fit)} packets"',
        "",
        "[reverse]",
        f'delay = "{_usual_delay(fit) * 500:.4f} ms"',
        "",
    ]
    if loss:
        lines += ["[channel]", _comment(fit, "loss"), loss, ""]
    run = f'draws = "{draws}"\n' if draws else ""
    lines += [
        "[tcp]",
        'variant = "sack"',
        'congestion = "cubic"',
        'w_max = "64 MB"',
        *_rules(fit),
        "",
        "[run]",
        f'duration = "{_lasts(fit.found["lasts_s"])}"',
        f"{run}runs = {RUNS}",
        "",
    ]
    return "\n".join(lines)


def _lasts(lasts_s: float) -> str:
    """Duration of a run as a text in seconds, at least 10 s and at most 600 s.

    The duration is that of the record, rounded to 10 ms, or to a whole second at most 0.2 s away.
    """
    whole = round(lasts_s)
    near = float(whole) if abs(lasts_s - whole) <= NEARLY_S else round(lasts_s, 2)
    return f"{min(max(SHORTEST_RUN_S, near), LONGEST_RUN_S):g} s"


def _usual_delay(fit: Fitted) -> float:
    """RTT of the idle path in seconds; if the record shows only a bound, the median of the draws."""
    if fit.delay.verdict != "bounded":
        return fit.delay.value
    return float(median(draw[1] for draw in fit.found["draws"]))


def _usual_queue(fit: Fitted) -> int:
    """Queue limit in packets; if the record shows only a bound, the median of the draws."""
    if fit.queue.verdict != "bounded":
        return round(fit.queue.value)
    return packets_within(median(draw[2] for draw in fit.found["draws"]), fit.found["packet_bytes"])


def _comment(fit: Fitted, name: str) -> str:
    unit, scale = UNITS[name]
    of = fit.parameters[name]
    where = {"delay": ", there and back"}.get(name, "")
    return f"# {name}{where}: {said(name, of, scale)} {unit} ({of.verdict})"


def draws_text(fit: Fitted) -> str:
    """CSV text of the draws of the link's parameters: a row per draw, a column per key of the scenario.

    Without the column ``link.rate`` if the rate changes, since the table of rates then has it.
    """
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    follows, packet = bool(fit.found["rates"]), fit.found["packet_bytes"]
    names = ["link.rate", "link.delay", "reverse.delay", "link.queue.limit", "channel.p_e"]
    in_bursts = fit.found["mean_burst"] is not None
    names += ["channel.mean_burst"] * in_bursts
    rows.writerow(names[follows:])
    for rate, delay, queue, loss, burst in fit.found["draws"]:
        half = f"{delay * 500:.4f} ms"
        cells = [_mbps(rate), half, half, f"{packets_within(queue, packet)} packets", f"{loss:.6g}"]
        cells += [f"{burst:.6g}"] if in_bursts else []
        rows.writerow(cells[follows:])
    return table.getvalue()


def rates_text(fit: Fitted) -> str:
    """CSV text of the fitted rate over time: time in s, rate in bit/s, and a delay and a loss of 0."""
    rows = ["time_s,rate_bps,delay_s,loss"]
    # The table repeats after the record, so no row is needed for the end of an outage there.
    lasts = fit.found["lasts_s"] - 1e-3
    rows += [f"{at:.4f},{rate:.0f},0,0" for at, rate in fit.found["rates"] if at < lasts]
    return "\n".join(rows) + "\n"


def varied_rates(
    fit: Fitted,
    seen: Sequence[Sequence[float]],
    carried: Callable[[float, float], float],
    draw: random.Random,
    number: int,
    place: float,
) -> list[list[float]]:
    """A possible table of the link's rates: rows of a time in s and the rate in bit/s from then on.

    ``seen`` are the windows in which the record shows the rate. If there are at least 20 and the rate is
    identified, the rate between them follows random paths, whose lower bound is ``carried``, the rate in
    bit/s at which data arrived between two times. A bounded rate is multiplied by ``4**place``, with
    ``place`` from 0 to 1. Of the tables with successive ``number``, every fourth begins at a random time of
    the record.
    """
    step, lasts, quiet = fit.found["window_s"], fit.found["lasts_s"], fit.found["quiet_bps"]
    faster = BEYOND**place
    # With a ``quiet_bps``, only the rows at that bound are scaled: the link was then faster than the traffic.
    # Without it, a bounded rate is scaled at all times.
    is_scaled = fit.rate.verdict == "bounded" and not quiet
    moved = [
        (at, rate * faster if is_scaled or (quiet and abs(rate / quiet - 1) < ALIKE) else rate)
        for at, rate in fit.found["rates"]
    ]
    known = [(round(row[0] / step), row[2] / row[1]) for row in seen]
    if not quiet and not is_scaled and len(known) >= FEWEST_SEEN:
        ends = [*(at for at, _ in moved[1:]), lasts]
        outages = [(at, end) for (at, rate), end in zip(moved, ends, strict=True) if rate == 0.0 and end > at]
        moved = filled(known, outages, step, lasts, carried, draw)
    if number % SHIFTED == 1:
        start = draw.uniform(0.0, lasts)
        first = max(0, bisect.bisect([row[0] for row in moved], start) - 1)
        ahead = [(max(0.0, time - start), rate) for time, rate in moved[first:]]
        behind = [(time - start + lasts, rate) for time, rate in moved[: first + 1]]
        moved = [*ahead, *behind]
    return [[time, rate] for time, rate in _apart(sorted(moved)) if time < lasts - 1e-3]


def _apart(rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The rows of a table of rates without times less than 1 ms apart.

    Rows closer together become one, with the time of the first and the rate of the last.
    """
    found: list[tuple[float, float]] = []
    for time, rate in rows:
        if found and time - found[-1][0] < 1e-3:
            found[-1] = (found[-1][0], rate)
        else:
            found.append((time, rate))
    return found


def _mbps(rate: float) -> str:
    return f"{rate / 1e6:.6g} Mbit/s"


def packets_within(queue_bytes: float, packet_bytes: float) -> int:
    """Smallest queue limit in packets, at least 1, that holds a backlog of ``queue_bytes``.

    An excess of up to a twentieth of a packet is ignored.
    """
    return max(1, math.ceil(queue_bytes / packet_bytes - 0.05))


def _quoted(text: str) -> str:
    """Text made safe for a TOML string or comment: short, printable ASCII, no double quote or backslash."""
    return (
        "".join(sign if sign.isprintable() else " " for sign in shortened(text))
        .encode("ascii", "replace")
        .decode()
        .replace("\\", "/")
        .replace('"', "'")
    )
