"""Result of the fit of a link to a record: parameters, files of the link as scenarios, predictions, plots."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from crossfade.errors import OutputError, TraceError, shortened
from crossfade.figures.style import PALETTE, figure, in_lines
from crossfade.files import check_outputs, write_text
from crossfade.fitting.link_scenarios import document, draws_text, rates_text, scenario_text, varied_rates
from crossfade.fitting.parameters import UNITS, LinkParameter, said
from crossfade.fitting.records import ARRIVED, LOST
from crossfade.fitting.warnings import ALONE
from crossfade.results.shown import html_table

if TYPE_CHECKING:
    import numpy as np

    from crossfade.comparison.predictions import Predicted
    from crossfade.plans.options import RunOptions

# Largest number of delivery opportunities in a replay of a record.
MOST_REPLAYED = 20_000_000
# Number of alternative tables of rates for a link whose rate changes.
VARIANTS = 8
# A window shows the rate if the link was busy for this share of it, or sent 90 % of the packets that the fit
# requires.
SEEN = 0.3
# Smallest half-width of a prediction interval for a link whose rate changes, as a share of the value: the
# error of windows, plus ``UNSEEN`` times the share of windows that do not show the rate.
WINDOWED = 0.025
UNSEEN = 0.05
# Flows of the scenario in which the other flows of a capture react: a bulk flow represents all of them.
REACTING = """
[flows]
mine = { traffic = "bulk" }
others = { traffic = "bulk" }
"""


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
        texts = {target: scenario_text(self, draws.name, rates.name), draws: draws_text(self)}
        if self.found["rates"]:
            texts[rates] = rates_text(self)
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
            If fewer than two packets arrived, or their bytes need fewer than 2 or more than 20 million
            transmission opportunities of 1500 bytes.
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
        write_text(target, document(self, f'trace.opportunities = "{trace_file.name}"', 'model = "none"', ""))
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
        link = LinkParameter(**self.found["link_rate"])
        rate = replace(link, value=link.value * more)
        rates = [[at, rate * more] for at, rate in self.found["rates"]]
        # Draws of a bounded rate reach beyond the bound, since the other flows may leave more of the link to
        # the flow; here each draw has the rate of all flows together.
        is_bound = self.rate.verdict == "bounded"
        draws = [
            [link.value * more if is_bound else rate * more, *rest] for rate, *rest in self.found["draws"]
        ]
        found = {**self.found, "rates": rates, "draws": draws, "link_rate": asdict(rate)}
        whole = replace(self, rate=rate, found=found)
        target = whole.write(path)[0]
        write_text(target, target.read_text(encoding="utf-8") + REACTING)
        return target

    def write_variants(self, folder: str | PathLike[str], count: int = VARIANTS, seed: int = 1) -> list[Path]:
        """Write ways in which the link may have been, as scenarios; gives their paths.

        With a constant rate, this is the single scenario of :meth:`write`. With a rate that changes, each
        scenario has a table of rates of its own: stretches in which the record did not show the rate are
        filled with rates shown near them, and every fourth scenario begins at another time of the record.

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
            # Run r of variant v takes draw v + r * count, so all variants together use the draws in order.
            own = [draw for first in range(count) for draw in draws[(number + first) % count :: count]]
            rows = self.found["rates"]
            if number:
                rows = varied_rates(
                    self, self._seen_windows(), self._carried(), draw, number, number / (count - 1)
                )
            varied = replace(self, found={**self.found, "rates": rows, "draws": own})
            found.append(varied.write(base / f"link-{number}.toml")[0])
        return found

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
            # Smallest half-width of an interval: larger the less of a changing rate was observed.
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

    def _carried(self) -> Callable[[float, float], float]:
        """Function of two times (s since the first packet): rate of data sent between them that arrived.

        The rate is in bit/s.
        """
        import numpy as np

        arrived = self.packets["fate"] == ARRIVED
        times = self.packets["sent_s"][arrived] - self.packets["sent_s"][:1]
        bits = np.concatenate([[0.0], np.cumsum(8 * self.packets["bytes"][arrived])])

        def carried(from_s: float, to_s: float) -> float:
            first, last = np.searchsorted(times, [from_s, to_s])
            return float(bits[last] - bits[first]) / (to_s - from_s)

        return carried

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
                drawn.suptitle(in_lines(title, drawn), fontsize="medium")

    def _draw_rates(self, axes: Any) -> None:
        """Draw the observed rates of windows and the fitted rate over time, in Mbit/s, into ``axes``."""
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
        """Windows in which the record shows the rate: rows of start (s), busy time (s), bits and packets.

        A window shows it if the link was busy for 30 % of the window, or sent nearly as many packets as the
        fit requires (``fewest_packets``).
        """
        share = SEEN * self.found["window_s"]
        fewest = 0.9 * self.found["fewest_packets"]
        return [row for row in self.found["windows"] if row[2] > 0 and (row[3] >= fewest or row[1] >= share)]
