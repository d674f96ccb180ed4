"""Stored tables of figures of papers, so that a build of the pages draws full runs without computing them.

``papers/figures/KEY-NAME.csv`` is the output of ``crossfade paper KEY NAME --csv``;
``papers/figures/made.csv`` has the command of each, and a digest of the paper's scenarios and the results
version. ``VARIANTS`` are figures that are also drawn under another reading or over other axes. ``python
scripts/draw_papers.py KEY`` computes stale tables, and a test fails while there are any.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import crossfade as cf
from crossfade.figures.plot import plot
from crossfade.papers import PAPERS, paper_table

FOLDER = Path(__file__).parent / "papers" / "figures"
MADE = FOLDER / "made.csv"
COLUMNS = ["paper", "figure", "digest", "command"]


@dataclass(frozen=True)
class Variant:
    """A figure under another reading or over other axes, and the addition to its title."""

    figure: str
    says: str = ""
    reading: str | None = None
    over: Mapping[str, Sequence[str | float]] = field(default_factory=dict)

    @property
    def options(self) -> str:
        """Arguments of the command that makes the figure."""
        axes = (f"{name}={','.join(map(str, values))}" for name, values in self.over.items())
        reading = f" --reading {self.reading}" if self.reading else ""
        return reading + "".join(f" --over {axis}" for axis in axes)


VARIANTS = {
    ("tcp-markov", "fig2-ns2"): Variant("fig2", "marks of ns-2's rules", over={"sender": ["paper", "ns2"]}),
    ("mimo-mac", "k-wider"): Variant(
        "k",
        "wider interference",
        over={
            "interference_class": ["wider"],
            "mac": ["nulling", "nulling-genie"],
            "rule": ["paper", "full"],
        },
    ),
    ("wipemu", "fig5-14.6-db"): Variant("fig5", "reading 14.6-db", "14.6-db", {"target_nmse": [0, 0.1]}),
    ("wipemu", "fig6-14.6-db"): Variant("fig6", "reading 14.6-db", "14.6-db", {"target_nmse": [0, 0.1]}),
}


def variant(key: str, name: str) -> Variant:
    """A variant by its name; any other name is that of the figure itself."""
    return VARIANTS.get((key, name), Variant(name))


def made() -> dict[tuple[str, str], dict[str, str]]:
    """Stored figures, by paper and figure: digest and command."""
    rows = cf.store.Table.read(MADE).records() if MADE.exists() else []
    found = [{name: str(row[name]) for name in COLUMNS} for row in rows]
    return {(row["paper"], row["figure"]): row for row in found}


def digest(key: str, name: str = "") -> str:
    """Digest of everything that determines a figure of a paper: twelve hexadecimal digits."""
    scenarios = {}
    for path in sorted(PAPERS[key].SET.folder.glob("*.toml")):
        if path.stem not in ("claims", "readings"):
            with open(path, "rb") as file:
                found = tomllib.load(file)
            scenarios[path.stem] = {name: part for name, part in found.items() if name != "title"}
    decides: list[object] = [scenarios, cf.reference.RESULTS_VERSION]
    if drawn := VARIANTS.get((key, name)):
        readings = PAPERS[key].SET.readings()
        read = readings.find(key, drawn.reading).of(drawn.figure) if drawn.reading else None
        decides.append([read, drawn.over])
    text = json.dumps(decides, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stale() -> list[tuple[str, str]]:
    """Stored figures whose scenarios, or the results version, have changed."""
    return [place for place, row in made().items() if row["digest"] != digest(*place)]


def make(key: str, name: str, quick: bool = False, jobs: int | None = None) -> None:
    """Compute the table of a figure, and store it."""
    asked = variant(key, name)
    over = dict(asked.over) or None
    table = paper_table(key, asked.figure, quick=quick, jobs=jobs, reading=asked.reading, over=over)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{key}-{name}.csv").write_text(_rounded(table).to_csv(), encoding="utf-8")
    command = f"crossfade paper {key} {asked.figure}{asked.options}{' --quick' if quick else ''}"
    rows = made() | {(key, name): dict(zip(COLUMNS, (key, name, digest(key, name), command), strict=True))}
    text = cf.store.Table.of(COLUMNS, (dict(rows[place]) for place in sorted(rows))).to_csv()
    MADE.write_text(text, encoding="utf-8")


def _rounded(table: cf.store.Table) -> cf.store.Table:
    """A table with numbers of seven digits: more than a figure shows, at half the bytes."""
    rows = [[float(f"{cell:.7g}") if isinstance(cell, float) else cell for cell in row] for row in table.rows]
    return cf.store.Table(table.columns, rows)


def draw(key: str, name: str, folder: Path) -> None:
    """Draw a stored figure, as ``crossfade paper KEY NAME --plot`` does, and copy its table."""
    table = cf.store.Table.read(FOLDER / f"{key}-{name}.csv")
    asked = variant(key, name)
    figure = PAPERS[key].FIGURES[asked.figure]
    (folder / f"{key}-{name}.csv").write_text(table.to_csv(), encoding="utf-8")
    drawing = figure.asked(table)
    title = f"{drawing['title']}, {asked.says}" if asked.says else drawing["title"]
    plot(figure.to_draw(table), str(folder / f"{key}-{name}.png"), **drawing | {"title": title})
