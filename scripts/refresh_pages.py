"""Write all generated parts of the documentation, for readers without a build.

The script writes the pages of docs/reference/ from the code (docs/reference_pages.py), fills the blocks of
all other pages from docs/gallery/ (docs/plain_pages.py), and copies the pictures that pages show from
docs/gallery/ to docs/pictures/. ``make docs`` makes docs/gallery/.

Usage: make docs && python scripts/refresh_pages.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import reference_pages
from plain_pages import DOCS, GALLERY, PICTURES, filled

# A picture that a page shows.
PICTURE = re.compile(r"pictures/([\w.-]+\.png)")
# Screenshots (scripts/draw_explorer.py), which docs/gallery/ does not have.
TAKEN = {"explorer.png"}


def keep(drawn: Path, kept: Path) -> None:
    """Copy a picture with the colour of every pixel; only the compression of the file is better."""
    picture = Image.open(drawn).convert("RGB")
    picture.save(kept, optimize=True)


def main() -> None:
    """Write all pages and the pictures that they show; delete pictures that none shows."""
    reference_pages.write()
    PICTURES.mkdir(exist_ok=True)
    made = (GALLERY, DOCS / "_build")
    pages = [page for page in DOCS.rglob("*.md") if not any(map(page.is_relative_to, made))]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    shown = {
        name
        for text in (*texts, (DOCS.parent / "README.md").read_text(encoding="utf-8"))
        for name in PICTURE.findall(text)
    }
    for old in PICTURES.glob("*.png"):
        if old.name not in shown:
            old.unlink()
    for name in sorted(shown - TAKEN):
        if (GALLERY / name).exists():
            keep(GALLERY / name, PICTURES / name)
    for page, text in zip(pages, texts, strict=True):
        page.write_text(filled(text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
