"""Tables of figures of papers that are kept beside their pages, so that a build of the pages draws full runs.

``papers/figures/KEY-NAME.csv`` is what ``crossfade paper KEY NAME --csv`` writes; ``papers/figures/made.csv``
says by which command, and holds a digest of the paper's scenarios and the results version. ``python
scripts/draw_papers.py KEY`` makes those anew whose digest is stale, and a test fails while there are any.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import crossfade as cf
from crossfade.figures.plot import plot
from crossfade.papers import PAPERS, paper_table

FOLDER = Path(__file__).parent / "papers" / "figures"
MADE = FOLDER / "made.csv"
COLUMNS = ["paper", "figure", "digest", "command"]


def made() -> dict[tuple[str, str], dict[str, str]]:
    """What is kept, by paper and figure: the digest, and the command."""
    rows = cf.store.Table.read(MADE).records() if MADE.exists() else []
    found = [{name: str(row[name]) for name in COLUMNS} for row in rows]
    return {(row["paper"], row["figure"]): row for row in found}


def digest(key: str) -> str:
    """Of all that decides the figures of a paper: twelve hexadecimal digits."""
    scenarios = {}
    for path in sorted(PAPERS[key].SET.folder.glob("*.toml")):
        if path.stem not in ("claims", "readings"):
            with open(path, "rb") as file:
                found = tomllib.load(file)
            scenarios[path.stem] = {name: part for name, part in found.items() if name != "title"}
    text = json.dumps([scenarios, cf.reference.RESULTS_VERSION], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stale() -> list[tuple[str, str]]:
    """The figures that are kept of other scenarios."""
    return [place for place, row in made().items() if row["digest"] != digest(place[0])]


def make(key: str, name: str, quick: bool = False, jobs: int | None = None) -> None:
    """Compute the table of a figure, and keep it."""
    table = paper_table(key, name, quick=quick, jobs=jobs)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{key}-{name}.csv").write_text(_rounded(table).to_csv(), encoding="utf-8")
    command = f"crossfade paper {key} {name}{' --quick' if quick else ''}"
    rows = made() | {(key, name): dict(zip(COLUMNS, (key, name, digest(key), command), strict=True))}
    text = cf.store.Table.of(COLUMNS, (dict(rows[place]) for place in sorted(rows))).to_csv()
    MADE.write_text(text, encoding="utf-8")


def _rounded(table: cf.store.Table) -> cf.store.Table:
    """Numbers with seven digits: beyond what a figure shows, and half the bytes."""
    rows = [[float(f"{cell:.7g}") if isinstance(cell, float) else cell for cell in row] for row in table.rows]
    return cf.store.Table(table.columns, rows)


def draw(key: str, name: str, folder: Path) -> None:
    """Draw a figure that is kept, as ``crossfade paper KEY NAME --plot`` does, and copy its table."""
    table = cf.store.Table.read(FOLDER / f"{key}-{name}.csv")
    figure = PAPERS[key].FIGURES[name]
    (folder / f"{key}-{name}.csv").write_text(table.to_csv(), encoding="utf-8")
    plot(figure.to_draw(table), str(folder / f"{key}-{name}.png"), **figure.asked(table))
