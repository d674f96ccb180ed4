"""The short form of the trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trials.attacks import flipped_bits, killed_merges, killed_sweeps, make_results, tampered_reads


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return make_results(tmp_path)


def test_no_flipped_bit_gives_other_numbers_silently(results: Path, tmp_path: Path) -> None:
    assert flipped_bits(results, tmp_path, 100).total() == 100


def test_no_tampered_file_gives_a_traceback(results: Path, tmp_path: Path) -> None:
    assert tampered_reads(results, tmp_path, 50).total() == 50


def test_a_killed_merge_leaves_nothing_half(results: Path, tmp_path: Path) -> None:
    assert killed_merges(results, tmp_path, 2).total() == 2


def test_a_killed_sweep_goes_on_to_the_same_rows(results: Path, tmp_path: Path) -> None:
    assert killed_sweeps(results, tmp_path, 1).total() == 1
