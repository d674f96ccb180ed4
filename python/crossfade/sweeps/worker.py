"""Worker of a cluster: makes rows of the plans that the scheduler sends.

:mod:`crossfade.sweeps.cluster` is the sender.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import crossfade._crossfade as _crossfade
from crossfade.errors import ClusterError
from crossfade.files import controls

if TYPE_CHECKING:
    from crossfade._crossfade import PackedRow, Task

T = TypeVar("T")

# Largest number of plans that a worker keeps for further chunks.
MOST_PLANS = 4
LOOPBACK = "127.0.0.1"
BUILD = (_crossfade.__version__, _crossfade.SOURCE_HASH)
# Expression that a worker evaluates for a chunk. It is text because a worker without this module would die on
# unpickling a function.
MAKE = "__import__('crossfade.sweeps.worker', fromlist=['make']).make(*arguments)"
WORKER = "from crossfade.sweeps.worker import serve; serve({address!r}, {folder!r})"

Source = tuple[str, str, str, dict[str, str]]
"""Source of a plan: text, name, overrides, and the contents of files by name."""

# Plans that this worker keeps, by their ids.
_plans: dict[str, _crossfade.Plan] = {}


def make(
    build: tuple[str, str], plan: str, source: Source | None, tasks: Sequence[Task]
) -> list[PackedRow] | None:
    """Rows of tasks, made by a worker that must have the same build as the sender.

    ``plan`` is the id of the plan, ``source`` its source text and files; returns None if the worker does not
    know the plan and ``source`` is None.
    """
    if build != BUILD:
        here, there = (f"{version} (sources {sources[:12]})" for version, sources in (BUILD, build))
        raise ClusterError(f"a worker has crossfade {here}, not {there}: the same must be on both")
    found = _plans.get(plan)
    if found is None:
        if source is None:
            return None
        text, name, overrides, files = source
        found = _crossfade.Plan.load(text, name, overrides, files.__getitem__, None, controls.control)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[plan] = found
    return found.make(tasks)


def serve(address: str, folder: str) -> None:
    """Be a worker with one thread until standard input closes, that is, until the owner ends.

    The first line of standard input is the certificate to use, as JSON.
    """
    from distributed import Security, Worker

    def end() -> None:
        sys.stdin.read()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # also during a run, since no one waits for its rows

    async def work() -> None:
        # No memory limit: runs take little, and Dask would stop workers because of other processes.
        async with without_http(Worker)(
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
    tempfile.tempdir = (
        folder  # OpenSSL reads keys from files, which are removed at the latest with this folder
    )
    security = Security(require_encryption=True, **json.loads(sys.stdin.readline()))
    threading.Thread(target=end, daemon=True).start()
    asyncio.run(work())


def without_http(kind: type[T]) -> type[T]:
    """Dask's ``Scheduler`` or ``Worker`` class without its HTTP server, which would otherwise always
    listen.
    """
    return type(kind.__name__, (kind,), {"start_http_server": lambda *_, **__: None})
