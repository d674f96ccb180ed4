"""Sphinx: the pages of docs/, with every figure, table and help text made by the build that they describe."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

from sphinx.application import Sphinx

import crossfade as cf
from crossfade.cli import main
from crossfade.papers import PAPERS, verdict_table

project = "Crossfade"
author = "The Crossfade developers"
project_copyright = "The Crossfade developers"
release = cf.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "gallery/*.md"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"

GALLERY = Path(__file__).parent / "gallery"
COMMANDS = ["run", "check", "schema", "explain", "verify", "paper", "plot"]


def printed(*arguments: str) -> str:
    """What a command prints; the build fails where the command does."""
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(arguments)
    if code != 0:
        raise RuntimeError(f"crossfade {' '.join(arguments)} ended with {code}")
    return text.getvalue()


def make_gallery(_: Sphinx) -> None:
    """Compute what the pages show. Runs are short (--quick); the pages say so."""
    GALLERY.mkdir(exist_ok=True)
    (GALLERY / "crossfade.txt").write_text(printed("--help"))
    for command in COMMANDS:
        (GALLERY / f"{command}.txt").write_text(printed(command, "--help"))
    (GALLERY / "explain-fd_t.txt").write_text(printed("explain", "channel.fd_t"))
    plot = ["--plot", str(GALLERY / "quickstart.png")]
    (GALLERY / "quickstart.txt").write_text(printed("run", "quickstart", *plot))
    for key, paper in PAPERS.items():
        for name in paper.FIGURES:
            outputs = ["--csv", str(GALLERY / f"{key}-{name}.csv")]
            if name.startswith("fig"):
                outputs += ["--plot", str(GALLERY / f"{key}-{name}.png")]
            printed("paper", key, name, "--quick", "--quiet", *outputs)
        for path in GALLERY.glob(f"{key}-table*.csv"):
            path.write_text(rounded(cf.Table.from_csv(path.read_text())))
        claims = verdict_table(cf.claims(key, quick=True))
        (GALLERY / f"{key}-claims.csv").write_text(shown_claims(claims))


def rounded(table: cf.Table) -> str:
    """A table for people: numbers with six significant digits, as the papers print them."""
    records = [
        {name: f"{cell:.6g}" if isinstance(cell, float) else cell for name, cell in record.items()}
        for record in table.records()
    ]
    return cf.Table.of(table.columns, records).to_csv()


def shown_claims(claims: cf.Table) -> str:
    """The claims with the columns that a page has room for."""
    records = [
        {
            "quote": record["quote"],
            "figure": record["figure"],
            "verdict": record["verdict"],
            "points": f"{record['holding']} of {record['points']}",
        }
        for record in claims.records()
    ]
    return cf.Table.of(["quote", "figure", "verdict", "points"], records).to_csv()


def setup(app: Sphinx) -> None:
    """Make the gallery before the pages are read."""
    app.connect("builder-inited", make_gallery)
