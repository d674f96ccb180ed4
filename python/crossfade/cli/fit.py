"""Command ``crossfade fit``, which fits a link to a capture or a channel to a loss trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import fitting
from crossfade.cli import messages, terminal
from crossfade.cli.options import PlotOption, whole
from crossfade.comparison.predictions import Predicted
from crossfade.errors import TraceError, shortened
from crossfade.figures.style import check_plot_file
from crossfade.files import check_outputs
from crossfade.files.kinds import FIGURE, RESULTS, SCENARIO, refuse
from crossfade.reports.fitted import fit_report


def fit(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD...",
            help="A capture at one end, or at both (the sender's first); a log of qlog, iperf3, irtt, ping, "
            "ss or mm-link; a journal of crossfade live; or a trace of losses: 0/1 for each packet, or the "
            "numbers of lost packets.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="LINK.toml",
            help="Write the link as a scenario, with 200 draws of its parameters beside it.",
        ),
    ] = None,
    predict: Annotated[
        str | None,
        typer.Option(
            "--predict",
            metavar="CONTROLS",
            help="Congestion controls to predict on the fitted link: cubic,bbr-v3,quic.",
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of a trace of losses: auto, bits (0/1 for each packet) or lost (packet numbers).",
        ),
    ] = "auto",
    packets: Annotated[
        int | None,
        typer.Option(
            "--packets",
            metavar="N",
            parser=whole,
            help="Total number of packets, for a trace that lists lost ones.",
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            "--rtt",
            metavar="TIME",
            help="RTT of the idle path, such as '40 ms', if the record does not show it (UDP).",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="RULES",
            help="TCP rules of predictions: linux, or recommended (the RFCs'; default: as recorded).",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the fit as an HTML page.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the fit as JSON instead of a table.")] = False,
    plot: PlotOption = None,
) -> None:
    """Fit a link to a capture, or a channel to a trace of losses.

    \b
    crossfade fit mine.pcap --to link.toml
    crossfade fit mine.pcap --predict cubic,bbr-v3,quic --report mine.html
    crossfade fit sender.pcap receiver.pcap --to link.toml --plot link.png
    crossfade fit losses.txt
    crossfade fit lost-numbers.txt --packets 100000 --plot runs.png
    """
    for record in records:
        refuse(record, [SCENARIO, RESULTS, FIGURE], TraceError)
    if plot is not None:
        check_plot_file(plot, *records)
    if len(records) > 1 or fitting.is_record(records[0]):
        if format != "auto" or packets is not None:
            raise TraceError("--format and --packets: are for loss traces, not for captures")
        _fit_link(records, to, predict, (rtt, profile), report, json, plot)
        return
    if any(given is not None for given in (to, predict, rtt, profile, report)):
        raise TraceError("--to, --predict, --rtt, --profile and --report: need a capture, not a loss trace")
    found = fitting.fit(records[0], format, packets)
    if json:
        messages.write_out(found.to_json() + "\n")
    else:
        terminal.print_fit(found, terminal.console())
    if plot is not None:
        found.plot(plot, title=records[0].name)
        messages.say(f"wrote {plot}")


def _fit_link(
    records: list[Path],
    to: Path | None,
    predict: str | None,
    known: tuple[str | None, str | None],
    report: Path | None,
    json: bool,
    plot: Path | None,
) -> None:
    rtt, profile = known
    if json and predict is not None:
        raise TraceError("--json and --predict: contradict each other")
    if to is not None and to.suffix != ".toml":
        raise TraceError(f"--to {shortened(to)}: a scenario's name ends in .toml")
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise TraceError(f"--report {shortened(report)}: a report ends in .html")
    check_outputs([to, plot, report], *records)
    found = fitting.fit_link(*records, rtt=rtt, profile=profile)
    rows = [] if predict is None else _predicted(found, predict)
    if json:
        messages.write_out(found.to_json() + "\n")
    else:
        terminal.print_link_fit(found, terminal.console())
    if rows:
        terminal.print_predictions(rows, found, terminal.console())
    if to is not None:
        messages.say(f"wrote {', '.join(map(str, found.write(to)))}")
    if plot is not None:
        found.plot(plot, title=found.source)
        messages.say(f"wrote {plot}")
    if report is not None:
        fit_report(found, report, rows)
        messages.say(f"wrote {report}")


def _predicted(found: fitting.LinkFit, predict: str) -> list[Predicted]:
    controls = [control.strip() for control in predict.split(",") if control.strip()]
    return found.predict(controls)
