"""Runs on a cluster: a scheduler of Dask hands them to its workers, on this machine or on others.

Whoever reaches a port of Dask's without TLS runs code there. So the ports of a local cluster are on the
loopback interface and ask for a certificate that lasts as long as the session; there is no HTTP server.

What becomes of a plan's runs, whatever the workers do, is in :mod:`crossfade.sweeps.chunks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import crossfade._crossfade as _crossfade
from crossfade.errors import ClusterError, CrossfadeWarning
from crossfade.files import read_text, rules
from crossfade.plans import Plan, check_jobs
from crossfade.results.rows import Row
from crossfade.sweeps.chunks import Work, WorkerDiedError

if TYPE_CHECKING:
    from distributed import Client, Security

    from crossfade._crossfade import Known, PackedRow, Task

T = TypeVar("T")

# How long a scheduler may take to answer, and a first worker to come.
CONNECT_S = 5.0
WORKERS_S = 30.0
# How often a chunk is handed in again that somebody else cancelled, as a restart of all workers does.
MOST_ATTEMPTS = 5
# How many plans a worker keeps, for chunks to come.
MOST_PLANS = 4
LOOPBACK = "127.0.0.1"
# What of a session's certificate a worker needs. It comes on its standard input: all users see arguments.
WORKER_TLS = ("tls_ca_file", "tls_worker_cert", "tls_worker_key")
ENCRYPTED = ("tls://", "wss://")
BUILD = (_crossfade.__version__, _crossfade.SOURCE_HASH)
# What a worker does for a chunk. As text: a worker that is sent a function that it has not got would end.
MAKE = "__import__('crossfade.sweeps.cluster', fromlist=['make']).make(*arguments)"
WORKER = "from crossfade.sweeps.cluster import serve; serve({address!r}, {folder!r})"
# How long after the end of a local worker there is another.
RESTART_S = 0.5


class Cluster:
    """The workers of a Dask cluster, as an engine for sweeps; to be used as a context.

    ``address`` is that of the scheduler (``HOST:PORT``, ``tls://HOST:PORT``), a scheduler file (``.json``),
    or ``local`` for a cluster of ``jobs`` processes on this machine, one a core where that is None. Workers
    need the same build of crossfade; they may come and go.

    ``security`` has the certificates of a cluster with TLS (Dask's ``Security``); where it is None, those of
    Dask's settings are used. A scheduler without TLS is warned of.

    Raises :class:`ClusterError` where there is no such scheduler, or no worker within 30 s.
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
        """How many runs it makes at once, now."""
        return sum(self.connection.threads().values())

    def execute(
        self,
        plan: Plan,
        known: Known,
        shard: tuple[int, int],
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        """Make the rows of a shard that are not known; says whether it is complete (not after Ctrl-C).

        Raises :class:`ClusterError` where the cluster cannot do it; rows that were handed over stay valid.
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
    """The certificates of a cluster: that of its authority, one's own, and its key (None: in ``cert``).

    All are PEM files. Raises :class:`ClusterError` where one of them cannot be read.
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


# What follows runs on workers.


Source = tuple[str, str, str, dict[str, str]]
"""What a plan is loaded from: text, name, overrides, and the contents of files by name."""

# The plans that this worker has, by their ids.
_plans: dict[str, _crossfade.Plan] = {}


def make(
    build: tuple[str, str], plan: str, source: Source | None, tasks: Sequence[Task]
) -> list[PackedRow] | None:
    """The rows of tasks, made by a worker of the same build as the sender's.

    ``plan`` is the id of the plan, ``source`` what to load it from; None where the worker needs it for that.
    """
    if build != BUILD:
        here, there = (f"{version} (sources {sources[:12]})" for version, sources in (BUILD, build))
        raise ClusterError(f"a worker has crossfade {here}, not {there}: the same must be on both")
    found = _plans.get(plan)
    if found is None:
        if source is None:
            return None
        text, name, overrides, files = source
        found = _crossfade.Plan.load(text, name, overrides, files.__getitem__, None, rules.rule)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[plan] = found
    return found.make(tasks)


def serve(address: str, folder: str) -> None:
    """Be a worker of one thread, as long as standard input is open: as long as its owner lives.

    The first line there is the certificate to use, as JSON.
    """
    from distributed import Security, Worker

    def end() -> None:
        sys.stdin.read()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # whatever run is under way: nobody waits for it

    async def work() -> None:
        # Runs take little memory; a limit would stop workers where others fill the machine.
        async with _without_http(Worker)(
            address,
            host=LOOPBACK,
            security=security,
            nthreads=1,
            memory_limit=0,
            dashboard=False,
            local_directory=folder,
        ) as worker:
            await worker.finished()

    logging.disable()
    warnings.simplefilter("ignore")
    tempfile.tempdir = folder  # OpenSSL reads keys from files: they are removed with the folder at the latest
    security = Security(require_encryption=True, **json.loads(sys.stdin.readline()))
    threading.Thread(target=end, daemon=True).start()
    asyncio.run(work())


def _without_http(kind: type[T]) -> type[T]:
    """Dask's ``Scheduler`` or ``Worker`` without its HTTP server, which would listen whatever its options."""
    return type(kind.__name__, (kind,), {"start_http_server": lambda *_, **__: None})


# What follows runs where the rows are wanted.


class PlanWorkers:
    """The workers of a cluster with a plan: the :class:`crossfade.sweeps.chunks.Workers`."""

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
            # The source travels once to each worker, not with each chunk.
            for source in (None, self._source):
                names = {"arguments": (BUILD, self._id, source, tasks)}
                rows: list[PackedRow] | None = await self._connection.submit(worker, eval, MAKE, names)
                if rows is not None:
                    return rows
            raise AssertionError("with the source there are rows")
        except (ClusterError, WorkerDiedError):
            raise
        except ImportError as error:
            version = _crossfade.__version__
            raise self._connection.error(f"crossfade {version} must be installed there ({error})") from None
        except Exception as error:
            raise self._connection.error(f"a worker failed ({type(error).__name__}: {error})") from None


class Connection:
    """The client of a scheduler. All of Dask's objects live on an event loop in a thread of its own.

    Methods are called from other threads, within the context.
    """

    def __init__(self, address: str, jobs: int | None, security: Security | None) -> None:
        self._address = address
        self._security = security
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(jobs)), name="crossfade-cluster", daemon=True
        )
        self._loop: asyncio.AbstractEventLoop
        self._serving: asyncio.Task[None]
        self._has_begun = threading.Event()
        self._opened: Future[Client] = Future()
        self.client: Client
        self._numbers = count()
        self._last_worker_s = 0.0
        self._has_warned = False

    def wait_for_workers(self) -> None:
        """Wait for the first worker."""
        began = time.monotonic()
        while not self.threads():
            if time.monotonic() > began + WORKERS_S:
                raise self.error(f"no worker within {WORKERS_S:.0f} s (dask worker ADDRESS starts one)")
            time.sleep(0.1)

    def threads(self) -> Mapping[str, int]:
        """How many threads each worker has, by its address. Warns once they are all gone for long."""
        found: Mapping[str, int] = self._call(lambda: self.client.nthreads())
        now = time.monotonic()
        if found:
            self._last_worker_s, self._has_warned = now, False
        elif self._last_worker_s and now > self._last_worker_s + WORKERS_S and not self._has_warned:
            self._has_warned = True
            text = f"cluster {self._address}: all workers are gone; waiting for others"
            warnings.warn(text, CrossfadeWarning, stacklevel=2)
        return found

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the event loop; to cancel the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def submit(self, worker: str, function: Callable[..., T], *arguments: object) -> T:
        """Call a function on a worker; while there is no such worker, it waits for it."""
        from distributed import KilledWorker

        for _ in range(MOST_ATTEMPTS):
            # Dask takes what stands before the number for the kind of the task.
            name = f"crossfade-{next(self._numbers)}-{self.client.id}"
            future = self.client.submit(function, *arguments, key=name, workers=[worker])
            try:
                await future.exception()  # once it has ended
                result: T = await (self._fetch(name) if future.status == "finished" else future)
                return result
            except KilledWorker:
                raise WorkerDiedError from None
            except CancelledError:
                if self.client.status != "running":
                    raise self._lost() from None
            finally:
                future.release()
        raise self.error("somebody cancels all that it is to do")

    async def _fetch(self, name: str) -> Any:
        """The result of a task that is finished.

        Dask's futures fetch theirs several at a time, where one worker that hangs keeps those of the others.
        """
        scheduler: Any = self.client.scheduler
        answer = await scheduler.gather(keys=[name])
        if answer["status"] != "OK":
            raise WorkerDiedError
        return answer["data"][name]

    def __enter__(self) -> Connection:
        self._thread.start()
        try:
            self._has_begun.wait()
            self.client = self._opened.result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._has_begun.wait()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join(CONNECT_S)

    async def _serve(self, jobs: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        # Dask drops tasks whose failure does not matter.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._serving = asyncio.ensure_future(self._stay_open(jobs))
        self._has_begun.set()
        await asyncio.wait([self._serving])
        if not self._opened.done():
            interrupted = self._serving.cancelled()
            self._opened.set_exception((None if interrupted else self._serving.exception()) or self._lost())

    async def _stay_open(self, jobs: int | None) -> None:
        async with _client(self._address, jobs, self._security) as client:
            self._opened.set_result(client)
            await asyncio.Event().wait()

    def _call(self, function: Callable[[], Awaitable[T]]) -> T:
        async def call() -> T:
            return await function()

        try:
            return self.start(call()).result()
        except Exception:
            if self.client.status == "running":
                raise
            raise self._lost() from None

    def _lost(self) -> ClusterError:
        return self.error("lost its scheduler; finished runs are kept, the same command goes on from there")

    def error(self, text: str) -> ClusterError:
        """The error for something wrong with this cluster."""
        return ClusterError(f"cluster {self._address}: {text}")


@contextlib.asynccontextmanager
async def _client(address: str, jobs: int | None, security: Security | None) -> AsyncIterator[Client]:
    """A client of the scheduler at ``address``, or of a local one that lasts as long."""
    from distributed import Client, Security

    async with contextlib.AsyncExitStack() as stack:
        if address == "local":
            security = _throw_away_certificate()
            address = await stack.enter_async_context(_local_scheduler(jobs, security))
        else:
            security = security or Security()
            address = await _find_scheduler(address, security)
        client = Client(
            address, security=security, asynchronous=True, set_as_default=False, timeout=CONNECT_S
        )
        yield await stack.enter_async_context(client)


def _throw_away_certificate() -> Security:
    """A certificate and its key, in memory alone: who has them belongs to this session."""
    from distributed import Security

    try:
        made: Security = Security.temporary()
    except ImportError:
        raise ClusterError(
            "cluster local: needs the package cryptography: pip install 'crossfade[cluster]'"
        ) from None
    return made


@contextlib.asynccontextmanager
async def _local_scheduler(workers: int | None, security: Security) -> AsyncIterator[str]:
    """A scheduler in this process and workers in others; gives its address."""
    from dask.system import CPU_COUNT
    from distributed import Scheduler

    # Not Dask's LocalCluster: its processes import the script that is running, which then runs once more
    # unless it is written with that in mind; and it waits seconds for workers that are at work.
    with tempfile.TemporaryDirectory(prefix="crossfade-", ignore_cleanup_errors=True) as folder:
        scheduler = _without_http(Scheduler)(
            host=LOOPBACK,
            port=0,
            protocol="tls://",
            security=security,
            dashboard=False,
            local_directory=folder,
        )
        async with scheduler, asyncio.TaskGroup() as group:
            program = WORKER.format(address=scheduler.address, folder=folder)
            certificate = json.dumps({name: getattr(security, name) for name in WORKER_TLS})
            keeping = [
                group.create_task(_keep_running(program, certificate)) for _ in range(workers or CPU_COUNT)
            ]
            try:
                yield scheduler.address
            finally:
                for task in keeping:
                    task.cancel()


async def _keep_running(program: str, line: str) -> None:
    """Keep a Python process running, which reads a line first: another one whenever it dies."""
    while True:
        # In a session of its own a Ctrl-C does not reach it; it would only tell of that at length.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", program, stdin=subprocess.PIPE, start_new_session=True
        )
        assert process.stdin is not None
        try:
            process.stdin.write(f"{line}\n".encode())
            await process.wait()
            await asyncio.sleep(RESTART_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _find_scheduler(address: str, security: Security) -> str:
    """The address of a scheduler that answers, from an address or a scheduler file."""
    from distributed import rpc

    wrong = f"cluster {address}: must be local, HOST:PORT or a scheduler file (.json)"
    found = address
    if address.endswith(".json"):
        try:
            found = str(json.loads(read_text(Path(address), ClusterError))["address"])
        except ClusterError as error:
            raise ClusterError(f"{wrong}: {error}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ClusterError(f"{wrong}: no address in it") from None
    if "://" not in found and security.require_encryption:
        found = f"tls://{found}"
    try:
        arguments = security.get_connection_args("client")
    except (OSError, ValueError) as error:
        raise ClusterError(f"cluster {address}: its certificates cannot be used ({error})") from None
    is_encrypted = found.startswith(ENCRYPTED)
    if is_encrypted and arguments["ssl_context"] is None:
        raise ClusterError(
            f"cluster {address}: TLS takes certificates (--tls-ca-file, --tls-cert and --tls-key, or Dask's "
            "settings)"
        )
    if security.require_encryption and not is_encrypted:
        raise ClusterError(f"cluster {address}: {found} is without TLS, and certificates are given")
    try:
        # Before there is a client, which makes much noise where it finds no scheduler.
        async with rpc(found, connection_args=arguments) as there:
            identity = await asyncio.wait_for(there.identity(), CONNECT_S)
    except (ValueError, TypeError) as error:
        raise ClusterError(f"{wrong}: {error}") from None
    except OSError:
        wait = f"within {CONNECT_S:.0f} s{', or none that takes the certificate' if is_encrypted else ''}"
        raise ClusterError(f"cluster {address}: no Dask scheduler answers there {wait}") from None
    if identity["type"] != "Scheduler":
        raise ClusterError(f"cluster {address}: must be a scheduler, is a {identity['type']}")
    return found


def _no_dask(error: ImportError) -> ClusterError:
    return ClusterError(f"a cluster needs Dask ({error}): pip install 'crossfade[cluster]'")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's logs and warnings off standard error: they tell at length of what is survived here."""
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
