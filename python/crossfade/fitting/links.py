"""A link from a record of packets: a scenario with intervals, and draws of what is not known."""

from __future__ import annotations

import bisect
import csv
import io
import json
import math
import random
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Unpack

import crossfade._crossfade as _crossfade
from crossfade.errors import OutputError, TraceError, shortened
from crossfade.figures.style import PALETTE, figure
from crossfade.files import check_outputs, write_text
from crossfade.fitting.records import ARRIVED, COLUMNS, LOST, read_record
from crossfade.fitting.traces import _translated
from crossfade.fitting.warnings import ALONE, warnings
from crossfade.results.shown import html_table
from crossfade.wording import typeset

if TYPE_CHECKING:
    import numpy as np

    from crossfade.comparison.predictions import Predicted
    from crossfade.plans.options import RunOptions

# So many runs a prediction has, each with a draw of its own.
RUNS = 50
# Runs are as long as the record, within these.
SHORTEST_RUN_S = 10
LONGEST_RUN_S = 600
# A replay has at most so many opportunities.
MOST_REPLAYED = 20_000_000
# A queue of which nothing is known holds between these shares of what is under way.
USUAL_QUEUE = (0.2, 5.0)
# Ways in which a link whose rate changes may have been.
VARIANTS = 8
# Each of so many begins at another time.
SHIFTED = 4
SEEN = 0.3
# An interval of a link whose rate changes goes so far either way, as windows tell the rate, and farther by
# this share of the time in which it was not seen.
WINDOWED = 0.025
UNSEEN = 0.05
# A rate that is only bounded may be so many times higher.
BEYOND = 4.0
# Values of ``tcp.rfc.profile``: of what follows the RFCs, and of Linux.
PROFILES = ("recommended", "linux")
# What a record bounds from above: losses where nothing was lost, the path's delay where a queue always stood.
BOUNDED_ABOVE = ("delay", "loss")
# The flow, and what stands for the others, where these react.
REACTING = """
[flows]
mine = { traffic = "bulk" }
others = { traffic = "bulk" }
"""
# A slower link is none that a scenario can have.
SLOWEST_BPS = 1.0
UNITS = {"rate": ("Mbit/s", 1e-6), "delay": ("ms", 1e3), "queue": ("packets", 1.0), "loss": ("%", 100.0)}


@dataclass(frozen=True)
class LinkParameter:
    """A value and its 90 % interval; the verdict is ``identified``, ``bounded`` or ``not identified``."""

    value: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True, eq=False)
