"""Alfredsson, Brunstrom and Sternad, "Cross-layer analysis of TCP performance in a 4G system".

Figures 2 to 6 are scenarios in ``scenarios/papers/wipemu``, with the claims in ``claims.toml``; table I and
the switch levels are computed here. Figure ``timer`` is not in the paper: it shows that the queue prevents
spurious timeouts of TCP. The documentation lists choices that the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import pairwise, product
from operator import add
from typing import Any

from crossfade import api
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.checks import Difference
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, find, items, of_formula, real
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.points import Point
from crossfade.tables import Cell, Table

KEY = "wipemu"
CITATION = (
    "S. Alfredsson, A. Brunstrom and M. Sternad, Cross-layer analysis of TCP performance in a 4G system, "
    "SoftCOM 2007"
)

NMSE = Along("nmse")
BITS = Along("bits_per_symbol")


# Column that figures 5 and 6 draw.
OF_FRAMES = "share_of_frames"


def _by_candidates(table: Table) -> Table:
    """Curves by all axes, and panels by the number of candidates, which the paper does not vary."""
    columns = [name for name in table.columns if name not in ("candidates", "share")]
    records = ({**record, OF_FRAMES: record["share"]} for record in table.records())
    return Table.of(["candidates", *columns, OF_FRAMES], records)


def _timeouts(table: Table) -> Table:
    """Curves by allocation only, without the intervals of the goodput."""
    return Table.of(["allocation", "w_max", "spurious_timeouts"], table.records())


FIGURES = {
    "table1": Figure("The parameters of the experiments (table I)"),
    "levels": Figure("Switch levels at a mean of 16 dB", BITS, "level_db"),
    "fig2": Figure(
        "TCP throughput over the error of the channel prediction",
        NMSE,
        "goodput_bps",
        panels=("size",),
    ),
    "fig3": Figure("TCP throughput over the round trip of the wired network", Along("rtt_ms"), "goodput_bps"),
    "fig4": Figure(
        "Retransmissions of link frames over the error of the channel prediction",
        NMSE,
        "retransmissions_per_frame",
    ),
    "fig5": Figure(
        "Modulations used, scheduled allocation", BITS, OF_FRAMES, _by_candidates, ("candidates",)
    ),
    "fig6": Figure("Modulations used, static allocation", BITS, OF_FRAMES, _by_candidates),
    "timer": Figure(
        "Spurious timeouts in 100 s over the window in segments",
        Along("w_max", "log"),
        "spurious_timeouts",
        _timeouts,
    ),
}

FOLDER = SCENARIOS / "papers" / KEY
ALL_BITS = range(1, 9)


def _ms(value: Any) -> str:
    return f"{real('rtt_ms', value, 'a number of milliseconds'):g} ms"


def _rtt(value: Any) -> Cell:
    """Round trip in ms from a one-way delay of the scenario."""
    number, unit = str(value).split()
    return 2.0 * float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


# Traffic by the column ``size``: "3 Mb" of table I can be megabits or megabytes; in addition endless TCP, and
# more datagrams than the link carries.
SIZES: dict[str, dict[str, Any]] = {
    "bulk": {"traffic": "bulk"},
    "3 Mbit": {"traffic": "transfer", "size": "375000 B"},
    "3 MByte": {"traffic": "transfer", "size": "3000000 B"},
    "saturated": {"traffic": "saturated"},
}


SIZE_BITS = {"3 Mbit": 3e6, "3 MByte": 24e6}


def _traffic(value: Any) -> dict[str, Any]:
    if value not in SIZES:
        raise ScenarioError(f"over size = {value}: must be one of {', '.join(SIZES)}")
    return SIZES[value]


def _size(flow: Any) -> Cell:
    same = (
        name
        for name, keys in SIZES.items()
        if keys["traffic"] == flow["traffic"] and keys.get("size") == flow.get("size")
    )
    return next(same, str(flow.get("size", flow["traffic"])))


AXES = {
    "allocation": Axis("cell.allocation"),
    "target_nmse": Axis("cell.levels.target_nmse"),
    "nmse": Axis("cell.prediction.nmse"),
    "rtt_ms": Axis("wired.rtt", read=_ms, cell=_rtt, shown="wired.one_way_delay"),
    "size": Axis("flows.file", read=_traffic, cell=_size),
    "candidates": Axis("cell.candidates"),
    "w_max": Axis("tcp.w_max"),
}
RESULTS = ["goodput_bps", "link_goodput_bps", "retransmissions_per_frame", "timeouts", "spurious_timeouts"]
COLUMNS = [
    *("allocation", "target_nmse", "nmse", "rtt_ms", "size", "goodput_bps", "ci95", "link_goodput_bps"),
    *("retransmissions_per_frame", "timeouts", "spurious_timeouts", "method"),
    *("retransmissions_per_frame_ci95", "retransmissions_per_piece", "candidates", "w_max"),
]
SHARE_COLUMNS = ["allocation", "target_nmse", "bits_per_symbol", "share", "ci95", "candidates", "method"]
LEVEL_COLUMNS = ["target_nmse", "prediction_sinr", "bits_per_symbol", "level_db"]
LEVEL_AXES: dict[str, list[float]] = {"target_nmse": [0.0, 0.1]}
TABLE1_COLUMNS = ["parameter", "paper", "here"]

# Keys set by --quick: a quarter of the figures' 100 s.
QUICK = {"run.duration": "25 s"}
# Axes under --quick: a transfer of 3 MByte does not end in 25 s.
QUICK_AXES: dict[str, dict[str, list[Any]]] = {"fig2": {"size": ["bulk", "3 Mbit"]}}
# With method live a figure takes some eight minutes (twenty points, three runs each), without 3 MByte.
QUICK_LIVE = {"run.duration": "8 s", "run.runs": 3}
LIVE_AXES: dict[str, dict[str, list[Any]]] = {
    "fig2": {"size": ["bulk"]},
    "fig3": {"rtt_ms": [2, 80, 200, 400, 800]},
}


def table(name: str, options: Options) -> Table:
    """Rows of a figure, under its fixed columns."""
    find(KEY, name, FIGURES)
    if name == "table1":
        return _table1(options)
    if name == "levels":
        return _levels(options)
    return _shares(name, options) if name in ("fig5", "fig6") else SET.table(name, options)


def _table1(options: Options) -> Table:
    of_formula("table1", {}, options)
    check = api.check(FOLDER / "fig6.toml")
    assert check.cell is not None
    cell, (user,) = check.cell, check.cell["users"]
    rows = [
        ("wired network delay", "80 ms (RTT)", "80 ms (RTT), half of it each way"),
        ("network queue size", "50 packets", "50 packets, drop-tail, without those of which bits were sent"),
        ("frame transmission delay", "0.667 ms", f"{cell['slot_s'] * 1e3:.6g} ms"),
        ("channel", "12-tap Jakes, 75 km/h", f"10 of 12 taps with power, f_d T = {user['fd_t']:.4f}"),
        ("mean SINR", "16 dB", f"{user['mean_snr_db']:g} dB with shadowing at its median"),
        ("shadow fading", "AR(1), variance 4 dB, pole 0.74", "standard deviation 4 dB, pole 0.74, each 2 m"),
        ("bins", "25 x 200 kHz", f"{cell['bins']} x {cell['bin_width_hz'] / 1e3:g} kHz"),
        ("frame size", "108 symbols", f"{cell['symbols']} symbols"),
        ("modulation", "1-8 bits/symbol, uncoded", "the same, 8-QAM a star, 32 and 128 points crosses"),
        ("coding", "uncoded M-QAM", "none: a frame fails with its first wrong symbol"),
        ("scheduling", "either static or best channel", "static, or the largest predicted ratio of 25 bins"),
        ("link ARQ", "infinite persistence", "infinite persistence, repeated 3 slots later, split downwards"),
        ("uplink", "20 kbit/s, 2 ms", "20 kbit/s, 2 ms, without losses"),
        ("transferred data", "3 Mb", "3 Mbit, 3 MByte, and without end"),
        ("TCP", "Linux 2.6.8 (BIC by default)", "RFC 5681 and 6675 (Reno with SACK), window 44 segments"),
        ("TCP settings", "standard, timestamps disabled", "timestamps disabled, timeouts of 200 ms at least"),
        ("MTU", "1500 bytes", "1500 bytes"),
        ("retentive TCP caching", "cleared before new connections", "none: a run is one connection"),
    ]
    return Table.of(TABLE1_COLUMNS, [dict(zip(TABLE1_COLUMNS, row, strict=True)) for row in rows])


def levels_at(target_nmse: float, sinr: str, options: Options) -> list[float | None]:
    """Switch levels in dB of 1 to 8 bits a symbol; None for a level without a limit."""
    found = api.check(
        FOLDER / "fig6.toml",
        set={**(options.set or {}), "cell.prediction.sinr": sinr},
        over={"cell.levels.target_nmse": [target_nmse]},
    )
    assert found.cell is not None
    levels: list[float | None] = found.cell["users"][0]["levels_db"]
    return levels


def _levels(options: Options) -> Table:
    over = dict(options.over or {})
    kinds = [str(kind) for kind in items(over.pop("prediction_sinr", ["unbiased", "raw"]))]
    asked = over.pop("target_nmse", LEVEL_AXES["target_nmse"])
    targets = [real("target_nmse", value) for value in items(asked)]
    if over:
        raise ScenarioError(
            f"over {next(iter(over))}: no axis of levels (its axes are target_nmse, prediction_sinr)"
        )
    records: list[dict[str, Cell]] = []
    for target, kind in product(targets, kinds):
        if target == 0.0 and kind == "raw" and "unbiased" in kinds:
            continue  # without a prediction error the values are equal
        for bits, level in zip(ALL_BITS, levels_at(target, kind, options), strict=True):
            row: dict[str, Cell] = {
                "target_nmse": target,
                "prediction_sinr": kind,
                "bits_per_symbol": bits,
                "level_db": level,
            }
            records.append(row)
    return Table.of(LEVEL_COLUMNS, records)


def _goodput(point: Point) -> tuple[Cell, Cell]:
    """Goodput of a transfer: its bits over its completion time; for other traffic the metric goodput_bps."""
    size = SIZE_BITS.get(str(_size(point.scenario["flows"]["file"])))
    if size is None:
        found = point.metrics.get("goodput_bps")
        return (found.value, found.ci95) if found else (None, None)
    time = point.metrics.get("completion_time_s")
    if time is None or time.value is None or time.at_least:  # an unfinished transfer has no goodput
        return None, None
    goodput = size / time.value
    return goodput, None if time.ci95 is None else goodput * time.ci95 / time.value


def _sample(point: Point, metric: str) -> Sample:
    """Metric by run; the goodput of a transfer is its bits over the time that it took."""
    size = SIZE_BITS.get(str(_size(point.scenario["flows"]["file"])))
    if metric != "goodput_bps" or size is None:
        return Sample.of(point, metric)
    times = Sample.of(point, "completion_time_s")
    return Sample({run: size / time for run, time in times.values.items()})


def _values(point: Point) -> dict[str, Cell]:
    """Columns of a point that are not axes."""
    found: dict[str, Cell] = {}
    for name in (*RESULTS, "retransmissions_per_piece"):
        metric = point.metrics.get(name)
        found[name] = metric.value if metric else None
    failures = point.metrics.get("retransmissions_per_frame")
    found["retransmissions_per_frame_ci95"] = failures.ci95 if failures else None
    found["goodput_bps"], found["ci95"] = _goodput(point)
    return {**found, "method": point.method}


def _shares(name: str, options: Options) -> Table:
    """Rows with the share of each modulation at a point."""
    records = []
    for point in SET.results(name, options).points:
        axes = SET.axes_of(point)
        for bits in ALL_BITS:
            share = point.metrics.get(f"modulation_share_{bits}")
            values: dict[str, Cell] = {
                "share": share.value if share else None,
                "ci95": share.ci95 if share else None,
            }
            records.append(axes | values | {"bits_per_symbol": bits, "method": point.method})
    return Table.of(SHARE_COLUMNS, records)


# Checks of claims.


def _share_of(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of the share of frames with a number of bits a symbol: about a stated one, or the largest."""
    outcomes = []
    for row in check["rows"]:
        over = {name: [row[name]] for name in ("allocation", "target_nmse") if name in row}
        (point,) = SET.results(check["figure"], _with(options, over)).points
        where = ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("bits", "share"))
        shares = {bits: point.metrics[f"modulation_share_{bits}"] for bits in ALL_BITS}
        share = shares[row["bits"]]
        assert share.value is not None
        half = share.ci95 or 0.0
        if "share" in row:
            off = abs(share.value - row["share"])
            holds = (
                True
                if off + half <= check["tolerance"]
                else False
                if off - half > check["tolerance"]
                else None
            )
            where = f"{where}, {row['bits']} bits (said: {row['share']:g})"
            outcomes.append(Outcome(where, share.value, share.ci95, holds, check["tolerance"] - off - half))
            continue
        rival = max(
            (other for bits, other in shares.items() if bits != row["bits"]),
            key=lambda other: other.value or 0.0,
        )
        lead = share.value - (rival.value or 0.0)
        width = half + (rival.ci95 or 0.0)
        holds = True if lead > width else False if lead < -width else None
        outcomes.append(
            Outcome(f"{where}, {row['bits']} bits over the others", lead, width, holds, lead - width)
        )
    return outcomes


