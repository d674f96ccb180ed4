"""Plans of many runs: the first line soon, little memory a run, the same rows found as in small ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.results.cache import MemoryStore
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row
from tests.conftest import SWEEP

# Ten million runs.
LARGE = """
schema = 1
run = { duration = "100 slots", runs = 1000 }
channel = { model = "iid" }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
[sweep]
"channel.p_e" = "log:0.0001:0.5:100"
"tcp.w_max" = "1:100:1"
"""


def test_ten_million_runs_take_little_memory() -> None:
    program = f"""
import json, resource
from crossfade import plans
from crossfade.results.cache import MemoryStore
from crossfade.sweeps.stored import StoredRows
from crossfade.sweeps.sweep import _Left
def used(): return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = used()
plan = plans.load({LARGE!r})
left = _Left.of(plan, StoredRows(plan, MemoryStore()).by_key, (1, 1))
print(json.dumps([left.missing, used() - before]))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    missing, memory = json.loads(found.stdout)
    assert missing == 10_000_000
    assert memory / missing < 100
    # Nor do 10,000 points: what is needed of one is made when its runs come (6 kB each if they were kept).
    assert memory / 10_000 < 2000


def test_the_first_line_comes_before_the_points_are_read() -> None:
    class StopHereError(Exception):
        pass

    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        raise StopHereError

    with pytest.raises(StopHereError):
        cf.sweep(LARGE, say=say)
    assert said == ["reading 10,000 points"]


def test_what_is_finished_of_a_large_plan_needs_no_other_points() -> None:
    plan = plans.load(LARGE)
    made = [Row(*row) for row in plan.core.make([(number, "simulation", 0) for number in (7, 9_999)])]
    results = plan.results({row.key: row for row in made}, complete=False)
    assert [point.axes["tcp.w_max"] for point in results.points] == [8, 100]
    texts: list[str] = []
    plan.core.summarise(made, False, texts.append)
    assert len(texts) == 1
    # Of all points they come in parts, between which there may be a Ctrl-C.
    with pytest.raises(KeyboardInterrupt):
        plan.core.summarise(made, True, _interrupted)


def _interrupted(_: str) -> None:
    raise KeyboardInterrupt


def test_rows_of_a_large_plan_are_found_as_those_of_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cf.sweep(SWEEP, runs=3, out=tmp_path / "x.sqlite")
    cf.sweep(SWEEP, runs=2, seed=9, out=tmp_path / "x.sqlite")
    plan = plans.load(SWEEP, plans.Options(runs=2))
    with ResultsFile.open(tmp_path / "x.sqlite") as file:
        by_keys = plan.known_in(file)
        monkeypatch.setattr(plans, "MANY_ROWS", 0)
        assert plan.known_in(file) == by_keys
        assert len(by_keys) == len(plan.description["points"]) * 2
    # One with a key of another is not taken for it.
    store = MemoryStore()
    one, other = list(by_keys.values())[:2]
    store.put([one, one._replace(key=other.key)])
    assert plan.known_in(store) == {one.key: one}