class LinkFit:
    """A link fitted to a record.

    Attributes
    ----------
    source : str
        The files.
    flow : str
        The flow that was taken.
    model : {"M0", "M1", "M2", "M3"}
        The smallest that passes its held-out test: ``M0`` (rate, delay, drop-tail queue, independent losses),
        ``M1`` (losses in bursts), ``M2`` (a rate with change points) or ``M3`` (with a period of 15 s).
    rate : LinkParameter
        In bit/s.
    delay : LinkParameter
        Round trip without queue and transmission, in seconds.
    queue : LinkParameter
        In packets.
    loss : LinkParameter
        A share.
    warnings : sequence of str
        What the record does not show.
    found : mapping
        All numbers.
    packets : mapping of str to numpy.ndarray
        The record, a value a packet: ``sent_s``, ``bytes``, ``seen_s`` and ``fate`` (0 arrived, 1 lost, 2 not
        known).

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.fit.link("download.pcap")  # doctest: +SKIP
    >>> found.rate.value, found.rate.low, found.rate.high  # doctest: +SKIP
    """

    source: str
    flow: str
    model: str
    rate: LinkParameter
    delay: LinkParameter
    queue: LinkParameter
    loss: LinkParameter
    warnings: Sequence[str]
    found: Mapping[str, Any]
    packets: Mapping[str, np.ndarray[Any, Any]] = field(repr=False)

    @property
    def parameters(self) -> dict[str, LinkParameter]:
        """Rate, delay, queue and loss by their names."""
        return {"rate": self.rate, "delay": self.delay, "queue": self.queue, "loss": self.loss}

    def to_dict(self) -> dict[str, Any]:
        """The object behind ``--json``.

        Returns
        -------
        dict
            Parameters with their intervals, and all numbers.
        """
        head = {"source": self.source, "flow": self.flow, "model": self.model}
        of_all = {name: asdict(parameter) for name, parameter in self.parameters.items()}
        rest = {name: value for name, value in self.found.items() if name not in {*head, *of_all, "windows"}}
        return {**head, **of_all, **rest, "warnings": list(self.warnings)}

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text.

        Returns
        -------
        str
            JSON text.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        rows = [
            [name, f"{said(name, of, UNITS[name][1])} {UNITS[name][0]}", of.verdict]
            for name, of in self.parameters.items()
        ]
        rows += [["warning", warning, ""] for warning in self.warnings]
        return html_table(f"Link of {self.source}: model {self.model}", ["", "90 % interval", ""], rows)

    def write(self, path: str | PathLike[str]) -> list[Path]:
        """Write the link as a scenario, its draws beside it as CSV, and a table of rates where they change.

        Run r of the scenario takes draw r.

        Parameters
        ----------
        path : path
            The scenario, which ends in ``.toml``.

        Returns
        -------
        list of pathlib.Path
            The files that were written.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        target = Path(fspath(path))
        if target.suffix != ".toml":
            raise OutputError(f"{shortened(target)}: a scenario's name ends in .toml")
        draws, rates = target.with_suffix(".draws.csv"), target.with_suffix(".rates.csv")
        texts = {target: self._scenario(draws.name, rates.name), draws: self._draws()}
        if self.found["rates"]:
            texts[rates] = self._rates()
        check_outputs(texts)
        for file, text in texts.items():
            write_text(file, text)
        return list(texts)

    def write_replay(self, path: str | PathLike[str]) -> Path:
        """Write a replay of the record: what arrived is what may leave.

        This is the baseline that predictions are printed beside. A flow that did not fill the link leaves a
        replay in which nothing else can.

        Parameters
        ----------
        path : path
            The scenario, which ends in ``.toml``; its trace stands beside it.

        Returns
        -------
        pathlib.Path
            The scenario.

        Raises
        ------
        OutputError
            If a file cannot be written.
        TraceError
            If less than two packets arrived, or more than 20 million.
        """
        import numpy as np

        target = Path(fspath(path))
        if not self.has_replay:
            raise TraceError(f"{self.source}: too little arrived, or too much, for a replay")
        trace_file = target.with_suffix(".up")
        arrived = self.packets["fate"] == ARRIVED
        seen = np.interp(
            np.flatnonzero(arrived),
            np.flatnonzero(arrived & np.isfinite(self.packets["seen_s"])),
            self.packets["seen_s"][arrived & np.isfinite(self.packets["seen_s"])],
        )
        sizes = self.packets["bytes"][arrived]
        order = np.argsort(seen, kind="stable")
        through = np.cumsum(sizes[order])
        whole = np.floor(through / 1500).astype(int)
        times = np.repeat(np.round((seen[order] - seen.min()) * 1e3).astype(int), np.diff(whole, prepend=0))
        write_text(trace_file, "".join(f"{time}\n" for time in [*times[:-1], max(times[-1], 1)]))
        write_text(target, self._document(f'trace.opportunities = "{trace_file.name}"', 'model = "none"', ""))
        return target

    def write_reacting(self, path: str | PathLike[str]) -> Path:
        """Write the link as it is if the other flows of the capture react: all of it, with a CUBIC flow.

        The link then has the rate that the flow and the others had together; the flow is called ``mine``, the
        other one ``others``.

        Parameters
        ----------
        path : path
            The scenario, which ends in ``.toml``.

        Returns
        -------
        pathlib.Path
            The scenario.
        """
        more = 1 / self.found["share"]
        rate = replace(self.rate, value=self.rate.value * more)
        rates = [[at, rate * more] for at, rate in self.found["rates"]]
        draws = [[rate * more, *rest] for rate, *rest in self.found["draws"]]
        whole = replace(self, rate=rate, found={**self.found, "rates": rates, "draws": draws})
        target = whole.write(path)[0]
        write_text(target, target.read_text(encoding="utf-8") + REACTING)
        return target

    def write_variants(self, folder: str | PathLike[str], count: int = VARIANTS, seed: int = 1) -> list[Path]:
        """Write ways in which the link may have been, as scenarios; gives their paths.

        Of a constant rate this is :meth:`write` alone. Of one that changes each has a table of its own: what
        was not seen of the rate is filled with what was seen near it, and every second one begins at
        another time of the record.

        Parameters
        ----------
        folder : path
            Where the scenarios and their tables go.
        count : int
            Number of variants.
        seed : int
            Seed of what is drawn.

        Returns
        -------
        list of pathlib.Path
            The scenarios.
        """
        base = Path(fspath(folder))
        if not self.found["rates"]:
            return [self.write(base / "link.toml")[0]]
        draw = random.Random(seed)
        draws = self.found["draws"]
        found = []
        for number in range(count):
            # Each takes draws of its own.
            at = number * len(draws) // count
            rows = self._varied(draw, number) if number else self.found["rates"]
            varied = replace(self, found={**self.found, "rates": rows, "draws": draws[at:] + draws[:at]})
            found.append(varied.write(base / f"link-{number}.toml")[0])
        return found

    def _varied(self, draw: random.Random, number: int) -> list[list[float]]:
        """A table of rates as it may have been; each fourth begins at another time of the record."""
        step, lasts, quiet = self.found["window_s"], self.found["lasts_s"], self.found["quiet_bps"]
        faster = BEYOND ** draw.random()
        rows = [(at, rate * faster if rate == quiet else rate) for at, rate in self.found["rates"]]
        # Between two windows in which the rate was seen it changed at some time: in the table in the middle.
        known = sorted(
            round(row[0] / step)
            for row in self.found["windows"]
            if row[3] >= 0.9 * self.found["fewest_packets"]
        )
        moved: list[tuple[float, float]] = []
        for at, rate in rows:
            next_one = bisect.bisect_left(known, at / step - 1e-6)
            if moved and rate > 0.0 and moved[-1][1] > 0.0 and 0 < next_one < len(known):
                from_s, to_s = (known[next_one - 1] + 1) * step, known[next_one] * step
                at = draw.uniform(from_s, to_s) if from_s < at < to_s else at
            moved.append((at, rate))
        if number % SHIFTED == 1:
            start = draw.uniform(0.0, lasts)
            first = max(0, bisect.bisect([row[0] for row in moved], start) - 1)
            ahead = [(max(0.0, time - start), rate) for time, rate in moved[first:]]
            behind = [(time - start + lasts, rate) for time, rate in moved[: first + 1]]
            moved = [*ahead, *behind]
        return [[time, rate] for time, rate in _apart(sorted(moved)) if time < lasts - 1e-3]

    def predict(self, controls: Sequence[str], **options: Unpack[RunOptions]) -> list[Predicted]:
        """Predict what congestion controls would do on the link, beside a replay of the record.

        Runs are as long as the record.

        Parameters
        ----------
        controls : sequence of str
            Values of ``tcp.congestion``, or ``quic``.
        **options
            Those of :func:`crossfade.run`.

        Returns
        -------
        list of Predicted
            Goodput and 95th percentile of the round trip of each control, with 90 % intervals.

        Raises
        ------
        TraceError
            If the record says nothing of the rate.
        """
        from crossfade.comparison.predictions import LEAST_HALF_WIDTH, predict

        if self.found["kind"] == "opportunities" and self.delay.verdict != "identified":
            raise TraceError(f"{self.source}: a trace of opportunities has no round trip: give it (--rtt)")
        if self.rate.verdict == "not identified":
            raise TraceError(
                f"{self.source}: says nothing of the rate: nothing can be predicted; fit a capture"
            )
        with tempfile.TemporaryDirectory() as folder:
            links = self.write_variants(folder)
            replay = self.write_replay(Path(folder) / "replay.toml") if self.has_replay else None
            reacting = self.write_reacting(Path(folder) / "reacting.toml") if self.has_others else None
            # Where the rate was not seen it is not known.
            changing = WINDOWED + UNSEEN * (1 - self.seen_share)
            least = changing if self.found["rates"] else LEAST_HALF_WIDTH
            quiet: RunOptions = {"progress": False, **options}
            bound = self.rate.value if self.rate.verdict == "bounded" else None
            return predict(links, controls, replay, reacting, least=least, bound_bps=bound, **quiet)

    @property
    def has_others(self) -> bool:
        """Whether other flows carried a tenth of the capture or more: they may react to another control."""
        return bool(self.found["share"] < ALONE)

    @property
    def has_replay(self) -> bool:
        """Whether as much arrived as a replay needs."""
        import numpy as np

        arrived = (self.packets["fate"] == ARRIVED) & np.isfinite(self.packets["seen_s"])
        through = float(self.packets["bytes"][self.packets["fate"] == ARRIVED].sum()) / 1500
        return bool(arrived.sum() >= 2 and 2 <= through <= MOST_REPLAYED)

    @property
    def seen_share(self) -> float:
        """The share of windows in which the rate was seen."""
        windows = max(1.0, float(self.found["lasts_s"]) / float(self.found["window_s"]))
        return len(self._seen_windows()) / windows

    def plot(self, path: str | PathLike[str], title: str = "") -> None:
        """Draw observed and fitted rates over time, and the delays.

        Parameters
        ----------
        path : path
            PNG, PDF or SVG by its ending.
        title : str
            Title.
        """
        import numpy as np

        has_delays = self.found["kind"] != "stretches"
        lost = self.packets["fate"] == LOST
        bursts = np.diff(np.flatnonzero(np.diff(np.r_[0, lost.astype(np.int8), 0])))[::2]
        has_rates = self.found["kind"] != "probes"
        count = has_rates + has_delays + bool(len(bursts) > 1)
        with figure(Path(path), height=0.6 * count) as drawn:
            panels = iter(np.atleast_1d(drawn.subplots(count)))
            if has_rates:
                self._draw_rates(next(panels))
            if has_delays:
                below = next(panels)
                delays = self.packets["seen_s"] - self.packets["sent_s"]
                delays = np.sort(delays[np.isfinite(delays)])
                below.plot(delays * 1e3, np.arange(1, len(delays) + 1) / len(delays), color=PALETTE[0])
                below.axvline(self.delay.value * 1e3, color=PALETTE[1], linestyle="--")
                below.set_xlim(left=0, right=float(np.quantile(delays, 0.999)) * 1.05e3)
                below.set_xlabel("Recorded delay (ms); the line is that of the empty link")
                below.set_ylabel("Share of packets")
            if len(bursts) > 1:
                last = next(panels)
                lengths = np.sort(bursts)
                last.plot(lengths, 1 - np.arange(len(lengths)) / len(lengths), ".-", color=PALETTE[0])
                burst = self.found["mean_burst"] or 1 / max(1e-9, 1 - self.loss.value)
                steps = np.arange(1, lengths[-1] + 1)
                last.plot(
                    steps, (1 - 1 / burst) ** (steps - 1.0), color=PALETTE[1], label="fitted, at random"
                )
                last.set_yscale("log")
                last.set_ylim(bottom=0.5 / len(lengths), top=1.5)
                last.set_xlabel("Packets lost in a row, at random or at a full queue")
                last.set_ylabel("Share as long")
                last.legend()
            if title:
                drawn.suptitle(typeset(title), fontsize="medium")

    def _draw_rates(self, axes: Any) -> None:
        """The rates that were seen, and those of the model."""
        seen = self._seen_windows()
        label = "seen while busy" if self.found["kind"] == "packets" else "carried"
        rates = [row[2] / row[1] / 1e6 for row in seen]
        axes.plot([row[0] for row in seen], rates, ".", color=PALETTE[0], markersize=2, label=label)
        rows = self.found["rates"] or [[0.0, self.rate.value]]
        levels = [rate / 1e6 for _, rate in rows]
        times = [*(at for at, _ in rows), self.found["lasts_s"]]
        if self.rate.verdict != "not identified":
            fitted = [*levels, levels[-1]]
            axes.plot(times, fitted, color=PALETTE[1], drawstyle="steps-post", label="fitted")
        axes.set_ylim(0, 1.25 * max(levels + rates))
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Rate (Mbit/s)")
        axes.legend()

    def _seen_windows(self) -> list[list[float]]:
        """The windows in which the rate was seen."""
        share = SEEN * self.found["window_s"]
        fewest = 0.9 * self.found["fewest_packets"]
        return [row for row in self.found["windows"] if row[2] > 0 and (row[3] >= fewest or row[1] >= share)]

    def _scenario(self, draws: str, rates: str) -> str:
        rate = f'rate = "{_mbps(self.rate.value)}"'
        if self.found["rates"]:
            rate = (
                f'trace = {{ rates = "{rates}", at_end = "loop", period = "{self.found["lasts_s"]:.3f} s" }}'
            )
        loss = f'model = "iid"\np_e = {self.loss.value:.6g}'
        if self.found["mean_burst"]:
            loss = (
                f'model = "markov"\np_e = {self.loss.value:.6g}\nmean_burst = {self.found["mean_burst"]:.4g}'
            )
        return self._document(rate, loss, draws)

    def _rules(self) -> list[str]:
        if self.found["profile"] != "linux":
            return []
        return ["# TCP as Linux has it, as the sender of the record is one.", 'rfc = { profile = "linux" }']

    def _document(self, rate: str, loss: str, draws: str) -> str:
        """The scenario; each value with its interval and verdict as a comment."""
        lines = [
            "schema = 2",
            f'title = "{_quoted(f"Link of {Path(self.source).name}")}"',
            "",
            f"# Fitted to {_quoted(self.source)} ({_quoted(self.flow)}), {self.found['lasts_s']:.1f} s.",
            f"# Model {self.model}; intervals hold with 90 %.",
            *(f"# Warning: {warning}." for warning in self.warnings),
            "",
            "[link]",
            f'packet_size = "{self.found["packet_bytes"]:.0f} B"',
            self._comment("rate"),
            rate,
            self._comment("delay"),
            f'delay = "{self._usual_delay() * 500:.4f} ms"',
            self._comment("queue"),
            f'queue.limit = "{self._usual_queue()} packets"',
            "",
            "[reverse]",
            f'delay = "{self._usual_delay() * 500:.4f} ms"',
            "",
        ]
        if loss:
            lines += ["[channel]", self._comment("loss"), loss, ""]
        run = f'draws = "{draws}"\n' if draws else ""
        lines += [
            "[tcp]",
            'variant = "sack"',
            'congestion = "cubic"',
            'w_max = "64 MB"',
            *self._rules(),
            "",
            "[run]",
            f'duration = "{min(max(SHORTEST_RUN_S, round(self.found["lasts_s"])), LONGEST_RUN_S)} s"',
            f"{run}runs = {RUNS}",
            "",
        ]
        return "\n".join(lines)

    def _usual_delay(self) -> float:
        """The round trip of the empty path, or where it is only bounded the median of the draws."""
        if self.delay.verdict != "bounded":
            return self.delay.value
        return float(median(draw[1] for draw in self.found["draws"]))

    def _usual_queue(self) -> int:
        """The limit, or where it is only bounded the median of the draws."""
        if self.queue.verdict != "bounded":
            return round(self.queue.value)
        return _packets(median(draw[2] for draw in self.found["draws"]), self.found["packet_bytes"])

    def _comment(self, name: str) -> str:
        unit, scale = UNITS[name]
        of = self.parameters[name]
        where = {"delay": ", there and back"}.get(name, "")
        return f"# {name}{where}: {said(name, of, scale)} {unit} ({of.verdict})"

    def _draws(self) -> str:
        table = io.StringIO()
        rows = csv.writer(table, lineterminator="\n")
        follows, packet = bool(self.found["rates"]), self.found["packet_bytes"]
        names = ["link.rate", "link.delay", "reverse.delay", "link.queue.limit", "channel.p_e"]
        in_bursts = self.found["mean_burst"] is not None
        names += ["channel.mean_burst"] * in_bursts
        rows.writerow(names[follows:])
        for rate, delay, queue, loss, burst in self.found["draws"]:
            half = f"{delay * 500:.4f} ms"
            cells = [_mbps(rate), half, half, f"{_packets(queue, packet)} packets", f"{loss:.6g}"]
            cells += [f"{burst:.6g}"] if in_bursts else []
            rows.writerow(cells[follows:])
        return table.getvalue()

    def _rates(self) -> str:
        rows = ["time_s,rate_bps,delay_s,loss"]
        # The table begins again at its end: an outage until there has no row behind it.
        lasts = self.found["lasts_s"] - 1e-3
        rows += [f"{at:.4f},{rate:.0f},0,0" for at, rate in self.found["rates"] if at < lasts]
        return "\n".join(rows) + "\n"


def _seconds(rtt: str | float) -> float:
    """A round trip: a number of seconds, or text with a unit."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(s|ms|us)\s*", rtt) if isinstance(rtt, str) else None
    value = float(match[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[match[2]] if match else rtt
    if isinstance(value, str) or not 0 < value <= 10:
        raise TraceError(f'rtt = {shortened(str(rtt))}: must be a time of at most 10 s, such as "40 ms"')
    return float(value)


def _apart(rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Rows at times that differ by a millisecond or more: of nearer ones the last."""
    found: list[tuple[float, float]] = []
    for time, rate in rows:
        if found and time - found[-1][0] < 1e-3:
            found[-1] = (found[-1][0], rate)
        else:
            found.append((time, rate))
    return found


def said(name: str, of: LinkParameter, scale: float) -> str:
    """A parameter's value with its interval, or its bound, in words."""
    if of.verdict == "bounded":
        if name in BOUNDED_ABOVE:
            return f"at most {of.high * scale:.4g}"
        return f"at least {of.value * scale:.4g}"
    return f"{of.value * scale:.4g}, {of.low * scale:.4g} to {of.high * scale:.4g}"


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
        name: about[name] for name in ("offloads", "share", "is_round_trip", "at_receiver", "has_sizes")
    }
    found["kind"] = "probes" if about["are_probes"] else about["kind"]
    found["profile"] = profile or PROFILES[about["is_of_linux"]]
    found["captured_whole"] = not (about["is_cut"] or about["ends_early"])
    of = {name: LinkParameter(**found[name]) for name in ("rate", "delay", "queue", "loss")}
    if not of["rate"].value >= SLOWEST_BPS and not about["are_probes"]:
        raise TraceError(
            f"{source}: {of['rate'].value:.3g} bit/s in {found['lasts_s']:.3g} s are too little for a fit"
        )
    queue, packet = of["queue"], found["packet_bytes"]
    value, low, high = (float(_packets(end, packet)) for end in (queue.value, queue.low, queue.high))
    of["queue"] = LinkParameter(value, low, high, queue.verdict)
    if rtt is not None:
        # The draws keep what they know of the rest.
        delay = _seconds(rtt)
        of["delay"] = LinkParameter(delay, delay, delay, "identified")
        found["draws"] = [[rate, delay, *rest] for rate, _, *rest in found["draws"]]
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


def _say_no_more(found: dict[str, Any], of: dict[str, LinkParameter], has_rtt: bool, seed: int) -> None:
    """A trace of opportunities has the rate alone: the queue is a usual one, nothing is lost."""
    random_of = random.Random(seed)
    if not has_rtt:
        of["delay"] = LinkParameter(0.0, 0.0, 0.0, "not identified")
    delay, packet = of["delay"].value, float(found["packet_bytes"])
    low, high = USUAL_QUEUE

    def queue(rate: float) -> float:
        of_bdp: float = low * (high / low) ** random_of.random()
        return max(packet, rate / 8 * delay * of_bdp)

    found["draws"] = [[rate, delay, queue(rate), 0.0, None] for rate, *_ in found["draws"]]
    held = sorted(draw[2] for draw in found["draws"])
    ends = (_packets(held[len(held) // 20], packet), _packets(held[-1 - len(held) // 20], packet))
    middle = _packets(held[len(held) // 2], packet)
    of["queue"] = LinkParameter(float(middle), float(ends[0]), float(ends[1]), "not identified")
    of["loss"] = LinkParameter(0.0, 0.0, 0.0, "not identified")
    found |= {"random_losses": 0, "congestive_losses": 0, "mean_burst": None}


def _fitted(packets: Mapping[str, Any], about: Mapping[str, Any], seed: int) -> str:
    """The fit as JSON text."""
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
        # Each is a stretch of its own, which never fills the link.
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


def _mbps(rate: float) -> str:
    return f"{rate / 1e6:.6g} Mbit/s"


def _packets(queue_bytes: float, packet_bytes: float) -> int:
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
