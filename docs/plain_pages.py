"""Pages that read well as they lie, without a build.

What only Sphinx can show stands in a comment, and behind it what a reader of the plain file sees instead::

    <!-- sphinx
    ```{literalinclude} gallery/quickstart.txt
    :language: text
    ```
    -->
    ```text
    (what that file holds)
    ```
    <!-- /sphinx -->

:func:`for_sphinx` puts the first in the place of the second; :func:`filled` makes the second anew from what
the first names. ``python scripts/refresh_pages.py`` does so with all pages, once ``make docs`` has made the
gallery.
"""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
# Copies of the figures that the gallery has, for those who have not built it.
PICTURES = DOCS / "pictures"

PART = re.compile(
    r"^<!-- sphinx\n(?P<directive>.*?)\n-->\n(?P<plain>.*?)^<!-- /sphinx -->$", re.DOTALL | re.MULTILINE
)
DIRECTIVE = re.compile(
    r"^```\{(?P<kind>[\w-]+)\} ?(?P<argument>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
OPTION = re.compile(r"^:([\w-]+):(?: (.*))?$")
OBJECT = re.compile(
    r"^\.\. auto(?P<kind>function|class|module):: (?P<name>[\w.]+)\n?(?:   :members: (?P<members>.+))?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Directive:
    """One of MyST's: its kind, argument, options and text."""

    kind: str
    argument: str
    options: dict[str, str]
    text: str

    @classmethod
    def read(cls, directive: str) -> Directive:
        found = DIRECTIVE.match(directive)
        if found is None:
            raise ValueError(f"no directive: {directive}")
        lines = found["body"].splitlines()
        options = {}
        while lines and (option := OPTION.match(lines[0])):
            options[option[1]] = option[2] or ""
            del lines[0]
        return cls(found["kind"], found["argument"], options, "\n".join(lines).strip())

    def sources(self) -> Iterator[str]:
        """The files that it shows, as the page names them."""
        if self.kind in ("literalinclude", "figure"):
            yield self.argument
        elif self.kind == "csv-table":
            yield self.options["file"]


def for_sphinx(text: str) -> str:
    """A page with its directives."""
    return PART.sub(lambda part: part["directive"], text)


def parts(text: str) -> Iterator[tuple[Directive, str]]:
    """The directives of a page, and what stands for each."""
    for part in PART.finditer(text):
        yield Directive.read(part["directive"]), part["plain"]


def filled(text: str, page: Path) -> str:
    """A page whose plain parts are what its directives say; those of files that are not there stay."""
    return PART.sub(partial(_filled, page), text)


def _filled(page: Path, part: re.Match[str]) -> str:
    directive = Directive.read(part["directive"])
    there = all((page.parent / name).exists() for name in directive.sources())
    if there or directive.kind == "figure":
        plain = PLAIN[directive.kind](directive, page.parent)
    else:
        plain = part["plain"] or "(Made by `make docs`.)\n"
    return f"<!-- sphinx\n{part['directive']}\n-->\n{plain}<!-- /sphinx -->"


def _included(directive: Directive, folder: Path) -> str:
    lines = (folder / directive.argument).read_text(encoding="utf-8").splitlines()
    if start := directive.options.get("start-at"):
        lines = lines[next(at for at, line in enumerate(lines) if start.strip('"') in line) :]
    if end := directive.options.get("end-before"):
        lines = lines[: next(at for at, line in enumerate(lines) if end.strip('"') in line)]
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    fence = "````" if "```" in text else "```"
    return f"{fence}{directive.options.get('language', 'text')}\n{text}\n{fence}\n"


def _pictured(directive: Directive, folder: Path) -> str:
    name = Path(directive.argument).name
    up = "../" * len(folder.relative_to(DOCS).parts)
    caption = directive.text
    alt = alternative(caption) or name.removesuffix(".png")
    if not (PICTURES / name).exists():
        return f"(A figure that `make docs` draws.) {caption}\n"
    return f"![{alt}]({up}{PICTURES.name}/{name})\n" + (f"\n{caption}\n" if caption else "")


def alternative(caption: str) -> str:
    """The alternative text of a picture: the caption's first sentence, whole, without marks."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(caption.split()))
    return re.sub(r"[`*\[\]]", "", re.split(r"(?<=[.?!]) (?=[A-Z])", text)[0]).removesuffix(".")


def _tabled(directive: Directive, folder: Path) -> str:
    with (folder / directive.options["file"]).open(encoding="utf-8", newline="") as file:
        rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in csv.reader(file)]
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    title = f"{directive.argument}:\n\n" if directive.argument else ""
    return title + "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _listed(directive: Directive, _: Path) -> str:
    """Functions and classes with the first line of what is said of them."""
    lines = []
    for found in OBJECT.finditer(directive.text):
        name, what = found["name"], _object(found["name"])
        if found["kind"] == "module" and found["members"]:
            lines += [
                f"- `{part}`: {_first_line(getattr(what, part))}" for part in found["members"].split(", ")
            ]
        else:
            called = name.replace("crossfade.", "cf.", 1) if name.count(".") == 1 else name
            lines.append(f"- `{called}`: {_first_line(what)}")
    return "".join(f"{line}\n" for line in lines)


def _object(name: str) -> object:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(_object(module), attribute)


def _first_line(found: object) -> str:
    text = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")


def _nothing(_: Directive, __: Path) -> str:
    return ""


PLAIN = {
    "literalinclude": _included,
    "figure": _pictured,
    "csv-table": _tabled,
    "eval-rst": _listed,
    "toctree": _nothing,
}
