"""Sweeps on a Dask cluster: the same rows as on threads, whatever happens to the workers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.plans import Plan
from crossfade.plans.options import Options
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row
from crossfade.sweeps import chunks, connection, worker
from tests.conftest import SMALL, Cli, expect_one_line, long_form
from tests.test_rules import FADING
from tests.test_rust_controls import EXAMPLES

# Half a second of work, more than the first chunks contain.
MANY = SMALL.replace("2000 slots", "20000 slots") + '[sweep]\n"channel.p_e" = "log:0.001:0.3:8"\n'
STOPS: list[dict[str, Any]] = [{"runs": 30}, {"precision": "3 %"}]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[cf.store.Cluster]:
    with cf.store.Cluster("local", 2) as found:
        deadline = time.monotonic() + 60
        while found.workers < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield found


def pids(of: cf.store.Cluster) -> list[int]:
    """Process ids of the workers."""
    connection = of.connection
    return [connection.start(connection.submit(name, os.getpid)).result() for name in connection.threads()]


def load(**stop: Any) -> Plan:
    return plans.load(MANY, Options(**stop))


@cache
def on_threads(**stop: Any) -> list[Row]:
    rows: list[Row] = []
    plan = load(**stop)
    none = plan.core.known()
    plan.core.execute(none, 2, (1, 1), lambda batch: rows.extend(Row(*row) for row in batch), lambda *_: None)
    return without_seconds(rows)


def scheduler_of(found: cf.store.Cluster) -> str:
    """Address of the scheduler."""
    scheduler: Any = found.connection.client.scheduler
    return str(scheduler.address)


def certificate_of(found: cf.store.Cluster) -> Any:
    """Certificates for clients of the cluster's scheduler."""
    return found.connection.client.security


def on(
    workers: cf.store.Cluster, plan: Plan, *, at_first_rows: Callable[[], object] = lambda: None
) -> list[Row]:
    """Rows made by the workers; ``at_first_rows`` is called once the first rows arrive."""
    rows: list[Row] = []

    def take(batch: Sequence[Row]) -> None:
        if not rows:
            at_first_rows()
        rows.extend(batch)

    assert workers.execute(plan, plan.core.known(), (1, 1), take, lambda *_: None)
    return without_seconds(rows)


def without_seconds(rows: Sequence[Row]) -> list[Row]:
    return sorted(row._replace(seconds=0.0) for row in rows)


def rows_in(path: Path, plan: Plan) -> list[Row]:
    with closing(ResultsFile.open(path)) as file:
        return without_seconds(list(file.get(plan.core.keys()).values()))


