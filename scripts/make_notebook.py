"""Makes examples/notebook.ipynb of docs/notebook.md: the same page as a file that Jupyter opens.

    python scripts/make_notebook.py

It holds no output: what it shows is computed where it is opened.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs" / "notebook.md", ROOT / "examples" / "notebook.ipynb"
CODE = re.compile(r"^```\{code-cell\}\n(?::[^\n]*\n)*\n?(.*?)^```$", re.MULTILINE | re.DOTALL)


def notebook(page: str) -> str:
    """The notebook of a page in MyST, as its file."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page, count=1, flags=re.DOTALL)
    # A link to a page is one to its file, seen from where the notebook lies.
    text = re.sub(r"\]\(([\w/-]+\.md)", r"](../docs/\1", text)
    cells = []
    for place, piece in enumerate(CODE.split(text)):
        if piece.strip():
            cells.append(_cell("code" if place % 2 else "markdown", piece.strip("\n"), len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    found = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(True),
        **more,
    }


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
