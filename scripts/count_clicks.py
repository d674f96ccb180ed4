"""Count how many clicks each page of the built documentation is away from its first page.

The script reads the links in the HTML of ``make docs``, follows them breadth first from the first page, and
prints the pages at each number of clicks. With ``TEXT`` only links in the text of pages count, not those of
the sidebar, header and footer. For named pages it prints the shortest path to each.

Usage: ``python scripts/count_clicks.py [TEXT] [PAGE...]``. The exit code is 1 if a page takes more than
three clicks.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BUILT = Path(__file__).parents[1] / "docs" / "_build" / "html"
MOST = 3


class Links(HTMLParser):
    """Parser for the targets of the links of a page, and of those in its text."""

    def __init__(self) -> None:
        super().__init__()
        self.everywhere: list[str] = []
        self.in_text: list[str] = []
        self._article = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, and where the text of the page begins."""
        self._article += tag == "article"
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self.everywhere.append(target)
            if self._article:
                self.in_text.append(target)

    def handle_endtag(self, tag: str) -> None:
        """Note where the text of the page ends."""
        self._article -= tag == "article"


def targets(page: Path, text_only: bool) -> set[Path]:
    """Pages of the site to which a page links."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    found = set()
    for target in links.in_text if text_only else links.everywhere:
        parts = urlsplit(target)
        if not parts.scheme and not parts.netloc and parts.path.endswith(".html"):
            found.add((page.parent / unquote(parts.path)).resolve())
    return {path for path in found if path.exists() and path.is_relative_to(BUILT)}


def ways(text_only: bool) -> dict[Path, list[Path]]:
    """Shortest path of links from the first page to each page that can be reached."""
    first = BUILT / "index.html"
    found = {first: [first]}
    waiting = [first]
    for page in waiting:
        for target in sorted(targets(page, text_only) - found.keys()):
            found[target] = [*found[page], target]
            waiting.append(target)
    return found


def name(page: Path) -> str:
    """Name of a page in the documentation."""
    return page.relative_to(BUILT).with_suffix("").as_posix()


def main(arguments: list[str]) -> int:
    """Print the pages by number of clicks, or paths to the named pages; returns 1 if a page is too far
    away.
    """
    text_only = "TEXT" in arguments
    found = ways(text_only)
    wanted = [argument for argument in arguments if argument != "TEXT"]
    for one in wanted:
        way = found.get(BUILT / f"{one}.html")
        print(f"{len(way) - 1} clicks: {' > '.join(map(name, way))}" if way else f"{one}: not reached")
    docs = BUILT.parents[1]
    made = {"_build", "gallery"}
    sources = (page.relative_to(docs) for page in docs.rglob("*.md"))
    pages = {(BUILT / page).with_suffix(".html") for page in sources if not made & {*page.parts}}
    clicks = {page: len(found[page]) - 1 if page in found else None for page in pages}
    for count in sorted({count for count in clicks.values() if count is not None}):
        print(f"{count} clicks: {sum(other == count for other in clicks.values())} pages")
    far = sorted(name(page) for page, count in clicks.items() if count is None or count > MOST)
    print(f"more than {MOST} clicks, or not reached: {', '.join(far) or 'none'} of {len(pages)} pages")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
