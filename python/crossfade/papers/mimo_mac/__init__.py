"""Jindal and Sahoo, "Improving Performance of TCP with Efficient MIMO-based MAC".

Figures 4 to 8 and the table of spatial reuse are scenarios in ``scenarios/papers/mimo-mac``, with the claims
in ``claims.toml``. Figure ``k`` is not in the paper: it shows the paper's constant k over the share of the
best throughput that may be missing where the throughput counts as saturated. Choices that the paper leaves
open are in ``readings.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from crossfade import api
from crossfade.errors import ScenarioError
from crossfade.papers.figures import Axis, find
from crossfade.papers.mimo_mac.checks import KINDS
from crossfade.papers.mimo_mac.drawn import APART, FIGURES
from crossfade.papers.mimo_mac.optima import KNEE, Chain, mean_k, optimum_of, share_of, within_the_grid
from crossfade.papers.mimo_mac.runs import AXES, COLUMNS, KEY, RUNS, asked, chains, values_of
from crossfade.papers.options import Options
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

__all__ = ["CITATION", "FIGURES", "KEY", "SET", "table"]

CITATION = (
    "A. Jindal and A. Sahoo, Improving Performance of TCP with Efficient MIMO-based MAC, Indian Institute of "
    "Technology, Bombay"
)

SET = replace(RUNS, kinds=KINDS)

K_COLUMNS = ["mac", "rule", "interference_class", "chains", "optimum", "share", "k", "k_low", "k_high"]
REUSE_AXES = {
    "mac": Axis("mesh.mac"),
    "antennas": Axis("mesh.antennas"),
    "range_m": Axis("mesh.range"),
    "interference_m": Axis("mesh.interference"),
    "hops": Axis("mesh.hops"),
}
REUSE_COLUMNS = [*REUSE_AXES, "links", "exchanges", "exact", "exchanges_mean", "ci95"]


def table(name: str, options: Options) -> Table:
    """Rows of a figure, under its fixed columns."""
    find(KEY, name, FIGURES)
    if name == "reuse":
        return _reuse(options)
    if name == "k":
        return Table.of(K_COLUMNS, _k(options))
    wanted, optima = asked(name, options)
    if name in ("fig4", "fig7"):
        if "optimum" in (options.over or {}):
            others = ", ".join(column for column in AXES if column != "optimum")
            raise ScenarioError(f"over optimum: no axis of {name} (its axes are {others})")
        return RUNS.table(name, wanted)
    rows = {"fig5": _fig5, "fig6": _fig6, "fig8": _fig8}[name]
    return Table.of(COLUMNS, rows(wanted, optima))


def _row(point: Point, **more: Cell) -> dict[str, Cell]:
    return RUNS.axes_of(point) | values_of(point) | more


def _at_optimum(chain: Chain, points: Mapping[int | None, Point], definition: str) -> dict[str, Cell]:
    found = within_the_grid(chain, points, definition)
    row = _row(points[found.cwl], optimum=definition, optimal_cwl=found.cwl, k=found.k)
    return row | {"optimal_cwl_low": found.low, "optimal_cwl_high": found.high}


def _fig5(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    """Rows of figure 5: with the optimal limit of the window, and without a limit (an empty cell)."""
    for chain, points in chains(RUNS.results("fig5", options)).items():
        yield from (_at_optimum(chain, points, definition) for definition in optima)
        if None in points:
            yield _row(points[None])


def _fig6(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    for chain, points in chains(RUNS.results("fig6", options)).items():
        yield from (_at_optimum(chain, points, definition) for definition in optima)


def _fig8(options: Options, optima: Sequence[str]) -> Iterable[dict[str, Cell]]:
    """Rows of figure 8: the rules for the window, and the optimum that they approximate."""
    over = options.over or {}
    rules = {name: values for name, values in over.items() if name != "cwl"}
    found = RUNS.results("fig8", replace(options, over=rules))
    yield from (_row(point) for point in found.points)
    limits = {name: values for name, values in over.items() if name != "k_rule"}
    for chain, points in chains(RUNS.results("fig6", replace(options, over=limits))).items():
        yield from (_at_optimum(chain, points, definition) for definition in optima)


# Default definitions of saturation in the table of k, and its kinds of access.
SHARES = [f"{KNEE}{percent}" for percent in (1, 2, 3, 4, 5, 6, 7, 8, 10)]
K_KINDS = (
    {"mac": ["nulling", "nulling-genie"], "rule": ["paper", "full"], "interference_class": ["equal"]},
    # Chen et al.
    {"mac": ["plain"], "interference_class": ["wider"]},
)
# A chain of two hops has an optimum of one packet by any definition.
K_HOPS = [4, 6, 8, 10, 12, 16]


def _k(options: Options) -> Iterable[dict[str, Cell]]:
    """Rows of figure ``k``: mean of k over the chains of a kind, for each definition of saturation.

    A cell is empty if an optimum lies at the end of the grid of windows.
    """
    wanted, optima = asked("fig6", options)
    if "optimum" not in (options.over or {}):
        optima = SHARES
    over = dict(wanted.over or {})
    by_kind: dict[tuple[Cell, ...], dict[Chain, dict[int | None, Point]]] = {}
    for axes in K_KINDS:
        results = RUNS.results("fig6", replace(wanted, over={"hops": K_HOPS, **axes, **over}))
        for chain, points in chains(results).items():
            by_kind.setdefault(chain[:3], {})[chain] = points
    for kind, there in by_kind.items():
        for definition in optima:
            share = share_of(definition)
            found = [optimum_of(chain, points, share) for chain, points in there.items()]
            row: dict[str, Cell] = dict(zip(APART, kind, strict=True))
            row |= {"chains": len(found), "optimum": definition, "share": share}
            if None not in found:
                mean = mean_k([one for one in found if one is not None])
                row |= {"k": mean.k, "k_low": mean.low, "k_high": mean.high}
            yield row


def _reuse(options: Options) -> Table:
    """Rows of the reuse table: largest set of exchanges, and mean number in runs of saturated UDP."""
    over = {}
    for column, values in (options.over or {}).items():
        if column not in REUSE_AXES:
            raise ScenarioError(f"over {column}: no axis of reuse (its axes are {', '.join(REUSE_AXES)})")
        over[REUSE_AXES[column].key] = values
    asked = replace(options, set=RUNS.asked("reuse", replace(options, over=None)).set, over=over)
    found = api.reuse_table(RUNS.folder / "reuse.toml", **asked.given())
    records = [
        {
            column: record.get(REUSE_AXES[column].key if column in REUSE_AXES else column)
            for column in REUSE_COLUMNS
        }
        for record in found.records()
    ]
    for record in records:
        for column in ("range_m", "interference_m"):
            record[column] = float(str(record[column]).removesuffix(" m"))
    return Table.of(REUSE_COLUMNS, records)
