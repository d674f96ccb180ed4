"""The CI recipes of the page and of the workflow, applied to an independent project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.live_runs import need, need_live
from tests.conftest import long_form
from tests.suite.test_cases import own

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "test-your-transport.md").read_text(encoding="utf-8")
MAKEFILE = "all: server client\n%: %.sh\n\tcp $< $@\n\tchmod +x $@\n"
SERVER = '#!/bin/sh\nexec python3 -m http.server "$2" --bind 0.0.0.0 --directory "$4"\n'
CLIENT = '#!/bin/sh\nexec curl -sf -o "$4" "http://$1:$2/$3"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Project with a Makefile, a client, a server, and a suite of one short transfer."""
    need_live()
    need("curl", "openssl", "make", "bash")
    folder = tmp_path / "project"
    (folder / "short").mkdir(parents=True)
    own(folder / "short")
    for name, text in (("Makefile", MAKEFILE), ("server.sh", SERVER), ("client.sh", CLIENT)):
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return folder


def block(language: str, beginning: str) -> str:
    """Code block of the page with this language and beginning."""
    (found,) = re.findall(rf"^```{language}\n({re.escape(beginning)}.*?)^```$", PAGE, re.M | re.S)
    return str(found)


def in_shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-ec", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )


def test_the_five_lines_of_the_page(project: Path) -> None:
    script = block("text", "make\n")
    assert len(script.splitlines()) <= 5
    # Of a suite of one case, with fewer runs.
    for asked, short in (("suite interop", "suite short"), ("--runs 4", "--runs 1")):
        assert script.count(asked) == 1
        script = script.replace(asked, short)
    done = in_shell(script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "verdicts.xml").read_text().count("<testcase") == 1
    assert "short" in (project / "verdicts.html").read_text()


@pytest.mark.parametrize("against_baseline", [False, long_form(True)])
def test_the_workflow_with_the_inputs_of_the_page(project: Path, against_baseline: bool) -> None:
    """In the long form also beside a baseline, as a suite is in ``test_a_slowed_stack_is_caught``."""
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "suite.yml").read_text())
    # YAML 1.1 parses the key "on" as true.
    inputs: dict[str, Any] = workflow[True]["workflow_call"]["inputs"]
    given = yaml.safe_load(block("yaml", "jobs:\n"))["jobs"]["transport"]["with"]
    assert given.keys() <= inputs.keys()
    assert {name for name, table in inputs.items() if table.get("required")} <= given.keys()
    values = {name: str(table.get("default", "")) for name, table in inputs.items()} | given
    # Fewer runs than the workflow's four: an input that the page does not set.
    assert values["runs"] == "4"
    values["runs"] = "3"
    (job,) = workflow["jobs"].values()
    environment = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], value)
        for name, value in job["env"].items()
    } | {"SUITE": "short"}
    # Steps that install software or configure GitHub's runner are left out.
    steps = [step["run"] for step in job["steps"] if "run" in step]
    mine = [step for step in steps if not step.startswith(("pip ", "sudo "))]
    assert len(mine) == len(steps) - 3
    for step in mine:
        done = in_shell(step, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads((project / "rows.json").read_text())
    assert (row["runs"], row["verdict"]) == (3, "pass")

    if not against_baseline:
        return
    # A client limited to 100 kB/s, a fifth of the link, is worse than the baseline.
    (project / "rows.json").rename("old.json")
    (project / "client.sh").write_text(CLIENT.replace("curl", "curl --limit-rate 100k"))
    in_shell("make && rm -r crossfade-runs")
    done = in_shell(mine[-1], **environment | {"BASELINE": "old.json"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^baseline \(worse\): client: slower by", done.stderr, re.M), done.stderr
