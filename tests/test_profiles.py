"""Profiles of links: each names its source, is a valid scenario, and has the described properties."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.errors import ScenarioError
from crossfade.files import profile_text, shipped_profiles, shipped_scenarios
from tests.conftest import Cli

DOCS = Path(__file__).parents[1] / "docs"
TCP = {"variant": "sack", "w_max": 4000}


def scenario(name: str, **more: object) -> dict[str, object]:
    return {"schema": 2, "link": f"profile:{name}", "tcp": TCP, "run": {"duration": "3 s", "runs": 2}, **more}


@pytest.mark.parametrize("name", shipped_profiles())
def test_it_says_where_it_comes_from_and_runs(name: str) -> None:
    said = tomllib.loads(profile_text(name))["profile"]
    for key in ("title", "source", "date", "licence", "method", "interval", "stands_for", "not_for"):
        assert len(said[key]) > 3, key
    assert f"| `{name}` |" in (DOCS / "profiles.md").read_text()
    results = cf.run(scenario(name), cache=False)
    assert results.points[0].value("goodput_bps") > 1e5


def test_they_are_listed_and_no_scenarios(cli: Cli) -> None:
    lines = cli("list", "--profiles").out.splitlines()
    assert [line.split()[0] for line in lines] == shipped_profiles()
    assert not any(name.startswith("profiles/") for name in shipped_scenarios())


def test_it_is_what_it_stands_for() -> None:
    tables = tomllib.loads(profile_text("dsl-vectoring-2023"))
    del tables["profile"]
    spelled = cf.run({**scenario("x"), **tables}, cache=False)
    named = cf.run(scenario("dsl-vectoring-2023"), cache=False)
    assert named.points[0].metrics == spelled.points[0].metrics
    # Keys of rows depend on the profile's content, not on its name.
    assert [row.key for row in named.points[0].rows] == [row.key for row in spelled.points[0].rows]


def test_keys_of_ones_own_stand_above_it() -> None:
    found = cf.check(scenario("dsl-vectoring-2023"), set={"link.rate": "7 Mbit/s"}).scenario
    assert found["link"]["rate"] == "7000000 bit/s"
    assert found["reverse"]["rate"] == "10000000 bit/s"
    swept = cf.run(
        scenario("geo-2022"), over={"link": ["profile:geo-2022", "profile:dsl-vectoring-2023"]}, cache=False
    )
    assert [point.axes["link"] for point in swept.points] == [
        "profile:geo-2022",
        "profile:dsl-vectoring-2023",
    ]
    assert swept.points[0].value("rtt_mean_s") > 0.6
    assert swept.points[1].value("rtt_mean_s") < 0.3


def test_a_results_file_keeps_it(tmp_path: Path) -> None:
    cf.sweep(scenario("dsl-vectoring-2023"), out=tmp_path / "x.sqlite")
    again = cf.store.load(tmp_path / "x.sqlite")
    assert again.points[0].scenario["link"]["rate"] == "50000000 bit/s"


def test_one_that_there_is_not_is_named() -> None:
    with pytest.raises(ScenarioError) as error:
        cf.check(scenario("geo-2023"))
    assert (
        'link = "profile:geo-2023": no shipped profile of that name (did you mean profile:geo-2022?)'
        in str(error.value)
    )


def test_the_wifi_hop_has_the_quantiles_that_it_says() -> None:
    """Delays of probes are 3, 20 and 250 ms at 50, 90 and 99 %, as the profile states."""
    probes = {"traffic": "udp", "rate": "80 kbit/s", "packet_size": "100 B", "start_within": "1 s"}
    run = {"duration": "600 s", "runs": 8}
    found = cf.run(scenario("wifi-campus-2016", flows={"probe": probes}, run=run), cache=False).points[0]
    for name, said, within in (("p50", 0.003, 0.1), ("p95", None, 0.0), ("p99", 0.25, 0.25)):
        if said is not None:
            assert found.value(f"one_way_delay_{name}_s") == pytest.approx(said, rel=within)
    # The tail 0.122 exp(-x/100 ms) is 5 % at 89 ms.
    assert found.value("one_way_delay_p95_s") == pytest.approx(0.089, rel=0.25)


def test_the_home_wifi_has_the_delays_of_its_source() -> None:
    """Echoes each 20 ms, as in the source, exceed x with 0.067 exp(-x/90 ms): 5 % at 26 ms and 1 % at 171
    ms.
    """
    probes = {"traffic": "udp", "rate": "40 kbit/s", "packet_size": "100 B", "start_within": "1 s"}
    run = {"duration": "600 s", "runs": 8}
    found = cf.run(scenario("wifi-home-2025", flows={"probe": probes}, run=run), cache=False).points[0]
    assert found.value("one_way_delay_p50_s") == pytest.approx(0.001, rel=0.25)
    assert found.value("one_way_delay_p95_s") == pytest.approx(0.026, rel=0.35)
    assert found.value("one_way_delay_p99_s") == pytest.approx(0.171, rel=0.25)
