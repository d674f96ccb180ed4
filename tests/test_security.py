"""The threat model of SECURITY.md: its sections, and a test for each row."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECTIONS = [
    "A stranger's file",
    "A local user",
    "A web page in the reader's browser",
    "A neighbour in the network",
    "A hostile COMMAND",
]


def sections() -> dict[str, list[list[str]]]:
    """Rows of the table of each section, by heading."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    chapters = re.split(r"^## ", text, flags=re.MULTILINE)
    (model,) = [part for part in chapters if part.startswith("Threat model\n")]
    _, *parts = re.split(r"^### ", model, flags=re.MULTILINE)
    found = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        found[heading] = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    return found


def test_the_threat_model_has_its_five_sections() -> None:
    found = sections()
    assert list(found) == SECTIONS
    for heading, rows in found.items():
        assert len(rows) >= 2, heading
        assert all(len(row) == 4 and all(row) for row in rows), heading


def test_each_test_that_it_names_is_there() -> None:
    python = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    rust = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "crates").glob("*/tests/**/*.rs"))
    named = [name for rows in sections().values() for row in rows for name in re.findall(r"`(\w+)`", row[3])]
    assert len(named) > 40
    for name in named:
        text, begins = (python, "def") if name.startswith("test_") else (rust, "fn")
        assert re.search(rf"^ *{begins} {name}\(", text, re.MULTILINE), name
    # Rows without a test are marked, and there is at most one.
    assert sum(row[3] == "-" for rows in sections().values() for row in rows) <= 1
