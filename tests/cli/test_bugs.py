"""A bug in the extension gives one line that asks for a report, and no traceback."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.cli.live.config import Config
from crossfade.sweeps import apart
from tests.conftest import Cli, expect_one_line

SAID = "attempt to add with overflow\nin two lines"


def panic(*_: object, **__: object) -> object:
    raise _crossfade.PanicException(SAID)


def test_a_panic_is_one_line_that_asks_for_a_report(
    cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "read", panic)
    for command in ("run", "check"):
        failed = cli(command, small)
        expect_one_line(failed, "a bug in crossfade", "attempt to add with overflow", "please report it")
        assert "Traceback" not in failed.err
    assert cli("run", small).code == 2


@pytest.mark.parametrize(
    ("module", "arguments", "code"),
    [
        ("crossfade.cli.live.helper", "['helper', str(reader)]", 125),
        ("crossfade.sweeps.apart", "['apart']", 0),
    ],
)
def test_processes_of_their_own_tell_it_as_well(module: str, arguments: str, code: int) -> None:
    """A bug in a helper process is reported too: the helper of a live run, and the process for live runs
    without root.
    """
    if sys.platform != "linux":
        pytest.skip("live: Linux only")
    asked: dict[str, object] = dict.fromkeys(field.name for field in fields(Config))
    asked["plan"] = {"name": "", "text": "", "overrides": "", "files": {}}
    program = (
        f"import sys, os, pickle, io, json\nimport {module} as module\n"
        "import crossfade._crossfade as core\n"
        f"def panic(*_, **__): raise core.PanicException({SAID!r})\n"
        "module._crossfade = type('core', (), {**vars(core), 'gain_privileges': panic})\n"
        "module.plans = type('plans', (), {'read': panic})\n"
        f"reader, writer = os.pipe()\nos.write(writer, json.dumps({asked!r}).encode())\nos.close(writer)\n"
        f"sys.argv = {arguments}\n"
        "sys.exit(module.main())\n"
    )
    given = pickle.dumps(("", "", "", {}, [], 1, (1, 1)))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=given,
        capture_output=True,
        env={key: text for key, text in os.environ.items() if key != "SUDO_USER"},
        check=False,
    )
    assert done.returncode == code, done.stderr
    said = done.stderr.decode()
    if module == apart.__name__:
        kind, content = pickle.loads(done.stdout)
        said = f"{kind}: {content}\n"
    assert said.startswith(
        "error: a bug in crossfade, not in your input: attempt to add with overflow\\nin two"
    )
    assert said.count("\n") == 1
