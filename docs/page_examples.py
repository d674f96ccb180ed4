"""Runs the Python examples of a page, so that the outputs on the page are up to date."""

from __future__ import annotations

import io
import os
import re
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(page: Path, gallery: Path) -> None:
    """Run the Python examples of a page one after the other, in one namespace and an empty working folder.

    The output of example n goes to ``PAGE-n.txt`` in the gallery; figures that it saves go there too.
    """
    names: dict[str, object] = {}
    os.environ["COLUMNS"] = "100"  # the width for which xarray prints
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for number, code in enumerate(EXAMPLE.findall(page.read_text()), start=1):
            text = io.StringIO()
            with redirect_stdout(text):
                exec(compile(code, f"{page.name}, example {number}", "exec"), names)
            (gallery / f"{page.stem}-{number}.txt").write_text(text.getvalue())
        for figure in Path().glob("*.png"):
            (gallery / figure.name).write_bytes(figure.read_bytes())
