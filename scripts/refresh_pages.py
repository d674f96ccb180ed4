"""Write the generated pages of the reference (docs/reference_pages.py), and into the other pages what the
gallery holds, for those who read them without a build (docs/plain_pages.py).

Usage: make docs && python scripts/refresh_pages.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import reference_pages
from plain_pages import DOCS, GALLERY, PICTURES, filled, parts

# Enough colours for lines, and a third of the bytes.
COLOURS = 64
WIDTH = 900


def main() -> None:
    """All pages, and the pictures that they show."""
    reference_pages.write()
    PICTURES.mkdir(exist_ok=True)
    made = (GALLERY, DOCS / "_build")
    pages = [page for page in DOCS.rglob("*.md") if not any(map(page.is_relative_to, made))]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    found = [directive for text in texts for directive, _ in parts(text)]
    shown = {Path(directive.argument).name for directive in found if directive.kind == "figure"}
    for old in PICTURES.glob("*.png"):
        if old.name not in shown:
            old.unlink()
    for name in sorted(shown):
        if (GALLERY / name).exists():
            picture = Image.open(GALLERY / name).convert("RGB")
            picture.thumbnail((WIDTH, 4 * WIDTH))
            picture.quantize(COLOURS).save(PICTURES / name, optimize=True)
    for page, text in zip(pages, texts, strict=True):
        page.write_text(filled(text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
