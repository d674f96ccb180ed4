"""Write the generated pages of the reference (docs/reference_pages.py), and into the other pages what the
gallery holds, for those who read them without a build (docs/plain_pages.py).

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

# What a page shows.
PICTURE = re.compile(r"pictures/([\w.-]+\.png)")
# Pictures of the program at work, which the gallery does not have.
TAKEN = {"explorer.png"}


def keep(drawn: Path, kept: Path) -> None:
    """Keep a picture as it was drawn: every pixel has its colour, and only the file is packed better."""
    picture = Image.open(drawn).convert("RGB")
    picture.save(kept, optimize=True)


def main() -> None:
    """All pages, and the pictures that they show."""
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
