"""The record of what a release was built with: true, whole, and without a host."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "resolved_versions.py"))
crates, differences = SCRIPT["crates"], SCRIPT["differences"]
RECORDED = (ROOT / "resolved.txt").read_text().splitlines()


def test_a_line_is_a_name_a_version_and_a_checksum() -> None:
    assert sorted(RECORDED) == RECORDED
    for line in RECORDED:
        assert re.fullmatch(r"(crate|python) [\w.-]+=[\w.+-]+ sha256:[0-9a-f]{64}", line), line


def test_what_is_pinned_is_what_is_recorded() -> None:
    # What stands behind a plus sign tells nothing of versions (semver.org, rule 10).
    versions = {line.partition(" sha256:")[0].partition("+")[0] for line in RECORDED}
    pinned = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    for name, what in pinned.items():
        version = what if isinstance(what, str) else what.get("version")
        if version is not None:  # the others are crates of ours
            assert f"crate {name}={version.removeprefix('=')}" in versions
    constraints = dict(
        re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = SCRIPT["for_users"](project)
    assert {"gymnasium>=1.0", "distributed>=2024.8", "scipy>=1.13"} < set(named)
    for requirement in named:
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None
        assert f"python {name[0]}={constraints[name[0]]}" in versions


def test_no_recorded_checksum_is_another_here() -> None:
    """A version is one package, whenever it was resolved; other versions may be resolved by now."""
    if not (ROOT / "Cargo.lock").exists():
        pytest.skip("nothing is resolved here")
    found = differences(RECORDED, crates((ROOT / "Cargo.lock").read_text()))
    assert not [line for line in found if line.endswith("another checksum")]


def test_what_differs_is_named() -> None:
    recorded = ["crate a=1.0.0 sha256:11", "crate b=1.0.0 sha256:22"]
    here = ["crate a=1.0.0 sha256:12", "crate b=1.0.1 sha256:23", "crate c=1.0.0 sha256:33"]
    assert differences(recorded, recorded) == []
    assert differences(recorded, here) == [
        "crate a=1.0.0: another checksum",
        "crate b=1.0.1: another version is recorded",
        "crate c=1.0.0: not recorded",
    ]
