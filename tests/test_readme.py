"""README: short, with existing pictures and working commands."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from crossfade.cli.app import app
from crossfade.files import shipped_scenarios

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short_and_begins_with_two_commands() -> None:
    lines = README.splitlines()
    assert len(lines) <= 100
    first = README.split("```sh\n")[1].split("```")[0].splitlines()
    assert [line.split("#")[0].split()[0] for line in first] == ["make", ".venv/bin/crossfade"]
    assert lines.index("```sh") < 10


def test_it_has_five_pictures_with_whole_texts() -> None:
    pictures = re.findall(r"!\[([^]]*)\]\(([^)]*)\)", README)
    assert len(pictures) == 5
    for text, path in pictures:
        assert (ROOT / path).exists(), path
        assert len(text.split()) >= 10, text


def test_its_first_half_needs_no_symbol() -> None:
    half = "\n".join(README.splitlines()[:50])
    assert not re.search(r"f_d|fd_t|W_max|P_E", half)


def test_its_commands_are_there() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    used = re.findall(r"^(?:\.venv/bin/)?crossfade (\w+)((?: [^#\n]*)?)", README, re.MULTILINE)
    used += re.findall(r"`crossfade (\w+)([^`]*)`", README)
    assert len(used) >= 12
    names = set(shipped_scenarios())
    for command, rest in used:
        assert command in commands, command
        options = {option for one in commands[command].params for option in one.opts}
        assert {word for word in rest.split("--  ")[0].split() if re.match(r"--\w", word)} <= options, rest
        for word in rest.split()[:1]:
            assert word in names or "." in word or word in ("-", "--plot"), word


def test_it_denies_nothing_that_live_runs_do() -> None:
    """README does not deny features of live runs, such as several controls at once
    (tests/cli/test_live_replay.py).
    """
    missing = README.partition("Not modelled:")[2]
    assert missing
    assert "congestion control" not in missing.partition("Changes are")[0]
