"""Lopez Toledo and Wang, "TCP Performance over Wireless MIMO Channels with ARQ and Packet Combining".

The figures are scenarios in ``scenarios/papers/mimo-arq``, with the claims in ``claims.toml``. Choices that
the paper leaves open, such as the power of its codes, the place where receptions are combined, and the
correlation of neighbouring frames' gains, are in ``readings.toml``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade import api, plans
from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS
from crossfade.papers import checks
from crossfade.papers.figure import Along, Figure
from crossfade.papers.figures import Axis, Figures, find, items, of_formula
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.frames import COLUMNS as FRAME_COLUMNS
from crossfade.results.frames import frame_records, phy_columns
from crossfade.results.interrupted import Interrupted
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell, Table

KEY = "mimo-arq"
CITATION = (
    "A. Lopez Toledo and X. Wang, TCP Performance over Wireless MIMO Channels with ARQ and Packet Combining, "
    "IEEE Trans. Mobile Computing 5(3), 2006"
)

SNR = Along("snr_db", "dB")
TIME = Along("time_s")
_CURVES = {
    "fig6": "TCP throughput over SNR, without ARQ",
    "fig7": "TCP throughput over SNR, at most 10 retransmissions",
    "fig8": "TCP throughput over SNR, at most 3 retransmissions",
    "fig9": "TCP throughput over SNR, at most 10 retransmissions, combining",
    "fig10": "TCP throughput over SNR, at most 3 retransmissions, combining",
    "fig11": "TCP throughput over SNR, without ARQ, urban correlation",
    "fig12": "TCP throughput over SNR, without ARQ, rural correlation",
    "fig13": "TCP throughput over SNR, at most 3 retransmissions, urban correlation",
    "fig14": "TCP throughput over SNR, at most 3 retransmissions, combining, urban correlation",
    "fig15": "TCP throughput over SNR, at most 10 retransmissions, combining, rural correlation",
}


def _windows_drawn(threshold_of: str | None = None) -> Callable[[Table], Table]:
    """Conversion of a table of windows to curves, with the slow-start threshold of one series as steps."""

    def drawn(table: Table) -> Table:
        records = table.records()
        curves = [(str(row["series"]), row["time_s"], row["cwnd"]) for row in records]
        own = [row for row in records if row["series"] == threshold_of]
        steps = [
            (row["time_s"], level)
            for before, row in zip([*own[:1], *own], own, strict=False)
            for level in dict.fromkeys([before["ssthresh"], row["ssthresh"]])
            if row is own[0] or row is own[-1] or before["ssthresh"] != row["ssthresh"]
        ]
        curves += [("ssthresh", time_s, level) for time_s, level in steps]
        columns = ["series", "time_s", "packets"]
        return Table.of(columns, (dict(zip(columns, curve, strict=True)) for curve in curves))

    return drawn


def _by_receiver(table: Table) -> Table:
    """Curves distinguished by scheme and detector only, unless receptions are combined in several ways.

    The ML detector combines receptions in one way only (equation 18), so its column is not counted.
    """
    records = table.records()
    ways = {(row["combining"], row["combining_stage"]) for row in records if row["detector"] != "ml"}
    if len(ways) > 1:
        return table
    columns = [name for name in table.columns if name not in ("combining", "combining_stage")]
    return Table.of(columns, ({name: row[name] for name in columns} for row in records))


FIGURES = {
    "fig1": Figure(
        "Congestion window over BLAST at 10 dB with combining, and over a perfect link",
        TIME,
        "packets",
        _windows_drawn("wireless"),
    ),
    "fig4": Figure(
        "Congestion window over BLAST at 18 dB, with and without ARQ",
        TIME,
        "packets",
        _windows_drawn(),
    ),
    **{name: Figure(caption, SNR, "goodput_bps", _by_receiver) for name, caption in _CURVES.items()},
    "table1": Figure("Correlation of neighbouring antennas, urban and rural"),
    "codes": Figure("The printed matrices of the codes, judged by decisions without noise"),
    "fer": Figure(
        "Frame error rate over SNR, frames of 240 bits", SNR, "fer", panels=("correlation", "detector")
    ),
    "combining": Figure(
        "Frame error rate of 1 to 4 combined receptions over SNR",
        SNR,
        "fer",
        panels=("scheme", "transmissions"),
    ),
}

_DETECTORS = {
    "blast": "mmse-osic",
    "stbc-2": "ml",
    "stbc-1": "ml",
    "stbc-half": "linear",
    "siso": "linear",
    "simo": "linear",
    "alamouti": "linear",
}


def _scheme(value: Any) -> list[str]:
    """Scheme and detector from a scheme, which has a default detector, or from ``blast ml``."""
    scheme, *detector = str(value).split()
    if len(detector) > 1:
        raise ScenarioError(f"over scheme = {value}: must be a scheme, or a scheme and a detector (blast ml)")
    return [scheme, *(detector or [_DETECTORS.get(scheme, "ml")])]


def _stage(value: Any) -> dict[str, str]:
    """Keys of a stage of combining, alone or with weights: ``posthoc equal-gain``."""
    stage, *weights = str(value).split()
    if len(weights) > 1:
        raise ScenarioError(f"over combining_stage = {value}: must be a stage, or a stage and its weights")
    return {"stage": {"ml": "stacked"}.get(stage, stage)} | ({"weights": weights[0]} if weights else {})


def _word(value: Any) -> Cell:
    return value if isinstance(value, str) else None


AXES = {
    "scheme": Axis("phy.scheme,phy.detector", read=_scheme, cell=_word, shown="phy.scheme"),
    "detector": Axis("phy.detector"),
    "correlation": Axis("channel.antennas.correlation"),
    "stbc_power": Axis("phy.stbc_power"),
    "max_retransmissions": Axis("link.arq.max_retransmissions"),
    "combining_stage": Axis("phy.combining", read=_stage, cell=_word, shown="phy.combining.stage"),
    "snr_db": Axis("channel.snr_db"),
}
COLUMNS = [
    "scheme",
    "detector",
    "correlation",
    "stbc_power",
    "arq",
    "max_retransmissions",
    "combining",
    "combining_stage",
    "snr_db",
    "segments",
    "goodput_bps",
    "ci95",
]
# Keys set by --quick: a tenth of the paper's number of runs.
QUICK = {"run.runs": 10}
QUICK_FRAMES = {"run.frame_errors": 50, "run.max_frames": 5000}

TABLE1_COLUMNS = ["scenario", "end", "mean_angle_deg", "spread_deg", "spacing_wavelengths", "correlation"]


def table(name: str, options: Options) -> Table:
    """Rows of a figure or table, under its fixed columns."""
    find(KEY, name, FIGURES)
    if name in ("fig1", "fig4"):
        return _windows(name, options)
    if name in ("fer", "combining"):
        return _frames(name, options)
    if name == "table1":
        return _table1(options)
    if name == "codes":
        return _codes(options)
    return SET.table(name, replace(options, over=_paired(name, options.over or {})))


def _values(point: Point) -> dict[str, Cell]:
    """Columns of a throughput figure that are not axes."""
    arq, goodput = point.scenario["link"]["arq"], point.metrics.get("goodput_bps")
    segments = point.metrics.get("segments_delivered")
    phy = phy_columns(point.scenario)
    return {
        "arq": arq["protocol"],
        "max_retransmissions": arq.get("max_retransmissions"),
        "combining": phy["combining"],
        "combining_stage": phy["combining_stage"],
        "segments": segments.value if segments else None,
        "goodput_bps": goodput.value if goodput else None,
        "ci95": goodput.ci95 if goodput else None,
    }


def _frames(name: str, options: Options) -> Table:
    """Frames of a scenario of method phy, with a row for each number of transmissions."""
    quick = QUICK_FRAMES if options.quick else {}
    asked = replace(options, set={**quick, **(options.set or {})})

    def of(points: Sequence[Point]) -> Table:
        return Table.of(FRAME_COLUMNS, (record for point in points for record in frame_records(point)))

    over = options.over or {}
    try:
        if name == "combining" and over.keys() & _CURVE_COLUMNS:
            return of(api.solve(_path(name), replace(asked, over=_chosen_curves(over))).points)
        asked = replace(asked, quick=False, over=_paired(name, over))
        return of(SET.results(name, asked).points)
    except Interrupted as error:
        raise error.with_table(lambda results: of(results.points)) from None


_CURVE_COLUMNS = ["scheme", "detector", "combining_stage"]
_CURVES_KEY = "phy.scheme,phy.detector,phy.combining"


def _path(name: str) -> Path:
    return SET.folder / f"{name}.toml"


def _swept(name: str) -> dict[str, Any]:
    """Axes of a figure's scenario."""
    with open(_path(name), "rb") as file:
        found: dict[str, Any] = tomllib.load(file)["sweep"]
    return found


