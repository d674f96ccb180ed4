"""Contents of built packages: locked crates, the commit, and in a source archive all files of git."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.files.commit import WRITTEN, commit_of
from tests.conftest import long_form

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "scripts"

needs_clone = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None or shutil.which("cargo") is None,
    reason="an archive is made in a clone, with git and cargo",
)


def backend(tmp_path: Path, root: Path, function: str) -> subprocess.CompletedProcess[str]:
    """Call a build hook as pip does: in a new process, in the project's folder, with pip's installs on
    PATH.
    """
    call = f"import build_backend; build_backend.{function}({str(tmp_path)!r})"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'scripts'); {call}"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@needs_clone
@pytest.mark.parametrize("folders", [long_form(["a"], id="once"), long_form(["a", "b"], id="twice")])
def test_an_archive_has_what_git_has_with_lock_file_and_commit(tmp_path: Path, folders: list[str]) -> None:
    packed = []
    for folder in (tmp_path / name for name in folders):
        folder.mkdir()
        done = backend(folder, ROOT, "build_sdist")
        assert done.returncode == 0, done.stderr
        (archive,) = folder.iterdir()
        packed.append(archive.read_bytes())
    assert len(set(packed)) == 1, "one commit gives one archive"
    name = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
        # What differs between machines and from one time to the next is the commit's, or not there.
        of_all = {(file.mtime, file.uid, file.gid, file.uname, file.gname) for file in opened}
        names = opened.getnames()
    when = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, check=True)
    assert of_all == {(int(when.stdout), 0, 0, "", "")}
    assert int.from_bytes(packed[0][4:8], "little") == int(when.stdout)
    assert names[:-1] == sorted(names[:-1])
    there = {path.relative_to(tmp_path / name).as_posix() for path in (tmp_path / name).rglob("*")}
    git = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    made = {"Cargo.lock", "PKG-INFO", f"python/crossfade/{WRITTEN}"}
    assert set(git.stdout.split("\n")) - {""} | made <= there
    assert not [file for file in there if file.endswith((".so", ".pyc"))]
    assert (tmp_path / name / ".ci" / "run").stat().st_mode & 0o111
    lock = tomllib.loads((tmp_path / name / "Cargo.lock").read_text())
    listed = [line.split() for line in (ROOT / "locks" / "rust.txt").read_text().splitlines()]
    assert {(p["name"], p["version"]) for p in lock["package"] if "checksum" in p} == {
        (words[0], words[1]) for words in listed if words[1] != "-"
    }
    # The package reads the commit that the build wrote.
    commit = commit_of(tmp_path / name / "python" / "crossfade")
    assert commit is not None
    assert commit.startswith(cf.__version__.partition("+g")[2])
    assert not (ROOT / "python" / "crossfade" / WRITTEN).exists()
    # A source archive is not a clone, and cannot make another archive.
    again = backend(tmp_path, tmp_path / name, "build_sdist")
    assert again.returncode != 0
    assert "a source archive is made in a clone" in again.stderr


def test_whatever_is_built_is_locked() -> None:
    sys.path.insert(0, str(SCRIPTS))
    try:
        locked = runpy.run_path(str(SCRIPTS / "build_backend.py"))["locked"]
    finally:
        sys.path.remove(str(SCRIPTS))
    assert locked(None) == {"build-args": ["--locked"]}
    assert locked({"build-args": "--profile dev"}) == {"build-args": ["--profile", "dev", "--locked"]}
    assert locked({"maturin.build-args": ["-v"], "x": 1}) == {"x": 1, "build-args": ["-v", "--locked"]}
