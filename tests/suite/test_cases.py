"""Files of suites: shipped ones are valid, and an error in one is a line that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from crossfade.errors import ScenarioError
from crossfade.files import SCENARIOS, shipped_scenarios, shipped_suites
from crossfade.suite.cases import load_suite

SCENARIO = """\
schema = 2
title = "A short transfer"
run = { duration = "20 s", runs = 5 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "4 Mbit/s", packet_size = "1500 B", queue = { limit = "50 packets" } }
wired = { rtt = "40 ms" }
tcp = { variant = "sack", congestion = "cubic", w_max = 400 }
flows = { main = { traffic = "transfer", size = "300 kB" } }
"""

SUITE = """\
title = "A suite of one's own"
source = "nowhere"
runs = 5

[[case]]
name = "short"
scenario = "short"
clause = "section 1"
size = 300000
target = [{ metric = "main.completion_time_s", at_most = "5 s", why = "ours" }]
"""


def own(folder: Path, text: str = SUITE, scenario: str = SCENARIO) -> str:
    """Name of a suite in a folder with these texts."""
    (folder / "short.toml").write_text(scenario)
    (folder / "suite.toml").write_text(text)
    return str(folder)


def test_what_ships() -> None:
    assert shipped_suites() == ["bbr-draft", "c4", "interop", "l4s", "radio", "rfc8867", "rfc8869"]
    used = set()
    for name in shipped_suites():
        suite = load_suite(name)
        assert len(suite.cases) >= 4
        assert suite.source
        assert suite.left_out
        for case in suite.cases:
            used.add(case.scenario)
            assert case.clause
            assert bool(case.live) is not bool(case.not_live)
            for target in case.targets:
                # Every limit has a reason.
                assert len(target.why) > 3
    assert used == {name for name in shipped_scenarios() if name.startswith("suites/")}
    # Suite files are not listed as scenarios.
    assert not any(name.endswith("/suite") for name in shipped_scenarios())


def test_every_file_of_a_shipped_suite_is_used() -> None:
    for folder in (SCENARIOS / "suites").iterdir():
        texts = "".join(path.read_text() for path in folder.glob("*.toml"))
        for table in folder.glob("*.csv"):
            assert f'"{table.name}"' in texts, table


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("title =", "titel ="), "titel: unknown key (did you mean title?)"),
        (('source = "nowhere"\n', ""), "source: is missing"),
        (("runs = 5", "runs = 0"), "runs = 0: must be a whole number above 0"),
        (('name = "short"', "name = 3"), "case 1.name = 3: must be a text"),
        (('scenario = "short"', 'scenario = "long"'), "no such file, and no shipped scenario"),
        (("at_most", "at_mots"), "at_mots: unknown key (did you mean at_most?)"),
        (('at_most = "5 s", ', ""), "must have one of at_least and at_most"),
        (('"5 s"', '"5 Mbit/s"'), "at_most = '5 Mbit/s': must be in s"),
        (('"5 s"', '"soon"'), "at_most = 'soon': must be a number or a quantity"),
        (("completion_time_s", "completion_tiem_s"), "no metric (did you mean completion_time_s"),
        ((', why = "ours"', ""), "why: must be a text"),
        (("size = 300000", "size = 0"), "size = 0: must be bytes"),
        (("size = 300000", 'size = 300000\nlive = "no"'), "contradicts size"),
        (("size = 300000", 'size = 300000\ntime_limit = "2 h"'), "must be above 0 s and at most 1 h"),
        (("size = 300000", 'size = 300000\nlasts = "2 h"'), "lasts: must be above 0 s and at most 1 h"),
        (("size = 300000", 'size = 300000\nlasts = "2 s"\ntime_limit = "2 s"'), "contradicts time_limit"),
        (("size = 300000", 'lasts = "2 s"'), "lasts: needs size"),
        (("at_most", 'from = "1 s", at_most'), "from and to: one needs the other"),
        (("at_most", 'from = "2 s", to = "1 s", at_most'), "must be later than from"),
        (("at_most", 'after = "1 s", at_most'), "after, level: are for metric recovery_s"),
        (("main.completion_time_s", "recovery_s"), "needs after and level"),
        (("main.completion_time_s", "share"), "must name a flow"),
        (("[[case]]", "[case]"), "must be a list of tables"),
        (("[[case]]", "[[case"), "suite.toml: "),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load_suite(own(tmp_path, SUITE.replace(*change)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_names_are_looked_for() -> None:
    with pytest.raises(ScenarioError, match=r"no such suite \(did you mean interop\?\)"):
        load_suite("intreop")
    with pytest.raises(ScenarioError, match=r"case aloen: not in suite c4 \(did you mean alone\?\)"):
        load_suite("c4").chosen(["aloen"])


def test_a_case_that_stands_twice(tmp_path: Path) -> None:
    case = SUITE.partition("[[case]]")[2]
    with pytest.raises(ScenarioError, match="stands twice"):
        load_suite(own(tmp_path, f"{SUITE}\n[[case]]{case}"))
