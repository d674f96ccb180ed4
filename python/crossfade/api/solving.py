"""Functions that check a scenario, and solve or simulate every point of its sweep by each of its methods."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.errors import ScenarioError
from crossfade.plans.memory import check_memory, memory_of_rows
from crossfade.plans.options import Options, PlanOptions, RunOptions, ScenarioLike
from crossfade.results.cache import Cache, open_cache
from crossfade.results.frames import counted_blocks, frames_table
from crossfade.results.interrupted import Interrupted
from crossfade.results.results import Results
from crossfade.sweeps.engines import Threads
from crossfade.sweeps.stored import StoredRows
from crossfade.tables import Table

if TYPE_CHECKING:
    import pandas as pd


def run(
    scenario: ScenarioLike,
    *,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Solve or simulate a scenario: every point of its sweep by each of its methods.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    methods : sequence of str, optional
        Names of methods (``["analysis", "simulation"]``), in place of those of the scenario.
    **options
        ``set`` changes keys (``{"tcp.w_max": 6}``; None removes a key), ``over`` replaces or adds axes
        (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"`` and ``"start:stop:step"``). ``runs``,
        ``precision`` (``"1 %"``) and ``seed`` replace those of the scenario. ``point`` (a number, counted
        from 0) or ``at`` (``{"tcp.variant": "reno"}``) select some points of the sweep. ``jobs`` is the
        number of threads (None: all cores), on which results do not depend. ``cache=False`` neither reads
        runs from the user's cache nor keeps them there; ``progress=True`` shows a bar on standard error.

    Returns
    -------
    Results
        One point for each combination of axis values and each method, in the order of the sweep; estimates
        are in the units of :func:`crossfade.reference.metrics`.

    Raises
    ------
    ScenarioError
        If anything is wrong in the scenario or an option; the message is one line.
    Interrupted
        On Ctrl-C (a subclass of ``KeyboardInterrupt``), with the results of the finished runs.

    Examples
    --------
    >>> import crossfade as cf
    >>> results = cf.run("quickstart", over={"channel.p_e": [0.01, 0.1]}, methods=["analysis"])
    >>> results.column("throughput_per_slot").shape  # three variants of TCP, two values of P_E
    (6,)
    """
    return solve(scenario, Options.of(RunOptions, options, methods=methods))


def solve(scenario: ScenarioLike, options: Options) -> Results:
    """Run a scenario as :func:`run` does, with the rows kept in the user's cache."""
    tell = partial(plans.tell_of_many, partial(print, file=sys.stderr)) if options.progress else None
    plan = plans.load(scenario, options, tell)
    engine, cache = Threads(options.jobs), options.cache
    with nullcontext(cache) if isinstance(cache, Cache) else open_cache(cache) as store:
        rows = StoredRows(plan, store)
        complete = rows.make(engine, progress=options.progress)
    if not complete:
        raise Interrupted(len(rows.known), lambda: rows.results(complete=False))
    return rows.results(complete)


