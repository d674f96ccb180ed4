"""Shell completion, requested as the script of the shell does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Cli


def completed(lines: Sequence[str], folder: Path) -> list[set[str]]:
    """Completions that bash gets for lines whose last word is incomplete, each in a process of its own."""
    code = (
        "import os, sys; from crossfade.cli.app import entry\n"
        f"for words in {list(lines)!r}:\n"
        "    print('', flush=True)\n"
        "    if os.fork() == 0:\n"
        "        os.environ |= {'_CROSSFADE_COMPLETE': 'complete_bash', 'COMP_WORDS': words,\n"
        "                       'COMP_CWORD': str(words.count(' '))}\n"
        "        sys.argv = ['crossfade']\n"
        "        entry()\n"
        "    os.wait()\n"
        "    print('.', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    return [set(words.split("\n")) - {""} for words in done.stdout.split("\n.\n")[:-1]]


def test_commands_options_scenarios_keys_and_metrics(tmp_path: Path) -> None:
    (tmp_path / "quiet-link.toml").write_text("")
    expected = {
        "crossfade com": {"compare", "complete"},
        "crossfade run qui": {"quickstart", "quiet-link.toml"},
        "crossfade run quickstart --sna": {"--snaplen"},
        "crossfade run quickstart --set channel.fd": {"channel.fd_t="},
        "crossfade best quickstart --metric rtt_p9": {"rtt_p95_s", "rtt_p99_s"},
    }
    *found, classics = completed([*expected, "crossfade check classics/s"], tmp_path)
    assert dict(zip(expected, found, strict=True)) == expected
    assert "classics/slow-start" in classics


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_taken_by_their_shells(cli: Cli, shell: str, tmp_path: Path) -> None:
    script = cli("complete", shell)
    assert script.code == 0, script.err
    assert "_CROSSFADE_COMPLETE" in script.out
    if (program := shutil.which(shell)) is None:
        return
    (tmp_path / "script").write_text(script.out)
    assert subprocess.run([program, "-n", tmp_path / "script"], check=False).returncode == 0


def test_a_key_is_found_by_its_last_part(cli: Cli) -> None:
    found = cli("explain", "fd_t")
    assert found.code == 0, found.err
    assert found.out.startswith("channel.fd_t: ")
    assert "\nAlso: " in found.out
    assert "reverse.channel.fd_t" in found.out
    assert found.out.startswith(cli("explain", "channel.fd_t").out.rstrip())
