"""Only the session that started a local cluster can use it; a cluster without TLS causes a warning."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.sweeps import cluster, connection
from tests.conftest import SMALL, Cli, expect_one_line
from tests.sweeps.test_cluster import certificate_of, children, on, scheduler_of, two_workers, wait_for

__all__ = ["two_workers"]

LISTENS = "0A"
LOOPBACK_IN_PROC = ("0100007F", "00000000000000000000000001000000")

# Program that runs a cluster like a user's until standard input closes; {0} are the options of its parts.
OTHERS = """
import asyncio, logging, sys
from distributed import Scheduler, Security, Worker
async def serve():
    options = dict(dashboard=False, security=Security(require_encryption={tls!r}, **{files!r}))
    async with Scheduler(host="127.0.0.1", protocol={protocol!r}, port=0, **options) as scheduler:
        async with Worker(scheduler.address, nthreads=1, **options) as worker:
            print(scheduler.address, flush=True)
            await asyncio.to_thread(sys.stdin.read)
logging.disable()
asyncio.run(serve())
"""


def tree(pid: int) -> list[int]:
    """Ids of a process and all its descendants."""
    return [pid, *(below for child in children(pid) for below in tree(child))]


def listeners(pids: list[int]) -> list[tuple[str, int]]:
    """Addresses (as in /proc) and ports on which these processes listen, for all protocols."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(descriptor))
            except FileNotFoundError:  # the socket was closed meanwhile
                continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                found.append((address, int(port, 16)))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc/net/tcp (not Linux)")


@needs_proc
def test_all_that_listens_is_on_loopback_and_there_is_no_http(two_workers: cf.store.Cluster) -> None:
    found = listeners(tree(os.getpid()))
    assert [address for address, _ in found if address not in LOOPBACK_IN_PROC] == []
    assert len(found) == 3  # a scheduler and two workers


def addresses(of: cf.store.Cluster) -> list[str]:
    return [scheduler_of(of), *of.connection.threads()]


def who_answers(address: str, security: Any, within_s: float = 60.0) -> str:
    from distributed import rpc

    async def ask() -> str:
        arguments = security.get_connection_args("client")
        async with rpc(address, connection_args=arguments, timeout=within_s) as there:
            return str((await asyncio.wait_for(there.identity(), within_s + 1))["type"])

    with warnings.catch_warnings():
        # A failed handshake leaves its socket to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return asyncio.run(ask())
        finally:
            gc.collect()


@pytest.fixture(scope="module")
def stranger() -> Any:
    """Certificates of another cluster."""
    from distributed import Security

    return Security.temporary()


def strangers(address: str, stranger: Any) -> list[tuple[str, Any]]:
    """TLS contexts of clients without the cluster's certificate: without one, and with another one."""
    from distributed import Security

    return [(address.replace("tls://", "tcp://"), Security()), (address, stranger)]


def test_only_who_has_the_certificate_gets_an_answer(two_workers: cf.store.Cluster, stranger: Any) -> None:
    for address in addresses(two_workers):
        assert address.startswith("tls://127.0.0.1:")
        assert who_answers(address, certificate_of(two_workers)) in ("Scheduler", "Worker")
        for other, security in strangers(address, stranger):
            with pytest.raises(OSError):  # noqa: PT011  # what Dask raises has that in common
                who_answers(other, security, within_s=2.0)


def test_the_key_is_in_no_argument_environment_or_file(two_workers: cf.store.Cluster) -> None:
    secret = certificate_of(two_workers).tls_worker_key
    some = secret.splitlines()[5].encode()
    for pid in tree(os.getpid())[1:]:
        for name in ("cmdline", "environ"):
            assert some not in Path(f"/proc/{pid}/{name}").read_bytes()
    local: Any = two_workers.connection.client.scheduler
    assert secret not in repr(local)
    for name in two_workers.connection.threads():
        connection = two_workers.connection
        folder = Path(
            connection.start(connection.submit(name, eval, "__import__('tempfile').gettempdir()")).result()
        )
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not [path for path in folder.rglob("*") if path.is_file() and some in path.read_bytes()]


@contextmanager
def second_namespace() -> Iterator[tuple[str, str]]:
    """Context of a second network namespace: its name, and this machine's address in it."""
    name = f"cf{os.getpid()}"
    here, ours, theirs = f"{name}a", "10.203.113.1", "10.203.113.2"

    def ip(*arguments: str) -> None:
        try:
            subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True)
        except OSError as reason:
            pytest.skip(f"no second network namespace: {reason}")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no second network namespace: {error.stderr.strip()}")

    ip("netns", "add", name)
    try:
        ip("link", "add", here, "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", f"{ours}/30", "dev", here)
        ip("link", "set", here, "up")
        ip("-n", name, "addr", "add", f"{theirs}/30", "dev", f"{name}b")
        ip("-n", name, "link", "set", f"{name}b", "up")
        yield name, ours
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def connects(namespace: str, host: str, port: int) -> bool:
    program = f"import socket; socket.create_connection(({host!r}, {port}), 3)"
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def open_ports(namespace: str, host: str) -> set[int]:
    """All ports of this machine to which the second namespace can connect; every port is tried."""
    program = (
        "import socket\n"
        "for port in range(1, 65536):\n"
        "    with socket.socket() as end:\n"
        "        end.settimeout(3)\n"
        f"        if end.connect_ex(({host!r}, port)) == 0: print(port)\n"
    )
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(map(int, found.stdout.split()))


