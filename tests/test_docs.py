"""The front page leads to every page, the notebook is the page, and pages read well without a build."""

from __future__ import annotations

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

plain_pages = import_module("plain_pages")


def test_the_front_page_leads_to_every_page() -> None:
    index = (DOCS / "index.md").read_text()
    linked = set(re.findall(r"\]\(([\w/-]+)\.md\)", index))
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    pages = {page for page in pages if not page.startswith(("gallery/", "_build/", "classics/"))} - {"index"}
    assert linked == pages | {"classics/index"}
    # What is linked is in the tree of pages, too.
    for page in linked:
        assert re.search(rf"^{page}$", index, re.MULTILINE) or page.startswith("papers/"), page


def test_the_notebook_is_the_page() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_notebook.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    assert made["NOTEBOOK"].read_text(encoding="utf-8") == made["notebook"](page)


def pages() -> list[Path]:
    """What a reader of a clone opens: the files beside the code, and the pages."""
    beside = sorted(ROOT.glob("*.md"))
    return [*beside, *(page for page in DOCS.rglob("*.md") if not {"gallery", "_build"} & {*page.parts})]


def plain(page: Path) -> str:
    """What stands on a page that nobody has built: comments are not seen."""
    return re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub names them in links."""
    text = re.sub(r"^```.*?^```$", "", plain(page), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_are_there(page: Path) -> None:
    if page.name == "CHANGES.md":  # says where things were
        return
    named = re.findall(r"`((?:bench|crates|docs|examples|python|scripts|tests)/[^`\s]+)`", plain(page))
    missing = [name for name in named if not any(ROOT.glob(name.partition("::")[0].rstrip("/")))]
    assert [name for name in missing if "NAME" not in name] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_is_dead_in_a_clone(page: Path) -> None:
    text = re.sub(r"^(```+).*?^\1$", "", plain(page), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        # What a build makes is not in a clone.
        assert found.exists(), target
        assert not {"gallery", "_build"} & {*found.relative_to(ROOT).parts}, target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_readable_text_where_it_has_directives(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Code cells are code; other directives, roles and reStructuredText are for Sphinx alone.
    assert not re.search(r"^[`:]{3,}\{(?!code-cell)|^\.\. \w+::|\{[\w:]+\}`\w", plain(page), re.MULTILINE)
    for directive, shown in plain_pages.parts(text):
        # A picture speaks for itself.
        is_shown = shown.startswith("![") or len(shown.split()) >= 2
        assert directive.kind == "toctree" or is_shown, directive
    # What comes from the repository itself is as it is there.
    for part in plain_pages.PART.finditer(text):
        directive = plain_pages.Directive.read(part["directive"])
        if not any("gallery" in name for name in directive.sources()):
            assert plain_pages.filled(part[0], page) == part[0], "python scripts/refresh_pages.py"
    assert plain_pages.for_sphinx(text).count("<!-- sphinx") == 0


def where_tests_are() -> dict[str, list[str]]:
    """Where the tests of the Rust crates and of this package are, by name: paths in the repository."""
    found: dict[str, list[str]] = {}
    for folder, pattern, test in (
        ("crates", "*.rs", r"#\[test\]\s+(?:#\[.*\]\s+)*fn (\w+)"),
        ("tests", "test_*.py", r"^def (test_\w+)"),
    ):
        for path in (ROOT / folder).rglob(pattern):
            for name in re.findall(test, path.read_text(encoding="utf-8"), re.MULTILINE):
                found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return found


def test_the_cases_of_the_transports_have_their_tests() -> None:
    tests = where_tests_are()
    named = re.findall(r"`([\w/]+\.(?:rs|py))::(\w+)`", (DOCS / "transport-cases.md").read_text())
    assert len(named) > 100
    for file, name in named:
        assert sum(path.endswith(f"/{file}") for path in tests.get(name, [])) == 1, f"{file}::{name}"


def test_the_packetdrill_scripts_have_their_tests() -> None:
    covered = (DOCS / "packetdrill.md").read_text().partition("## Covered")[2].partition("\n## ")[0]
    cells = [line.split("|")[4] for line in covered.splitlines() if line.startswith("| ")][1:]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert len(named) >= 30
    assert named <= where_tests_are().keys()
