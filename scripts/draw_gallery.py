"""Draw the thumbnails of docs/scenario-gallery.md, and fill its tables with the titles of the scenarios.

If another page shows the figure of a scenario, the thumbnail is a small copy of it. Every other scenario runs
here, with two runs (one shorter run if two would take minutes). A scenario without axes shows its flows over
time.

Usage: ``python scripts/draw_gallery.py [--all] [NAME ...]`` draws missing thumbnails, all, or the named ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import crossfade as cf

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "python" / "crossfade" / "scenarios"
PAGE = ROOT / "docs" / "scenario-gallery.md"
PICTURES = ROOT / "docs" / "pictures"
THUMBS = PICTURES / "thumbnails"
ROW = re.compile(r"^\| \[`(?P<name>[\w./-]+)`\]\((?P<link>[^)]+)\) \|.*$", re.MULTILINE)
WIDTH = 260
# Settings for scenarios that would take minutes: short runs that show the shape of the curves.
SHORT = {
    "modern/loss-long-path": ["run.duration=15 s"],
    "modern/rfc8869-cellular": ["run.duration=31 s"],
    "mimo-arq": ["run.duration=10 s"],
    "nr-blocks": ["run.frames=40"],
}

# Further arguments: a closed form down to usual error rates, where simulated blocks would take minutes.
MORE = {"nr-blocks": ["--method", "formula", "--where", "frame_error_rate>1e-4"]}
# Scenarios without a figure: tables behind the figures of papers, from hours of frames or without a metric.
WITHOUT_FIGURE = ("papers/mimo-arq/combining", "papers/mimo-arq/fer", "papers/mimo-mac/reuse")


def title(name: str) -> str:
    """Title of a scenario that comes with Crossfade, from its TOML file."""
    return str(tomllib.loads((SCENARIOS / f"{name}.toml").read_text(encoding="utf-8"))["title"])


def thumb(name: str) -> Path:
    """File of the thumbnail of a scenario."""
    return THUMBS / f"{name.replace('/', '-')}.png"


def shown_elsewhere(name: str) -> Path | None:
    """The file in docs/pictures/ with the figure of a scenario, if a page shows one."""
    names = (name.removeprefix("papers/").replace("/", "-"), name.rpartition("/")[2])
    own = {"formulas-against-memory": "formulas"}.get(name)
    found = (PICTURES / f"{one}.png" for one in ((own,) if own else names))
    return next((path for path in found if path.exists()), None)


def draw(name: str) -> bool:
    """Draw the thumbnail of a scenario, 260 pixels wide; returns whether there is a figure."""
    THUMBS.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        figure = shown_elsewhere(name)
        if figure is None:
            figure = Path(folder) / "figure.png"
            shorter = SHORT.get(name, [])
            command = [sys.executable, "-m", "crossfade", "run", name, "--quiet"]
            command += ["--runs", "1" if shorter else "2", *(f"--set={change}" for change in shorter)]
            command += MORE.get(name, [])
            subprocess.run([*command, "--plot", str(figure)], check=False, timeout=1800)
        if not figure.exists():  # a scenario of one point: draw its flows over time
            cf.pictures.plot_events(cf.runs.samples(name, every="100 ms"), figure)
        if not figure.exists():
            return False
        with Image.open(figure) as picture:
            small = picture.convert("RGB")
        small.thumbnail((WIDTH, WIDTH * 2), Image.Resampling.LANCZOS)
        # 256 colours are half the bytes of a small picture; undithered, so that curves stay plain.
        small.quantize(256, dither=Image.Dither.NONE).save(thumb(name), optimize=True)
    return True


def row(found: re.Match[str]) -> str:
    """Table line of a scenario: its title, and its thumbnail if there is one."""
    name, link = found["name"], found["link"]
    said = title(name).replace("|", "\\|")
    figure = f"![{said}](pictures/thumbnails/{thumb(name).name})" if thumb(name).exists() else ""
    return f"| [`{name}`]({link}) | {said} | {figure} |"


def filled(page: str) -> str:
    """The page with current titles and thumbnails in the lines of its tables."""
    return ROW.sub(row, page)


def main() -> None:
    """Draw the missing thumbnails, all, or those named on the command line, and fill the page."""
    names = [found["name"] for found in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    asked = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    for name in asked or names:
        is_missing = not thumb(name).exists() and name not in WITHOUT_FIGURE
        if asked or "--all" in sys.argv or is_missing:
            print(name, "drawn" if draw(name) else "not drawn", flush=True)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
