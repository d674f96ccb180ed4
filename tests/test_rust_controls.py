"""Congestion controls in one Rust file: compiled, loaded, compared with built-in ones; errors are one
line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import crossfade as cf
import crossfade._crossfade as _crossfade
from crossfade.files import compiled
from crossfade.files.compiled import CompiledControl
from tests.conftest import Cli, events_text, expect_one_line
from tests.test_python_controls import infos, of_the_page
from tests.test_rules import FADING

EXAMPLES = Path(__file__).parents[1] / "examples" / "congestion-control"
RENO = (EXAMPLES / "reno.rs").read_text()
BBR = (EXAMPLES / "bbr.rs").read_text()

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")


def compiled_in(cache: Path, *sources: str) -> Path:
    """Folder with the libraries of controls, compiled into an empty cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        for source in sources:
            assert CompiledControl("mine.rs", source).build()[1]
    return cache / "crossfade" / "controls"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the libraries of the examples, compiled once."""
    return compiled_in(tmp_path_factory.mktemp("controls"), RENO, BBR, faulty())


@pytest.fixture(autouse=True)
def examples_are_compiled(cache_folder: Path, libraries: Path) -> None:
    """Compiled libraries of the examples in the cache of each test, which is otherwise empty."""
    shutil.copytree(libraries, cache_folder / "crossfade" / "controls")


def run(
    folder: Path, source: str, text: str = FADING, values: Mapping[str, object] | None = None
) -> cf.store.Results:
    (folder / "mine.rs").write_text(source)
    (folder / "a.toml").write_text(text)
    return cf.run(folder / "a.toml", set={"tcp.congestion": "mine.rs", **(values or {})}, cache=False)


def rows(results: cf.store.Results) -> list[object]:
    return [row.values for row in results.points[0].rows]


@pytest.mark.parametrize("variant", ["newreno", "sack"])
def test_a_loaded_reno_is_the_built_in_one_to_the_last_digit(tmp_path: Path, variant: str) -> None:
    for lossy in ({}, {"channel.p_e": 0.2}, {"link.queue.limit": "5 packets"}, {"tcp.w_max": 4}):
        mine = run(tmp_path, RENO, values={"tcp.variant": variant, **lossy})
        built_in = cf.run(FADING, set={"tcp.variant": variant, **lossy}, cache=False)
        assert rows(mine) == rows(built_in)
        assert {row.key for row in mine.points[0].rows}.isdisjoint(row.key for row in built_in.points[0].rows)


def test_every_event_of_the_loaded_reno_is_that_of_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "mine.rs").write_text(RENO)
    (tmp_path / "a.toml").write_text(FADING)
    for name, congestion in (("mine.csv", "mine.rs"), ("reno.csv", "reno")):
        (tmp_path / name).write_text(
            cf.events(tmp_path / "a.toml", set={"tcp.congestion": congestion, "channel.p_e": 0.1}).to_csv(
                index=False
            )
        )
    assert (tmp_path / "mine.csv").read_text() == (tmp_path / "reno.csv").read_text()
    assert "fast_retransmit" in (tmp_path / "mine.csv").read_text()


def test_a_rate_and_samples_cross_the_border(tmp_path: Path) -> None:
    """A control like BBR gets samples and sets a pacing rate: it ignores random losses, and keeps a long
    queue short.
    """
    text = FADING.replace('"markov", p_e = 0.02, fd_t = 0.05, clock = "slot"', '"iid", p_e = 0.02')
    text = text.replace("30 packets", "500 packets")
    bbr, reno = run(tmp_path, BBR, text), cf.run(text, cache=False)
    goodput = [found.points[0].value("goodput_bps") or 0.0 for found in (bbr, reno)]
    assert goodput[0] > 1.7e6 > 1.4e6 > goodput[1]
    # With two BDPs in flight the queue holds about one, while Reno fills any queue.
    lossless = {"channel.p_e": 0, "run.duration": "20 s"}
    queues = [
        found.points[0].value("queue_mean_packets") or 0.0
        for found in (run(tmp_path, BBR, text, lossless), cf.run(text, set=lossless, cache=False))
    ]
    assert 0.5 < queues[0] < 15.0 < queues[1]


def test_what_it_says_of_itself_stands_in_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.rs").write_text(BBR)
    (tmp_path / "a.toml").write_text(FADING)
    both = events_text(tmp_path / "a.toml", over={"tcp.congestion": ["mine.rs", "reno"]})
    lines = list(csv.DictReader(io.StringIO(both)))
    mine = [infos(line) for line in lines if line["tcp.congestion"] == "mine.rs"]
    assert {line["info"] for line in lines if line["tcp.congestion"] == "reno"} == {""}
    assert {found["state"] for found in mine} == {"startup", "cycle"}
    assert {float(found["pacing_gain"]) for found in mine} == {2.885, 1.25, 0.75, 1.0}
    # The link carries 167 segments per second.
    assert 140.0 < float(mine[-1]["bandwidth"]) < 170.0
    # One source with all faults; the environment says which of them shows.
    word = 'info.word("state", if self.at.is_none() { "startup" } else { "cycle" });'
    assert BBR.count(word) == 1
    source = BBR.replace(
        word,
        'let fault = asked();\n        assert!(fault != "panic", "no");\n'
        '        let name = match fault.as_str() { "name" => "a state".into(), "long" => "s".repeat(5000), '
        '_ => "state".to_string() };\n'
        '        info.word(&name, if fault == "value" { "" } else { "startup" });',
    )
    source += ASKED
    assert rows(run(tmp_path, source))
    for fault, line in {
        "name": r'^mine.rs: info\(\) gives "a": names and values must be words',
        "value": r'^mine.rs: info\(\) gives "state=": names and values must be words',
        "long": r"^mine.rs: info\(\) gives 5\d+ bytes: must be at most 4000$",
        "panic": r"^mine.rs:\d+: panicked: no, in info$",
    }.items():
        monkeypatch.setenv("CROSSFADE_TEST_FAULT", fault)
        with pytest.raises(cf.errors.ScenarioError, match=line):
            cf.events(tmp_path / "a.toml", set={"tcp.congestion": "mine.rs"}).to_csv(index=False)
        # Runs for results never call info().
        assert rows(run(tmp_path, source))


def test_it_is_a_word_as_any_other(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.rs").write_text(RENO)
    (tmp_path / "a.toml").write_text(FADING)
    over = ("--over", "tcp.congestion=reno,mine.rs", "--runs", "4", "--jobs", "2")
    assert "mine.rs" in cli("run", "a.toml", *over).out
    assert cli("sweep", "a.toml", *over, "--shard", "1/2").code == 0
    assert cli("sweep", "a.toml", *over, "--shard", "2/2").code == 0
    assert "complete" in cli("merge", "a-1-of-2.sqlite", "a-2-of-2.sqlite", "--out", "a.sqlite").err
    assert "none missing" in cli("sweep", "a.toml", *over).err
    assert "FILE.rs" in cli("explain", "tcp.congestion").out
    # Keys of rows depend on the content of the file, not on its name.
    (tmp_path / "other.rs").write_text(RENO)
    keys = [
        [row.key for row in cf.run("a.toml", set={"tcp.congestion": name}).points[0].rows]
        for name in ("mine.rs", "other.rs")
    ]
    (tmp_path / "other.rs").write_text(RENO.replace("window / 2.0).max(2.0)", "window / 3.0).max(2.0)"))
    third = [row.key for row in cf.run("a.toml", set={"tcp.congestion": "other.rs"}).points[0].rows]
    assert keys[0] == keys[1]
    assert set(keys[0]).isdisjoint(third)


def test_one_flow_of_a_mesh_and_of_a_cell_has_it(tmp_path: Path) -> None:
    (tmp_path / "mine.rs").write_text(RENO)
    for scenario in ("mesh-chain", "lte-like-cell"):
        short = {"run.duration": "2 s", "run.warmup": "0 s", "tcp.flavour": "rfc", "tcp.variant": "sack"}
        text = (Path(cf.__file__).parent / "scenarios" / f"{scenario}.toml").read_text()
        (tmp_path / "a.toml").write_text(text)
        found = [
            cf.run(tmp_path / "a.toml", set={**short, "tcp.congestion": name}, runs=1, cache=False)
            for name in ("mine.rs", "reno")
        ]
        assert rows(found[0]) == rows(found[1])


def test_build_compiles_once_and_says_where(tmp_path: Path, cli: Cli) -> None:
    mine = tmp_path / "mine.rs"
    mine.write_text(RENO)  # compiled by the fixture
    before = cli("control", "build", str(mine))
    assert before.code == 0
    assert "was compiled before" in before.out
    assert "/crossfade/controls/mine-" in before.out
    anew = cli("control", "build", str(mine), "--anew", "--crate", str(tmp_path / "crate"))
    assert "mine.rs: compiled (rustc" in anew.out
    again = cli("control", "build", str(mine), "--crate", str(tmp_path / "crate"))
    assert (again.code, again.err.count("\n")) == (2, 1)
    expect_one_line(cli("control", "build", str(mine), "--crate", str(mine)), "mine.rs: cannot be written")
    assert cli("control", "build", str(tmp_path / "mine.py")).code == 2


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_the_crate_is_one_that_cargo_builds_without_a_network(tmp_path: Path) -> None:
    CompiledControl("mine.rs", BBR).crate(tmp_path)
    command = ["cargo", "build", "--offline", "--quiet"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target"), "RUSTFLAGS": "-Dwarnings"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_long_name_is_one_as_any_other(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / f"{'é' * 120}.rs"
    file.write_text(RENO)
    first, second = cli("control", "build", str(file)), cli("control", "build", str(file))
    assert (first.code, second.code) == (0, 0)
    assert ".rs: compiled (rustc" in first.out
    assert "was compiled before" in second.out
    assert "/crossfade/controls/é" in first.out


@pytest.mark.parametrize("name", ["-O.rs", "@all.rs"])
def test_a_name_that_is_an_option_of_the_compiler_is_refused(tmp_path: Path, cli: Cli, name: str) -> None:
    (tmp_path / name).write_text(RENO)
    expect_one_line(cli("control", "build", str(tmp_path / name)), name, "rustc takes such a name")


def changed(old: str, new: str) -> str:
    assert RENO.count(old) == 1
    return RENO.replace(old, new)


LOSS = """\
        self.remember(window);
        self.halve(window);
        self.state.cwnd = self.state.ssthresh;"""
WINDOW = "    fn cwnd(&self) -> f64 {\n        self.state.cwnd"
ASKED = """
fn asked() -> String {
    std::env::var("CROSSFADE_TEST_FAULT").unwrap_or_default()
}
"""
# Every fault that shows when the control runs, compiled once: the environment says which one shows.
FAULTS = f"""\
        match asked().as_str() {{
            "panic" => panic!("no {{}}", 7),
            "index" => self.state.cwnd = [0.0; 0][window as usize],
            "cwnd NaN" => self.state.cwnd = f64::NAN,
            "cwnd 0" => self.state.cwnd = 0.0,
            "ssthresh" => self.state.ssthresh = -1.0,
            _ => {{
{LOSS}
            }}
        }}"""
PACED = f"""\
    fn pacing_rate(&self) -> Option<f64> {{
        match asked().as_str() {{
            "rate 0" => Some(0.0),
            "rate NaN" => Some(f64::NAN),
            _ => None,
        }}
    }}

    fn send_quantum(&self) -> Option<u64> {{
        (asked() == "quantum").then_some(0)
    }}