def _along(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check of points of one curve against each other, run by run."""
    column, metric = check["column"], check.get("metric", "goodput_bps")
    curves: dict[str, dict[float, Point]] = {}
    for point in SET.results(check["figure"], _with(options, check.get("over", {}))).points:
        axes = SET.axes_of(point)
        place = float(str(axes.pop(column)))
        names = ("allocation", "target_nmse")
        curves.setdefault(", ".join(f"{name} {axes[name]}" for name in names), {})[place] = point
    outcomes = []
    for curve, points in curves.items():
        places = sorted(points)
        pairs = (
            [(check["first"], x) for x in places if x != check["first"]]
            if "first" in check
            else pairwise(places)
        )
        for one, other in pairs:
            first, second = (SET.sample(points[x], metric) for x in (one, other))
            difference = first - second
            value, half = difference.mean / abs(second.mean), difference.half_width() / abs(second.mean)
            differences = [Difference(f"{column} {one:g} over {other:g}, {curve}", value, half)]
            if "above" in check:
                outcomes += checks.above(differences, check["above"])
            else:
                outcomes += checks.below(differences, check["below"])
    return outcomes


def _higher_modulation(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that levels for an error of 0 give a larger share of high modulations than those for 0.1."""
    asked = _with(options, {"nmse": [0.1], "target_nmse": [0, 0.1]})
    shares: dict[str, dict[Cell, Sample]] = {}
    for point in SET.results(check["figure"], asked).points:
        axes = SET.axes_of(point)
        samples = [Sample.of(point, f"modulation_share_{bits}") for bits in ALL_BITS if bits >= check["bits"]]
        where = f"allocation {axes['allocation']}"
        shares.setdefault(where, {})[axes["target_nmse"]] = reduce(add, samples)
    outcomes = []
    for where, of in shares.items():
        difference = of[0] - of[0.1]
        outcomes += checks.above([Difference(where, difference.mean, difference.half_width())], 0.0)
    return outcomes


def _mean_bits(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that other keys of the scenario increase the mean number of bits a symbol by a margin."""
    changed = replace(options, set={**(options.set or {}), **check["set"]})
    outcomes = []
    both = (SET.results(check["figure"], _with(one, {})).points for one in (changed, options))
    for point, usual in zip(*both, strict=True):
        difference = _bits(point) - _bits(usual)
        where = f"target_nmse {SET.axes_of(point)['target_nmse']}"
        found = Difference(where, difference.mean, difference.half_width())
        outcomes += checks.above([found], check["margin"])
    return outcomes


def _bits(point: Point) -> Sample:
    """Mean number of bits a symbol, by run."""
    by_run: dict[int, float] = {}
    for bits in ALL_BITS:
        for run, share in Sample.of(point, f"modulation_share_{bits}").values.items():
            by_run[run] = by_run.get(run, 0.0) + bits * share
    return Sample(by_run)


def _none_of(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that a count is zero in every run."""
    outcomes = []
    for point in SET.results(check["figure"], _with(options, check.get("over", {}))).points:
        total = sum(point.samples(check["metric"]))
        outcomes.append(Outcome(SET.place(check["figure"], point), total, None, total == 0.0, -total))
    return outcomes


def _with(options: Options, over: Mapping[str, Any]) -> Options:
    return replace(options, over=dict(over), methods=["simulation"])


SET = Figures(
    figures=FIGURES,
    folder=FOLDER,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    quick_axes=QUICK_AXES,
    quick_live=QUICK_LIVE,
    live_axes=LIVE_AXES,
    metric="goodput_bps",
    claims_methods=["simulation"],
    sample=_sample,
    kinds={
        "shares": _share_of,
        "along": _along,
        "none": _none_of,
        "higher-modulation": _higher_modulation,
        "mean-bits": _mean_bits,
    },
)
