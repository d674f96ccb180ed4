"""Audit the dependencies in ``locks/``: licences, duplicates and sources of crates, known vulnerabilities.

Usage: ``python scripts/audit.py [OSV]``. ``cargo deny`` (rules: ``deny.toml``) checks the crates,
``pip-audit`` the Python packages. A check that needs a network and has none prints SKIPPED, which is no clean
result. Without a network ``cargo deny`` uses the clone of the advisories in its own folder, if there is one.
``OSV`` is a folder of vulnerabilities of Python packages in the OSV format (one JSON file each), read in
place of ``pip-audit``.

The exit code is 0 if nothing was found, 1 if something was, and 2 if a program is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from locks import PYTHON, ROOT, LockError, entries, normal, pinned

DENY = "cargo install --locked cargo-deny"
AUDIT = "pip install pip-audit"
# Messages of cargo deny if it has no database of advisories and cannot fetch one.
NO_DATABASE = (
    "failed to fetch",
    "FETCH_HEAD",
    "unable to clone",
    "failed to clone",
    "No such file or directory",
)


def ask(command: list[str], install: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a program; :class:`LockError` if it is missing."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LockError(f"no {command[0]} on the PATH: {install}") from None
    if "no such command" in done.stderr:
        raise LockError(f"no {' '.join(command[:2])}: {install}")
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def has_no_database(code: int, err: str) -> bool:
    """True if ``cargo deny`` failed because it has no database of advisories."""
    return bool(code) and "advisory-db" in err and any(words in err for words in NO_DATABASE)


def crates() -> bool:
    """True if the crates follow deny.toml and have no known advisory; prints the findings."""
    code, out, err = ask(["cargo", "deny", "check", "licenses", "bans", "sources"], DENY)
    print(err if code else f"crates: {(out or err).splitlines()[-1]}")
    is_clean = code == 0
    code, out, err = ask(["cargo", "deny", "check", "advisories"], DENY)
    if has_no_database(code, err):
        # Offline, cargo deny reads the clone that it has, however old.
        code, out, err = ask(["cargo", "deny", "--offline", "check", "advisories"], DENY)
        if not has_no_database(code, err):
            print("crates: the database of advisories could not be renewed")
    if has_no_database(code, err):
        print("SKIPPED: advisories of crates: no database on this machine, and none can be fetched")
        return is_clean
    print(err if code else f"crates: {(out or err).splitlines()[-1]}")
    return is_clean and code == 0


def packages() -> bool:
    """True if ``pip-audit`` knows no vulnerability of the locked Python packages; prints the known ones."""
    command = ["pip-audit", "--disable-pip", "--require-hashes", "--format", "json", "-r", str(PYTHON)]
    code, out, err = ask(command, AUDIT)
    try:
        found: list[dict[str, Any]] = json.loads(out)["dependencies"]
    except ValueError:
        if not code:
            raise LockError(f"pip-audit: no JSON ({out[:80]})") from None
        print(f"SKIPPED: vulnerabilities of Python packages: {(err or 'pip-audit failed').splitlines()[-1]}")
        return True
    known = [package for package in found if "skip_reason" not in package]
    worse = [
        (package["name"], vulnerability["id"]) for package in known for vulnerability in package["vulns"]
    ]
    for name, vulnerability in worse:
        print(f"{name}: {vulnerability}")
    if skipped := len(found) - len(known):
        print(f"SKIPPED: vulnerabilities of {skipped} of {len(found)} Python packages: not known there")
    print(f"Python packages: {len(known)} asked about, {len(worse)} vulnerabilities")
    return not worse


def recorded(folder: Path, versions: dict[str, set[str]]) -> Iterable[tuple[str, str, str]]:
    """Package, version and name of each vulnerability that a folder of OSV files has of these versions."""
    for file in sorted(folder.rglob("*.json")):
        told = json.loads(file.read_text("utf-8"))
        if "withdrawn" in told:
            continue
        for affected in told.get("affected", []):
            package = affected.get("package", {})
            if package.get("ecosystem") == "PyPI":
                name = normal(package["name"])
                for version in versions.get(name, set()) & set(affected.get("versions", [])):
                    yield name, version, told["id"]


def packages_by(folder: Path) -> bool:
    """True if a folder of OSV files has no vulnerability of the locked Python packages; prints the others."""
    if not any(folder.rglob("*.json")):
        raise LockError(f"{folder}: no vulnerabilities in the OSV format (one JSON file each)")
    found = list(recorded(folder, pinned(PYTHON.read_text())))
    for name, version, vulnerability in found:
        print(f"{name} {version}: {vulnerability}")
    print(f"Python packages: {len(entries(PYTHON.read_text()))} looked up, {len(found)} vulnerabilities")
    return not found


def main(words: list[str]) -> int:
    """Audit crates and Python packages; returns the exit code."""
    if len(words) > 1 or words[:1] == ["--help"]:
        sys.exit(__doc__)
    are_clean = [crates(), packages_by(Path(words[0])) if words else packages()]
    return 0 if all(are_clean) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LockError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
