"""`make audit`: findings are printed and fail it, and checks that cannot run are printed as skipped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMPY = re.search(r"^numpy==([\d.]+)", (ROOT / "locks" / "python.txt").read_text(), re.MULTILINE)
assert NUMPY is not None
CLEAN = 'case "$*" in *advisories) echo "advisories ok" ;; *) echo "bans ok, licenses ok, sources ok" ;; esac'
NO_DATABASE = """case "$*" in
*advisories) echo "failed to fetch advisory-db: FETCH_HEAD" >&2; exit 1 ;;
*) echo "bans ok, licenses ok, sources ok" ;; esac"""


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "cargo", CLEAN)
    program(folder, "pip-audit", answer([]))
    return folder


def answer(vulnerabilities: list[str], skipped: int = 0) -> str:
    found: list[dict[str, object]] = [
        {"name": "a", "version": "1", "vulns": [{"id": i} for i in vulnerabilities]}
    ]
    found += [{"name": f"b{number}", "skip_reason": "x"} for number in range(skipped)]
    return f"echo '{json.dumps({'dependencies': found})}'; exit {1 if vulnerabilities else 0}"


def audit(programs: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "audit.py"), *words],
        env={**os.environ, "PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_nothing_found(programs: Path) -> None:
    code, out, _ = audit(programs)
    assert code == 0
    assert out.splitlines() == [
        "crates: bans ok, licenses ok, sources ok",
        "crates: advisories ok",
        "Python packages: 1 asked about, 0 vulnerabilities",
    ]


def test_what_could_not_be_asked_is_not_taken_for_clean(programs: Path) -> None:
    program(programs, "cargo", NO_DATABASE)
    program(programs, "pip-audit", answer([], skipped=3))
    code, out, _ = audit(programs)
    assert code == 0
    assert "SKIPPED: advisories of crates" in out
    assert "SKIPPED: vulnerabilities of 3 of 4 Python packages" in out
    program(programs, "pip-audit", "echo 'ConnectionError: no route' >&2; exit 1")
    assert "SKIPPED: vulnerabilities of Python packages: ConnectionError: no route" in audit(programs)[1]


@pytest.mark.parametrize(
    ("offline", "code"), [("echo 'advisories ok'", 0), ("echo 'error: RUSTSEC-1' >&2; exit 1", 1)]
)
def test_a_clone_of_the_advisories_is_read_where_none_can_be_fetched(
    programs: Path, offline: str, code: int
) -> None:
    online = NO_DATABASE.removeprefix('case "$*" in')
    program(programs, "cargo", f'case "$*" in *--offline*) {offline} ;;{online}')
    status, out, _ = audit(programs)
    assert status == code
    assert "crates: the database of advisories could not be renewed" in out
    assert ("RUSTSEC-1" if code else "crates: advisories ok") in out
    assert "SKIPPED" not in out


def test_what_is_found_fails(programs: Path) -> None:
    program(programs, "pip-audit", answer(["PYSEC-1"], skipped=1))
    code, out, _ = audit(programs)
    assert (code, "a: PYSEC-1" in out) == (1, True)
    program(programs, "pip-audit", answer([]))
    program(programs, "cargo", "echo 'error[banned]: two versions of b' >&2; exit 1")
    code, out, _ = audit(programs)
    assert (code, "two versions of b" in out) == (1, True)


def test_a_program_that_is_missing_is_one_line(programs: Path) -> None:
    (programs / "pip-audit").unlink()
    code, _, err = audit(programs)
    assert (code, err) == (2, "error: no pip-audit on the PATH: pip install pip-audit\n")


def test_a_folder_of_vulnerabilities_is_read(programs: Path, tmp_path: Path) -> None:
    (programs / "pip-audit").unlink()
    folder = tmp_path / "osv"
    folder.mkdir()
    assert audit(programs, str(folder))[0] == 2
    assert NUMPY is not None

    def known(name: str, package: str, versions: list[str], **more: str) -> None:
        affected = [{"package": {"ecosystem": "PyPI", "name": package}, "versions": versions}]
        (folder / f"{name}.json").write_text(json.dumps({"id": name, "affected": affected, **more}))

    known("OLD-1", "numpy", ["0.1"])
    known("GONE-1", "numpy", [NUMPY[1]], withdrawn="2026-01-01T00:00:00Z")
    code, out, _ = audit(programs, str(folder))
    assert (code, out.splitlines()[-1][-17:]) == (0, "0 vulnerabilities")
    known("NEW-1", "NumPy", ["0.1", NUMPY[1]])
    code, out, _ = audit(programs, str(folder))
    assert (code, f"numpy {NUMPY[1]}: NEW-1" in out) == (1, True)
