"""Scripts of pages: valid in a browser, in strict mode, and without debugging statements."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests.browser import browse

PACKAGE = Path(__file__).parents[1] / "python" / "crossfade"
SCRIPTS = [path for path in PACKAGE.rglob("*.js") if ".min." not in path.name]
PAGES = [path for path in PACKAGE.rglob("*.html") if "<script>" in path.read_text(encoding="utf-8")]


def scripts() -> dict[str, str]:
    """Every script of the package by its file, including scripts inside pages."""
    found = {path.name: path.read_text(encoding="utf-8") for path in SCRIPTS}
    for page in PAGES:
        inside = re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), re.DOTALL)
        # Scripts with template placeholders are left out.
        own = [text for text in inside if "@@" not in text and "{{" not in text]
        found |= {f"{page.name} {number}": text for number, text in enumerate(own)}
    return found


def read_by_a_browser(texts: dict[str, str], folder: Path) -> dict[str, str]:
    """Errors of a browser about each script; empty without errors."""
    page = folder / "scripts.html"
    data = json.dumps(texts).replace("<", "\\u003c")
    page.write_text(
        f"""<!DOCTYPE html><body><script type="application/json" id="data">{data}</script><script>
const said = {{}};
for (const [name, text] of Object.entries(JSON.parse(document.getElementById("data").textContent))) {{
  try {{ new Function(text); said[name] = ""; }} catch (error) {{ said[name] = String(error); }}
}}
document.body.dataset.said = JSON.stringify(said);
</script>""",
        encoding="utf-8",
    )
    dom, _ = browse(page.as_uri(), folder)
    found = re.search(r'data-said="([^"]*)"', dom)
    assert found is not None, dom[-2000:]
    said: dict[str, str] = json.loads(unescape(found[1]))
    return said


def test_a_browser_reads_every_script(tmp_path: Path) -> None:
    said = read_by_a_browser({**scripts(), "wrong": "const a = ;"}, tmp_path)
    assert said.pop("wrong").startswith("SyntaxError")
    assert {*said} == {*scripts()}
    assert set(said.values()) == {""}


@pytest.mark.parametrize("name", scripts())
def test_scripts_are_strict_and_clean(name: str) -> None:
    text = scripts()[name]
    lines = text.splitlines()
    code = [line for line in lines if line.strip() and not line.strip().startswith("//")]
    assert code[0] == '"use strict";'
    left = re.compile(r"\bvar \w|\b(debugger|eval|alert)\b|console\.|[^=!]==[^=]|!=[^=]|\t| $")
    assert [line for line in lines if left.search(line)] == []
