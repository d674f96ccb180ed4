"""Files for citation and contribution agree with the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from crossfade import _crossfade
from crossfade.files import version

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_the_citation_file_says_what_the_program_says() -> None:
    told = read(ROOT / "CITATION.cff")
    assert told["title"] == version.TITLE
    assert told["authors"] == [{"name": version.AUTHORS}]
    assert told["version"] == _crossfade.__version__
    assert " OR ".join(told["license"]) == PROJECT["project"]["license"]


def test_make_has_what_pages_and_workflows_call() -> None:
    files = [*ROOT.glob("*.md"), *WORKFLOWS, ROOT / ".ci" / "run"]
    called = {
        target
        for file in files
        for target in re.findall(r"(?:^|`|: |&& )make ([a-z][a-z-]+)", file.read_text(), re.MULTILINE)
    }
    assert {"build", "check", "test", "lint", "wheel", "docs", "audit", "lock"} <= called
    assert called <= TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_ends(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 360
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))
            for script in re.findall(r"(?:^|\s)(\.?/?\.ci/\w+|scripts/[\w.]+)", step.get("run", "")):
                assert (ROOT / script).exists()


def test_the_oldest_python_that_is_tried_is_the_oldest_that_is_promised() -> None:
    (oldest, *_) = read(ROOT / ".github" / "workflows" / "check.yml")["jobs"]["test"]["strategy"]["matrix"][
        "python"
    ]
    assert PROJECT["project"]["requires-python"] == f">={oldest}"


def test_hooks_are_of_this_machine_and_call_what_lint_calls() -> None:
    lint = re.findall(r"^lint-\w+:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(lint) == 2
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    entries = [hook["entry"].replace(".venv/bin/", "$(BIN)/") for hook in repository["hooks"]]
    assert {"cargo fmt --check", "$(BIN)/ruff check", "$(BIN)/ruff format --check", "$(BIN)/mypy"} <= set(
        entries
    )
    for entry in entries:
        script = re.search(r"scripts/\S+", entry)
        assert (ROOT / script[0]).exists() if script else entry in lint[0] + lint[1]


def test_a_release_has_at_most_sixty_lines() -> None:
    _, *releases = re.split(r"^(?=## )", (ROOT / "CHANGES.md").read_text(), flags=re.MULTILINE)
    assert len(releases) >= 2
    assert {release.split()[1]: release.count("\n") for release in releases if release.count("\n") > 60} == {}


def test_every_results_version_is_listed() -> None:
    page = (ROOT / "docs" / "project" / "results-versions.md").read_text()
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert listed | {_crossfade.RESULTS_VERSION} >= set(range(1, _crossfade.RESULTS_VERSION + 1))


def test_what_the_page_of_stability_names_is_there() -> None:
    page = (ROOT / "docs" / "project" / "stability.md").read_text()
    named = re.findall(r"`((?:tests|crates)/[^`]+)`", page)
    assert len(named) >= 6
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = read(ROOT / "packaging" / "conda" / "recipe.yaml")
    requirements = recipe["requirements"]
    wanted = {*PROJECT["project"]["dependencies"], f"python{PROJECT['project']['requires-python']}"}
    assert {line.replace(" ", "").replace("-base", "") for line in requirements["run"]} == wanted
    (build,) = PROJECT["build-system"]["requires"]
    assert {line.replace(" ", "") for line in requirements["host"]} == {"python", "pip", build}
    assert f'"{_crossfade.__version__}"' in recipe["context"]["version"]
    assert recipe["build"]["python"]["entry_points"] == [
        " = ".join(script) for script in PROJECT["project"]["scripts"].items()
    ]
    assert recipe["about"]["license"] == PROJECT["project"]["license"]
    assert all((ROOT / name).exists() for name in recipe["about"]["license_file"])


def test_the_image_of_suites_has_the_aioquic_that_was_tested() -> None:
    (asked,) = re.findall(r"aioquic==\S+", (ROOT / "packaging" / "suite.Containerfile").read_text())
    assert asked in (ROOT / "constraints.txt").read_text().splitlines()
