"""plotly.js for pages that ask the network for nothing: a file of its own, which loads no matplotlib."""

from __future__ import annotations

from importlib import resources

ASSETS = "assets"
LIBRARY = "plotly-basic.min.js"


def plotly_js() -> str:
    """The source of plotly.js, the basic bundle, to stand in a script of a page.

    It comes with the package, under its own licence (MIT), and draws lines, marks and bars.
    """
    file = resources.files("crossfade.figures") / ASSETS / LIBRARY
    return file.read_text(encoding="utf-8").replace("</script", "<\\/script")
