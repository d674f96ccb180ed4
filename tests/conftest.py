"""What the tests share: a cache of their own, small scenarios, and the command line without a process."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from crossfade.cli import main

SMALL = """\
schema = 1
title = "A small scenario"
run = { duration = "2000 slots", runs = 10 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"""

SWEEP = (
    SMALL
    + """
[sweep]
"tcp.variant" = ["tahoe", "reno"]
"channel.p_e" = [0.01, 0.1]
"""
)


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


def svg_words(file: Path) -> list[str]:
    """What stands in a figure, text by text; mathematics as it was spelled ($f_d T$)."""
    # matplotlib sets mathematics letter by letter, behind a comment that spells it.
    pattern = r"<!-- (.*?) -->\s*<g[^>]*>\s*<text>|<text[^>]*>([^<]+)</text>"
    found = re.findall(pattern, file.read_text())
    return [unescape(spelled or text) for spelled, text in found]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for every test."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line, as ``cli("run", "quickstart")``."""

    def call(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario of one point."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A scenario of four points."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path
