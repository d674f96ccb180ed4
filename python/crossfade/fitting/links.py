"""A link from a record of packets: a scenario with intervals, and draws of what is not known."""

from __future__ import annotations

import bisect
import csv
import io
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import crossfade._crossfade as _crossfade
from crossfade.errors import OutputError, TraceError, shortened
from crossfade.figures.style import PALETTE, figure
from crossfade.files import check_outputs, reading, regular_file, write_text
from crossfade.fitting.traces import LinkTrace, _chunks, _translated, trace
from crossfade.wording import typeset

if TYPE_CHECKING:
    import numpy as np

# How pcap files begin, of either byte order and unit of time, and pcapng files.
CAPTURES = tuple(map(bytes.fromhex, ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")))
COLUMNS = ("sent_s", "bytes", "seen_s", "fate")
ARRIVED, LOST, UNKNOWN = 0, 1, 2
# So many runs a prediction has, each with a draw of its own.
RUNS = 50
# Runs are as long as the record, or this long.
SHORTEST_RUN_S = 10
# Ways in which a link whose rate changes may have been; windows with so many packets that waited tell the rate.
VARIANTS = 8
SEEN_PACKETS = 8
# A rate that is only bounded may be so many times higher.
BEYOND = 4.0
# A record that is shorter shows no slow process.
SHORT_S = 30.0
# What is said of a record beside its packets, where it does not say otherwise.
WHOLE = {
    "is_cut": False,
    "ends_early": False,
    "offloads": False,
    "share": 1.0,
    "at_receiver": False,
    "are_probes": False,
    "has_sizes": True,
    "tick_s": 0.0,
    "reverse_sent_s": (),
    "reverse_delay_s": (),
}
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
        """
        import numpy as np

        target = Path(fspath(path))
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

    def write_variants(self, folder: str | PathLike[str], count: int = VARIANTS, seed: int = 1) -> list[Path]:
        """Write ways in which the link may have been, as scenarios; gives their paths.

        Of a constant rate this is :meth:`write` alone. Of one that changes each has a table of its own: what
        was not seen of the rate is filled with what was seen near it, and every second one begins at
        another time of the record.
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
        """A table of rates as it may have been; odd ones begin at another time of the record."""
        step, lasts, quiet = self.found["window_s"], self.found["lasts_s"], self.found["quiet_bps"]
        faster = BEYOND ** draw.random()
        rows = [(at, rate * faster if rate == quiet else rate) for at, rate in self.found["rates"]]
        # Between two windows in which the rate was seen it changed at some time: in the table in the middle.
        known = sorted(round(row[0] / step) for row in self.found["windows"] if row[3] >= SEEN_PACKETS)
        moved = []
        for at, rate in rows:
            next_one = bisect.bisect_left(known, at / step - 1e-6)
            if moved and rate > 0.0 and moved[-1][1] > 0.0 and 0 < next_one < len(known):
                from_s, to_s = (known[next_one - 1] + 1) * step, known[next_one] * step
                at = draw.uniform(from_s, to_s) if from_s < at < to_s else at
            moved.append((at, rate))
        if number % 2:
            start = draw.uniform(0.0, lasts)
            first = max(0, bisect.bisect([row[0] for row in moved], start) - 1)
            ahead = [(max(0.0, time - start), rate) for time, rate in moved[first:]]
            behind = [(time - start + lasts, rate) for time, rate in moved[: first + 1]]
            moved = [*ahead, *behind]
        return [[time, rate] for time, rate in _apart(sorted(moved)) if time < lasts - 1e-3]

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

        with figure(Path(path), height=1.2) as drawn:
            above, below = drawn.subplots(2)
            busy = [w for w in self.found["windows"] if w[1] >= 0.3 * self.found["window_s"]]
            above.plot(
                [w[0] for w in busy],
                [w[2] / w[1] / 1e6 for w in busy],
                ".",
                color=PALETTE[0],
                markersize=2,
                label="seen while busy",
            )
            rates = self.found["rates"] or [[0.0, self.rate.value]]
            times = [*(row[0] for row in rates), self.found["lasts_s"]]
            levels = [row[1] / 1e6 for row in rates]
            above.plot(times, [*levels, levels[-1]], color=PALETTE[1], drawstyle="steps-post", label="fitted")
            above.set_ylim(0, 1.25 * max(levels + [w[2] / w[1] / 1e6 for w in busy]))
            above.set_xlabel("Time (s)")
            above.set_ylabel("Rate (Mbit/s)")
            above.legend()
            delays = np.sort(
                (self.packets["seen_s"] - self.packets["sent_s"])[np.isfinite(self.packets["seen_s"])]
            )
            below.plot(delays * 1e3, np.arange(1, len(delays) + 1) / len(delays), color=PALETTE[0])
            below.axvline(self.delay.value * 1e3, color=PALETTE[1], linestyle="--")
            below.set_xlim(left=0, right=float(np.quantile(delays, 0.999)) * 1.05e3)
            below.set_xlabel("Recorded delay (ms); the line is that of the empty link")
            below.set_ylabel("Share of packets")
            if title:
                drawn.suptitle(typeset(title), fontsize="medium")

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
            f'delay = "{self.delay.value * 500:.4f} ms"',
            self._comment("queue"),
            f'queue.limit = "{self._usual_queue()} packets"',
            "",
            "[reverse]",
            f'delay = "{self.delay.value * 500:.4f} ms"',
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
            "",
            "[run]",
            f'duration = "{max(SHORTEST_RUN_S, round(self.found["lasts_s"]))} s"',
            f"{run}runs = {RUNS}",
            "",
        ]
        return "\n".join(lines)

    def _usual_queue(self) -> int:
        """The limit, or where it is only bounded the median of the draws."""
        if self.queue.verdict != "bounded":
            return round(self.queue.value)
        return _packets(median(draw[2] for draw in self.found["draws"]), self.found["packet_bytes"])

    def _comment(self, name: str) -> str:
        unit, scale = UNITS[name]
        of = self.parameters[name]
        where = {"delay": ", there and back"}.get(name, "")
        return f"# {name}{where}: {said(of, scale)} {unit} ({of.verdict})"

    def _draws(self) -> str:
        table = io.StringIO()
        rows = csv.writer(table, lineterminator="\n")
        follows, packet = bool(self.found["rates"]), self.found["packet_bytes"]
        names = ["link.rate", "link.delay", "reverse.delay", "link.queue.limit", "channel.p_e"]
        rows.writerow(names[follows:])
        for rate, delay, queue, loss in self.found["draws"]:
            half = f"{delay * 500:.4f} ms"
            cells = [_mbps(rate), half, half, f"{_packets(queue, packet)} packets", f"{loss:.6g}"]
            rows.writerow(cells[follows:])
        return table.getvalue()

    def _rates(self) -> str:
        rows = ["time_s,rate_bps,delay_s,loss"]
        rows += [f"{at:.4f},{rate:.0f},0,0" for at, rate in self.found["rates"]]
        return "\n".join(rows) + "\n"


def _apart(rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Rows at times that differ by a millisecond or more: of nearer ones the last."""
    found: list[tuple[float, float]] = []
    for time, rate in rows:
        if found and time - found[-1][0] < 1e-3:
            found[-1] = (found[-1][0], rate)
        else:
            found.append((time, rate))
    return found


def said(of: LinkParameter, scale: float) -> str:
    """A value with its interval, or its bound, in words."""
    if of.verdict == "bounded":
        if of.value == 0:
            return f"at most {of.high * scale:.3g}"
        return f"at least {of.value * scale:.4g}"
    return f"{of.value * scale:.4g}, {of.low * scale:.4g} to {of.high * scale:.4g}"


def is_record(path: str | PathLike[str]) -> bool:
    """Whether a file is a record of packets: a capture, or the log of a tunnel."""
    file = Path(fspath(path))
    with reading(file, TraceError), regular_file(file) as opened:
        begins = opened.read(4)
    if begins[:2] == b"\x1f\x8b":
        begins = next(iter(_chunks(file)), b"")[:4]
    if begins in CAPTURES:
        return True
    return _log_kind(file) is not None or (begins[:2] == b"# " and _is_tunnel(file))


def _log_kind(file: Path) -> str | None:
    """Which tool wrote a log, by its first bytes; None where none that is read."""
    head = b""
    for chunk in _chunks(file):
        head += chunk
        if len(head) >= 1 << 16:
            break
    return _crossfade.detect_log(head)


def _is_tunnel(file: Path) -> bool:
    try:
        return _crossfade.detect_trace(_chunks(file)) == "pantheon-tunnel"
    except _crossfade.TraceError:
        return False


def fit_link(*records: str | PathLike[str], seed: int = 1) -> LinkFit:
    """Fit a link to a record of packets.

    Parameters
    ----------
    *records : path
        A capture at the sender of TCP, or what both ends recorded, the sender's first. A capture is a pcap or
        pcapng file, also packed by gzip; its largest flow is taken. Of both ends also UDP and QUIC can be
        joined, by the content of their packets. Two logs of a tunnel of Pantheon are a record too.
    seed : int
        Seed of the bootstrap.

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
    paths = [Path(fspath(record)) for record in records]
    source = " and ".join(path.name for path in paths)
    if all(_is_tunnel_log(path) for path in paths):
        packets, about = _of_tunnel(trace(*paths))
    elif len(paths) == 1 and _log_kind(paths[0]) is not None:
        packets, about = _of_log(paths[0])
    else:
        packets, about = _of_captures(paths)
    with _translated(source):
        sent_s, sizes, seen_s, fate = (packets[name] for name in COLUMNS)
        reverse = list(zip(about["reverse_sent_s"], about["reverse_delay_s"], strict=True))
        text = _crossfade.fit_link(
            sent_s, sizes, seen_s, fate, about["is_round_trip"], seed, about["tick_s"], reverse
        )
        found = json.loads(text)
    found |= {"offloads": about["offloads"], "share": about["share"], "is_round_trip": about["is_round_trip"]}
    found["captured_whole"] = not (about["is_cut"] or about["ends_early"])
    of = {name: LinkParameter(**found[name]) for name in ("rate", "delay", "queue", "loss")}
    queue, packet = of["queue"], found["packet_bytes"]
    value, low, high = (float(_packets(end, packet)) for end in (queue.value, queue.low, queue.high))
    of["queue"] = LinkParameter(value, low, high, queue.verdict)
    return LinkFit(
        source,
        about["flow"],
        found["model"],
        **of,
        warnings=_warnings(found, of),
        found=found,
        packets=packets,
    )


def _is_tunnel_log(path: Path) -> bool:
    with reading(path, TraceError), regular_file(path) as opened:
        begins = opened.read(2)
    return begins == b"# " and _is_tunnel(path)


def _of_captures(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    chunks: list[Iterator[bytes]] = [_chunks(path) for path in paths for _ in range(2)]
    with _translated(" and ".join(map(str, paths))):
        found = _crossfade.read_capture(*chunks)
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _of_log(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with _translated(str(path)):
        found = _crossfade.read_log(_chunks(path))
    if found["kind"] == "stretches":
        raise TraceError(f"{shortened(path)}: says nothing of packets")
    return {name: found.pop(name) for name in COLUMNS}, {**WHOLE, **found}


def _of_tunnel(logs: LinkTrace) -> tuple[dict[str, Any], dict[str, Any]]:
    frame = logs.packets()
    frame = frame[frame["direction"] == frame["direction"].iloc[0]].sort_values("sent_s", kind="stable")
    arrived = frame["arrived_s"].notna().to_numpy()
    packets = {
        "sent_s": frame["sent_s"].to_numpy(float),
        "bytes": frame["bytes"].to_numpy(float),
        "seen_s": frame["arrived_s"].to_numpy(float),
        "fate": (~arrived).astype("int8"),
    }
    return packets, {**WHOLE, "flow": "tunnel", "is_round_trip": False}


def _warnings(found: Mapping[str, Any], of: Mapping[str, LinkParameter]) -> list[str]:
    """What the record does not show, and what a prediction by it leaves out, in words."""
    said = []
    seen = min(found["busy_share"], 1.0)
    if of["rate"].verdict == "bounded":
        said.append(
            "no packet waited for another: the rate is a lower bound, and predictions are a range up to 4 "
            "times it"
        )
    elif seen < 0.2:
        said.append(f"the link was seen busy {seen * 100:.2g} % of the time")
    if of["queue"].verdict == "bounded":
        most = f"{of['queue'].value:.0f}"
        said.append(
            f"the queue was never seen full: its limit is at least {most} packets, and predictions go "
            "up to 4 times that"
        )
    if found["paced"]:
        said.append("recorded with pacing: few packets left back to back")
    if found["lasts_s"] < SHORT_S:
        said.append(f"only {found['lasts_s']:.0f} s: no slow process can be seen")
    if not found["is_round_trip"]:
        said.append(
            "the clocks of both ends may be apart: the base delay is what they say, taken for both ways"
        )
    if found["loss_grows_with_queue"]:
        said.append(
            "loss grows with the queue: a short queue, a policer or an AQM, which the model does not have"
        )
    if found["share"] < 0.9:
        said.append(
            f"other flows carried {(1 - found['share']) * 100:.0f} % of the capture: cross traffic reacts to "
            "another control"
        )
    base = [delay for _, delay in found["delays"]]
    if base and max(base) - min(base) > max(1e-3, 0.05 * of["delay"].value):
        ends = f"{min(base) * 1e3:.4g} to {max(base) * 1e3:.4g} ms"
        said.append(f"the base delay changed ({ends}): the scenario has its median")
    if found["deviation_s"] > 0.1 * max(of["delay"].value, 1e-3):
        said.append(
            f"delays differ from those of the model by {found['deviation_s'] * 1e3:.3g} ms in the mean"
        )
    if found["rates"]:
        said.append("the rate follows the record: what is not known of it is not in the draws")
    if found["period"]:
        said.append("the rate has a period of 15 s, as Starlink has")
    if found["offloads"]:
        said.append("the interface cut or joined packets (TSO, GRO): they were taken apart by size")
    if not found["captured_whole"]:
        said.append("the capture ends in the middle of a packet, or was read in part")
    return said


def _mbps(rate: float) -> str:
    return f"{rate / 1e6:.6g} Mbit/s"


def _packets(queue_bytes: float, packet_bytes: float) -> int:
    """The limit in packets within which a backlog of so many bytes is."""
    return max(1, math.ceil(queue_bytes / packet_bytes - 0.05))


def _quoted(text: str) -> str:
    return (
        shortened(text)
        .encode("ascii", "replace")
        .decode()
        .replace("\\", "/")
        .replace('"', "'")
        .replace("\n", " ")
    )
