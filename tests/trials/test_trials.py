"""Attack trials in their short form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import long_form
from tests.trials.attacks import flipped_bits, killed_merges, killed_sweeps, make_results, tampered_reads
from tests.trials.strangers import strangers
from tests.trials.watched import canaries, difference, snapshot

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return make_results(tmp_path)


def test_no_flipped_bit_gives_other_numbers_silently(results: Path, tmp_path: Path) -> None:
    assert flipped_bits(results, tmp_path, 100).total() == 100


def test_no_tampered_file_gives_a_traceback(results: Path, tmp_path: Path) -> None:
    assert tampered_reads(results, tmp_path, 50).total() == 50


def test_a_killed_merge_leaves_nothing_half(results: Path, tmp_path: Path) -> None:
    assert killed_merges(results, tmp_path, 2).total() == 2


@pytest.mark.long  # tests/sweeps/test_sweep.py has a sweep that is killed three times
def test_a_killed_sweep_goes_on_to_the_same_rows(results: Path, tmp_path: Path) -> None:
    assert killed_sweeps(results, tmp_path, 1).total() == 1


@pytest.mark.parametrize("files", [24, long_form(75)])
def test_a_strangers_file_does_nothing_to_the_reader(files: int) -> None:
    found = strangers(files, seed=4)
    assert found["a result"] > files // 15
    assert found["refused in one line"] > 0.4 * files
    assert sum(times for name, times in found.items() if name.startswith("kind ")) == files


def test_the_watch_sees_what_a_file_must_not_lead_to(tmp_path: Path) -> None:
    """The watch reports each forbidden step, tried in a process of its own because a watch cannot be
    removed.
    """
    program = """
import os, sys
from pathlib import Path
from tests.trials.watched import Watch
folder = Path(sys.argv[1])
watch = Watch([folder / "out"])
watch.begin()
(folder / "out").mkdir()
(folder / "out" / "allowed").write_text("x")
(folder / "other").write_text("x")
os.rename(folder / "out" / "allowed", folder / "renamed")
os.symlink("x", folder / "link")
os.remove(folder / "other")
import socket, subprocess
socket.socket().connect_ex(("127.0.0.1", 9))
subprocess.run(["true"])
import ctypes
ctypes.CDLL(None)
with watch.paused():
    print(*(line.split()[0] for line in watch.found))
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    told = done.stdout.split()
    expected = [
        "open",
        "os.rename",
        "os.symlink",
        "os.remove",
        "socket.connect",
        "subprocess.Popen",
        "ctypes.dlopen",
    ]
    assert [event for event in expected if event in told] == expected


def test_a_change_of_another_file_is_seen(tmp_path: Path) -> None:
    folder = canaries(tmp_path)
    before = snapshot(folder)
    assert difference(before, snapshot(folder)) == []
    (folder / "victim.txt").write_text((folder / "victim.txt").read_text())
    (folder / "home" / "thesis.tex").unlink()
    (folder / "tmp" / "new").write_text("")
    (folder / "home" / ".bashrc").chmod(0o777)
    assert sorted(difference(before, snapshot(folder))) == [
        "changed: home/.bashrc",
        "changed: victim.txt",
        "gone: home/thesis.tex",
        "new: tmp/new",
    ]