def phy(
    scenario: ScenarioLike,
    *,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> pd.DataFrame:
    """Bit and frame error rates of a physical layer alone, without link protocol and transport.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    methods : sequence of str, optional
        ``["phy"]`` (default) simulates; ``"formula"`` gives closed forms.
    **options
        Those of :func:`crossfade.run`.

    Returns
    -------
    pandas.DataFrame
        One row for each point, method and number of transmissions: the axes, ``method``, ``transmissions``,
        bit and frame error rate, the share of frames not accepted after this number of transmissions, and the
        effective rate. The rows of a single scheme, as a CSV file, are a table for the key ``phy.table``.

    Raises
    ------
    ScenarioError
        If the scenario has no physical layer, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> rates = cf.runs.phy("mimo-fer", point=0, set={"run.frame_errors": 20})
    >>> "transmissions" in rates.columns
    True
    """
    return phy_table(scenario, methods=methods, **options).to_pandas()


def phy_table(
    scenario: ScenarioLike, *, methods: Sequence[str] | None = None, **options: Unpack[RunOptions]
) -> Table:
    """Error rates of a physical layer as a table, with the rows of :func:`phy`."""
    return frames_table(phy_results(scenario, methods, options))


def phy_results(scenario: ScenarioLike, methods: Sequence[str] | None, options: Mapping[str, Any]) -> Results:
    """Results of the methods of a physical layer (default: its simulation), of which :func:`phy` makes its
    rows.
    """
    asked = ["phy"] if methods is None else methods
    return solve(scenario, Options.of(RunOptions, options, methods=asked))


def nr_error_table(scenario: ScenarioLike, **options: Unpack[RunOptions]) -> str:
    """Simulate transport blocks of an NR cell, and fit a table of their error rates for ``nr.error_table``.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario with ``nr.block`` and several values of ``nr.radio.mean_snr_db``: a mapping of its keys, a
        file, a shipped scenario's name, or a text of TOML.
    **options
        Those of :func:`crossfade.run`.

    Returns
    -------
    str
        CSV text: one line for each scheme, block size and number of transmissions, with the middle and width
        (dB) of the maximum-likelihood fit of a normal distribution function to the block error rate over the
        SNR.

    Raises
    ------
    ScenarioError
        If there is no ``nr.block``, a block has several code blocks, or blocks both failed and succeeded at
        no SNR.

    Examples
    --------
    >>> import crossfade as cf
    >>> one = {"nr.harq.transmissions": 1, "run.frame_errors": 20}
    >>> over = {"nr.block.mcs": [7], "nr.radio.mean_snr_db": [5.5, 6.5]}
    >>> text = cf.runs.nr_error_table("nr-blocks", set=one, over=over)
    >>> text.splitlines()[1]
    'bits_per_symbol,rate_times_1024,block_bits,transmissions,middle_db,width_db,blocks,failures'
    """
    return error_table(phy_results(scenario, None, options))


def error_table(results: Results) -> str:
    """CSV text of a table for ``nr.error_table``, fitted to results of simulated transport blocks."""
    counted = counted_blocks(results)
    if not counted:
        raise ScenarioError("error table: needs blocks of an NR cell (nr.block) by method phy")
    with plans.translated_errors():
        return _crossfade.nr_error_table(json.dumps(counted), "Made by crossfade phy --error-table.")


@dataclass(frozen=True)
class Check:
    """Summary of a scenario before it runs: axes, points, runs per point, warnings.

    Attributes
    ----------
    title : str
        Title of the scenario; empty if it has none.
    axes : dict of str to int
        Number of values of each axis, by its key (keys that change together are joined by commas).
    points : int
        Number of points.
    methods : list of str
        The methods, in the order asked for.
    stop : dict
        Stop rule of each point's runs: their number ``runs``, or ``precision`` with ``metric`` and
        ``max_runs``.
    seed : int
        Seed of all random numbers.
    warnings : list of str
        Warnings about the scenario, one line each.
    memory : float
        Upper bound of the memory that one run takes, in bytes, estimated from the scenario.
    network : str
        Kind of network: "path" (links in a row), "mesh", "cell", "nr", "wlan", or one of your own.
    facts : dict
        Derived properties of the network at the first point of a sweep, in SI units; entries depend on the
        kind of network.
    scenario : dict
        All keys at the first point of a sweep, with defaults filled in.
    memory_of_rows : int
        Memory for the rows of one point while they are summarised, in bytes; 0 if a precision sets the number
        of runs.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.check("quickstart")
    >>> found.points, found.methods
    (27, ['simulation'])
    """

    title: str
    axes: dict[str, int]
    points: int
    methods: list[str]
    stop: dict[str, Any]
    seed: int
    warnings: list[str]
    memory: float
    """Upper bound of the memory that one run takes, in bytes, estimated from the scenario."""
    network: str = "path"
    """The kind of network: "path" (links in a row), "mesh", "cell", "nr", "wlan", or one of your own."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Derived properties of the network at the first point of a sweep, in SI units, by its kind."""
    scenario: dict[str, Any] = field(default_factory=dict)
    """All keys at the first point of a sweep, with defaults filled in."""
    memory_of_rows: int = 0
    """Memory for the rows of one point while they are summarised, in bytes; 0 if a precision sets the number
    of runs.
    """

    @property
    def mesh(self) -> dict[str, Any] | None:
        """Facts about a mesh, such as the duration of an exchange and the throughput of a window of one
        packet; None for another network.
        """
        return self._of("mesh")

    @property
    def cell(self) -> dict[str, Any] | None:
        """Facts about a cell: slot, bins of subcarriers, users and their switching levels; None for another
        network.
        """
        return self._of("cell")

    @property
    def nr(self) -> dict[str, Any] | None:
        """Facts about an NR cell: its slot, peak rate, schemes and HARQ round trips; None for another
        network.
        """
        return self._of("nr")

    @property
    def wlan(self) -> dict[str, Any] | None:
        """Facts about a Wi-Fi network: its band, its stations, their modes, and the throughput of each alone;
        None for another network.
        """
        return self._of("wlan")

    @property
    def path(self) -> dict[str, Any] | None:
        """Facts about links in a row: each link, its slot, round-trip times and bandwidth-delay products;
        None for another network.
        """
        return self._of("path")

    def _of(self, network: str) -> dict[str, Any] | None:
        return self.facts if self.network == network else None


def check(
    scenario: ScenarioLike,
    *,
    methods: Sequence[str] | None = None,
    **options: Unpack[PlanOptions],
) -> Check:
    """Read a scenario and describe what it would run, without a run.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    methods : sequence of str, optional
        Names of methods (``["analysis", "simulation"]``), in place of those of the scenario.
    **options
        ``set``, ``over``, ``seed``, ``runs``, ``precision``, ``point`` and ``at`` as in
        :func:`crossfade.run`.

    Returns
    -------
    Check
        Axes, points, the stop rule, warnings, and facts about the network.

    Raises
    ------
    ScenarioError
        If the scenario or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.check("quickstart", over={"tcp.variant": ["reno"]}).points
    9
    """
    plan = plans.load(scenario, Options.of(PlanOptions, options, methods=methods))
    check_memory(plan)
    description = plan.description
    return Check(
        title=plan.title,
        axes=description["steps"],
        points=len(description["points"]),
        methods=description["methods"],
        stop=description["stop"],
        seed=description["seed"],
        warnings=description["warnings"],
        memory=plan.core.memory()[0],
        memory_of_rows=memory_of_rows(plan),
        network=description["network"],
        facts=description[description["network"]],
        scenario=description["scenario"],
    )