# Under a precision test_chunks.py has the same rows.
@pytest.mark.parametrize("stop", [STOPS[0], long_form(STOPS[1])])
def test_sweeps_give_the_rows_of_threads(
    two_workers: cf.store.Cluster, tmp_path: Path, stop: dict[str, Any]
) -> None:
    files = tmp_path / "threads.sqlite", tmp_path / "cluster.sqlite"
    results = cf.sweep(MANY, **stop, out=files[0])
    assert cf.sweep(MANY, **stop, out=files[1], engine=two_workers).to_json() == results.to_json()
    assert rows_in(files[0], load(**stop)) == rows_in(files[1], load(**stop))


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
def test_controls_of_the_users_own_run_on_a_cluster(two_workers: cf.store.Cluster, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from crossfade.teaching import Reno\n\nclass Mine(Reno):\n    pass\n")
    shutil.copy(EXAMPLES / "reno.rs", tmp_path / "mine.rs")
    (tmp_path / "a.toml").write_text(FADING)
    for name in ("mine.py", "mine.rs"):
        mine = cf.sweep(
            tmp_path / "a.toml",
            set={"tcp.congestion": name},
            out=tmp_path / f"{name}.sqlite",
            engine=two_workers,
        )
        reno = cf.run(FADING, set={"tcp.congestion": "reno"}, cache=False)
        assert [row.values for row in mine.points[0].rows] == [row.values for row in reno.points[0].rows]


# In the short form all workers are killed (the next test).
@pytest.mark.parametrize("stop", [*map(long_form, STOPS)])
def test_a_killed_worker_costs_nothing_but_time(two_workers: cf.store.Cluster, stop: dict[str, Any]) -> None:
    plan = load(**stop)
    before = pids(two_workers)
    rows = on(two_workers, plan, at_first_rows=lambda: os.kill(before[0], signal.SIGKILL))
    assert rows == on_threads(**stop)
    assert set(pids(two_workers)) != set(before)


def test_all_workers_killed_are_replaced(two_workers: cf.store.Cluster) -> None:
    plan = load(runs=30)

    def kill() -> None:
        for pid in pids(two_workers):
            os.kill(pid, signal.SIGKILL)

    before = set(pids(two_workers))
    assert on(two_workers, plan, at_first_rows=kill) == on_threads(runs=30)
    assert not before & set(pids(two_workers))


@pytest.mark.parametrize("stop", [STOPS[0], long_form(STOPS[1])])
def test_a_worker_that_hangs_does_not_hold_up_the_rest(
    two_workers: cf.store.Cluster, stop: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LATE", 1.5)
    plan = load(**stop)
    hanging = pids(two_workers)[0]
    try:
        rows = on(two_workers, plan, at_first_rows=lambda: os.kill(hanging, signal.SIGSTOP))
    finally:
        os.kill(hanging, signal.SIGCONT)
    assert rows == on_threads(**stop)
    # Runs that the worker had begun are now made again, without harm.
    assert on(two_workers, plan) == rows


def test_a_scheduler_has_an_address_and_may_have_a_file(
    two_workers: cf.store.Cluster, tmp_path: Path
) -> None:
    address = scheduler_of(two_workers)
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    plan = load(runs=10)
    certificate = certificate_of(two_workers)
    for name in (address, address.removeprefix("tls://"), str(file)):
        with cf.store.Cluster(name, security=certificate) as same:
            assert same.workers == 2
            assert on(same, plan) == on_threads(runs=10)
    with pytest.raises(cf.errors.ClusterError, match="must be a scheduler, is a Worker"):
        cf.store.Cluster(next(iter(two_workers.connection.threads())), security=certificate).__enter__()


def test_a_scheduler_that_goes_away(two_workers: cf.store.Cluster) -> None:
    own = cf.store.Cluster("local", 1)
    rows: list[Row] = []
    with own:
        address = scheduler_of(own)

        def take(batch: Sequence[Row]) -> None:
            rows.extend(batch)
            own.__exit__()

        same, plan = cf.store.Cluster(address, security=certificate_of(own)), load(runs=30)
        with same as other, pytest.raises(cf.errors.ClusterError) as raised:
            other.execute(plan, plan.core.known(), (1, 1), take, lambda *_: None)
    assert str(raised.value).startswith(f"cluster {address}: lost its scheduler; finished runs are kept")
    assert set(without_seconds(rows)) < set(on_threads(runs=30))


@contextmanager
def one_worker(monkeypatch: pytest.MonkeyPatch, program: str) -> Iterator[cf.store.Cluster]:
    """Context of a cluster whose worker runs ``program`` before it serves."""
    monkeypatch.setattr(worker, "WORKER", f"from crossfade.sweeps import worker\n{program}\n{worker.WORKER}")
    with cf.store.Cluster("local", 1) as found:
        yield found


def test_a_worker_of_another_build_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "worker.BUILD = ('0.0.1', 'abcdef012345' + 52 * '0')"
    with one_worker(monkeypatch, program) as old, pytest.raises(cf.errors.ClusterError) as raised:
        on(old, load(runs=10))
    version, sources = worker.BUILD
    assert str(raised.value) == (
        f"a worker has crossfade 0.0.1 (sources abcdef012345), not {version} (sources {sources[:12]}): "
        "the same must be on both"
    )


def test_a_worker_without_crossfade_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import asyncio, json, logging, sys
sys.modules["crossfade"] = None
from distributed import Security, Worker
security = Security(require_encryption=True, **json.loads(sys.stdin.readline()))
async def work():
    options = dict(nthreads=1, dashboard=False, security=security, local_directory={folder!r})
    async with Worker({address!r}, **options) as worker:
        await worker.finished()
logging.disable()
asyncio.run(work())
"""
    monkeypatch.setattr(worker, "WORKER", program)
    with cf.store.Cluster("local", 1) as without, pytest.raises(cf.errors.ClusterError) as raised:
        on(without, load(runs=10))
    assert f"cluster local: crossfade {cf.__version__} must be installed there (" in str(raised.value)


@pytest.mark.parametrize("most_lost", [1, long_form(2)])
def test_a_run_that_kills_every_worker_ends_the_work(monkeypatch: pytest.MonkeyPatch, most_lost: int) -> None:
    """That a chunk is repeated before its runs are made alone is also in test_chunks.py."""
    monkeypatch.setattr(connection, "RESTART_S", 0.0)
    monkeypatch.setattr(chunks, "COUNT_EVERY_S", 0.1)
    monkeypatch.setattr(chunks, "MOST_LOST", most_lost)
    program = """
import os
make = worker.make
def deadly(build, plan, source, tasks):
    if (2, "simulation", 7) in [tuple(task) for task in tasks]:
        os._exit(1)
    return make(build, plan, source, tasks)
worker.make = deadly
"""
    with one_worker(monkeypatch, program) as dying, pytest.raises(cf.errors.ClusterError) as raised:
        on(dying, load(runs=10))
    name = "run 7 of simulation at channel.p_e = 0.0051"
    assert str(raised.value).startswith(f"each of {most_lost} workers died while it made {name}")


def test_addresses_that_lead_nowhere(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connection, "CONNECT_S", 0.3)
    (tmp_path / "other.json").write_text("[]")
    allowed = "must be local, HOST:PORT or a scheduler file (.json)"
    for address, reason in {
        "127.0.0.1:9": "no Dask scheduler answers there within",
        "nonsense": f"{allowed}: missing port number",
        "localhost": f"{allowed}: missing port number",
        "": f"{allowed}: missing port number",
        "http://localhost:8786": f"{allowed}: unknown address scheme 'http'",
        "localhost:port": f"{allowed}: ",
        "tls://localhost:8786": "TLS takes certificates (--tls-ca-file, --tls-cert and --tls-key, or Dask's",
        "nowhere.json": f"{allowed}: nowhere.json: cannot be read (No such file",
        "other.json": f"{allowed}: no address in it",
    }.items():
        expect_one_line(cli("sweep", "quickstart", "--cluster", address), f"cluster {address}: {reason}")
    jobs = cli("sweep", "quickstart", "--cluster", "localhost:8786", "--jobs", "3")
    expect_one_line(jobs, "jobs = 3: not with cluster localhost:8786, which has its own workers")
    expect_one_line(cli("sweep", "quickstart", "--cluster", "local", "--jobs", "0"), "jobs = 0", "at least 1")
    assert not list(tmp_path.glob("*.sqlite*"))


def test_a_scheduler_without_workers(two_workers: cf.store.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WORKERS_S", 0.2)
    monkeypatch.setattr(worker, "WORKER", "import time; time.sleep(100)")
    with pytest.raises(cf.errors.ClusterError, match=r"^cluster local: no worker within 0 s"):
        cf.store.Cluster("local", 1).__enter__()


def test_a_client_that_is_stopped_while_it_connects_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    clients: list[Client] = []

    async def connect(client: Client, **_: object) -> None:
        clients.append(client)
        await asyncio.sleep(100)

    async def stop() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1), connection._client("local", 1, None):
                pass

    monkeypatch.setattr(Client, "_ensure_connected", connect)
    asyncio.run(stop())
    assert [client.status for client in clients] == ["closed"]


def test_without_dask_it_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = cli("sweep", "quickstart", "--cluster", "local")
    expect_one_line(outcome, "a cluster needs Dask", "pip install 'crossfade[cluster]'")


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start the command in its own process group, with frequent commits."""
    program = (
        "import sys; from crossfade.cli.app import main; from crossfade.results import file; "
        "file.COMMIT_EVERY_S = 0.02; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def children(pid: int) -> list[int]:
    """Processes started by a process, read from /proc if it exists, since not every machine has ps."""
    if not Path("/proc/self/stat").exists():
        found = subprocess.run(["ps", "-A", "-o", "ppid=,pid="], capture_output=True, text=True, check=True)
        pairs = [line.split() for line in found.stdout.splitlines()]
        return [int(child) for parent, child in pairs if int(parent) == pid]
    of = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended meanwhile
            # The name in brackets may contain any characters.
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            of += [int(folder.name)] if int(parent) == pid else []
    return of


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def count_rows(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(ResultsFile.open(path)) as file:
            return sum(1 for _ in file.lines())
    except cf.errors.ResultsError:  # the file has no table yet
        return 0


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("how", "resumed_on"),
    [
        (signal.SIGINT, "threads"),
        long_form(signal.SIGKILL, None),
        long_form(signal.SIGINT, "cluster"),
        long_form(signal.SIGKILL, "cluster"),
    ],
)
def test_a_stopped_sweep_leaves_no_workers_and_is_resumed(
    tmp_path: Path, how: signal.Signals, resumed_on: str | None
) -> None:
    """The long form has two workers, and resumes on a cluster too, which starts them once more."""
    # Some tenths of a second of work, so that a late interrupt still finds the sweep running.
    runs = 400 if resumed_on == "cluster" else 100
    scenario, file = tmp_path / "many.toml", tmp_path / "many.sqlite"
    scenario.write_text(MANY)
    jobs = 2 if resumed_on == "cluster" else 1
    command = f"sweep {scenario} --runs {runs} --out {file} --cluster local --jobs {jobs}".split()
    process = start(*command)
    wait_for(lambda: count_rows(file) > 20 or process.poll() is not None)
    workers = children(process.pid)
    assert len(workers) == jobs
    os.killpg(process.pid, how)
    _, err = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert err.endswith("interrupted: finished runs are kept: the same command goes on from there\n")
        assert not any(word in err for word in ("Traceback", "distributed", "Exception")), err
    wait_for(lambda: not any(map(is_alive, workers)))
    assert 20 < count_rows(file) < 8 * runs

    if resumed_on is None:
        return
    resumed = start(*(command if resumed_on == "cluster" else command[: command.index("--cluster")]))
    _, err = resumed.communicate(timeout=120)
    assert resumed.returncode == 0, err
    assert "distributed" not in err
    assert rows_in(file, load(runs=runs)) == on_threads(runs=runs)
