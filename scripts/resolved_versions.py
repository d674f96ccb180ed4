"""What a release was built and tested with, in ``resolved.txt``: as a lock file says it, but for the hosts.

``python scripts/resolved_versions.py write`` writes the file of what is resolved and installed here,
``check`` says what is another version here, or has another checksum, and exits with 1 then. A line is
``crate NAME=VERSION sha256:CHECKSUM``, with the checksum of the package as Cargo.lock has it, or
``python NAME=VERSION sha256:CHECKSUM``, with that of the files as they were installed (a digest of the list
of their digests, so it depends on the platform).
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "resolved.txt"


# What users install with the package, where they want it; the other extras are for those who work on it.
EXTRAS = ("cluster", "export", "gym")


def crates(lock: str) -> list[str]:
    """The lines of a Cargo.lock: packages from a registry, which have a checksum."""
    packages = tomllib.loads(lock)["package"]
    return [
        f"crate {package['name']}={package['version']} sha256:{package['checksum']}"
        for package in packages
        if "checksum" in package
    ]


def wanted(requirement: str) -> str | None:
    """The name in a requirement that holds here, normalised; None for an extra's or another platform's."""
    name, _, marker = requirement.partition(";")
    if "extra" in marker or "win32" in marker or "Windows" in marker or "emscripten" in marker:
        return None
    found = re.match(r"[A-Za-z0-9._-]+", name.strip())
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else None


def packages(direct: list[str]) -> list[str]:
    """The lines of installed packages: these, and what they need."""
    left, lines = [name for name in map(wanted, direct) if name], {}
    while left:
        name = left.pop()
        if name in lines:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # not needed by this version of Python
            continue
        lines[name] = f"python {name}={package.version} sha256:{digest(package)}"
        left += [other for other in map(wanted, package.requires or []) if other]
    return list(lines.values())


def digest(package: metadata.Distribution) -> str:
    """A digest of the digests of a package's files, but of those that an installer makes."""
    files = [
        f"{file} {file.hash.value}"
        for file in package.files or []
        if file.hash is not None
        and file.parts[0] != ".."
        and file.name not in ("INSTALLER", "direct_url.json")
    ]
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()


def resolved() -> list[str]:
    """The lines for what is resolved and installed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted({*crates((ROOT / "Cargo.lock").read_text()), *packages(for_users(project))})


def for_users(project: dict[str, Any]) -> list[str]:
    """What the package needs, and what it can use."""
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(needed for extra in EXTRAS for needed in extras[extra])]


def differences(recorded: list[str], here: list[str]) -> list[str]:
    """What is another version, or has another checksum, and what is not recorded."""
    known = {line.partition("=")[0]: line for line in recorded}
    of_version = {line.partition(" sha256:")[0] for line in recorded}
    differing = [line for line in here if line not in recorded]
    return [
        f"{line.partition(' sha256:')[0]}: "
        + (
            "another checksum"
            if line.partition(" sha256:")[0] in of_version
            else "another version is recorded"
            if line.partition("=")[0] in known
            else "not recorded"
        )
        for line in differing
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        RECORD.write_text("\n".join(resolved()) + "\n")
    elif sys.argv[1:] == ["check"]:
        found = differences(RECORD.read_text().splitlines(), resolved())
        print("\n".join(found) or f"all as in {RECORD.name}")
        sys.exit(1 if found else 0)
    else:
        sys.exit(__doc__)
