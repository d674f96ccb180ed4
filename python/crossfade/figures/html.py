"""Source of plotly.js for pages without network: a file of its own, which does not load matplotlib."""

from __future__ import annotations

from importlib import resources

ASSETS = "assets"
LIBRARY = "plotly-basic.min.js"


def plotly_js() -> str:
    """Source text of plotly.js (basic bundle), to be put into a script of a page.

    It is part of the package, under its own licence (MIT), and draws lines, marks and bars.
    """
    file = resources.files("crossfade.figures") / ASSETS / LIBRARY
    return file.read_text(encoding="utf-8").replace("</script", "<\\/script")
