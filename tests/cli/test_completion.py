"""Shell completion, requested as the script of the shell does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli


def completed(words: str, folder: Path) -> set[str]:
    """Completions that bash gets for a line whose last word is incomplete."""
    number = words.count(" ")
    env = os.environ | {
        "_CROSSFADE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }
    code = "import sys; from crossfade.cli.app import entry; sys.argv = ['crossfade']; entry()"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.split("\n")) - {""}


def test_commands_options_scenarios_keys_and_metrics(tmp_path: Path) -> None:
    (tmp_path / "quiet-link.toml").write_text("")
    assert completed("crossfade com", tmp_path) == {"compare", "complete"}
    assert completed("crossfade run qui", tmp_path) == {"quickstart", "quiet-link.toml"}
    assert "classics/slow-start" in completed("crossfade check classics/s", tmp_path)
    assert completed("crossfade run quickstart --sna", tmp_path) == {"--snaplen"}
    assert completed("crossfade run quickstart --set channel.fd", tmp_path) == {"channel.fd_t="}
    assert completed("crossfade best quickstart --metric rtt_p9", tmp_path) == {"rtt_p95_s", "rtt_p99_s"}


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
