"""``crossfade live`` for a user without privileges."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import crossfade as cf
from tests.cli.live_runs import need, need_live

NOBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def by_nobody(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Function that runs crossfade as user nobody, with a TUN device node that all users may open."""
    need_live()
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mknod"))):
        pytest.skip("crossfade live without root: only root can become somebody else")
    node, folder = tmp_path / "tun", tmp_path / "home"
    subprocess.run(["mknod", "-m", "666", node, "c", "10", "200"], check=True)
    folder.mkdir()
    folder.chmod(0o777)
    for parent in (tmp_path, *(folder for folder in tmp_path.parents if "pytest" in str(folder))):
        parent.chmod(parent.stat().st_mode | 0o055)
    # Other users may not read an interpreter installed by root for itself; then the system's interpreter is
    # used.
    packages = [word for word in sys.path if word.endswith("site-packages")]
    path = os.pathsep.join([str(Path(cf.__file__).parents[1]), *packages])
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "HOME": str(folder), "PYTHONPATH": path}
    bind = f'mount --bind {node} /dev/net/tun && exec setpriv {" ".join(NOBODY)} sh -c \'exec "$@"\' sh "$@"'

    def run(*words: str | Path, python: str, network: str = "") -> subprocess.CompletedProcess[str]:
        # The server of ``network`` ends with its process namespace.
        space = ["unshare", "-m", *(["-n", "-p", "--fork", "--mount-proc"] if network else [])]
        command = [*space, "sh", "-c", network + bind, "sh", python, *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False, cwd="/"
        )

    for python in (sys.executable, "/usr/bin/python3"):
        if run("-c", "import crossfade.cli.app", python=python).returncode == 0:
            return functools.partial(run, "-m", "crossfade", python=python)
    pytest.skip("crossfade live without root: nobody else can read this package")


def test_without_root(by_nobody: Callable[..., subprocess.CompletedProcess[str]], scenario: Path) -> None:
    script = "id -u; grep -c tun0 /proc/net/dev"
    done = by_nobody("live", "--rate", "5 Mbit/s", "--quiet", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout.split()) == (0, ["65534", "1"]), done.stderr
    done = by_nobody("run", scenario, "--method", "live", "--set", "run.duration=1 s", "--csv", "-")
    assert done.returncode == 0, done.stderr
    assert "goodput_bps" in done.stdout
    assert by_nobody("doctor").returncode == 0


# Shell code for a separate network with a web server.
NETWORK = """\
ip link set lo up; ip link add out type veth peer name in
ip addr add 192.0.2.1/24 dev out; ip link set out up
cd FOLDER; python3 -m http.server 8000 --bind 192.0.2.1 > /dev/null 2>&1 &
until grep -q :1F40 /proc/net/tcp; do sleep 0.05; done
"""


def test_a_way_out_without_root(
    by_nobody: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    need("slirp4netns", "curl", "ip")
    (tmp_path / "page").write_bytes(bytes(100_000))
    fetch = ["sh", "-c", "id -u; curl -sf -m 30 http://192.0.2.1:8000/page | wc -c"]
    link = ["--rate", "10 Mbit/s", "--delay", "10 ms", "--internet"]
    done = by_nobody("live", *link, "--", *fetch, network=NETWORK.replace("FOLDER", str(tmp_path)))
    assert (done.returncode, done.stdout.split()) == (0, ["65534", "100000"]), done.stderr
