"""Commands ``crossfade sweep`` and ``crossfade merge``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossfade.cli import messages, terminal
from crossfade.cli.groups import Asked, grouped
from crossfade.cli.options import ScenarioArgument
from crossfade.cli.outputs import telling_what_is_left
from crossfade.errors import ScenarioError, shortened
from crossfade.plans.options import PlanOptions
from crossfade.sweeps import sweep as sweeps
from crossfade.sweeps.engines import Shard

if TYPE_CHECKING:
    from crossfade.sweeps.cluster import Cluster

# Largest number of printed lines of a sweep; longer tables suit a file, a figure or a report.
MOST_LINES = 40


@dataclass(frozen=True)
class OnCluster:
    """Options for a cluster that makes the runs, with its certificates."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run on the workers of a Dask scheduler: HOST:PORT, tls://HOST:PORT, a scheduler file "
            "(.json), or local for a cluster of --jobs processes on this machine.",
        ),
    ] = None
    tls_ca_file: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca-file",
            metavar="PEM",
            help="Certificate of the authority of a --cluster with TLS (default: Dask's settings).",
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="PEM", help="Your certificate for a --cluster with TLS."),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(
            "--tls-key", metavar="PEM", help="Private key of --tls-cert, if that file does not contain it."
        ),
    ] = None

    def engine(self, jobs: int | None) -> AbstractContextManager[Cluster | None]:
        """The cluster that makes the runs; None: ``jobs`` threads of this machine make them."""
        files = self.tls_ca_file, self.tls_cert, self.tls_key
        if self.cluster is None:
            if any(files):
                raise ScenarioError("--tls-ca-file, --tls-cert and --tls-key: need --cluster ADDRESS")
            return nullcontext()
        from crossfade.sweeps.cluster import Cluster, tls_files  # imported here, since it loads slowly

        if any(files) and not (self.tls_ca_file and self.tls_cert):
            raise ScenarioError("--tls-ca-file and --tls-cert: must both be given")
        ca_file, cert, key = files
        return Cluster(
            self.cluster, jobs, security=tls_files(ca_file, cert, key) if ca_file and cert else None
        )


@grouped("no_cache")
def sweep(
    scenario: ScenarioArgument,
    *,
    asked: Asked,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="RESULTS",
            help="Results file (default: the scenario's name with .sqlite, in the current folder).",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="K/N",
            help="Run only the K-th of N parts, for a batch queue (crossfade merge joins the files).",
        ),
    ] = None,
    on: OnCluster,
) -> None:
    """Run a sweep into a results file. Repeating the command runs only what is missing.

    Finished runs survive Ctrl-C, kill and power loss (up to the last second). Several processes may fill one
    file; give each its own shard.

    \b
    crossfade sweep quickstart --over tcp.w_max=6,24
    crossfade sweep my.toml --over channel.p_e=log:0.001:0.3:25 --precision 1% --out loss.sqlite
    crossfade sweep my.toml --over "tcp.w_max,tcp.dupthresh=[[6,1],[24,3]]" --over methods=analysis,simulation
    crossfade sweep my.toml --shard 2/3
    crossfade sweep my.toml --cluster 10.0.0.1:8786
    """
    console = terminal.console()
    with (
        telling_what_is_left(
            True, lambda left: terminal.print_some_results(left.results, console, MOST_LINES)
        ),
        on.engine(asked.jobs) as engine,
    ):
        results = sweeps.sweep(
            scenario,
            methods=asked.methods,
            out=out,
            jobs=asked.jobs,
            engine=engine,
            shard=None if shard is None else _read_shard(shard),
            progress=not asked.quiet,
            say=None if asked.quiet else _say,
            **asked.options(PlanOptions),
        )
    if not results.complete:
        return  # a shard has results of only a part of the plan
    if not asked.quiet:
        terminal.print_some_results(results, console, MOST_LINES)
    terminal.print_warnings(results.warnings)


def merge(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Results files, such as those of shards.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="RESULTS", help="Results file to write; an existing one is added to."),
    ],
) -> None:
    """Join results files, such as those of shards. A row in several files is kept once.

    \b
    crossfade merge my-*-of-3.sqlite --out my.sqlite
    """
    sweeps.merge(results, out, say=_say)


def _read_shard(text: str) -> Shard:
    try:
        number, of = map(int, text.split("/"))
    except ValueError:
        raise ScenarioError(f"--shard {shortened(text)}: must be K/N, such as 2/3") from None
    return number, of


def _say(line: str) -> None:
    messages.say(line)
