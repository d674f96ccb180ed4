"""`crossfade verify` on golden traces: unchanged ones agree, and one altered row is reported."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli

GOLDEN = Path(__file__).parent / "data" / "golden" / "ns2"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """Folder with a copy of one unpacked trace and its patterns."""
    folder = tmp_path / "golden"
    folder.mkdir()
    shutil.copyfile(GOLDEN / "patterns.json", folder / "patterns.json")
    packed = GOLDEN / "sends_base_reno.csv.gz"
    (folder / "sends_base_reno.csv").write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


def test_every_case_is_a_line_and_the_last_one_counts(cli: Cli, golden: Path) -> None:
    outcome = cli("verify", golden)
    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert lines[0].startswith("ok   sends_base_reno c1_single ")
    assert lines[0].endswith(" rows")
    cases = len(lines) - 1
    assert lines[-1] == f"{cases} cases: {cases} identical, 0 different"
    assert cases == len(
        {line.split(",")[0] for line in (golden / "sends_base_reno.csv").read_text().splitlines()[1:]}
    )


@pytest.mark.parametrize("column", ["k", "time", "seq", "dropped", "cwnd", "ssthresh", "dupacks", "backoff"])
def test_one_altered_number_is_found_and_named(cli: Cli, golden: Path, column: str) -> None:
    file = golden / "sends_base_reno.csv"
    lines = file.read_text().splitlines()
    index = lines[0].split(",").index(column)
    cells = lines[500].split(",")
    cells[index] = (
        repr(float(cells[index]) + 0.001) if column in ("time", "cwnd") else str(int(cells[index]) ^ 1)
    )
    lines[500] = ",".join(cells)
    file.write_text("\n".join(lines) + "\n")
    outcome = cli("verify", golden)
    assert outcome.code == 1
    failed = [line for line in outcome.out.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 1
    assert f"FAIL sends_base_reno {cells[0]} " in failed[0]
    assert "first difference: " in failed[0]
    assert column in failed[0].split("first difference")[1]
    assert outcome.out.splitlines()[-1].endswith("1 different")


@pytest.mark.parametrize(
    ("folder", "cases", "rows"), [("ns2", 96, 97869), ("ns2-short", 480, 31120), ("wifi", 60, 60)]
)
def test_every_golden_row_is_identical(folder: str, cases: int, rows: int) -> None:
    reports = cf.reference.verify(GOLDEN.parent / folder)
    assert [report for report in reports if report.difference is not None] == []
    assert (len(reports), sum(report.rows for report in reports)) == (cases, rows)


def test_a_missing_last_row_is_a_difference(cli: Cli, golden: Path) -> None:
    file = golden / "sends_base_reno.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    assert cli("verify", golden).code == 1


def test_nothing_compared_is_a_failure(cli: Cli, golden: Path) -> None:
    (golden / "sends_base_reno.csv").unlink()
    outcome = cli("verify", golden)
    assert (outcome.code, outcome.out) == (1, "0 cases: 0 identical, 0 different\n")


def test_packed_and_unpacked_files_are_the_same(golden: Path) -> None:
    packed = GOLDEN / "sends_base_reno.csv.gz"
    unpacked = cf.reference.verify(golden)
    (golden / "sends_base_reno.csv").unlink()
    shutil.copyfile(packed, golden / packed.name)
    assert cf.reference.verify(golden) == unpacked


def test_a_duration_that_differs_and_a_mode_that_does_not_exist_are_named(cli: Cli, tmp_path: Path) -> None:
    table = (GOLDEN.parent / "wifi" / "durations.csv").read_text().replace(",248000", ",248001")
    (tmp_path / "durations.csv").write_text(table)
    outcome = cli("verify", tmp_path)
    assert outcome.code == 1
    failed = [line for line in outcome.out.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 1
    assert failed[0].endswith("first difference: duration_ns is 248001 there and 248000 here")
    (tmp_path / "durations.csv").write_text(table.splitlines()[0] + "\nac,9,20,800,1536,1\n")
    outcome = cli("verify", tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "durations.csv line 2: mcs = 9: must be another one: 802.11ac at 20 MHz" in outcome.err