def _paired(name: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """Axes with ``detector`` made a part of ``scheme``: all schemes with the detectors that fit them."""
    found = dict(over)
    if "detector" not in found:
        return found
    detectors = [str(detector) for detector in items(found.pop("detector"))]
    usual = [pair[0] for pair in _swept(name)["phy.scheme,phy.detector"]]
    schemes = dict.fromkeys(str(scheme).split()[0] for scheme in items(found.get("scheme", usual)))
    found["scheme"] = [
        f"{scheme} {detector}"
        for scheme in schemes
        for detector in detectors
        if (detector == "linear") == (_DETECTORS.get(scheme) == "linear")
    ]
    if not found["scheme"]:
        raise ScenarioError(f"over detector = {', '.join(detectors)}: fits no scheme of {name}")
    return found


def _words(curve: Sequence[Any]) -> list[set[str]]:
    """Names of a curve with combining, by column: scheme (and detector), detector, stage (and weights)."""
    scheme, detector, combining = curve
    stage = combining["stage"]
    if stage != "none" and detector in ("ml", "sphere"):
        stage = "ml"
    weighed = " ".join([stage, *combining.get("weights", "").split()])
    return [{scheme, f"{scheme} {detector}"}, {detector}, {stage, weighed}]


def _chosen_curves(over: Mapping[str, Any]) -> dict[str, Any]:
    """Axes of the scenario of ``combining``, with the curves that have the requested values."""
    for column in over:
        if column not in AXES:
            raise ScenarioError(f"over {column}: no axis of combining (its axes are {', '.join(AXES)})")
    axes = {AXES[column].key: values for column, values in over.items() if column not in _CURVE_COLUMNS}
    curves = _swept("combining")[_CURVES_KEY]
    for column in over.keys() & _CURVE_COLUMNS:
        asked = [str(value) for value in items(over[column])]
        index = _CURVE_COLUMNS.index(column)
        curves = [curve for curve in curves if not _words(curve)[index].isdisjoint(asked)]
        if not curves:
            raise ScenarioError(f"over {column} = {', '.join(asked)}: no curve of combining has that")
    return {**axes, _CURVES_KEY: curves}


# Series of a figure of windows: the keys that each sets in the figure's scenario.
_SERIES: dict[str, dict[str, dict[str, Any]]] = {
    "fig1": {
        "wireless": {},
        "perfect": {"channel": {"model": "none", "snr_db": None}, "phy": None, "link.rate": "64 kbit/s"},
    },
    "fig4": {"rlp": {}, "no rlp": {"link.arq": {"protocol": "none", "max_retransmissions": None}}},
}


def _windows(name: str, options: Options) -> Table:
    """Congestion window and slow-start threshold over time, in the first run."""
    if options.over:
        raise ScenarioError(
            f"over {next(iter(options.over))}: {name} has no axis; --set changes its scenario"
        )
    records: list[dict[str, Cell]] = []
    for series, keys in _SERIES[name].items():
        asked = {**(SET.asked(name, options).set or {}), **keys}
        events = Table.of_frame(api.events(_path(name), set=asked, seed=options.seed))
        last: tuple[Cell, Cell] = (None, None)
        for event in events.records():
            now = (event["cwnd"], event["ssthresh"])
            if event["cwnd"] is not None and now != last:
                records.append(
                    {"time_s": event["time_s"], "cwnd": now[0], "ssthresh": now[1], "series": series}
                )
                last = now
    return Table.of(["time_s", "cwnd", "ssthresh", "series"], records)


def _table1(options: Options) -> Table:
    of_formula("table1", {}, options)
    return Table.of(TABLE1_COLUMNS, json.loads(_crossfade.antenna_correlations()))


def _codes(options: Options) -> Table:
    of_formula("codes", {}, options)
    judged = json.loads(_crossfade.printed_codes_judged())
    return Table.of(["scheme", "sent", "received", "wrong", "symbols", "gram_error"], judged)


def _magnitudes(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the correlation of neighbouring antennas, or of its excess over another environment."""
    outcomes = []
    rows = _table1(Options()).records()
    elsewhere = {
        row["end"]: float(str(row["correlation"])) for row in rows if row["scenario"] == check.get("less")
    }
    for record in rows:
        if record["scenario"] == check["scenario"]:
            found = float(str(record["correlation"])) - elsewhere.get(record["end"], 0.0)
            slack = found - check["above"] if "above" in check else check["below"] - found
            where = f"{record['scenario']}, {record['end']}"
            outcomes.append(Outcome(where, found, None, slack > 0.0, slack))
    return outcomes


def _rates(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the link rate of each scheme, in bit/s and in bits per channel use."""
    outcomes = []
    for row in check["rows"]:
        over = {"phy.scheme,phy.detector": [_scheme(row["scheme"])], "channel.snr_db": [10]}
        plan = plans.load(_path("fig6"), Options(over=over))
        found = str(plan.description["scenario"]["link"]["rate"]).removesuffix(" bit/s")
        outcomes.append(checks.printed(row["scheme"], float(found), row["rate_bps"]))
    return outcomes


@dataclass(frozen=True)
class _Receivers(Figures):
    """Figures of the paper in which ML combines receptions by equation 18, whatever a reading sets."""

    def results(self, name: str, options: Options) -> Results:
        """Results of a figure's scenario; ML detects all receptions as one system."""
        asked = self.asked(name, options)
        stage = (asked.set or {}).get(_STAGE, "stacked")
        over = dict(asked.over or {})
        pairs = over.get(_RECEIVER) or _swept(name).get(_RECEIVER, [])
        groups = [[pair for pair in pairs if (pair[1] == "ml") == is_ml] for is_ml in (True, False)]
        if stage == "stacked" or _STAGE in over or not groups[0]:
            return super().results(name, options)
        asked = replace(asked, reading=None, quick=False)
        found = [
            api.solve(
                _path(name),
                replace(asked, set={**(asked.set or {}), _STAGE: of}, over={**over, _RECEIVER: group}),
            )
            for of, group in zip(("stacked", stage), groups, strict=True)
            if group
        ]
        points = [point for results in found for point in results.points]
        points.sort(
            key=lambda point: pairs.index([point.scenario["phy"][key] for key in ("scheme", "detector")])
        )
        return replace(found[-1], points=points)


_RECEIVER = "phy.scheme,phy.detector"
_STAGE = "phy.combining.stage"

SET = _Receivers(
    figures=FIGURES,
    folder=SCENARIOS / "papers" / KEY,
    axes=AXES,
    columns=COLUMNS,
    values=_values,
    quick=QUICK,
    metric="goodput_bps",
    claims_methods=["simulation"],
    kinds={"magnitudes": _magnitudes, "rates": _rates},
)
