"""Scenarios as objects and as mappings; values of wrong types give one line of error."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossfade as cf
from crossfade import teaching
from crossfade.files import toml

LINK: dict[str, Any] = {
    "schema": 2,
    "title": "A link",
    "run": {"duration": "5 s", "runs": 3},
    "channel": {"model": "iid", "p_e": 0.01},
    "link": {"rate": "2 Mbit/s", "packet_size": "1500 B", "delay": "20 ms"},
    "tcp.variant": "sack",
    "sweep": {"channel.p_e": [0.01, 0.1]},
}
TEXT = """
schema = 2
title = "A link"
[run]
duration = "5 s"
runs = 3
[channel]
model = "iid"
p_e = 0.01
[link]
rate = "2 Mbit/s"
packet_size = "1500 B"
delay = "20 ms"
[tcp]
variant = "sack"
[sweep]
"channel.p_e" = [0.01, 0.1]
"""


def rows(results: cf.store.Results) -> list[tuple[str, bytes]]:
    return [(row.key, row.values) for point in results.points for row in point.rows]


def test_a_mapping_is_the_file_with_its_keys() -> None:
    of_mapping, of_text = cf.run(LINK, cache=False), cf.run(TEXT, cache=False)
    assert rows(of_mapping) == rows(of_text)
    assert of_mapping.title == "A link"
    assert list(of_mapping.axes) == ["channel.p_e"]


def test_a_mapping_may_hold_arrays_and_classes() -> None:
    class Mine(teaching.Reno):
        pass

    found = cf.run(
        {**LINK, "tcp.congestion": Mine, "sweep": {"channel.p_e": np.array([0.01, 0.1])}}, cache=False
    )
    assert [row.values for point in found.points for row in point.rows] == [
        values for _, values in rows(cf.run(TEXT, cache=False))
    ]


def test_a_mapping_is_swept_into_a_file_that_is_read_again(tmp_path: Path) -> None:
    made = cf.sweep(LINK, out=tmp_path / "a.sqlite")
    assert rows(cf.store.load(tmp_path / "a.sqlite")) == rows(made)
    assert tomllib.loads(cf.open_results(tmp_path / "a.sqlite").attrs["scenario"])["tcp"] == {
        "variant": "sack"
    }


KEYS = st.text(min_size=1, max_size=8).filter(lambda key: "." not in key)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    PLAIN | TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@given(st.dictionaries(KEYS.filter(lambda key: key.isprintable()), VALUES, max_size=4))
def test_what_is_written_as_toml_reads_back(values: dict[str, Any]) -> None:
    assert tomllib.loads(toml.document(values)) == values


def test_dotted_keys_are_those_of_tables_but_in_a_sweep() -> None:
    text = toml.document({"link.queue.limit": 5, "link": {"rate": "1 bit/s"}, "sweep": {"tcp.w_max": [1]}})
    assert tomllib.loads(text) == {
        "link": {"queue": {"limit": 5}, "rate": "1 bit/s"},
        "sweep": {"tcp.w_max": [1]},
    }


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"tcp.w_max": 6, "tcp": {"w_max": 7}}, r"^tcp\.w_max: stands twice in the mapping$"),
        ({"tcp": 6, "tcp.w_max": 7}, r"^tcp\.w_max: tcp is a value here, and no table$"),
        ({"tcp": {"w_max": None}}, r"^tcp\.w_max = None: must have a value"),
        ({1: 2}, r"^scenario: 1 is no key"),
    ],
)
def test_a_wrong_mapping_is_one_line(values: dict[str, Any], line: str) -> None:
    with pytest.raises(cf.errors.ScenarioError, match=line):
        cf.run(values)


def test_a_scenario_is_changed_into_another_one() -> None:
    link = cf.Scenario(LINK)
    assert (link.title, link.points, link.axes) == ("A link", 2, {"channel.p_e": [0.01, 0.1]})
    slow = link.with_({"link.rate": "1 Mbit/s"}, runs=2)
    assert link.to_dict()["link"]["rate"] == "2000000 bit/s"
    assert slow.to_dict()["link"]["rate"] == "1000000 bit/s"
    found = slow.run(cache=False)
    assert rows(found) == rows(cf.run(TEXT, set={"link.rate": "1 Mbit/s"}, runs=2, cache=False))


def test_what_is_asked_last_stands_above() -> None:
    link = cf.Scenario(LINK).with_({"channel.p_e": 0.2}, over={"tcp.w_max": [6, 12]}, runs=4)
    assert list(link.axes) == ["tcp.w_max"]
    again = link.with_({"tcp.w_max": 3}, over={"channel.p_e": [0.3]})
    assert again.axes == {"channel.p_e": [0.3]}
    assert (again.to_dict()["tcp"]["w_max"], again.check().stop) == (3, {"runs": 4})
    assert "precision" in link.with_(precision="5 %").check().stop
    assert cf.check(link, runs=2).stop == {"runs": 2}
    whole = link.with_({"channel": {"model": "iid", "p_e": 0.4}})
    assert whole.to_dict()["channel"]["p_e"] == 0.4


def test_functions_take_a_scenario(tmp_path: Path) -> None:
    link = cf.Scenario(LINK)
    assert link.sweep(tmp_path / "a.sqlite").complete
    assert cf.compare(link, "channel.p_e").pairs[0].verdict == "higher"
    assert cf.best(link.with_({"run.runs": 5}), "channel.p_e").decisions[0].choice == {"channel.p_e": 0.01}


def test_a_scenario_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(TEXT)
    link = cf.Scenario.load(file)
    file.unlink()
    assert link.run(cache=False).points


def test_a_notebook_shows_axes_runs_and_text() -> None:
    shown = cf.Scenario({**LINK, "title": "<b>"}).with_(over={"tcp.w_max": range(1, 21)})._repr_html_()
    for part in (
        "&lt;b&gt;",
        "channel.p_e",
        "0.01, 0.1",
        "1 to 20 (20 values)",
        "<td>stop</td><td>runs 3</td>",
        "[link]",
    ):
        assert part in shown, part
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: cf.run(5), r"^scenario = 5: must be a file, a shipped scenario's name"),  # type: ignore[arg-type]
        (lambda: cf.run(b"a"), r"^scenario = b'a': must be a file"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, jobs="all"), r"^jobs = 'all': must be a number of threads"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, jobs=2.5), r"^jobs = 2.5: must be a number of threads"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, over=["tcp.w_max"]), r"^over = \['tcp.w_max'\]: must be a mapping"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, set="tcp.w_max=6"), r"^set = 'tcp.w_max=6': must be a mapping"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, set={1: 2}), r"^set: 1 is no key"),  # type: ignore[dict-item]
        (lambda: cf.run(LINK, methods=3), r"^methods = 3: must be a list"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, cache="no"), r"^cache = 'no': must be True or False$"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, progress="yes"), r"^progress = 'yes': must be"),  # type: ignore[arg-type]
        (lambda: cf.sweep(LINK, out=5), r"^out = 5: must be the name of a file$"),  # type: ignore[arg-type]
        (lambda: cf.sweep(LINK, shard=3), r"^shard = 3: must be a pair"),  # type: ignore[arg-type]
        (lambda: cf.sweep(LINK, shard=("a", 2)), r"^shard = \('a', 2\): must be a pair"),  # type: ignore[arg-type]
        (lambda: cf.compare(LINK, by=5), r"^5: no axis; must be its key"),  # type: ignore[arg-type]
        (lambda: cf.compare(5, by="tcp.w_max"), r"^scenario = 5: must be"),  # type: ignore[arg-type]
        (lambda: cf.open_results(5), r"^path = 5: must be the name of a file$"),  # type: ignore[arg-type]
        (lambda: cf.explain(5), r"^key = 5: must be a text"),  # type: ignore[arg-type]
        (lambda: cf.Scenario.from_toml(5), r"^text = 5: must be a text of TOML$"),  # type: ignore[arg-type]
        (lambda: cf.Scenario.load("schema = 2\n"), r"^path: must be the name of a file"),
        (lambda: cf.Scenario(LINK).with_(["a"]), r"^set = \['a'\]: must be a mapping"),  # type: ignore[arg-type]
        (lambda: cf.run(LINK, runs=1).where("a"), r"^where = 'a': must be a mapping"),  # type: ignore[arg-type]
    ],
)
def test_another_kind_than_is_meant_is_one_line(call: Callable[[], object], line: str) -> None:
    with pytest.raises(cf.errors.CrossfadeError, match=line) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_one_method_may_be_a_text() -> None:
    assert cf.run("quickstart", methods="formula").methods == ["formula"]
