"""The crates as cargo sees them: `make test` compiles each once, and other packages can use them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _features(*arguments: str) -> dict[str, str]:
    """Packages that cargo would compile, each with its features."""
    done = subprocess.run(
        ["cargo", "tree", "--offline", "--prefix", "none", "-f", "{p}|{f}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # A line is such as "rand v0.10.3|std"; a star or a path may follow.
    found = re.findall(r"^(\S+ v[^\s|]+)[^|\n]*\|([^ \n]*)", done.stdout, re.MULTILINE)
    return dict(found)


@pytest.mark.skipif(not (ROOT / "Cargo.lock").exists(), reason="nothing is resolved here")
def test_tests_and_extension_share_what_they_compile() -> None:
    """Tests and extension select equal features of all packages, so no crate is compiled twice."""
    features = re.search(r"maturin develop --profile dev --features (\S+)", (ROOT / "Makefile").read_text())
    assert features is not None
    names = [f"crossfade-python/{name}" for name in features[1].split(",")]
    extension = _features("-p", "crossfade-python", "-e", "normal,build", "--features", ",".join(names))
    tests = _features("--workspace", "-e", "normal,build,dev")
    assert {name for name in extension if name.startswith("crossfade")} <= set(tests)
    # Only these packages differ, since they build the extension.
    own = ("pyo3", "crossfade-python ")
    assert {name: tests[name] for name in extension if not name.startswith(own)} == {
        name: extension[name] for name in extension if not name.startswith(own)
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["loss-process", "frame-channel"])
def test_an_example_is_a_package_of_its_own(name: str, tmp_path: Path) -> None:
    package = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, package)
    manifest = package / "Cargo.toml"
    text = manifest.read_text()
    assert "../../crates/" in text
    manifest.write_text(text.replace("../../crates/", f"{ROOT}/crates/"))
    done = subprocess.run(
        ["cargo", "test", "--target-dir", str(ROOT / "target")],
        cwd=package,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it_prints_what_the_page_shows ... ok" in done.stdout
