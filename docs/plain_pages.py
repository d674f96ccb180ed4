"""Pages that a code host and Sphinx show alike: figures and outputs are part of the Markdown text.

Above each block that the program generates, a comment names the file with its content::

    <!-- from gallery/quickstart.txt -->
    ```text
    (content of the file)
    ```

The block is fenced text, or a table from a CSV file. ``<!-- from FILE start="..." end="..." -->`` takes a
part of a file: from the first line that contains ``start`` to the line before the next that contains ``end``.
Pictures are in ``pictures/``.

:func:`filled` updates the blocks of a page; ``python scripts/refresh_pages.py`` does so for all pages, after
``make docs`` has made the gallery. :func:`for_sphinx` also replaces pictures by those that the build has
drawn. Trees of pages and docstrings, which plain Markdown lacks, are in comments::

    <!-- sphinx
    ```{toctree}
    ...
    ```
    -->
    <!-- /sphinx -->
"""

from __future__ import annotations

import csv
import inspect
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
# Copies of figures of the gallery, for readers without a build.
PICTURES = DOCS / "pictures"

PART = re.compile(
    r"^<!-- sphinx\n(?P<directive>.*?)\n-->\n(?P<plain>.*?)^<!-- /sphinx -->$", re.DOTALL | re.MULTILINE
)
BLOCK = re.compile(
    r'^<!-- from (?P<source>\S+)(?: start="(?P<start>[^"]*)")?(?: end="(?P<end>[^"]*)")? -->\n'
    r"(?P<block>(?P<fence>`{3,})(?P<language>\w*)\n.*?^(?P=fence)\n|(?:\|[^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
PICTURE = re.compile(r"(?<=\]\()(?:\.\./)*pictures/(?P<name>[\w.-]+\.(?:png|svg))(?=\))")
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
    """A MyST directive: its kind, argument, options and text."""

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


def for_sphinx(text: str, page: Path) -> str:
    """A page as Sphinx reads it: with its directives, current blocks, and the pictures that the build has
    drawn.
    """
    text = PART.sub(lambda part: part["directive"], filled(text, page))
    return PICTURE.sub(partial(_drawn, page), text)


def parts(text: str) -> Iterator[tuple[Directive, str]]:
    """Directives of a page, each with its plain replacement text."""
    for part in PART.finditer(text):
        yield Directive.read(part["directive"]), part["plain"]


def sources(text: str, page: Path) -> Iterator[Path]:
    """Files from which the blocks of a page come."""
    for block in BLOCK.finditer(text):
        yield page.parent / block["source"]


def filled(text: str, page: Path) -> str:
    """A page with the current content of its blocks; a block whose file is missing stays as it is."""
    text = BLOCK.sub(partial(_block, page), text)
    return PART.sub(partial(_part, page), text)


def _block(page: Path, block: re.Match[str]) -> str:
    file = page.parent / block["source"]
    if not file.exists():
        return block[0]
    head, _, _ = block[0].partition("\n")
    made = _table(file) if file.suffix == ".csv" and not block["fence"] else _fenced(file, block)
    return f"{head}\n{made}"


def _fenced(file: Path, block: re.Match[str]) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    if block["start"]:
        lines = lines[_line_with(lines, "start", block) :]
    if block["end"]:
        lines = lines[: _line_with(lines, "end", block)]
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    fence = "````" if "```" in text else "```"
    return f"{fence}{block['language']}\n{text}\n{fence}\n"


def _line_with(lines: list[str], marker: str, block: re.Match[str]) -> int:
    """Index of the first line with the text of a marker (``start`` or ``end``) of a block."""
    for at, line in enumerate(lines):
        if block[marker] in line:
            return at
    where = " after the line of its start" if marker == "end" and block["start"] else ""
    raise ValueError(f'no line of {block["source"]} holds the marker {marker}="{block[marker]}"{where}')


def _table(file: Path) -> str:
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in csv.reader(opened)]
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _drawn(page: Path, picture: re.Match[str]) -> str:
    drawn = GALLERY / picture["name"]
    return os.path.relpath(drawn, page.parent) if drawn.exists() else picture[0]


def _part(page: Path, part: re.Match[str]) -> str:
    directive = Directive.read(part["directive"])
    plain = _listed(directive) if directive.kind == "eval-rst" else ""
    return f"<!-- sphinx\n{part['directive']}\n-->\n{plain}<!-- /sphinx -->"


def _listed(directive: Directive) -> str:
    """Markdown list of functions and classes with the first sentence of their docstrings."""
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
