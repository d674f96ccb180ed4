"""Drawing of the figures: columns that distinguish curves, and lines for stated values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crossfade.papers.figure import Along, Figure
from crossfade.papers.mimo_mac.optima import METRIC, varying
from crossfade.tables import Cell, Table

RTHC = Along("rthc")
APART = ("mac", "rule", "interference_class")
# Columns of the drawn metric's interval, by their names in the figure's table.
ENDS = {
    "ip_goodput_bps": {"ci95": "ci95"},
    "one_way_delay_mean_s": {"ci95": "delay_ci95"},
    "optimal_cwl": {"ci95_low": "optimal_cwl_low", "ci95_high": "optimal_cwl_high"},
}
# Columns of figure k: the mean of k, and the share of the best throughput that may be missing.
MEAN_K, MISSING = "mean_k", "missing_percent"
MEAN_K_ENDS = (f"{MEAN_K}_ci95_low", f"{MEAN_K}_ci95_high")
# Values of k in the text: nulling with equal ranges and with wider interference, and plain 802.11.
STATED = {"equal": {"1/2.8": 1.0 / 2.8}, "wider": {"1/3": 1.0 / 3.0, "1/5": 1.0 / 5.0}}


def _intervals(y: str, row: Mapping[str, Cell]) -> dict[str, Cell]:
    return {f"{y}_{end}": row[column] for end, column in ENDS[y].items()}


def _by_hops(table: Table) -> Table:
    """Curves over the limit of the window, one for each number of hops."""
    told = [*varying(table.records(), APART), "hops", "cwl"]
    shown = [
        {name: row[name] for name in (*told, METRIC)} | _intervals(METRIC, row) for row in table.records()
    ]
    return Table.of([*told, METRIC, f"{METRIC}_ci95"], shown)


def _by_limit(y: str, stated: bool = False) -> Callable[[Table], Table]:
    """Curves over the hops, distinguished by the window's limit, with lines for values in the text."""

    def limit(row: Mapping[str, Cell], several: bool) -> str:
        if row["optimum"]:
            return f"optimal CWL, {row['optimum']}" if several else "optimal CWL"
        return "no limit" if row["k_rule"] is None else f"CWL by {row['k_rule']}"

    def drawn(table: Table) -> Table:
        records = table.records()
        told = varying(records, APART)
        several = len({row["optimum"] for row in records} - {None}) > 1
        shown = [
            {name: row[name] for name in (*told, "rthc", y)}
            | {"limit": limit(row, several)}
            | _intervals(y, row)
            for row in records
        ]
        classes = {str(row["interference_class"]) for row in records}
        for name, k in STATED[classes.pop()].items() if stated and len(classes) == 1 else []:
            along = dict.fromkeys(int(str(row["rthc"])) for row in records)
            shown += [{"limit": f"the paper's {name}", "rthc": rthc, y: k * rthc} for rthc in along]
        ends = [f"{y}_{end}" for end in ENDS[y]]
        return Table.of([*told, "limit", "rthc", y, *ends], shown)

    return drawn


def _k_with_lines(table: Table) -> Table:
    """Curves of k, with lines for values in the text."""
    records = table.records()
    told = varying(records, ("interference_class",))
    shown: list[dict[str, Cell]] = []
    for row in records:
        rule = f", rule {row['rule']}" if row["rule"] else ""
        apart = f", {row['interference_class']}" if told else ""
        values = zip((MEAN_K, *MEAN_K_ENDS), (row["k"], row["k_low"], row["k_high"]), strict=True)
        curve: Cell = f"{row['mac']}{rule}{apart}"
        shown.append({"curve": curve, MISSING: 100.0 * float(str(row["share"])), **dict(values)})
    ends = [float(str(row[MISSING])) for row in shown]
    for lines in STATED.values():
        for name, k in lines.items():
            shown += [
                {"curve": f"the paper's {name}", MISSING: end, MEAN_K: k} for end in (min(ends), max(ends))
            ]
    return Table.of(["curve", MISSING, MEAN_K, *MEAN_K_ENDS], shown)


FIGURES = {
    "fig4": Figure(
        "TCP throughput over the limit of the window (CWL), chains of 2 to 16 hops",
        Along("cwl"),
        METRIC,
        _by_hops,
    ),
    "fig5": Figure(
        "Packet delay over the round trip hop count, optimal CWL and none",
        RTHC,
        "one_way_delay_mean_s",
        _by_limit("one_way_delay_mean_s"),
    ),
    "fig6": Figure(
        "Optimal CWL over the round trip hop count",
        RTHC,
        "optimal_cwl",
        _by_limit("optimal_cwl", stated=True),
    ),
    "fig7": Figure(
        "TCP throughput over the round trip hop count, wider interference, k = 1/3 and 1/5",
        RTHC,
        METRIC,
        _by_limit(METRIC),
    ),
    "fig8": Figure(
        "TCP throughput over the round trip hop count, optimal CWL and k = 1/2.8",
        RTHC,
        METRIC,
        _by_limit(METRIC),
    ),
    "k": Figure(
        "Mean k over what may be missing of the best throughput",
        Along("share"),
        MEAN_K,
        _k_with_lines,
        across=MISSING,
    ),
    "reuse": Figure(
        "Simultaneous exchanges in a chain: the largest set, and the simulated mean", None, "exchanges"
    ),
}
