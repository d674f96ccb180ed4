"""Spatial reuse of a mesh: its largest set of simultaneous exchanges, and a map of its nodes."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import TYPE_CHECKING, Unpack

from crossfade import errors, plans
from crossfade.api.solving import solve
from crossfade.figures.meshmap import plot_map
from crossfade.plans import translated_errors
from crossfade.plans.options import Options, RunOptions, ScenarioLike, Values
from crossfade.tables import Cell, Table, label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REUSE_COLUMNS = ["links", "antennas", "exchanges", "exact", "set", "exchanges_mean", "ci95"]


def reuse(
    scenario: ScenarioLike,
    *,
    simulated: bool = True,
    **options: Unpack[RunOptions],
) -> pd.DataFrame:
    """Largest set of simultaneous exchanges in a mesh, beside the mean number in a simulation.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario with a mesh.
    simulated : bool
        Whether the mesh is simulated too, for the mean number of simultaneous exchanges.
    **options
        Those of :func:`crossfade.run`.

    Returns
    -------
    pandas.DataFrame
        One row per point: the axes, number of ``links`` on the routes of the flows, ``antennas`` of a node,
        number of ``exchanges`` in the largest set (``exact`` is true unless the search ended early), the
        ``set`` as pairs of nodes, and the simulated ``exchanges_mean`` with its ``ci95``.

    Raises
    ------
    ScenarioError
        If the scenario has no mesh, or an option is wrong.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.mesh.reuse("mesh-chain", simulated=False)
    >>> list(found.columns[-7:])
    ['links', 'antennas', 'exchanges', 'exact', 'set', 'exchanges_mean', 'ci95']
    """
    return reuse_table(scenario, simulated=simulated, **options).to_pandas()


def reuse_table(scenario: ScenarioLike, *, simulated: bool = True, **options: Unpack[RunOptions]) -> Table:
    """Largest sets of simultaneous exchanges, as :func:`reuse` returns them, as a table."""
    asked = Options.of(RunOptions, options, methods=["simulation"])
    plan = plans.load(scenario, asked)
    with translated_errors():
        found = json.loads(plan.core.reuse())
    points = solve(scenario, asked).points if simulated else []
    axes = plan.description["axes"]
    records = []
    for item in found:
        at = plan.description["points"][item["point"]]["axes"]
        record: dict[str, Cell] = {axis: label(at[axis]) for axis in axes}
        record |= {"links": item["links"], "antennas": item["antennas"], "exchanges": item["exchanges"]}
        record |= {"exact": "true" if item["is_exact"] else "false"}
        record["set"] = " ".join(f"{a}-{b}" for a, b in item["set"])
        if points and (mean := points[item["point"]].metrics.get("exchanges_mean")):
            record |= {"exchanges_mean": mean.value, "ci95": mean.ci95}
        records.append(record)
    return Table.of([*axes, *REUSE_COLUMNS], records)


def plot_mesh(
    scenario: ScenarioLike,
    path: str | PathLike[str] | None = None,
    *,
    set: Values | None = None,
    over: Values | None = None,
    title: str | None = None,
    width: str | float = "single",
) -> Figure:
    """Draw a map of a mesh: positions of its nodes, hops of its routes, and the largest set of exchanges.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario with a mesh, of one point.
    path : path, optional
        PNG, PDF or SVG by its ending; nothing is written without it.
    set, over : mapping, optional
        As in :func:`crossfade.run`.
    title : str, optional
        Title (default: that of the scenario; ``""`` for none).
    width : {"single", "double"} or float
        As in :func:`crossfade.plot`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it.

    Raises
    ------
    ScenarioError
        If the scenario has no mesh, or several points.

    Examples
    --------
    >>> import crossfade as cf
    >>> figure = cf.mesh.plot("mesh-chain", over={"mesh.mac": ["nulling"]})
    >>> len(figure.axes)
    1
    """
    plan = plans.load(scenario, Options(set, over))
    with translated_errors():
        found = json.loads(plan.core.reuse())
    if len(found) > 1:
        raise errors.ScenarioError(f"a map shows one mesh; the plan has {len(found)} points")
    mesh = plan.description["mesh"]
    return plot_map(
        None if path is None else fspath(path),
        mesh["positions"],
        mesh["links"],
        found[0]["set"],
        range_m=mesh["range_m"],
        interference_m=mesh["interference_m"],
        title=plan.title if title is None else title,
        width=width,
    )
