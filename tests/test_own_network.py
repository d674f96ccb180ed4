"""The kind of network of docs/own-model.md: its patch applies to this tree, and its results are right."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crossfade.cli.facts import network_lines

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "polling-network"
MOST_FILES = 9


def _new() -> list[Path]:
    new = EXAMPLE / "new"
    return sorted(file.relative_to(new) for file in new.rglob("*") if file.is_file())


def _touched() -> list[str]:
    patch = (EXAMPLE / "existing.patch").read_text(encoding="utf-8")
    return re.findall(r"^\+\+\+ b/(.*)$", patch, re.MULTILINE)


def _apply(tree: Path) -> None:
    """Add the page's new files, and apply its patch to the existing ones."""
    shutil.copytree(EXAMPLE / "new", tree, dirs_exist_ok=True)
    patch = EXAMPLE / "existing.patch"
    done = subprocess.run(
        ["patch", "-p1", "--no-backup-if-mismatch", "-i", str(patch)],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_the_patch_applies_to_this_tree(tmp_path: Path) -> None:
    for name in _touched():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    _apply(tmp_path)
    assert "mod polling;" in (tmp_path / "crates/scenario/src/networks/mod.rs").read_text(encoding="utf-8")


def test_it_costs_as_many_files_as_the_page_says() -> None:
    files = [str(file) for file in _new()] + _touched()
    assert len(set(files)) == len(files) <= MOST_FILES
    for name in _new():
        assert not (ROOT / name).exists(), f"{name} is in the tree, and no example any more"
    page = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
    section = page.split("## A network of your own")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert sorted(row.removeprefix("examples/polling-network/new/") for row in rows) == sorted(files)


def test_a_kind_without_words_of_its_own_is_told_by_its_numbers() -> None:
    facts = {"stations": 8, "full_cycle_s": 8e-3, "saturated_station_bps": 1e6, "names": ["a"], "fair": True}
    lines = network_lines("polling", facts, {"tcp": {}, "flows": {"up": {"traffic": "saturated"}}})
    assert lines == [
        "polling: stations 8, full cycle 8 ms, saturated station 1 Mbit/s",
        "flow up: saturated",
    ]


@pytest.mark.long
def test_its_own_tests_pass_in_a_copy_of_the_tree(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("crates", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    _apply(tmp_path)
    for command in (
        ["fmt", "--check", "-p", "crossfade-mac", "-p", "crossfade-scenario", "-p", "crossfade-experiment"],
        ["test", "--lib", "-p", "crossfade-mac", "-p", "crossfade-experiment", "polling"],
    ):
        target = ["--target-dir", str(ROOT / "target")] if command[0] == "test" else []
        done = subprocess.run(
            ["cargo", command[0], *target, *command[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        if target:
            passed = [int(count) for count in re.findall(r"test result: ok. (\d+) passed", done.stdout)]
            assert sum(passed) == 5, done.stdout
