"""The front page leads to every page, and the notebook is the page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


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
