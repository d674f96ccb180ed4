"""Controls in Rust and other users: the chosen compiler, the compiled sources, the loaded libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.cli.live import doctor
from crossfade.files import compiled, private
from crossfade.files.compiled import CompiledControl
from tests.conftest import Cli, expect_one_line, long_form
from tests.test_rust_controls import RENO, compiled_in, rows, run

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")

# No toolchain of this name is installed, so obeying the file would leave no compiler.
TOOLCHAIN = '[toolchain]\nchannel = "of-a-stranger"\n'
STRANGER = 12345


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Separate cache folder, without knowledge of libraries loaded before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for known in (compiled._checked, compiled._opened, compiled._said_by, compiled._behind):
        known.cache_clear()
    return tmp_path / "cache" / "crossfade" / "controls"


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the library of the example, for tests whose subject isn't its compilation."""
    return compiled_in(tmp_path_factory.mktemp("controls"), RENO)


@pytest.fixture
def library(cache: Path, compiled_once: Path) -> Path:
    """The library of the example in the cache folder."""
    shutil.copytree(compiled_once, cache)
    path, is_new = CompiledControl("mine.rs", RENO).build()
    assert not is_new
    return path


def other_owner(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives a file away")
    os.chown(path, STRANGER, STRANGER)


def test_a_toolchain_file_of_the_temporary_or_the_working_folder_chooses_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "rust-toolchain.toml").write_text(TOOLCHAIN)
    obeys = subprocess.run(["rustc", "--version"], cwd=shared, capture_output=True, check=False).returncode
    if shutil.which("rustup"):
        assert obeys != 0, "the file is one that rustup obeys"
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.chdir(shared)
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "mine.rs").write_text(RENO)
    built = cli("control", "build", str(tmp_path / "mine.rs"))
    assert (built.code, built.err) == (0, "")
    path = compiled.rustc_path()
    assert path is not None
    assert Path(path).is_absolute()
    assert f", {path})" in built.out
    found = doctor._rustc()
    assert found.is_good
    assert path in found.found
    # The control was built in a folder that only this user may write.
    assert [name for name in os.listdir(shared) if name != "rust-toolchain.toml"] == []
    assert cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('include!("{part}")', "{part}"),
        long_form('include_str!("{part}").len() as f64', "{part}"),
        ('option_env!("MINE").map_or(2.0, |text| text.len() as f64)', "environment variable MINE"),
    ],
    ids=["code", "text", "environment"],
)
def test_a_control_that_reads_more_than_its_file_is_refused(
    cache: Path, tmp_path: Path, cli: Cli, text: str, words: str
) -> None:
    part = tmp_path / "part of it.rs"
    part.write_text("2.0")
    text, words = (word.replace("{part}", str(part)) for word in (text, words))
    mine = tmp_path / "mine.rs"
    mine.write_text(RENO.replace("window / 2.0).max(2.0)", f"window / 2.0).max({text})"))
    assert mine.read_text() != RENO
    failed = cli("control", "build", str(mine))
    expect_one_line(failed, "mine.rs: reads", words, "a control is one file")
    assert list(cache.iterdir()) == []


def test_a_folder_that_others_own_or_may_write_to_is_refused(
    cache: Path, compiled_once: Path, tmp_path: Path
) -> None:
    shutil.copytree(compiled_once, cache)
    cache.chmod(0o777)
    with pytest.raises(cf.errors.ScenarioError, match=r"controls: others may write to it \(mode 0777\)"):
        run(tmp_path, RENO)
    cache.chmod(0o755)
    cache.parent.chmod(0o757)
    with pytest.raises(cf.errors.ScenarioError, match=r"crossfade: others may write to it \(mode 0757\)"):
        run(tmp_path, RENO)
    cache.parent.chmod(0o755)
    assert rows(run(tmp_path, RENO))
    assert cache.stat().st_mode & 0o777 == 0o700
    other_owner(cache)
    with pytest.raises(cf.errors.ScenarioError, match=r"controls: belongs to another user \(uid 12345"):
        run(tmp_path, RENO)


def test_a_library_of_somebody_else_is_not_loaded(library: Path, tmp_path: Path) -> None:
    for path in (library, compiled._hash_of(library)):
        path.chmod(0o666)
        compiled._checked.cache_clear()
        with pytest.raises(cf.errors.ScenarioError, match="others may write to it"):
            run(tmp_path, RENO)
        path.chmod(0o600)
    elsewhere = tmp_path / "library.so"
    library.rename(elsewhere)
    library.symlink_to(elsewhere)
    with pytest.raises(cf.errors.ScenarioError, match="cannot be read"):
        run(tmp_path, RENO)
    library.unlink()
    elsewhere.rename(library)
    assert rows(run(tmp_path, RENO))
    other_owner(library)
    compiled._checked.cache_clear()
    with pytest.raises(cf.errors.ScenarioError, match="belongs to another user"):
        run(tmp_path, RENO)


@pytest.mark.parametrize("memory", [True, False])
def test_what_is_loaded_is_what_was_hashed(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: bool
) -> None:
    """A library exchanged between its check and its loading is not executed."""
    if not memory:
        monkeypatch.delattr(os, "memfd_create")
    checked = compiled._checked

    def exchanged(path: Path) -> bytes:
        data = checked(path)
        path.write_bytes(b"no library")
        return data

    monkeypatch.setattr(compiled, "_checked", exchanged)
    assert rows(run(tmp_path, RENO))
    assert library.read_bytes() == b"no library"


def test_bytes_in_memory_are_sealed() -> None:
    name = private.as_file(b"of this user", ".so")
    if not name.startswith("/proc/"):
        pytest.skip("no memory files here")
    with pytest.raises(PermissionError), open(name, "r+b") as file:
        file.write(b"another")
    assert Path(name).read_bytes() == b"of this user"
