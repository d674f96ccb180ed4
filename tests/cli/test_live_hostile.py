"""A hostile COMMAND gains no rights over the machine, other users or the far host's server."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from crossfade.cli.live import guests
from tests.cli.live_runs import live_command, need, need_live

LINK = ["--rate", "100 Mbit/s", "--delay", "1 ms", "--quiet"]
ROOT = Path(__file__).parents[2]

CLIENTS = """\
import os, socket, time, urllib.request
from tests.explorer.clients import outlives
server = os.environ["CROSSFADE_SERVER"]
def is_well():
    with urllib.request.urlopen(f"http://{server}/file", timeout=20) as answer:
        return answer.read() == b"found"
# One that says a byte now and then, while others are answered.
slow = socket.create_connection((server, 80))
for byte in b"GET /file HTTP/1.0\\r\\n\\r\\n":
    slow.sendall(bytes([byte]))
    time.sleep(0.02)
    assert is_well()
answer = b""
while block := slow.recv(1):
    answer += block
assert answer.endswith(b"found")
outlives((server, 80), "/file", is_well)
print("well")
"""


def live_as(
    environment: dict[str, str], *arguments: str | Path, timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        live_command(*arguments),
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_under_sudo_command_is_who_called_it(tmp_path: Path) -> None:
    need_live()
    if os.geteuid() != 0:
        pytest.skip("only root is asked who called sudo")
    script = "id -u; id -g; id -G; echo $HOME"
    done = live_as({"SUDO_USER": "nobody"}, *LINK, "--", "sh", "-c", script)
    user = pwd.getpwnam("nobody")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(user.pw_uid), str(user.pw_gid), str(user.pw_gid), user.pw_dir]


def test_under_sudo_of_nobody_known_command_does_not_run_as_root(tmp_path: Path) -> None:
    need_live()
    if os.geteuid() != 0:
        pytest.skip("only root is asked who called sudo")
    for name in ("no-such-user", "1234567", "root\nx"):
        done = live_as({"SUDO_USER": name}, *LINK, "--", "sh", "-c", f"id -u > {tmp_path}/ran")
        assert done.returncode == 125
        assert done.stderr.startswith("error: SUDO_USER = ")
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "ran").exists()


def test_where_the_user_cannot_be_again_nothing_runs_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """If root cannot become the calling user, as in some containers, nothing runs as root."""

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setenv("SUDO_USER", "nobody")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "initgroups", refused)
    with pytest.raises(PermissionError):
        guests._leave_sudo()


def test_the_server_follows_no_link_out_of_its_folder(tmp_path: Path) -> None:
    need_live()
    need("curl")
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    secret.mkdir()
    (secret / "file").write_text("secret")
    (secret / "index.html").write_text("secret")
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("found")
    (folder / "inside").symlink_to("file")
    (folder / "out").symlink_to(secret / "file")
    (folder / "away").symlink_to(secret)
    (folder / "sub" / "index.html").symlink_to(secret / "index.html")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    script = (
        "for f in file inside out away/file away/ sub/ loop pipe ../secret/file %2e%2e/secret/file "
        "nothing; do "
        "curl -s -m 10 --path-as-is -o - -w ' %{http_code}\\n' $CROSSFADE_SERVER/$f | tail -1; done"
    )
    done = live_as({}, *LINK, "--serve", folder, "--", "sh", "-c", script)
    lines = done.stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["200", "200", *["404"] * 9], done.stdout
    assert lines[:2] == ["found 200", "found 200"]
    assert "secret" not in done.stdout.replace("/secret", "")


def test_the_server_outlives_every_client(tmp_path: Path) -> None:
    need_live()
    (tmp_path / "file").write_text("found")
    done = live_as({}, *LINK, "--serve", tmp_path, "--", sys.executable, "-c", CLIENTS)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_of_command_cannot_be_more_than_its_user(tmp_path: Path) -> None:
    """Root inside the namespaces is not root of the machine: files of root stay unchanged."""
    need_live()
    if os.geteuid() != 0:
        pytest.skip("a user without root has no rights to keep")
    target = tmp_path / "of root"
    target.write_text("kept")
    target.chmod(0o600)
    tmp_path.chmod(0o755)
    script = f"echo x > '{target}'; setpriv --reuid 0 true; mount -t tmpfs none /mnt; ip link set lo down"
    done = live_as({"SUDO_USER": "nobody"}, *LINK, "--", "sh", "-c", f"{script}; echo end")
    assert done.stdout == "end\n"
    assert target.read_text() == "kept"
    assert done.stderr.count("ermitted") + done.stderr.count("denied") >= 3, done.stderr
