"""The version names the release and, if known, the commit, compared with git's own output."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import tomllib
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import _crossfade
from crossfade.files.commit import WRITTEN, commit_of, head_of
from crossfade.files.version import DIGITS
from tests.conftest import Cli

ROOT = Path(__file__).parents[1]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git on the PATH")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=main"]
    command = ["git", "-c", "safe.directory=*", *who, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_it_is_the_release_of_cargo_as_python_writes_it() -> None:
    release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert _crossfade.__version__ == release.replace("-dev", ".dev0")
    assert re.fullmatch(rf"{re.escape(_crossfade.__version__)}(\+g[0-9a-f]{{{DIGITS}}})?", cf.__version__)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")
@needs_git
def test_in_a_clone_it_names_the_commit_that_is_checked_out() -> None:
    assert cf.__version__.partition("+g")[2] == git(ROOT, "rev-parse", "HEAD")[:DIGITS]


@pytest.mark.parametrize("format", ["sha1", "sha256"])
@needs_git
def test_a_commit_is_found_wherever_git_keeps_it(format: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    assert head_of(clone) is None
    git(clone, "init", f"--object-format={format}")
    assert head_of(clone) is None, "nothing is committed yet"
    for number, steps in enumerate(
        (
            [],
            [["pack-refs", "--all"]],  # the branch is in packed-refs
            [["commit", "--allow-empty", "-m", "x"]],  # packed-refs has an older commit than the loose file
            [
                ["tag", "v1"],
                ["pack-refs", "--all"],
                ["checkout", "--detach"],
            ],  # a detached commit, without a branch
            [["checkout", "-b", "a/b"]],
        )
    ):
        if number == 0:
            git(clone, "commit", "--allow-empty", "-m", "first")
        for step in steps:
            git(clone, *step)
        assert head_of(clone) == git(clone, "rev-parse", "HEAD")
    git(clone, "worktree", "add", str(tmp_path / "tree"), "-b", "other")
    git(tmp_path / "tree", "commit", "--allow-empty", "-m", "there")
    assert head_of(tmp_path / "tree") == git(tmp_path / "tree", "rev-parse", "HEAD") != head_of(clone)


@needs_git
def test_a_clone_of_something_else_is_not_asked(tmp_path: Path) -> None:
    package = tmp_path / "vendored" / "crossfade"
    package.mkdir(parents=True)
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "theirs")
    assert commit_of(package) is None
    (package / WRITTEN).parent.mkdir()
    (package / WRITTEN).write_text("no hash\n")
    assert commit_of(package) is None
    (package / WRITTEN).write_text(f"{'1a' * 20}\n")
    assert commit_of(package) == "1a" * 20
    # In a clone of crossfade the checked-out commit counts, not the one a build wrote.
    (tmp_path / "crates" / "python").mkdir(parents=True)
    (tmp_path / "crates" / "python" / "Cargo.toml").touch()
    assert commit_of(package) == git(tmp_path, "rev-parse", "HEAD")


def test_what_is_written_names_it(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlite"
    cf.sweep("quickstart", out=file, runs=1, set={"run.duration": "300 slots", "run.warmup": "0 s"})
    with sqlite3.connect(file) as database:
        of_rows = {version for (version,) in database.execute("SELECT version FROM rows")}
        (plan,) = (json.loads(text) for (text,) in database.execute("SELECT description FROM plans"))
    assert of_rows == {cf.__version__} == {plan["version"]}
    assert cf.open_results(file).attrs["version"] == cf.__version__
    cf.pages.report(file, tmp_path / "x.html")
    assert cf.__version__ in (tmp_path / "x.html").read_text()


def test_finished_runs_are_kept_from_one_commit_to_the_next() -> None:
    """The cache's name contains the hash of the models' sources, not the commit, so finished runs survive
    other commits.
    """
    from crossfade.results.cache import cache_path

    path = cache_path()
    assert path is not None
    assert "+g" not in path.name


def test_a_citation_names_the_version_and_what_numbers_it_makes(cli: Cli) -> None:
    text = cli("cite").out
    fields = dict(re.findall(r"^  (\w+) += \{+(.*?)\}+,$", text, re.MULTILINE))
    assert text.startswith("@software{crossfade,\n")
    assert text.endswith("}\n")
    assert fields["version"] == cf.__version__
    assert fields["note"] == f"Results version {cf.reference.RESULTS_VERSION}"
    assert text.count("{") == text.count("}")
    assert cf.reference.cite() + "\n" == text
    assert cf.__version__ in cli("cite", "--text").out
    with pytest.raises(cf.errors.ScenarioError, match=r"^style = ris: bibtex or text is allowed$"):
        cf.reference.cite("ris")
