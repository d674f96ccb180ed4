"""HTML page of a fitted link, in one file."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from crossfade.errors import OutputError
from crossfade.files import check_output, read_text, write_text
from crossfade.files.version import version
from crossfade.fitting.links import LinkFit
from crossfade.fitting.parameters import BOUNDED_ABOVE, UNITS
from crossfade.reports.page import POLICY, packaged, templates
from crossfade.reports.tables import Grid, Head, Shown

if TYPE_CHECKING:
    from crossfade.comparison.predictions import Predicted

MODELS = {
    "M0": "a constant rate, a base delay, a queue that drops what it cannot hold, independent losses",
    "M1": "a constant rate, and losses in bursts",
    "M2": "a rate that changes",
    "M3": "a rate that changes with a period of 15 s",
}
PREDICTED = {"goodput_bps": ("Goodput (Mbit/s)", 1e-6), "rtt_p95_s": ("95th percentile of the RTT (ms)", 1e3)}


def fit_report(fit: LinkFit, out: str | PathLike[str], predictions: Sequence[Predicted] = ()) -> None:
    """Write a fitted link as one HTML page.

    The page shows the recorded data, the parameters with intervals and verdicts, the chosen model with the
    reason, warnings, the fit beside the observations, and ``predictions``, if given, beside a replay of the
    record.
    """
    path = Path(out)
    check_output(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{path}: cannot be written (a report ends in .html)")
    write_text(path, _page(fit, predictions))


def _page(fit: LinkFit, predictions: Sequence[Predicted]) -> str:
    return (
        templates()
        .get_template("fitted.html")
        .render(
            policy=POLICY,
            version=version(),
            title=f"Link of {fit.source}",
            css=Markup(packaged("report.css")),
            summary=_recorded(fit),
            warnings=fit.warnings,
            model=_model(fit),
            parameters=_parameters(fit),
            figure=Markup(_figure(fit)),
            predictions=_predictions(fit, predictions) if predictions else None,
        )
    )


def _recorded(fit: LinkFit) -> str:
    found = fit.found
    seen = 0.0 if found["kind"] == "probes" else min(1.0, fit.seen_share)
    lost = f"{found['random_losses']:.0f} lost at random, {found['congestive_losses']:.0f} at a full queue"
    return (
        f"{fit.flow}: {found['packets']:.0f} packets in {found['lasts_s']:.1f} s, {lost}; the rate of the "
        f"link was seen in {seen * 100:.3g} % of the time."
    )


def _model(fit: LinkFit) -> str:
    held_out = fit.found["held_out"]
    text = f"Model {fit.model}: {MODELS[fit.model]}."
    if held_out is not None:
        share = f"{held_out * 100:.3g} %"
        text += f" Change points predict held-out windows with {share} of a constant's squared error."
    if fit.found["mean_burst"]:
        text += f" A burst of losses has {fit.found['mean_burst']:.3g} packets in the mean."
    if len(fit.found["levels"]) > 1:
        of_all = (
            f"{rate / 1e6:.3g} Mbit/s ({share * 100:.2g} % of the time, {lasts:.2g} s in the mean)"
            for rate, share, lasts in fit.found["levels"]
        )
        text += f" By a hidden Markov chain it has the levels {', '.join(of_all)}."
    return text


def _parameters(fit: LinkFit) -> Grid:
    heads = [Head(Markup(name)) for name in ("Parameter", "Value", "90 % interval", "Unit", "Verdict")]
    rows = []
    for name, (unit, scale) in UNITS.items():
        of = fit.parameters[name]
        value, low, high = (f"{number * scale:.4g}" for number in (of.value, of.low, of.high))
        between = f"{low} to {high}"
        if of.verdict == "bounded":
            is_above = name in BOUNDED_ABOVE
            value, between = (f"≤ {high}", "") if is_above else (f"≥ {value}", f"assumed up to {high}")
        elif of.verdict == "not identified" and name != "delay":
            value, between = "-", ""
        rows.append([Shown(name), Shown(value, True), Shown(between, True), Shown(unit), Shown(of.verdict)])
    return Grid(heads, rows, "Each value with what the record says of it")


def _figure(fit: LinkFit) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fit.svg"
        fit.plot(file)
        text = read_text(file, OutputError)
    return re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL)


def _predictions(fit: LinkFit, predictions: Sequence[Predicted]) -> Grid:
    react = any(of.reacting is not None for of in predictions)
    names = ["Control", "Metric", "Predicted", "90 % interval", *["If other flows react"] * react]
    heads = [Head(Markup(name)) for name in (*names, "Replay of the record")]
    rows = []
    for of in predictions:
        name, scale = PREDICTED[of.metric]
        value, low, high = (f"{number * scale:.4g}" for number in (of.value, of.low, of.high))
        between = f"{low} or more" if of.high == math.inf else f"{low} to {high}"
        replay = "" if of.replay is None else f"{of.replay * scale:.4g}"
        rows.append(
            [
                Shown(of.control),
                Shown(name),
                Shown("range" if of.is_range else value, True),
                Shown(between, True),
                *[Shown(f"{(of.reacting or 0.0) * scale:.4g}", True)] * react,
                Shown(replay, True),
            ]
        )
    return Grid(heads, rows, "What other congestion controls would do on the fitted link")