def test_another_machine_cannot_connect(two_workers: cf.store.Cluster) -> None:
    with second_namespace() as (namespace, host):
        with socket.create_server(("0.0.0.0", 0)) as open_to_all:  # example of a reachable port
            wait_for(lambda: connects(namespace, host, open_to_all.getsockname()[1]))
        for address in addresses(two_workers):
            assert not connects(namespace, host, int(address.rpartition(":")[2]))


@contextmanager
def others(protocol: str, files: dict[str, str]) -> Iterator[str]:
    """Context of a cluster started by another program; its address."""
    program = OTHERS.format(tls=protocol == "tls://", files=files, protocol=protocol)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.kill()


def test_plain_tcp_is_warned_of(cli: Cli, tmp_path: Path) -> None:
    scenario, out = tmp_path / "small.toml", tmp_path / "small.sqlite"
    scenario.write_text(SMALL)
    with others("tcp://", {}) as address:
        done = cli("sweep", scenario, "--cluster", address, "--out", out, "--quiet")
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if address in line]
    assert "without TLS whoever reaches the ports of its scheduler and workers can run code" in line


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory, stranger: Any) -> dict[str, Path]:
    """Files of a certificate, and of another, unrelated one."""
    from distributed import Security

    files, folder = {}, tmp_path_factory.mktemp("pem")
    for name, made in (("own", Security.temporary()), ("other", stranger)):
        files[name], files[f"{name}-key"] = folder / f"{name}.crt", folder / f"{name}.pem"
        files[name].write_text(made.tls_client_cert)
        files[f"{name}-key"].write_text(made.tls_client_key)
    return files


def test_tls_files_lead_to_a_cluster_without_a_warning(
    cli: Cli, tmp_path: Path, pem: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario, out = tmp_path / "small.toml", tmp_path / "small.sqlite"
    scenario.write_text(SMALL)
    own = {"tls_ca_file": str(pem["own"])}
    for role in ("scheduler", "worker"):
        own |= {f"tls_{role}_cert": str(pem["own"]), f"tls_{role}_key": str(pem["own-key"])}
    tls = ["--tls-ca-file", pem["own"], "--tls-cert", pem["own"], "--tls-key", pem["own-key"]]
    with others("tls://", own) as address:
        command = ["sweep", scenario, "--out", out, "--quiet", "--cluster"]
        done = cli(*command, address.removeprefix("tls://"), *tls)
        assert (done.code, done.err) == (0, "")
        assert len(plans.load(SMALL).core.keys()) == 10
        with cf.store.Cluster(
            address, security=cluster.tls_files(pem["own"], pem["own"], pem["own-key"])
        ) as same:
            assert len(on(same, plans.load(SMALL))) == 10

        monkeypatch.setattr(connection, "CONNECT_S", 1.0)
        wrong = [*tls[:2], "--tls-cert", pem["other"], "--tls-key", pem["other-key"]]
        expect_one_line(cli(*command, address, *wrong), "no Dask scheduler answers there within 1 s, or none")


def test_wrong_certificates_are_one_line(cli: Cli, tmp_path: Path, pem: dict[str, Path]) -> None:
    (tmp_path / "empty.pem").touch()
    both, away, empty = (pem["own"], pem["own"]), tmp_path / "away.pem", tmp_path / "empty.pem"
    for ca, cert, key, address, reason in (
        (away, pem["own"], None, "tls://localhost:9", f"{away}: cannot be read (No such file or directory)"),
        (empty, pem["own"], None, "tls://localhost:9", "its certificates cannot be used ("),
        (*both, pem["other-key"], "tls://localhost:9", "its certificates cannot be used ("),
        (
            *both,
            pem["own-key"],
            "tcp://localhost:9",
            "tcp://localhost:9 is without TLS, and certificates are given",
        ),
        (*both, pem["own-key"], "local", "cluster local: takes no certificates, it makes its own"),
        (None, pem["own"], None, "tls://localhost:9", "--tls-ca-file and --tls-cert: must both be given"),
        (*both, None, None, "--tls-ca-file, --tls-cert and --tls-key: need --cluster ADDRESS"),
    ):
        given = {"--tls-ca-file": ca, "--tls-cert": cert, "--tls-key": key, "--cluster": address}
        options = [str(part) for option in given.items() if option[1] for part in option]
        expect_one_line(cli("sweep", "quickstart", *options), reason)


def test_without_cryptography_it_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    outcome = cli("sweep", "quickstart", "--cluster", "local", "--out", "unused.sqlite")
    expect_one_line(outcome, "needs the package cryptography", "pip install 'crossfade[cluster]'")
