"""Make examples/notebook.ipynb from docs/notebook.md: text and cells of the page, for Jupyter.

Usage: python scripts/make_notebook.py. The script runs all cells in order in an empty folder, and stores the
output of each cell in the notebook.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import re
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs" / "notebook.md", ROOT / "examples" / "notebook.ipynb"
CODE = re.compile(r"^```\{code-cell\}\n(?::[^\n]*\n)*\n?(.*?)^```$", re.MULTILINE | re.DOTALL)


def notebook(page: str) -> str:
    """The text of a notebook file, without outputs, from the text of a page in MyST Markdown."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page, count=1, flags=re.DOTALL)
    # Links between pages become links from the folder of the notebook to the files of the pages.
    text = re.sub(r"\]\(([\w/-]+\.md)", r"](../docs/\1", text)
    cells = []
    for place, piece in enumerate(CODE.split(text)):
        if piece.strip():
            cells.append(_cell("code" if place % 2 else "markdown", piece.strip("\n"), len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    found = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def with_outputs(text: str) -> str:
    """The text of a notebook file with outputs: its cells run in order in an empty folder."""
    found = json.loads(text)
    names: dict[str, Any] = {}
    codes = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for number, cell in enumerate(codes, start=1):
            cell["execution_count"] = number
            cell["outputs"] = _shown("".join(cell["source"]), names, number)
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _shown(code: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Outputs of a cell: the printed text, and the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data: dict[str, Any] = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
            data["text/html"] = html.splitlines(True)
        if hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        more = {"execution_count": number, "metadata": {}}
        outputs.append({"output_type": "execute_result", "data": data, **more})
    return outputs


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
    os.environ.setdefault("COLUMNS", "100")
    NOTEBOOK.write_text(with_outputs(notebook(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
    sys.exit(0)
