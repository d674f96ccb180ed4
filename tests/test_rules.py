"""Congestion controls in Python that a scenario names: like built-in ones, and cached by their source."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import plans, teaching
from crossfade.plans.options import Options
from crossfade.results.cache import Cache
from crossfade.results.file import ResultsFile
from tests.conftest import Cli

FADING = """
schema = 2
run = { duration = "5 s", runs = 3, seed = 7 }
channel = { model = "markov", p_e = 0.02, fd_t = 0.05, clock = "slot" }
link = { rate = "2 Mbit/s", packet_size = "1500 B", delay = "20 ms", queue = { limit = "30 packets" } }
reverse = { rate = "2 Mbit/s", delay = "20 ms" }
tcp = { variant = "sack" }
"""

RENO = """from crossfade.teaching import Reno


class Mine(Reno):
    pass
"""

HALVER = """from crossfade.teaching import Reno

PART = 0.75
seen = []


class _Base(Reno):
    pass


class Halver(_Base):
    losses = 0

    def on_loss(self, now, window):
        super().on_loss(now, window)
        seen.append(now)
        Halver.losses += 1
        # What other connections did must not be seen here.
        assert len(seen) == Halver.losses == self.count()
        self.cwnd = self.ssthresh = max(PART * window, 2.0)

    def count(self):
        self.mine = getattr(self, "mine", 0) + 1
        return self.mine
