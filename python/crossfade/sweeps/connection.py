"""Connection to a Dask scheduler: to an existing one, or to a local one started with its workers.

A Dask port without TLS lets anyone who reaches it run code. The ports of a local cluster are therefore on the
loopback interface and require a certificate made for the session, and there is no HTTP server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crossfade.errors import ClusterError, CrossfadeWarning, outlive_peers
from crossfade.files import read_text
from crossfade.sweeps import worker
from crossfade.sweeps.chunks import WorkerDiedError

if TYPE_CHECKING:
    from distributed import Client, Security

T = TypeVar("T")

# Longest wait for a scheduler to answer, and for the first worker, in seconds.
CONNECT_S = 5.0
WORKERS_S = 30.0
# Number of attempts to submit a chunk that another client cancels, for example by a restart of all workers.
MOST_ATTEMPTS = 5
# Parts of the session's certificate that a worker needs; it gets them on standard input, since all users see
# arguments.
WORKER_TLS = ("tls_ca_file", "tls_worker_cert", "tls_worker_key")
ENCRYPTED = ("tls://", "wss://")
# Delay in seconds before an ended local worker is replaced.
RESTART_S = 0.5


class Connection:
    """Client of a Dask scheduler; all of Dask's objects live on an event loop in its own thread.

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
        """Wait for the first worker; :class:`ClusterError` if none comes in time."""
        began = time.monotonic()
        while not self.threads():
            if time.monotonic() > began + WORKERS_S:
                raise self.error(f"no worker within {WORKERS_S:.0f} s (dask worker ADDRESS starts one)")
            time.sleep(0.1)

    def threads(self) -> Mapping[str, int]:
        """Number of threads of each worker, by its address. A warning is given once all workers have been
        gone for long.
        """
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
        """Run a coroutine on the event loop; cancelling the returned future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def submit(self, worker: str, function: Callable[..., T], *arguments: object) -> T:
        """Call a function on a worker and return its result; waits as long as there is no such worker."""
        from distributed import KilledWorker

        for _ in range(MOST_ATTEMPTS):
            # Dask groups tasks by the part of the key before the number.
            name = f"crossfade-{next(self._numbers)}-{self.client.id}"
            future = self.client.submit(function, *arguments, key=name, workers=[worker])
            try:
                await future.exception()  # returns once the task has ended
                result: T = await (self._fetch(name) if future.status == "finished" else future)
                return result
            except KilledWorker:
                raise WorkerDiedError from None
            except CancelledError:
                if self.client.status != "running":
                    raise self._lost() from None
            finally:
                future.release()
        raise self.error("all work of the cluster is cancelled by another client")

    async def _fetch(self, name: str) -> Any:
        """Result of a finished task.

        Dask's futures fetch several results at once, so that one hanging worker would delay the results of
        the others.
        """
        scheduler: Any = self.client.scheduler
        answer = await scheduler.gather(keys=[name])
        if answer["status"] != "OK":
            raise WorkerDiedError
        return answer["data"][name]

    def __enter__(self) -> Connection:
        outlive_peers()
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
        with contextlib.suppress(RuntimeError):  # if the loop has ended
            self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join(CONNECT_S)

    async def _serve(self, jobs: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        # Exceptions of background tasks that Dask drops are not reported.
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
        """A :class:`ClusterError` whose message names this cluster."""
        return ClusterError(f"cluster {self._address}: {text}")


@contextlib.asynccontextmanager
async def _client(address: str, jobs: int | None, security: Security | None) -> AsyncIterator[Client]:
    """Context of a client of the scheduler at ``address``, or of a local scheduler that lasts as long as the
    client.
    """
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
        # Close also a client that is cancelled while it connects; otherwise Dask logs long messages.
        stack.push_async_callback(client.close)
        yield await stack.enter_async_context(client)


def _throw_away_certificate() -> Security:
    """A certificate and key for this session, in memory only: their holders belong to the session."""
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
    """Context of a scheduler in this process, with workers in other processes; gives its address."""
    from dask.system import CPU_COUNT
    from distributed import Scheduler

    # Dask's LocalCluster is not used: its processes import the user's running script, which would run again
    # unless it guards against that; and it waits seconds for busy workers.
    with tempfile.TemporaryDirectory(prefix="crossfade-", ignore_cleanup_errors=True) as folder:
        scheduler = worker.without_http(Scheduler)(
            host=worker.LOOPBACK,
            port=0,
            protocol="tls://",
            security=security,
            dashboard=False,
            local_directory=folder,
        )
        async with scheduler, asyncio.TaskGroup() as group:
            program = worker.WORKER.format(address=scheduler.address, folder=folder)
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
    """Run a Python program that first reads a line from standard input, and restart it whenever it ends."""
    while True:
        # In its own session Ctrl-C does not reach the process, which would only log long messages.
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
    """Address of a scheduler that answers, given an address or a scheduler file."""
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
        # Checked before a client is made, which logs long messages if it finds no scheduler.
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
