"""Lists of locked packages: complete, without host names, and enforced by cargo and pip."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "locks.py"))
RUST = (ROOT / "locks" / "rust.txt").read_text().splitlines()
PYTHON = (ROOT / "locks" / "python.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo on the PATH")


def cargo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["cargo", *words, "--offline"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A workspace with copies of the manifests, its own Cargo.lock and list."""
    folder = tmp_path / "copy"
    (folder / "locks").mkdir(parents=True)
    for name in ("crates", "examples"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("Cargo.toml", "locks/rust.txt"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_a_line_is_a_name_a_version_and_a_checksum() -> None:
    for line in RUST:
        assert re.fullmatch(r"[\w-]+ (- -|[\w.+-]+ sha256:[0-9a-f]{64})( [\w-]+(@[\w.+-]+)?)*", line), line
    packages = SCRIPT["entries"](PYTHON)
    assert len(packages) > 100
    for name, entry in packages:
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}", entry)
        assert hashes, name
        assert entry.count("--") == len(hashes), f"{name}: an option that is no hash"


@pytest.mark.parametrize("name", ["rust.txt", "python.txt"])
def test_no_list_names_a_host(name: str) -> None:
    text = (ROOT / "locks" / name).read_text()
    assert not re.search(r"://|index-url|find-links|registry\+|git\+", text)


def test_what_is_pinned_by_name_is_listed() -> None:
    versions = {" ".join(line.split()[:2]).partition("+")[0] for line in RUST}
    pinned = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    for name, what in pinned.items():
        version = what if isinstance(what, str) else what.get("version")
        if version is not None:  # crates without a version are this project's
            assert f"{name} {version.removeprefix('=')}" in versions
    SCRIPT["check_constraints"](PYTHON, (ROOT / "constraints.txt").read_text(), PROJECT)


@needs_cargo
def test_cargo_takes_the_lock_file_of_the_list_as_its_own(copy: Path) -> None:
    SCRIPT["write_cargo_lock"](copy)
    found = cargo(copy, "tree", "--locked", "--workspace", "-e", "all", "--prefix", "none")
    if "attempting to make an HTTP request" in found.stderr or "failed to download" in found.stderr:
        pytest.skip("not all crates are on this machine")
    assert found.returncode == 0, found.stderr
    # Cargo rewrites the file identically, byte by byte, and the lines read back are equal.
    written = (copy / "Cargo.lock").read_text()
    assert cargo(copy, "metadata", "--format-version", "1").returncode == 0
    assert (copy / "Cargo.lock").read_text() == written
    assert SCRIPT["listed_crates"](written) == RUST


@needs_cargo
def test_what_is_right_is_not_written_again(copy: Path) -> None:
    SCRIPT["write_cargo_lock"](copy)
    os.utime(copy / "Cargo.lock", (1, 1))
    SCRIPT["write_cargo_lock"](copy)
    assert (copy / "Cargo.lock").stat().st_mtime == 1
    (copy / "Cargo.lock").write_text("version = 4\n")
    SCRIPT["write_cargo_lock"](copy)
    assert 'name = "libm"' in (copy / "Cargo.lock").read_text()


@needs_cargo
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("\nlibm 0.2.16 ", "\nlibm 0.2.15 ", "libm 0.2.15, Cargo.toml has 0.2.16"),
        ("\ncrossfade-cell - - ", "\ncrossfade-cells - - ", "has no crossfade-cell"),
        ("\ncrossfade-core - - ", "\ncrossfade-core - - itoa ", "does not need itoa by its Cargo.toml"),
    ],
)
def test_what_the_manifests_need_otherwise_is_one_line(copy: Path, old: str, new: str, told: str) -> None:
    path = copy / "locks" / "rust.txt"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(SCRIPT["LockError"]) as raised:
        SCRIPT["write_cargo_lock"](copy)
    assert told in str(raised.value)
    assert str(raised.value).endswith("make lock renews the list")
    assert "\n" not in str(raised.value)
    assert not (copy / "Cargo.lock").exists()


@needs_cargo
def test_cargo_refuses_another_checksum(copy: Path) -> None:
    path = copy / "locks" / "rust.txt"
    path.write_text(re.sub(r"(?m)^(libm \S+ sha256:).{8}", r"\g<1>00000000", path.read_text()))
    SCRIPT["write_cargo_lock"](copy)
    found = cargo(copy, "tree", "--locked", "--workspace")
    if "attempting to make an HTTP request" in found.stderr:
        pytest.skip("not all crates are on this machine")
    assert found.returncode != 0
    assert "checksum for `libm" in found.stderr


def test_a_group_is_what_it_needs_and_nothing_else() -> None:
    names = {
        group: SCRIPT["pinned"](SCRIPT["of_groups"](PYTHON, [group]))
        for group in SCRIPT["groups_of"](PROJECT)
    }
    assert {"numpy", "pandas", "pillow"} <= names["run"].keys()
    assert "pytest" not in names["run"]
    assert {"pytest", "scipy"} <= names["test"].keys()
    assert names["build"].keys() == {"maturin"}
    assert names["gym"].keys() < names["test"].keys()
    with pytest.raises(SCRIPT["LockError"], match=r"^locks/python.txt: has no group tests \(build, "):
        SCRIPT["of_groups"](PYTHON, ["run", "tests"])


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        ("numpy==2.4.5\n", "numpy 2.4.6, constraints.txt has 2.4.5"),
        ("nothing-such==1\n", "nothing-such nothing, constraints.txt has 1"),
    ],
)
def test_constraints_that_the_list_does_not_meet_are_one_line(constraints: str, told: str) -> None:
    with pytest.raises(SCRIPT["LockError"]) as raised:
        SCRIPT["check_constraints"](PYTHON.replace("numpy==2.4.7", "numpy==2.4.6"), constraints, PROJECT)
    assert told in str(raised.value)


def test_a_requirement_that_is_not_listed_is_one_line() -> None:
    more = {**PROJECT, "build-system": {"requires": ["maturin", "hatchling"]}}
    with pytest.raises(
        SCRIPT["LockError"], match=r"^locks/python.txt: has no hatchling for build; make lock"
    ):
        SCRIPT["check_constraints"](PYTHON, "", more)


def test_pip_refuses_a_package_with_another_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "few-1.0-py3-none-any.whl"
    subprocess.run(
        [sys.executable, "-c", MAKE_WHEEL, str(wheel)], check=True, capture_output=True, cwd=tmp_path
    )
    listed = tmp_path / "listed.txt"
    listed.write_text(f"# run\nfew==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--no-index",
        "--find-links",
        str(tmp_path),
    ]
    found = subprocess.run(
        [*command, "--require-hashes", "-r", str(listed)], capture_output=True, text=True, check=False
    )
    assert found.returncode != 0
    assert "DO NOT MATCH" in found.stderr


MAKE_WHEEL = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("few.py", "")
    wheel.writestr("few-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: few\\nVersion: 1.0\\n")
    kind = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    wheel.writestr("few-1.0.dist-info/WHEEL", kind)
    wheel.writestr("few-1.0.dist-info/RECORD", "few.py,,\\nfew-1.0.dist-info/RECORD,,\\n")
"""


def test_what_is_installed_in_another_version_is_named() -> None:
    here = metadata.version("numpy")
    assert SCRIPT["differences"](f"numpy=={here}\nnothing-such==1\n") == []
    assert SCRIPT["differences"](f"NumPy=={here}.1 ; python_version >= '3.11' \\\n") == [
        f"numpy {here}: the list has {here}.1"
    ]
