"""Sphinx configuration: pages of docs/, with every figure, table and help text from the build that they
describe.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import crossfade as cf

sys.path.insert(0, str(Path(__file__).parent))

from gallery_steps import PAGES, make_gallery, program_digest
from plain_pages import for_sphinx, sources

project = "Crossfade"
author = "The Crossfade developers"
project_copyright = "The Crossfade developers"
release = cf.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "gallery/*.md"]
# Links address headings like in the plain Markdown files.
myst_heading_anchors = 4
html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "navigation_with_keys": False,
}
# The front page lists the sections itself; every other page has a sidebar with the pages of its section.
html_sidebars: dict[str, list[str]] = {"index": [], "**": ["sidebar-nav-bs"]}
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["narrow.css"]
# An attribute listed in a class's docstring gets no second index entry.
napoleon_use_ivar = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"

# Every build runs docs/notebook.md in an empty folder; an error in a cell fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

PAGES.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(PAGES)]


def make(_: Sphinx) -> None:
    """Make the stale parts of the gallery before the pages are read."""
    made = make_gallery()
    if made:
        print(f"gallery: made {', '.join(made)}")


def outdated(app: Sphinx, *_: object) -> list[str]:
    """Pages that run the program, if the program changed since the last build; otherwise none."""
    marker = Path(app.doctreedir) / "program.txt"
    program = program_digest()
    is_same = marker.exists() and marker.read_text() == program
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(program)
    return [] if is_same else ["notebook", "python"]


def with_directives(app: Sphinx, name: str, source: list[str]) -> None:
    """Give Sphinx the directives, blocks and pictures of this build; a stale block marks its page as
    stale.
    """
    page = Path(app.env.doc2path(name))
    for file in sources(source[0], page):
        app.env.note_dependency(str(file))
    source[0] = for_sphinx(source[0], page)


def setup(app: Sphinx) -> None:
    """Connect the handlers: make the gallery before pages are read, and give pages their directives."""
    app.connect("builder-inited", make)
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", with_directives)
