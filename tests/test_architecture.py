"""Allowed dependencies between modules and crates, as docs/architecture.md draws them.

A module or crate may use those below it, never those above, and no files depend on each other in a cycle. A
new dependency changes the tables here and the picture there in the same commit.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.rust_matches import files_with_sites, has_site
from tests.rust_modules import arrows_between_files
from tests.rust_unused import unused

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "crossfade"
CRATES = ROOT / "crates"

# Modules that each subpackage or module of the Python package may import, from the bottom up.
WORDS = ["errors", "quantities", "records", "files", "tables", "wording"]
PYTHON = {
    "errors": [],
    "quantities": [],
    "records": ["errors"],
    "files": ["errors", "records"],
    "tables": ["errors", "files"],
    "wording": ["quantities", "tables"],
    "figures": WORDS,  # figures draw tables and words, and do not know their sources
    "results": [*WORDS, "figures"],
    "plans": [*WORDS, "figures", "results"],
    "teaching": [*WORDS, "plans"],
    "sweeps": [*WORDS, "results", "plans"],
    "gym": [*WORDS, "results", "plans", "teaching", "sweeps"],
    "api": [*WORDS, "figures", "results", "plans", "sweeps"],
    "pictures": [*WORDS, "figures", "results", "plans", "api"],
    "explorer": [*WORDS, "figures", "api"],
    "comparison": [*WORDS, "figures", "results", "plans", "api"],
    "fitting": [*WORDS, "figures", "results", "plans", "api", "comparison"],
    "papers": [*WORDS, "results", "plans", "api", "comparison"],
    "reports": [*WORDS, "figures", "results", "plans", "comparison", "fitting"],
    "suite": [*WORDS, "figures", "results", "plans", "api", "comparison", "reports"],
}
ROOMS = [*PYTHON]
# Public modules beside the top-level names: they re-export names of subpackages, and define nothing.
PUBLIC = ["curves", "fit", "live", "mesh", "pages", "reference", "runs", "store"]
PYTHON |= dict.fromkeys(PUBLIC, ROOMS)
PYTHON["__init__"] = [*ROOMS, *PUBLIC]
PYTHON["cli"] = ROOMS
PYTHON["__main__"] = ["cli"]
DATA = ["scenarios"]
MOST_AT_THE_TOP = 23


# Crates that each crate may use, from the bottom up. Its tests may use more.
MODELS = ["core", "channel", "phy", "transport", "link", "cell", "nr", "mac"]
METHODS = ["analysis", "capture", "fit", "sim", "live"]
RUST = {
    "core": [],
    "control": [],
    "channel": ["core"],
    "transport": ["core"],
    "phy": ["core", "channel"],
    "link": ["core", "channel", "phy"],
    "cell": ["core", "channel", "phy", "link"],
    "nr": ["core", "channel", "phy", "link", "cell"],
    "mac": ["core", "channel", "phy", "link"],
    **dict.fromkeys(METHODS, MODELS),  # methods do not use each other
    "scenario": MODELS,  # reads scenario files, and runs nothing
    "experiment": [*MODELS, *METHODS, "scenario"],
    "verify": [*MODELS, "sim"],  # compares golden traces with the simulator
    "python": ["control", *MODELS, *METHODS, "scenario", "experiment", "verify"],
}
# Enums for each row of the page's table "To add a ...".
KINDS = {
    "channel model": ["ChannelModel", "LossConfig"],
    "ARQ protocol": ["ArqProtocol"],
    "detector": ["Detector"],
    "queue": ["Discipline", "QueueConfig"],
    "congestion control": ["CongestionControlKind", "ControlName"],
    "loss recovery": ["Variant"],
    "kind of network": ["NetworkSetup"],
    "method": ["Method"],
}
# Public functions that no other file of the program uses, each with the reason for keeping it.
PROMISED = {
    "crates/channel/src/matrix.rs adjoint": "tests of phy multiply factors back with it",
    "crates/core/src/testing.rs is_salted": "what tests of all crates share",
    "crates/experiment/src/summarise.rs parts_of": "how tests read the results of flows, links and users",
    "crates/link/src/queue/byte_queue.rs discarding": "the discard timer, for queues of bearers",
    "crates/link/src/queue/byte_queue.rs next_discard": "the discard timer, for queues of bearers",
    "crates/phy/src/constellation.rs of_bits": "how tests of cells name a modulation",
    "crates/phy/src/transceiver.rs decide": "tests compare detectors symbol by symbol",
    "crates/sim/src/one_hop.rs run_with_congestion_control": "tests of the laws of congestion controls",
    "crates/sim/src/shortcuts.rs each_off": "tests leave out one shortcut at a time",
    "crates/transport/src/congestion/cubic.rs with_c": "tests of CUBIC's closed forms",
    "crates/transport/src/congestion/cubic.rs without_fast_convergence": "tests of CUBIC's closed forms",
}
# Pages whose Rust blocks, like the examples, document interfaces for users.
PAGES = ["own-model.md", "own-queue.md", "own-control.md"]
CRATES_THERE = sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


def test_the_top_of_the_package_is_small() -> None:
    files = {path.relative_to(PACKAGE) for kind in ("py", "toml") for path in PACKAGE.rglob(f"*.{kind}")}
    entries = {file.parts[0].removesuffix(".py") for file in files} - {"__main__"}
    assert entries == {*PYTHON, *DATA} - {"__main__"}
    assert len(entries - {*PUBLIC}) <= MOST_AT_THE_TOP


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_holds_names_alone(name: str) -> None:
    """Public modules define no functions, except those that load names late or keep old ones."""
    tree = ast.parse((PACKAGE / f"{name}.py").read_text())
    own = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert own in ([], ["__getattr__"], ["__call__"])
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module = importlib.import_module(f"crossfade.{name}")
    assert {*module.__all__} <= imported


def test_python_rooms_know_only_what_is_below() -> None:
    wrong = [
        f"{file} imports {other}"
        for file, others in imports().items()
        for other in others
        if room(other) not in (room(file), *PYTHON[room(file)])
    ]
    assert not wrong


def test_the_tables_have_no_arrow_up() -> None:
    for table in (PYTHON, RUST):
        order = list(table)
        for name, known in table.items():
            assert all(order.index(other) < order.index(name) for other in known), name


def test_the_top_of_the_package_is_seen_at_a_glance() -> None:
    entries = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert len(entries - {"__init__", "__main__", "__pycache__", *PUBLIC}) <= 22


def test_python_files_import_in_no_circle() -> None:
    assert circles(imports()) == []


@pytest.mark.parametrize("crate", CRATES_THERE)
def test_crates_know_only_what_is_below(crate: str) -> None:
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    # Dependencies of builds, also those for a single system; those of tests are left out.
    tables = [manifest, *manifest.get("target", {}).values()]
    needed = {
        name
        for table in tables
        for kind in ("dependencies", "build-dependencies")
        for name in table.get(kind, {})
    }
    known = {name.removeprefix("crossfade-") for name in needed if name.startswith("crossfade-")}
    assert known <= set(RUST[crate]), f"{crate} knows {', '.join(sorted(known - set(RUST[crate])))}"


@pytest.mark.parametrize("crate", CRATES_THERE)
def test_rust_files_know_each_other_in_no_circle(crate: str) -> None:
    assert circles(arrows_between_files(CRATES / crate / "src")) == []


# Files that describe their folder.
OF_FOLDERS = {"mod.rs", "lib.rs", "__init__.py"}
FEWEST_LINES = 30


def test_a_small_file_says_why_it_is_a_file_of_its_own() -> None:
    """The first line of a file below 30 lines tells why it is not part of another file."""
    files = [*PACKAGE.rglob("*.py"), *CRATES.glob("*/src/**/*.rs")]
    firsts = {
        path.relative_to(ROOT).as_posix(): lines[0]
        for path in files
        if path.name not in OF_FOLDERS and 0 < len(lines := path.read_text().splitlines()) < FEWEST_LINES
    }
    assert firsts
    assert [path for path, first in firsts.items() if "a file of its own, " not in first] == []


@pytest.mark.parametrize("crate", CRATES_THERE)
def test_every_file_of_rust_tests_is_compiled(crate: str) -> None:
    """Every file of a crate's single test program is named in it or in the manifest; otherwise it would never
    run.
    """
    folder = CRATES / crate / "tests"
    tests = tomllib.loads((CRATES / crate / "Cargo.toml").read_text()).get("test", [])
    own = {Path(test.get("path", f"tests/{test['name']}.rs")).stem for test in tests}
    listed = set(re.findall(r"^mod (\w+);", _text(folder / "main.rs"), re.MULTILINE)) | own
    assert {path.stem for path in folder.glob("*.rs")} <= listed
    assert {path.parent.name for path in folder.glob("*/mod.rs")} <= listed
    assert all(test["name"] in ("all", "live") for test in tests)


def test_the_page_names_what_there_is() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    missing = [
        path for path in re.findall(r"`((?:crates|python|tests)/[^`]+)`", page) if not (ROOT / path).exists()
    ]
    assert [path for path in missing if path != "crates/NAME"] == []
    picture = page.split("```")[1]
    drawn = set(re.findall(r"\w+", picture))
    assert {name for name in [*RUST, *PYTHON] if not name.startswith("__")} <= drawn


@pytest.mark.parametrize(("row", "enum"), [(row, enum) for row, enums in KINDS.items() for enum in enums])
def test_the_page_names_each_match_that_a_new_kind_must_be_told_in(row: str, enum: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    (line,) = re.findall(rf"^\| {row}\b[^|]*\|(.*)\|$", page, re.MULTILINE)
    named = set(re.findall(r"`(crates/[^`]+)`", line))
    sites = {path.relative_to(ROOT).as_posix() for path in files_with_sites(CRATES, enum)}
    assert sites, f"no match of {enum}: another name?"
    assert sites <= named


def test_a_match_without_an_arm_for_all_others_is_a_site() -> None:
    whole = (
        "fn a(k: Kind) -> u8 { match k { Kind::A { x, .. } => { x } Kind::B(_) | Kind::C => f(&[1, 2]), } }"
    )
    assert has_site(whole, "Kind")
    assert not has_site(whole.replace("Kind::C", "_"), "Kind")
    assert not has_site(whole, "Other")
    for other in ("_ => 0", "rest => g(rest)", "(_, _) => 0"):
        assert not has_site(
            f"match (k, 1) {{ (Kind::A, _) => match n {{ 1 => 2, _ => 3 }}, {other} }}", "Kind"
        )
    # An arm with a guard is not a wildcard.
    assert has_site("match k { Kind::A => 1, _ if x => 2, Kind::B => 3 }", "Kind")
    assert has_site("impl Kind { fn a(self) -> u8 { match self { Self::A => 1, Self::B => 2 } } }", "Kind")
    assert has_site("impl From<u8> for Kind<'_> { fn a(&self) { match self { Self::A => {} } } }", "Kind")
    assert not has_site("impl Other { fn a(self) { match self { Self::A => {} } } }", "Kind")


def test_every_public_function_is_used_or_promised() -> None:
    assert unused(ROOT, [ROOT / "docs" / page for page in PAGES]) == set(PROMISED)


def test_a_function_that_nothing_uses_is_found(tmp_path: Path) -> None:
    files = {
        "crates/a/src/lib.rs": "mod b;\npub use b::{Handed, on};\n",
        "crates/a/src/b.rs": "pub struct Handed;\nimpl Handed {\n"
        "    pub fn own(&self) { self.own(); on(); }\n    pub const fn field(&self) {}\n"
        "    pub fn called(&self) {}\n    pub fn passed(&self) {}\n"
        "    pub(crate) fn inside(&self) {}\n}\npub fn on() {}\npub fn of_page() {}\npub fn of_bench() {}\n"
        "#[cfg(test)]\nmod tests { fn a() { super::Handed.tested(); } }\n",
        "crates/a/src/c.rs": "use crate::b::Handed;\n"
        "fn field(h: Handed) { h.field.called(); h.map(Handed::passed); }\n// h.own()\n",
        "crates/a/src/d.rs": "pub fn tested() {}\n",
        "crates/a/benches/e.rs": "fn main() { a::of_bench(); }\n",
        "crates/a/tests/main.rs": "fn main() { a::on(); }\n",
        "page.md": "own()\n```rust\na::of_page();\n```\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = unused(tmp_path, [tmp_path / "page.md"])
    assert found == {
        *(f"crates/a/src/b.rs {name}" for name in ("own", "field", "on")),
        "crates/a/src/d.rs tested",
    }


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def room(file: str) -> str:
    """Subpackage of a file, or the module itself: the first part of its path."""
    return file.split("/")[0].removesuffix(".py")


@cache
def imports() -> dict[str, set[str]]:
    """Files of the package that each file imports: at its top, in a function, or for types."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    return {
        name: {other for other in _imports(path, set(files)) if other != name} for name, path in files.items()
    }