"""


def run(folder: Path, rule: str = "mine.py", text: str = FADING, **options: object) -> cf.store.Results:
    (folder / "a.toml").write_text(text)
    values: Mapping[str, object] = {"tcp.congestion": rule}
    return cf.run(folder / "a.toml", set=values, cache=False, **options)  # type: ignore[arg-type]


def test_reno_in_a_file_is_the_built_in_reno_to_the_last_digit(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RENO)
    mine = run(tmp_path)
    built_in = cf.run(FADING, cache=False)
    assert [row.values for row in mine.points[0].rows] == [row.values for row in built_in.points[0].rows]
    assert {row.key for row in mine.points[0].rows}.isdisjoint(row.key for row in built_in.points[0].rows)


def test_a_byte_order_mark_is_no_syntax_error(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("\ufeff" + RENO)
    assert run(tmp_path).points[0].rows


@pytest.mark.parametrize("flavour", ["paper", "ns2"])
def test_the_other_flavours_take_one_as_well(tmp_path: Path, flavour: str) -> None:
    (tmp_path / "mine.py").write_text(RENO)
    text = FADING.replace(
        '"sack"', f'"newreno", flavour = "{flavour}", w_max = 20, rto = {{ fixed = "2 s" }}'
    )
    assert (run(tmp_path, text=text).points[0].value("goodput_bps") or 0.0) > 1e5
    with pytest.raises(cf.errors.ScenarioError, match=r'tcp.congestion = "cubic": needs tcp.flavour = "rfc"'):
        run(tmp_path, "cubic", text=text)


def test_threads_share_nothing_and_rows_are_cached_by_the_source(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HALVER)
    (tmp_path / "other.py").write_text(HALVER)
    one, four = run(tmp_path, jobs=1, runs=8), run(tmp_path, "other.py", jobs=4, runs=8)
    assert [row.values for row in one.points[0].rows] == [row.values for row in four.points[0].rows]
    # Keys of rows depend on the content of the file, not on its name.
    assert [row.key for row in one.points[0].rows] == [row.key for row in four.points[0].rows]
    (tmp_path / "other.py").write_text(HALVER.replace("0.75", "0.5"))
    assert {row.key for row in one.points[0].rows}.isdisjoint(
        row.key for row in run(tmp_path, "other.py").points[0].rows
    )


def test_one_of_several_flows_has_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HALVER)
    flows = (
        '[flows]\na = { tcp = { congestion = "mine.py:Halver" } }\nb = { tcp = { congestion = "cubic" } }\n'
    )
    (tmp_path / "a.toml").write_text(FADING + flows)
    found = cf.run(tmp_path / "a.toml", cache=False)
    assert {flow["name"] for flow in found.points[0].flows} == {"a", "b"}
    (tmp_path / "a.toml").write_text(FADING + flows.replace("mine.py:Halver", "reno"))
    assert cf.run(tmp_path / "a.toml", cache=False).points[0].rows[0].values != found.points[0].rows[0].values
    (tmp_path / "mine.py").write_text("class Halver:\n    pass\n")
    (tmp_path / "a.toml").write_text(FADING + flows)
    with pytest.raises(
        cf.errors.ScenarioError, match=r"mine.py:1: class Halver has no start, on_ack, .*derive it from"
    ):
        cf.run(tmp_path / "a.toml", cache=False)


def method(body: str) -> str:
    head = "import math\nfrom crossfade.teaching import Reno\nclass Mine(Reno):\n"
    return f"{head}    def on_loss(self, now, window):\n        {body}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("class Mine(:\n", r"tcp.congestion = \"mine.py\": mine.py:1: invalid syntax"),
        ("x = 1\n", r"mine.py has no class$"),
        ("class A: pass\nclass B: pass\n", r"mine.py has the classes A, B: name one, mine.py:A$"),
        (
            "import nothing_of_that_name\nclass Mine: pass\n",
            r"^mine.py:1: ModuleNotFoundError: No module named",
        ),
        ("class Mine:\n    def __init__(self, x): pass\n", r"^mine.py:1: TypeError: .*missing 1 required"),
        (method("self.cwnd = 1 / 0"), r"^mine.py:5, in on_loss: ZeroDivisionError: division by zero$"),
        (
            method("self.cwnd = math.nan"),
            r"^mine.py:4, in on_loss: Mine.cwnd = NaN after on_loss: must be finite",
        ),
        (
            method("self.ssthresh = 0.5"),
            r"^mine.py:4, in on_loss: Mine.ssthresh = 0.5 after on_loss: must be at",
        ),
        (
            method("self.cwnd = 'two'"),
            r"^mine.py:4, in on_loss: Mine.cwnd = 'two' after on_loss: must be a number$",
        ),
        (
            method("self.ssthresh = None"),
            r"^mine.py:4, in on_loss: Mine.ssthresh = None after on_loss: must be",
        ),
        (method("raise ValueError('x' * 100_000)"), r"^mine.py:5, in on_loss: ValueError: x{185}\.\.\.$"),
        (
            method("raise type('Dumb', (Exception,), {'__str__': lambda _: 1})"),
            r"^mine.py:5, in on_loss: Dumb$",
        ),
        (method("math.sqrt(-1)"), r"^mine.py:5, in on_loss: ValueError: "),
        (method("raise SystemExit(3)"), r"^mine.py:5, in on_loss: SystemExit: 3$"),
        (method("raise ValueError('a\\nb')"), r"^mine.py:5, in on_loss: ValueError: a b$"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    store = Cache(tmp_path / "cache.sqlite")
    (tmp_path / "a.toml").write_text(FADING)
    for jobs in (1, 3):
        with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
            cf.run(tmp_path / "a.toml", set={"tcp.congestion": "mine.py"}, cache=store, jobs=jobs)
        assert "\n" not in str(caught.value)
    plan = plans.load(tmp_path / "a.toml", Options()) if "Mine(:" in text or "x =" in text else None
    if plan is None and "has the classes" not in line:
        # Rows of failed runs are not kept.
        plan = plans.load(tmp_path / "a.toml", Options(set={"tcp.congestion": "mine.py"}))
        assert not store.get(plan.core.keys())


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("none.py", 'tcp.congestion = "none.py": .*none.py: cannot be read'),
        ("mine.py:Mein", "mine.py has no class Mein; did you mean Mine?"),
        ("mine.py:Cubic", "mine.py has no class Cubic; there are: Mine"),
        (
            "mine.py:a b",
            "must be one of reno.*, a class in a Python file such as mine.py, or a Rust file such as mine.rs",
        ),
        ("renno", 'must be one of reno, .*did you mean "reno"\\?'),
    ],
)
def test_a_wrong_name_is_one_line(tmp_path: Path, rule: str, line: str) -> None:
    (tmp_path / "mine.py").write_text(RENO)
    with pytest.raises(cf.errors.ScenarioError, match=line):
        run(tmp_path, rule)


@pytest.mark.parametrize("method", ["analysis", "formula", "live"])
def test_methods_that_know_no_such_rule_say_so(tmp_path: Path, method: str) -> None:
    (tmp_path / "mine.py").write_text(RENO)
    text = FADING.replace('"sack"', '"newreno", flavour = "paper", w_max = 20, rto = { fixed = "2 s" }')
    with pytest.raises(
        cf.errors.ScenarioError, match=r"^(flows\..*\.)?tcp.congestion.*use method simulation"
    ):
        run(tmp_path, text=text if method == "analysis" else FADING, methods=[method])


def test_on_the_command_line(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(HALVER)
    (tmp_path / "a.toml").write_text(FADING)
    over = ("--over", "tcp.congestion=reno,mine.py", "--runs", "4")
    assert "mine.py" in cli("run", "a.toml", *over).out
    assert cli("sweep", "a.toml", *over, "--shard", "1/2").code == 0
    assert cli("sweep", "a.toml", *over, "--shard", "2/2").code == 0
    assert "complete" in cli("merge", "a-1-of-2.sqlite", "a-2-of-2.sqlite", "--out", "a.sqlite").err
    assert "none missing" in cli("sweep", "a.toml", *over).err
    compared = cli("compare", "a.sqlite", "--by", "tcp.congestion")
    assert compared.code == 0
    assert "mine.py" in compared.out
    assert "FILE.py" in cli("explain", "tcp.congestion").out
    (tmp_path / "mine.py").write_text(method("raise OSError('no')"))
    failed = cli("run", "a.toml", "--set", "tcp.congestion=mine.py")
    assert (failed.code, failed.err.count("\n")) == (2, 1)
    assert "mine.py:5, in on_loss: OSError: no" in failed.err
    assert cli("run", "a.toml", "--set", "tcp.congestion=mine.py", "--events", "e.csv").code == 2
    assert not (tmp_path / "e.csv").exists()


def test_a_results_file_is_read_without_carrying_out_anything(tmp_path: Path) -> None:
    """Reading a results file executes no code stored in it."""
    (tmp_path / "mine.py").write_text(RENO)
    (tmp_path / "a.toml").write_text(FADING)
    cf.sweep(tmp_path / "a.toml", set={"tcp.congestion": "mine.py"}, out=tmp_path / "a.sqlite")
    mark = tmp_path / "mark"
    (tmp_path / "mine.py").write_text(f"open({str(mark)!r}, 'w').close()\n{RENO}")
    with pytest.raises(AssertionError):
        cf.sweep(tmp_path / "a.toml", set={"tcp.congestion": "mine.py"}, out=tmp_path / "b.sqlite", say=_stop)
    cf.check(tmp_path / "a.toml", set={"tcp.congestion": "mine.py"})
    with ResultsFile.open(tmp_path / "b.sqlite") as file:
        assert len(list(file.plans())) == 1
    cf.store.load(tmp_path / "b.sqlite")
    cf.store.merge([tmp_path / "a.sqlite", tmp_path / "b.sqlite"], tmp_path / "c.sqlite")
    assert len(cf.store.load(tmp_path / "a.sqlite").points[0].rows) == 3
    assert not mark.exists()


def _stop(line: str) -> None:
    assert "already" not in line


QUARTER = 0.75


class Taker(teaching.Reno):
    """Control that uses names of its surrounding module."""

    def on_loss(self, now: float, window: float) -> None:
        super().on_loss(now, window)
        self.cwnd = self.ssthresh = least(QUARTER * window)


def least(window: float) -> float:
    return max(window, 2.0)


def test_a_class_is_taken_as_it_stands_in_a_program(tmp_path: Path) -> None:
    found = cf.run(FADING, over={"tcp.congestion": ["reno", Taker]}, cache=False)
    assert [point.axes["tcp.congestion"] for point in found.points] == ["reno", "Taker.py:Taker"]
    (tmp_path / "mine.py").write_text(HALVER)
    same = run(tmp_path)
    assert [row.values for row in found.points[1].rows] == [row.values for row in same.points[0].rows]
    results = cf.sweep(FADING, set={"tcp.congestion": Taker}, out=tmp_path / "a.sqlite")
    assert results.complete
    local = 3.0

    class Inner(teaching.Reno):
        def on_loss(self, now: float, window: float) -> None:
            self.cwnd = local

    with pytest.raises(
        cf.errors.ScenarioError, match="Inner: uses the variable local around it; write Inner into a file"
    ):
        cf.run(FADING, set={"tcp.congestion": Inner}, cache=False)
    with pytest.raises(cf.errors.ScenarioError, match="must be a number"):
        cf.run(FADING, set={"tcp.w_max": Taker}, cache=False)


def test_control_c_ends_a_rule_that_loops_for_ever(tmp_path: Path) -> None:
    """Ctrl-C ends a control that loops forever; the time limit is generous, since only a hang is a
    failure.
    """
    (tmp_path / "mine.py").write_text(
        method(f"open({str(tmp_path / 'in')!r}, 'w').close()\n        while True: pass")
    )
    (tmp_path / "a.toml").write_text(FADING)
    command = [sys.executable, "-m", "crossfade", "run", "a.toml", "--set", "tcp.congestion=mine.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "in").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
