"""Fit of a two-state Markov chain to a recorded sequence of losses, and tests of this model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crossfade._crossfade as _crossfade
from crossfade.errors import ScenarioError, TraceError
from crossfade.figures.style import PALETTE, figure, in_lines, made
from crossfade.files import read_text

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    Trace = str | PathLike[str] | Sequence[int] | Sequence[bool] | np.ndarray[Any, Any]


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its two-sided 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ChiSquareTest:
    """A test: its statistic, degrees of freedom, and the probability of one as large by chance."""

    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True)
class RunDistance:
    """The length at which P[run >= length] differs most between trace and chain, and both values."""

    length: int
    observed: float
    fitted: float

    @property
    def value(self) -> float:
        """The difference, from 0 to 1 (Kolmogorov's distance)."""
        return abs(self.observed - self.fitted)


@dataclass(frozen=True, eq=False)
class RunLengths:
    """Distribution of the lengths of runs of one fate, in the trace and in the fitted chain.

    Arrays, one entry for each length that occurs: ``lengths``, ``counts`` (how many runs have it),
    ``survival`` (the share of runs at least as long) and ``fitted`` (the same of the chain). ``test`` is
    Pearson's test of the geometric law, None where there are too few runs (or lengths) for one.
    """

    lengths: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]
    survival: np.ndarray[Any, Any]
    fitted: np.ndarray[Any, Any]
    distance: RunDistance
    test: ChiSquareTest | None

    @property
    def runs(self) -> int:
        """Number of runs. Those that the ends of the trace cut off are left out."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class MarkovFit:
    """A two-state Markov chain fitted to a trace of losses.

    Attributes
    ----------
    source : str
        Name of the file; ``trace`` for a trace given as an array.
    format : str or None
        Format of the file.
    packets : int
        Number of packets.
    packets_assumed : bool
        True if the trace was assumed to end with the last lost packet.
    losses : int
        Number of packets that were lost.
    p_gg, p_bb : Interval
        Probabilities to stay in a state from one packet to the next (good: delivered, bad: lost).
    p_e : Interval
        The chain's share of losses.
    mean_burst : Interval
        Mean length of the chain's runs of lost packets.
    log_likelihood : float
        Logarithm of the likelihood of the trace.
    independence, first_order : ChiSquareTest or None
        Tests of independent losses against the chain, and of the chain against one that remembers two
        packets; None where the trace cannot tell.
    good_runs, bad_runs : RunLengths
        Lengths of the runs of delivered and of lost packets, in the trace and in the chain.
    verdict : {"independent", "first-order", "nearly-first-order", "not-first-order"}
        Model of the losses that the tests do not reject.
    explanation : str
        Reason for the verdict, in a sentence.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.fit.losses([0, 0, 0, 1, 1, 0, 0, 1] * 40).packets
    320
    """

    source: str
    format: str | None
    packets: int
    packets_assumed: bool
    losses: int
    p_gg: Interval
    p_bb: Interval
    p_e: Interval
    mean_burst: Interval
    log_likelihood: float
    independence: ChiSquareTest | None
    first_order: ChiSquareTest | None
    good_runs: RunLengths
    bad_runs: RunLengths
    verdict: str
    explanation: str

    def to_dict(self) -> dict[str, Any]:
        """The object behind ``--json``: lists for arrays.

        Returns
        -------
        dict
            The attributes by their names.
        """
        found = asdict(self)
        for name in ("good_runs", "bad_runs"):
            runs = found[name]
            found[name] = {
                key: value.tolist() if hasattr(value, "tolist") else value for key, value in runs.items()
            }
        return found

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text; numbers read back exactly.

        Returns
        -------
        str
            JSON text.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def plot(self, path: str | PathLike[str] | None = None, title: str = "") -> Figure:
        """Draw how long runs are, in the trace (marks) and in the chain (lines).

        On these axes a geometric law, that of a first-order chain, is a straight line.

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
        """
        panels = {"Good": self.good_runs, "Bad": self.bad_runs}
        with figure(None if path is None else Path(path), height=1.5) as drawn:
            for axes, color, (word, runs) in zip(drawn.subplots(2), PALETTE, panels.items(), strict=False):
                shown = _spread(runs.lengths)
                axes.semilogy(
                    runs.lengths[shown],
                    runs.survival[shown],
                    "o",
                    color=color,
                    markerfacecolor="none",
                    label=f"trace, {runs.runs} runs",
                )
                axes.semilogy(runs.lengths, runs.fitted, color=color, label="chain")
                axes.set_ylim(0.5 / runs.runs, 1.5)
                axes.xaxis.get_major_locator().set_params(integer=True)
                axes.set_xlabel(f"{word} run $k$ (packets)")
                axes.set_ylabel("P[run ≥ $k$]")
                axes.legend()
            if title:
                drawn.suptitle(in_lines(title, drawn), fontsize="medium")
        return made(drawn)


@dataclass(frozen=True, eq=False)
class FadingFit:
    """A chain fitted to sampled Rayleigh fading, and the closed form ``p_gg`` and ``p_bb`` of one step.

    ``precision`` is the relative half-width of the 95 % interval of the probability to leave a state, the
    wider of the two, over independent realisations of the fading.
    """

    fit: MarkovFit
    p_gg: float
    p_bb: float
    precision: float


def fit(trace: Trace, format: str = "auto", packets: int | None = None) -> MarkovFit:
    """Fit a two-state Markov chain to a trace of losses.

    Parameters
    ----------
    trace : path or array of int
        A file, or a 0 (delivered) or 1 (lost) a packet. A file (also ``.gz``) holds either one digit a
        packet, or the numbers of the lost packets, counted from 0 and increasing. White space and commas
        separate, ``#`` starts a comment.
    format : {"auto", "bits", "lost"}
        What the numbers are. ``"auto"`` reads a file as whichever it can be, and refuses one that can be
        both.
    packets : int, optional
        Number of packets there were, as a line ``# packets N`` says too; without it, lost numbers end with
        the last packet lost, and ``packets_assumed`` says so.

    Returns
    -------
    MarkovFit
        The chain with 95 % intervals, tests, and a verdict.

    Raises
    ------
    TraceError
        If a text is no trace (the message names its line), or fewer than ten changes between delivered and
        lost leave nothing to fit.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.fit.losses([0, 0, 0, 1, 1, 0, 0, 1] * 40)
    >>> found.losses, round(found.p_e.value, 3)
    (120, 0.376)
    """
    if isinstance(trace, str | PathLike):
        source = fspath(trace)
        text = read_text(Path(source), TraceError)
    else:
        source = "trace"
        text, format = _text(trace, format)
    if packets is not None and not 1 <= packets <= 2**53:
        raise TraceError(f"packets = {packets}: must be from 1 to 2^53")
    with _translated(source):
        return _markov_fit(source, json.loads(_crossfade.fit_markov(text, format, packets)))


def fit_rayleigh(p_e: float, fd_t: float) -> FadingFit:
    """Fit a chain to sampled Rayleigh fading.

    It samples 10,000 bursts, or as many as 20 million steps hold (about a second); always the same fading.

    Parameters
    ----------
    p_e : float
        Share of packets that are lost.
    fd_t : float
        Doppler frequency times the slot.

    Returns
    -------
    FadingFit
        The chain, and the closed form beside it.

    Raises
    ------
    ScenarioError
        If a value is out of range, or bursts are too rare to sample.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.fit.rayleigh(p_e=0.1, fd_t=0.05)
    >>> abs(found.fit.p_e.value - 0.1) < 0.01
    True
    """
    with _translated("fit_rayleigh"):
        found = json.loads(_crossfade.fit_rayleigh(p_e, fd_t))
    closed_form = found.pop("closed_form")
    precision = found.pop("precision")
    source = f"Rayleigh fading, p_e = {p_e:g}, fd_t = {fd_t:g}"
    return FadingFit(_markov_fit(source, found), closed_form["p_gg"], closed_form["p_bb"], precision)


def _text(values: Any, format: str) -> tuple[str, str]:
    """Text of a trace of losses given as an array, and its format (``bits`` or ``lost``).

    Raises TraceError if the array is not one-dimensional or has values that are not allowed.
    """
    import numpy as np  # here, so that commands which need no arrays start without it

    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or (array != np.floor(array)).any():
        raise TraceError("trace: must be a file, or a one-dimensional array of whole numbers")
    if format == "lost":
        return "\n".join(map(str, array.astype(np.int64).tolist())), format
    bad = np.flatnonzero((array != 0) & (array != 1))
    if bad.size:
        raise TraceError(
            f"trace[{bad[0]}] = {array[bad[0]]}: must be 0 (delivered) or 1 (lost); "
            'numbers of lost packets need format = "lost"'
        )
    return (array.astype(np.uint8) + ord("0")).tobytes().decode(), "bits" if format == "auto" else format


def _markov_fit(source: str, found: Mapping[str, Any]) -> MarkovFit:
    intervals = {name: Interval(**found[name]) for name in ("p_gg", "p_bb", "p_e", "mean_burst")}
    tests = {name: _test(found[name]) for name in ("independence", "first_order")}
    runs = {name: _runs(found[name]) for name in ("good_runs", "bad_runs")}
    return MarkovFit(source=source, **{**found, **intervals, **tests, **runs})


def _test(found: Mapping[str, Any] | None) -> ChiSquareTest | None:
    return None if found is None else ChiSquareTest(**found)


def _runs(found: Mapping[str, Any]) -> RunLengths:
    import numpy as np

    arrays = {name: np.array(found[name]) for name in ("lengths", "counts", "survival", "fitted")}
    return RunLengths(**arrays, distance=RunDistance(**found["distance"]), test=_test(found["test"]))


def _spread(lengths: np.ndarray[Any, Any], most: int = 80) -> np.ndarray[Any, Any]:
    """Indices of the lengths that a plot marks: all, or about ``most`` that are spread evenly."""
    import numpy as np

    if len(lengths) <= most:
        return np.arange(len(lengths))
    return np.unique(np.searchsorted(lengths, np.linspace(lengths[0], lengths[-1], most)))


@contextmanager
def _translated(source: str) -> Iterator[None]:
    """Context in which errors of the extension become errors of this package that begin with ``source``."""
    try:
        yield
    except _crossfade.TraceError as error:
        raise TraceError(f"{source}: {error}") from None
    except _crossfade.ScenarioError as error:
        raise ScenarioError(f"{source}: {error}") from None