def _imports(path: Path, files: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            # `from crossfade.results import file` names a module, `from crossfade.tables import Table` none.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            first, *parts = name.split(".")
            if first == "crossfade" and parts[:1] != ["_crossfade"]:
                found.add(_file_of(parts, files))
    return found


def _file_of(parts: list[str], files: set[str]) -> str:
    """File of a module, or of the module that defines a name."""
    for end in (len(parts), len(parts) - 1):
        inner = "/".join(parts[:end])
        for candidate in (f"{inner}.py", f"{inner}/__init__.py".removeprefix("/")):
            if candidate in files:
                return candidate
    raise AssertionError(f"no file of crossfade.{'.'.join(parts)}")


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of files that all depend on each other."""
    reached = {name: _reached(name, arrows) for name in arrows}
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in arrows}
    return sorted(list(group) for group in groups if group)


def _reached(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = list(arrows[start])
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += arrows[name]
    return found


def test_a_circle_is_found() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert circles(arrows) == [["b", "c"]]


def test_paths_of_rust_are_followed(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod frame;\nmod link;\nmod units;\npub use frame::Frame;\npub use units::*;\n",
        "frame.rs": "use crate::Bits;\npub struct Frame(Bits);\n",
        "units.rs": '// crate::link::Link\npub struct Bits;\nconst A: &str = "crate::frame::Frame";\n'
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::Frame;\n}\n",
        "link/mod.rs": "mod arq;\npub use arq::Arq;\npub trait Link { fn take(frame: crate::Frame); }\n",
        "link/arq.rs": "use super::{Link, super::units::{self, Bits as B}};\npub struct Arq<'a>(&'a str);\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert arrows_between_files(tmp_path) == {
        "lib.rs": set(),
        "frame.rs": {"units.rs"},
        "units.rs": set(),
        "link/mod.rs": {"frame.rs"},
        "link/arq.rs": {"link/mod.rs", "units.rs"},
    }
    # A name that is re-exported and also used is a dependency, which now makes a cycle.
    (tmp_path / "link/mod.rs").write_text(
        "mod arq;\npub use arq::Arq;\npub trait Link { fn arq(&self) -> Arq; }\n"
    )
    assert circles(arrows_between_files(tmp_path)) == [["link/arq.rs", "link/mod.rs"]]
