"""Recordings of links in the formats of other tools: recognised, read, summarised, drawn and converted."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crossfade._crossfade as _crossfade
from crossfade.errors import OutputError, TraceError, shortened
from crossfade.figures.style import PALETTE, figure, in_lines, made
from crossfade.files import check_writable, reading, regular_file, whole_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Size in bytes of the pieces in which files are read.
CHUNK = 1 << 16


@dataclass(frozen=True)
class TraceFile:
    """A recording of a link in one file: path, name and title of the format, and a summary of the content.

    ``lasts_s`` is the duration of the recording in seconds. ``at_end`` is the continuation after it:
    ``loop``, ``hold``, a number of rounds, or None if the format does not define it. ``ways`` has a summary
    for each direction in the file. ``notes`` has further facts by name, such as ``end``, the end of a tunnel
    at which it was recorded.
    """

    path: Path
    format: str
    title: str
    lasts_s: float
    at_end: str | int | None
    notes: Mapping[str, str]
    ways: Sequence[Mapping[str, Any]]

    @property
    def says(self) -> set[str]:
        """Quantities that the recording contains, of: capacity, delay, loss, packets in, packets out."""
        found = set()
        for way in self.ways:
            of_packets = way["packets_in"] or way["packets_out"]
            has = {
                "capacity": way["rate_bps"] is not None or way["unlimited"],
                "delay": way["delay_s"] is not None and not of_packets,
                "loss": way["loss"] is not None and not of_packets,
                "packets in": way["packets_in"] > 0,
                "packets out": way["packets_out"] > 0,
            }
            found |= {name for name, said in has.items() if said}
        return found


@dataclass(frozen=True, eq=False)
class LinkTrace:
    """Recordings of a link, a file each.

    Files that say different things, such as a capacity and its delays, are about one way of the link. A file
    that says what one before it has said begins the other way: up first, then down.

    Attributes
    ----------
    files : sequence of TraceFile
        What each file says.
    delay_interval_s : float
        How long each delay of LeoReplayer holds, in seconds.

    Examples
    --------
    >>> import crossfade as cf
    >>> with open("link.up", "w") as file:
    ...     _ = file.write("1\\n2\\n3\\n")
    >>> list(cf.fit.trace("link.up").ways)
    ['both']
    """

    files: Sequence[TraceFile]
    delay_interval_s: float

    @property
    def ways(self) -> dict[str, list[TraceFile]]:
        """The files about each way: ``both`` where it is one, else ``up`` and ``down``."""
        groups: list[list[TraceFile]] = [[]]
        said: set[str] = set()
        for file in self.files:
            if said & file.says:
                groups.append([])
                said = set()
            said |= file.says
            groups[-1].append(file)
        if len(groups) > 2:
            first = groups[2][0]
            raise TraceError(f"{first.path}: says what files before it say of both ways (a link has two)")
        if len(groups) == 2:
            return dict(zip(("up", "down"), groups, strict=True))
        named = {way["direction"] for file in self.files for way in file.ways} - {"both"}
        return dict.fromkeys([way for way in ("up", "down") if way in named] or ["both"], groups[0])

    def summary(self) -> list[dict[str, Any]]:
        """A dictionary a file and direction: the object behind ``--json``.

        Returns
        -------
        list of dict
            ``rate_bps``, ``delay_s`` and ``loss`` have the mean over all time, and ``min``, ``p5``, ``p50``,
            ``p95`` and ``max`` of windows of ``window_s`` (100 ms, longer for recordings of more than 29
            hours); None is what the file does not say. ``clock_s`` is the largest unit of which all its times
            are multiples: what happens faster does not show.
        """
        of_groups = {
            id(file): way for way, group in self.ways.items() for file in group if len(self.ways) == 2
        }
        rows = []
        for file in self.files:
            head = {
                "file": str(file.path),
                "format": file.format,
                "title": file.title,
                "lasts_s": file.lasts_s,
                "at_end": file.at_end,
                "notes": dict(file.notes),
            }
            for way in file.ways:
                direction = way["direction"]
                if direction == "both" and len({id(group) for group in self.ways.values()}) == 2:
                    direction = of_groups[id(file)]
                rows.append({**head, **way, "direction": direction})
        for direction, arrived, packets in self._joined():
            of = (str(arrived.path), direction)
            row = next(row for row in rows if (row["file"], row["direction"]) == of)
            row.update(_of_packets(packets, row["window_s"]))
        return rows

    def packets(self) -> pd.DataFrame:
        """Packets whose two ends were recorded, in the order of sending.

        Of each way the log of the end that sends and that of the end that receives, such as the two halves of
        a tunnel of Pantheon, are joined by the numbers of the packets, on one clock: that of the log that
        starts first.

        Returns
        -------
        pandas.DataFrame
            Columns: ``direction``, ``id``, ``bytes``, ``sent_s``, ``arrived_s`` and ``delay_s``; the last two
            are not a number of a packet that did not arrive.

        Raises
        ------
        TraceError
            If no way has two such logs, or a packet arrived and was not sent.
        """
        import pandas as pd  # here, so that commands which need no tables start without it

        frames = []
        for way, _, frame in self._joined():
            frame.insert(0, "direction", way)
            frames.append(frame)
        if not frames:
            raise TraceError("packets: needs the logs of both ends of a way (egress, ingress)")
        return pd.concat(frames, ignore_index=True)

    def _joined(self) -> Iterator[tuple[str, TraceFile, pd.DataFrame]]:
        """Each direction with logs of both ends: its name, the log of arrivals, and the joined packets."""
        for way, files in self.ways.items():
            ends = {file.notes["end"]: file for file in files if "end" in file.notes}
            if len(ends) == 2:
                sent, arrived = ends["egress"], ends["ingress"]
                yield way, arrived, _paired(*self._packets_of(sent, arrived))

    def _packets_of(self, *files: TraceFile) -> list[tuple[TraceFile, pd.DataFrame]]:
        """Packets of each log of a tunnel, with times in s on the clock of the log that starts first."""
        starts = [float(file.notes["start in ms"]) for file in files]
        found = []
        for file, start in zip(files, starts, strict=True):
            frame = LinkTrace((file,), self.delay_interval_s).frame()
            found.append((file, frame.assign(time_s=frame["time_s"] + (start - min(starts)) / 1e3)))
        return found

    def to_json(self) -> str:
        """:meth:`summary` as JSON text.

        Returns
        -------
        str
            JSON text.
        """
        return json.dumps(self.summary(), indent=2, ensure_ascii=False, allow_nan=False)

    def frame(self) -> pd.DataFrame:
        """All facts, a row each, in the order of the files.

        Returns
        -------
        pandas.DataFrame
            Columns: ``file``, ``kind`` (opportunity, step, train, sent, arrived), ``direction``, ``time_s``,
            and what the files say, such as ``bytes``, ``lasts_s``, ``rate_bps``, ``delay_s``, ``loss``,
            ``queue_packets``; not a number is what a fact does not say.
        """
        import pandas as pd  # here, so that commands which need no tables start without it

        frames = []
        for file in self.files:
            with _translated(file.path):
                found = _crossfade.trace_columns(file.format, _chunks(file.path), self.delay_interval_s)
            kinds, ways = found.pop("kinds"), found.pop("directions")
            kind = pd.Categorical.from_codes(found.pop("kind"), kinds)
            way = pd.Categorical.from_codes(found.pop("direction"), ways)
            frame = pd.DataFrame({"kind": kind, "direction": way, "time_s": found.pop("time_s"), **found})
            frame.insert(0, "file", str(file.path))
            frames.append(frame)
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def losses(self, to: str, direction: str | None = None) -> list[str]:
        """Losses of a conversion by :meth:`convert`, in words.

        Parameters
        ----------
        to : str
            Name of the format.
        direction : {"up", "down"}, optional
            The way, where there are two.

        Returns
        -------
        list of str
            Empty where nothing is lost.

        Raises
        ------
        TraceError
            If the format is not written, or there is no such way.
        """
        return self._conversion(to, self._direction(direction))[1]

    def convert(
        self,
        to: str,
        out: str | PathLike[str],
        direction: str | None = None,
        lossy: bool = False,
    ) -> list[Path]:
        """Write the recordings of one way in another format.

        A file that is there is never written over. Formats with several files (``leoreplayer``: a capacity
        and its delays) add the name of each before the ending, if there is more than one.

        Parameters
        ----------
        to : str
            Name of the format.
        out : path
            The file.
        direction : {"up", "down"}, optional
            The way, where there are two.
        lossy : bool
            Whether what the other format cannot say may be lost.

        Returns
        -------
        list of pathlib.Path
            The files that were written.

        Raises
        ------
        TraceError
            If something would be lost; the message names it.
        OutputError
            If a file cannot be written.
        """
        with _translated("convert"):
            # A format that is not written is refused whichever way is meant.
            _crossfade.TraceConversion(to, next(iter(self.ways)))
        way = self._direction(direction)
        files = self.ways[way]
        conversion, losses = self._conversion(to, way)
        if losses and not lossy:
            raise TraceError(f"to {to}: would lose {'; '.join(losses)} (lossy conversions must be asked for)")
        parts, path = conversion.parts(), Path(out)
        paths = [path] if len(parts) == 1 else [_with_part(path, part) for part in parts]
        for target in paths:
            _check_new(target)
        for part, target in zip(parts, paths, strict=True):
            texts = [(file.format, _chunks(file.path)) for file in files]
            with (
                whole_file(target) as draft,
                open(draft, "w", encoding="utf-8", newline="") as output,
                _translated(to),
            ):
                conversion.write(part, texts, output.write, self.delay_interval_s)
        return paths

    def plot(self, path: str | PathLike[str] | None = None, title: str = "") -> Figure:
        """Draw capacity, delay and loss over time, those that there are.

        Parameters
        ----------
        path : path, optional
            PNG, PDF or SVG by its ending; nothing is written without it.
        title : str
            Title.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; a notebook shows it.

        Raises
        ------
        TraceError
            If the files say nothing that can be drawn.
        """
        curves = self._curves()
        names = [name for name in AXES if any(name in curve for _, curve in curves)]
        if not names:
            raise TraceError("the files say nothing that can be drawn")
        with figure(None if path is None else Path(path), height=0.6 + 0.45 * len(names)) as drawn:
            panels = drawn.subplots(len(names), sharex=True, squeeze=False)[:, 0]
            for axes, name in zip(panels, names, strict=True):
                shown = [(label, curve[name]) for label, curve in curves if name in curve]
                words, factor = AXES[name]
                for color, (label, (times, values)) in zip(PALETTE, shown, strict=False):
                    shown_as = [math.nan if value is None else value * factor for value in values]
                    axes.plot(
                        times, shown_as, color=color, linewidth=0.8, label=label, drawstyle="steps-post"
                    )
                axes.set_ylabel(words)
                if len(shown) > 1:
                    axes.legend()
            panels[-1].set_xlabel("Time (s)")
            if title:
                drawn.suptitle(in_lines(title, drawn), fontsize="medium")
        return made(drawn)

    def _curves(self) -> list[tuple[str, dict[str, tuple[Any, Any]]]]:
        """Series to draw: for each file and direction a label, and for each quantity its times (s) and means.

        Quantities are the keys of ``AXES``, in recorded units: bit/s, s, and shares.
        """
        found = []
        for file in self.files:
            with _translated(file.path):
                ways = json.loads(
                    _crossfade.trace_curves(
                        file.format, _chunks(file.path), self.delay_interval_s, MOST_DRAWN
                    )
                )
            for direction, curve in ways.items():
                label = file.path.name if direction == "both" else f"{file.path.name}, {direction}"
                found.append((label, {name: tuple(points) for name, points in curve.items()}))
        return found

    def _direction(self, direction: str | None) -> str:
        ways = self.ways
        if direction is None and len(ways) == 1:
            return next(iter(ways))
        if direction not in ways:
            if len(ways) == 1:
                name = f"direction = {shortened(direction)}"
                (only,) = ways
                said = "do not tell up from down" if only == "both" else f"say {only} alone"
                raise TraceError(f"{name}: the recordings {said}; leave it out")
            given = "none is given" if direction is None else f"not {shortened(direction)}"
            raise TraceError(f"direction: must be one of {', '.join(ways)}, {given}")
        return direction

    def _conversion(self, to: str, way: str) -> tuple[_crossfade.TraceConversion, list[str]]:
        """Converter of the files of one direction to the format ``to``, and the information that it loses."""
        with _translated("convert"):
            conversion = _crossfade.TraceConversion(to, way)
        for file in self.ways[way]:
            with _translated(file.path):
                conversion.look(file.format, _chunks(file.path), self.delay_interval_s)
        with _translated(f"to {to}"):
            return conversion, conversion.losses()


def _paired(sent: tuple[TraceFile, pd.DataFrame], arrived: tuple[TraceFile, pd.DataFrame]) -> pd.DataFrame:
    """Packets recorded at the sending and at the receiving end, joined by packet number.

    Times and the delay are in seconds; arrival and delay of a lost packet are NaN. Raises TraceError if a
    number occurs twice at one end, or a packet arrived that was not sent.
    """
    for file, frame in (sent, arrived):
        twice = frame["id"].duplicated()
        if twice.any():
            raise TraceError(
                f"{shortened(file.path)}: packet {frame['id'][twice].iloc[0]:.0f} is there twice"
            )
    there = sent[1][["id", "bytes", "time_s"]].rename(columns={"time_s": "sent_s"})
    here = arrived[1][["id", "time_s"]].rename(columns={"time_s": "arrived_s"})
    unsent = ~here["id"].isin(there["id"])
    if unsent.any():
        number = f"{here['id'][unsent].iloc[0]:.0f}"
        raise TraceError(
            f"{shortened(arrived[0].path)}: packet {number} arrived, but {shortened(sent[0].path)} does not "
            "say that it was sent"
        )
    found = there.merge(here, on="id", how="left")
    found["id"] = found["id"].astype("int64")
    found["bytes"] = found["bytes"].astype("int64")
    return found.assign(delay_s=found["arrived_s"] - found["sent_s"])


def _of_packets(packets: pd.DataFrame, window_s: float) -> dict[str, dict[str, float]]:
    """Statistics of delay (s) and loss of joined packets: overall mean, and distribution over windows.

    Windows of ``window_s`` are taken by arrival time for the delay, and by sending time for the loss.
    """
    arrived = packets.dropna(subset="arrived_s")
    lost = packets["arrived_s"].isna().astype(float)
    found = {}
    if len(arrived):
        found["delay_s"] = _of_windows(arrived["arrived_s"], arrived["delay_s"], window_s)
    if len(packets):
        found["loss"] = _of_windows(packets["sent_s"], lost, window_s)
    return found


def _of_windows(times_s: pd.Series, values: pd.Series, window_s: float) -> dict[str, float]:
    """Mean of all values, and minimum, quantiles and maximum of their means in windows of ``window_s``."""
    means = values.groupby((times_s / window_s).astype("int64")).mean()
    quantiles = {"min": 0.0, "p5": 0.05, "p50": 0.5, "p95": 0.95, "max": 1.0}
    return {
        "mean": float(values.mean()),
        **{name: float(means.quantile(at, interpolation="higher")) for name, at in quantiles.items()},
    }


# Drawn quantities in the order of their panels: label of the axis, and factor from the recorded unit.
AXES = {
    "rate_bps": ("Capacity (Mbit/s)", 1e-6),
    "sent_bps": ("Sent (Mbit/s)", 1e-6),
    "arrived_bps": ("Arrived (Mbit/s)", 1e-6),
    "delay_s": ("Delay (ms)", 1e3),
    "loss": ("Loss", 1.0),
}
# Largest number of points of a drawn curve; more cannot be distinguished.
MOST_DRAWN = 4000


def trace(
    *paths: str | PathLike[str], format: str | None = None, delay_interval_s: float = 0.01
) -> LinkTrace:
    """Read recordings of a link by mahimahi, LeoReplayer, TheaterQ and others, recognised by their content.

    Parameters
    ----------
    *paths : path
        Several files are the parts of one way (a capacity, its delays), or both ways, up first. A file may be
        packed by gzip.
    format : str, optional
        What cannot be told, of all files: ``cellreplay-heavy``, or ``leoreplayer`` of delays that never
        decrease.
    delay_interval_s : float
        How long each delay of LeoReplayer holds, in seconds.

    Returns
    -------
    LinkTrace
        What the files say.

    Raises
    ------
    TraceError
        If a file is of no known format, or a line is wrong; the message has its number.

    Examples
    --------
    >>> import crossfade as cf
    >>> with open("cell.down", "w") as file:  # 1500 bytes each millisecond
    ...     _ = file.write("".join(f"{time}\\n" for time in range(1, 1001)))
    >>> round(cf.fit.trace("cell.down").summary()[0]["rate_bps"]["mean"])
    12000000
    """
    if not paths:
        raise TraceError("trace: needs at least one file")
    if not 1e-6 <= delay_interval_s <= 3600:
        raise TraceError(f"delay_interval_s = {delay_interval_s!r}: must be from 1e-6 to 3600")
    titles = {row["name"]: row["title"] for row in formats()}
    files = []
    for name in paths:
        path = Path(fspath(name))
        with _translated(path):
            found = format or _crossfade.detect_trace(_chunks(path))
            said = json.loads(_crossfade.describe_trace(found, _chunks(path), delay_interval_s))
        files.append(TraceFile(path, found, titles[found], **said))
    made = LinkTrace(tuple(files), delay_interval_s)
    _ = made.ways  # refuses files about more than two
    return made


def formats() -> list[dict[str, Any]]:
    """Known formats of recordings: of each the name, the title, and whether it can be written too."""
    found: list[dict[str, Any]] = json.loads(_crossfade.trace_formats())
    return found


def _chunks(path: Path) -> Iterator[bytes]:
    """Content of a file in pieces of at most 64 KiB, unpacked if the file is packed by gzip."""
    with reading(path, TraceError), regular_file(path) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                while chunk := unpacked.read(CHUNK):
                    yield chunk
        else:
            while chunk := file.read(CHUNK):
                yield chunk


def _with_part(path: Path, part: str) -> Path:
    return path.with_name(f"{path.stem}.{part}{path.suffix}")


def _check_new(path: Path) -> None:
    check_writable(path)
    if os.path.exists(path):
        raise OutputError(f"{shortened(path)}: not written over (there is a file of this name)")


@contextmanager
def _translated(source: object) -> Iterator[None]:
    """Context in which errors of the extension become TraceErrors that begin with ``source``."""
    try:
        yield
    except _crossfade.TraceError as error:
        raise TraceError(f"{shortened(source)}: {error}") from None
