"""Runs the commands of a page, so that its figures and outputs are up to date."""

from __future__ import annotations

import io
import re
import shlex
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from crossfade.cli.app import main

COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_commands(page: Path, gallery: Path) -> None:
    """Run the ``sh`` blocks of a page one after the other, in an empty working folder.

    The output of block n goes to ``PAGE-n.txt`` in the gallery. Figures go there too, and HTML pages to its
    folder ``pages``. The build fails if a command fails.
    """
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for number, block in enumerate(COMMANDS.findall(page.read_text()), start=1):
            text = io.StringIO()
            for line in block.replace("\\\n", " ").splitlines():
                with redirect_stdout(text), redirect_stderr(text):
                    code = main(shlex.split(line, comments=True)[1:])
                if code != 0:
                    raise RuntimeError(f"{page.name}: {line} ended with {code}: {text.getvalue()}")
            (gallery / f"{page.stem}-{number}.txt").write_text(text.getvalue())
        for file in [*Path().glob("*.png"), *Path().glob("*.html")]:
            where = gallery / "pages" if file.suffix == ".html" else gallery
            (where / file.name).write_bytes(file.read_bytes())
