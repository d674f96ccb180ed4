"""Runs on a cluster: Dask's scheduler hands them to its workers, on this machine or on others.

:mod:`crossfade.sweeps.connection` connects to the scheduler, :mod:`crossfade.sweeps.worker` makes rows on a
worker, and :mod:`crossfade.sweeps.chunks` schedules the runs, whatever workers do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import ClusterError, CrossfadeWarning
from crossfade.files import read_text
from crossfade.files.version import version
from crossfade.plans import Plan
from crossfade.plans.options import check_jobs
from crossfade.results.rows import Row
from crossfade.sweeps.chunks import Work, WorkerDiedError
from crossfade.sweeps.connection import ENCRYPTED, Connection
from crossfade.sweeps.worker import BUILD, MAKE, Source

if TYPE_CHECKING:
    from distributed import Security

    from crossfade._crossfade import Known, PackedRow, Task


class Cluster:
    """Context manager that runs sweeps on the workers of a Dask cluster.

    Workers need the same build of crossfade; they may come and go. For a scheduler without TLS a warning is
    given.

    Parameters
    ----------
    address : str
        Address of the scheduler (``HOST:PORT``, ``tls://HOST:PORT``), a scheduler file (``.json``), or
        ``local`` for a cluster of processes on this machine.
    jobs : int, optional
        Number of processes of ``local`` (default: one per core).
    security : distributed.Security, optional
        The certificates of a cluster with TLS (default: those of Dask's settings).

    Raises
    ------
    ClusterError
        If there is no such scheduler, or no worker within 30 s.

    Examples
    --------
    >>> import crossfade as cf
    >>> with cf.store.Cluster("local", jobs=2) as cluster:  # doctest: +SKIP
    ...     results = cf.sweep("quickstart", engine=cluster)
    """

    def __init__(self, address: str, jobs: int | None = None, *, security: Security | None = None) -> None:
        check_jobs(jobs)
        if address != "local" and jobs is not None:
            raise ClusterError(f"jobs = {jobs}: not with cluster {address}, which has its own workers")
        if address == "local" and security is not None:
            raise ClusterError("cluster local: takes no certificates, it makes its own")
        self._address = address
        self._jobs = jobs
        self._security = security
        self._open = contextlib.ExitStack()
        self.connection: Connection

    @property
    def workers(self) -> int:
        """Number of runs that the cluster makes at once at present."""
        return sum(self.connection.threads().values())

    def execute(
        self,
        plan: Plan,
        known: Known,
        shard: tuple[int, int],
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        """Make the rows of a shard that are not known yet.

        Parameters
        ----------
        plan : Plan
            Plan whose runs are made.
        known : Known
            Index of the rows that exist already.
        shard : tuple of (int, int)
            Part of the plan: (k, n) is the k-th of n parts.
        on_rows : callable
            Called with new rows as they are finished.
        on_progress : callable
            Called with the number of finished runs, and the expected number of all runs.

        Returns
        -------
        bool
            True if the shard is complete; False after Ctrl-C.

        Raises
        ------
        ClusterError
            If the cluster cannot make the rows; rows handed over before stay valid.
        """
        try:
            workers = PlanWorkers(self.connection, plan)
            Work(plan, known, shard, workers, on_rows, on_progress).finish()
        except KeyboardInterrupt:
            return False
        return True

    def __enter__(self) -> Cluster:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quiet())
            self.connection = stack.enter_context(Connection(self._address, self._jobs, self._security))
            self._warn_without_tls()
            self.connection.wait_for_workers()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def _warn_without_tls(self) -> None:
        scheduler: Any = self.connection.client.scheduler
        if not scheduler.address.startswith(ENCRYPTED):
            text = (
                f"cluster {self._address}: without TLS whoever reaches the ports of its scheduler and "
                "workers can run code there and here (use tls://, or a network that you trust)"
            )
            warnings.warn(text, CrossfadeWarning, stacklevel=3)


def tls_files(ca_file: PathLike[str], cert: PathLike[str], key: PathLike[str] | None = None) -> Security:
    """Certificates of a cluster with TLS: of its authority, the user's own, and its key (None: it is in
    ``cert``).

    All are PEM files. Raises :class:`ClusterError` if one of them cannot be read.
    """
    files = {"tls_ca_file": ca_file, "tls_client_cert": cert, "tls_client_key": key}
    for path in files.values():
        if path is not None:
            read_text(Path(path), ClusterError)
    try:
        from distributed import Security
    except ImportError as error:
        raise _no_dask(error) from None
    return Security(require_encryption=True, **{name: path and str(path) for name, path in files.items()})


class PlanWorkers:
    """Workers of a cluster for one plan; implements :class:`crossfade.sweeps.chunks.Workers`."""

    def __init__(self, connection: Connection, plan: Plan) -> None:
        self._connection = connection
        self._source: Source = (plan.text, plan.name, json.dumps(plan.overrides), plan.files)
        self._id = hashlib.sha256(json.dumps(self._source).encode()).hexdigest()

    def threads(self) -> Mapping[str, int]:
        return self._connection.threads()

    def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
        return self._connection.start(self._make(tasks, worker))

    async def _make(self, tasks: Sequence[Task], worker: str) -> list[PackedRow]:
        try:
            # The plan's source is sent once to each worker, not with each chunk.
            for source in (None, self._source):
                names = {"arguments": (BUILD, self._id, source, tasks)}
                rows: list[PackedRow] | None = await self._connection.submit(worker, eval, MAKE, names)
                if rows is not None:
                    return rows
            raise AssertionError("with the source there are rows")
        except (ClusterError, WorkerDiedError):
            raise
        except ImportError as error:
            raise self._connection.error(f"crossfade {version()} must be installed there ({error})") from None
        except Exception as error:
            raise self._connection.error(f"a worker failed ({type(error).__name__}: {error})") from None


def _no_dask(error: ImportError) -> ClusterError:
    return ClusterError(f"a cluster needs Dask ({error}): pip install 'crossfade[cluster]'")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Context in which Dask's logs and warnings are suppressed: they report at length events that are handled
    here.
    """
    try:
        import distributed  # noqa: F401  # its loggers come with it
    except ImportError as error:
        raise _no_dask(error) from None
    names = [
        name
        for name in logging.Logger.manager.loggerDict
        if name.partition(".")[0] in ("distributed", "tornado")
    ]
    with contextlib.ExitStack() as stack:
        for logger in map(logging.getLogger, names):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module=r"(dask|distributed|tornado)\.")
        yield
