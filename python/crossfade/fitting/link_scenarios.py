"""The text of a fitted link's scenario, its draws and its table of rates."""

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

# So many runs a prediction has, each with a draw of its own.
RUNS = 50
# Runs are as long as the record, within these.
SHORTEST_RUN_S = 10
LONGEST_RUN_S = 600
# The last packet of a record of whole seconds was sent so little before its end.
NEARLY_S = 0.2
# Each of so many begins at another time.
SHIFTED = 4
# Fewer windows do not show how a rate changes.
FEWEST_SEEN = 20
# Rates of a table that differ by less are one.
ALIKE = 0.01
# A rate that is only bounded may be so many times higher.
BEYOND = 4.0


def scenario_text(fit: Fitted, draws: str, rates: str) -> str:
    """The scenario of a link, whose draws and table of rates are in these files."""
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
    """The scenario with this rate and these losses; each value has its interval and verdict as a comment."""
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
    """Duration of a run: that of the record, to 10 ms, or in whole seconds if the record nearly is."""
    whole = round(lasts_s)
    near = float(whole) if abs(lasts_s - whole) <= NEARLY_S else round(lasts_s, 2)
    return f"{min(max(SHORTEST_RUN_S, near), LONGEST_RUN_S):g} s"


def _usual_delay(fit: Fitted) -> float:
    """The round trip of the empty path, or where it is only bounded the median of the draws."""
    if fit.delay.verdict != "bounded":
        return fit.delay.value
    return float(median(draw[1] for draw in fit.found["draws"]))


def _usual_queue(fit: Fitted) -> int:
    """The limit, or where it is only bounded the median of the draws."""
    if fit.queue.verdict != "bounded":
        return round(fit.queue.value)
    return packets_within(median(draw[2] for draw in fit.found["draws"]), fit.found["packet_bytes"])


def _comment(fit: Fitted, name: str) -> str:
    unit, scale = UNITS[name]
    of = fit.parameters[name]
    where = {"delay": ", there and back"}.get(name, "")
    return f"# {name}{where}: {said(name, of, scale)} {unit} ({of.verdict})"


def draws_text(fit: Fitted) -> str:
    """The draws as CSV; of a link whose rate changes without a column of the rate."""
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
    """The table of rates as CSV."""
    rows = ["time_s,rate_bps,delay_s,loss"]
    # The table begins again at its end: an outage until there has no row behind it.
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
    """A table of rates as it may have been; each fourth begins at another time of the record.

    ``seen`` are the windows in which the rate was seen, ``carried`` is the rate at which data arrived between
    two times: between windows that were seen the rate takes a path of its own. A rate that is only bounded
    is as high as ``place``, between 0 and 1, says: from the bound to four times it.
    """
    step, lasts, quiet = fit.found["window_s"], fit.found["lasts_s"], fit.found["quiet_bps"]
    faster = BEYOND**place
    # If blocks show how a bounded rate changes, all of it may be faster, else what was quiet.
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
    """Rows at times that differ by a millisecond or more: of nearer ones the last."""
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
    """The limit in packets within which a backlog of so many bytes is."""
    return max(1, math.ceil(queue_bytes / packet_bytes - 0.05))


def _quoted(text: str) -> str:
    """Text as it may stand in a string or a comment of TOML."""
    return (
        "".join(sign if sign.isprintable() else " " for sign in shortened(text))
        .encode("ascii", "replace")
        .decode()
        .replace("\\", "/")
        .replace('"', "'")
    )