{WINDOW}"""


def faulty() -> str:
    """Source of the control with every fault, none of which shows without the variable."""
    source = changed(LOSS, FAULTS).replace(WINDOW, PACED)
    start = '        if asked() == "start" {\n            panic!("never");\n        }\n'
    return (
        source.replace(
            "        Self { state, before: None }", f"{start}        Self {{ state, before: None }}"
        )
        + ASKED
    )


def line_in(source: str, text: str) -> int:
    """Number of the line with this text."""
    assert source.count(text) == 1
    return source[: source.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (changed("let acked = ack", "let acked: u32 = ack"), r"^mine.rs:51:26: error.*mismatched types"),
        (
            "fn main() {}\n",
            r"mine.rs exports no control: it must end with crossfade_control::export!\(Mine\);",
        ),
    ],
)
def test_what_does_not_compile_is_one_line(tmp_path: Path, source: str, line: str) -> None:
    with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
        run(tmp_path, source, values={"channel.p_e": 0.1})
    assert "\n" not in str(caught.value)


def test_what_is_wrong_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = faulty()
    lossy = {"channel.p_e": 0.1}
    assert rows(run(tmp_path, source, values=lossy)) == rows(run(tmp_path, RENO, values=lossy))
    panic, index, start = (
        line_in(source, text) for text in ('panic!("no {}"', "[0.0; 0]", 'panic!("never")')
    )
    for fault, line in {
        "panic": rf"^mine.rs:{panic}: panicked: no 7, in on_loss$",
        "index": rf"^mine.rs:{index}: panicked: .*out of bounds",
        "start": rf"^mine.rs:{start}: panicked: never, in start$",
        "cwnd NaN": r"^mine.rs: cwnd = NaN after on_loss: must be finite and at",
        "cwnd 0": r"^mine.rs: cwnd = 0.0 after on_loss: must be finite and at least 1$",
        "ssthresh": r"^mine.rs: ssthresh = -1.0 after on_loss: must be at least 1$",
        "rate 0": r"^mine.rs: pacing_rate = 0.0 after start: must be finite and above 0, or none$",
        "rate NaN": r"^mine.rs: pacing_rate = NaN after start: must be finite",
        "quantum": r"^mine.rs: send_quantum = 0 after start: must be at least 1, or none$",
    }.items():
        monkeypatch.setenv("CROSSFADE_TEST_FAULT", fault)
        with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
            run(tmp_path, source, values=lossy)
        assert "\n" not in str(caught.value)


def test_a_panic_ends_the_command_and_nothing_else(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = faulty()
    monkeypatch.setenv("CROSSFADE_TEST_FAULT", "panic")
    (tmp_path / "mine.rs").write_text(source)
    (tmp_path / "a.toml").write_text(FADING)
    failed = cli("run", str(tmp_path / "a.toml"), "--set", "tcp.congestion=mine.rs", "--jobs", "2")
    assert (failed.code, failed.err.count("\n")) == (2, 1)
    line = line_in(source, 'panic!("no {}"')
    assert f"mine.rs:{line}: panicked: no 7, in on_loss" in failed.err


def test_flavours_without_samples_refuse_what_needs_them(tmp_path: Path) -> None:
    text = FADING.replace('"sack"', '"newreno", flavour = "paper", w_max = 20, rto = { fixed = "2 s" }')
    assert rows(run(tmp_path, RENO, text))
    with pytest.raises(cf.errors.ScenarioError, match=r"^mine.rs: .*needs tcp.flavour = \"rfc\"$"):
        run(tmp_path, BBR, text)


def test_a_library_that_is_not_what_was_written_is_not_loaded(tmp_path: Path) -> None:
    rule = CompiledControl("mine.rs", RENO + "// damaged\n")
    path, _ = rule.build()
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], whole[:100], b"", whole[:-1] + b"x"):
        path.write_bytes(data)
        compiled._checked.cache_clear()
        with pytest.raises(cf.errors.ScenarioError, match=r"damaged \([\d,]+ bytes, .*control build --anew"):
            run(tmp_path, RENO + "// damaged\n")
    # A file with its hash that is no library, put there by another program.
    path.write_bytes(b"no library")
    compiled._hash_of(path).write_text(hashlib.sha256(b"no library").hexdigest())
    compiled._checked.cache_clear()
    with pytest.raises(cf.errors.ScenarioError, match="cannot be loaded"):
        run(tmp_path, RENO + "// damaged\n")
    rule.build(anew=True)
    compiled._checked.cache_clear()
    assert rows(run(tmp_path, RENO + "// damaged\n"))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("VERSION: u32 = 3", "VERSION: u32 = 2", "its library has version 2 of the interface, this is 3"),
        (
            "pub ssthresh: f64,\n    /// Pacing",
            "pub ssthresh: f64,\n    pub more: u64,\n    /// Pacing",
            "its library was built for another system",
        ),
    ],
)
def test_a_library_of_another_interface_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, line: str
) -> None:
    ours = dict(_crossfade.CONTROL_CRATE)
    assert ours["abi.rs"].count(old) == 1
    whole = "limits_itself: control.limits_itself(),"
    others = [
        ("lib.rs", ours["lib.rs"].replace(whole, f"{whole} ..Answer::default()")),
        ("abi.rs", ours["abi.rs"].replace(old, new)),
    ]
    source = f"{RENO}// {line}\n"
    rule = CompiledControl("mine.rs", source)
    with monkeypatch.context() as patch:
        patch.setattr(_crossfade, "CONTROL_CRATE", others)
        other, _ = rule.build()
    [ours_path] = rule._libraries(compiled._compiler())
    shutil.copy(other, ours_path)
    shutil.copy(compiled._hash_of(other), compiled._hash_of(ours_path))
    with pytest.raises(cf.errors.ScenarioError, match=rf"^mine.rs: {line}.*crossfade control build"):
        run(tmp_path, source)


def test_without_a_compiler_a_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = CompiledControl("mine.rs", RENO)
    path, _ = rule.build()
    monkeypatch.setenv("PATH", str(tmp_path))
    # A library that was compiled before needs no compiler.
    assert CompiledControl("mine.rs", RENO).build() == (path, False)
    with pytest.raises(
        cf.errors.ScenarioError, match=r"^mine.rs: needs a Rust compiler, .*https://rustup.rs.*mine.py"
    ):
        run(tmp_path, RENO + "// new\n")


def test_a_results_file_is_read_and_a_scenario_checked_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.rs").write_text(RENO)
    (tmp_path / "a.toml").write_text(FADING)
    cf.sweep(tmp_path / "a.toml", set={"tcp.congestion": "mine.rs"}, out=tmp_path / "a.sqlite")

    def none(*_: object, **__: object) -> object:
        raise AssertionError

    monkeypatch.setattr(CompiledControl, "build", none)
    cf.check(tmp_path / "a.toml", set={"tcp.congestion": "mine.rs"})
    assert len(cf.store.load(tmp_path / "a.sqlite").points[0].rows) == 3


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    found = run(tmp_path, of_the_page("crossfade_control::export!(Mine)"))
    assert (found.points[0].value("goodput_bps") or 0.0) > 5e5


def test_the_page_has_every_field_of_the_types() -> None:
    """docs/own-control.md lists each public field of a control's types, with its comment."""
    root = Path(__file__).parents[1]
    source = (root / "crates/control/src/abi.rs").read_text()
    page = (root / "docs/own-control.md").read_text()
    found = 0
    for name in ("Start", "AckSample", "SendEvent", "LostSegment", "RateSample", "Needs"):
        body = source.partition(f"pub struct {name} {{\n")[2].partition("\n}")[0]
        for doc, field, kind in re.findall(r"    /// (.*)\n    pub (\w+): ([\w<>]+),", body):
            found += 1
            said = page.partition(f"| `{name}` | `{field}` | `{kind}` | ")[2].partition(" |\n")[0]
            assert said[:20] == doc[:20], (name, field)
    assert found == 42
