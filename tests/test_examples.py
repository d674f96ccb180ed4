"""The scripts in examples/ run, and both variants print the same."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import crossfade as cf

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_shell_script_and_the_python_script_make_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "crossfade").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m crossfade "$@"\n')
    (bin_ / "crossfade").chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    script = ["sh", str(EXAMPLES / "throughput.sh"), str(tmp_path / "throughput.sh")]
    done = subprocess.run(
        script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    runpy.run_path(str(EXAMPLES / "throughput.py"))["main"](tmp_path / "throughput.py")
    shown = {}
    for name, out in (("throughput.sh", done.stdout), ("throughput.py", capsys.readouterr().out)):
        assert "tahoe" in out
        assert out.rstrip().endswith(cf.reference.cite("text"))
        shown[name] = (tmp_path / name / "results.csv").read_text()
        assert (tmp_path / name / "throughput.png").read_bytes().startswith(b"\x89PNG")
    assert shown["throughput.sh"] == shown["throughput.py"]
    assert shown["throughput.sh"].count("\n") == 7, "a header, and two TCPs at three loss rates"
