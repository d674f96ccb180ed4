"""Wi-Fi networks on the command line: output of check, stations, events, scenarios, wrong input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line

HOME = """\
schema = 2
run = { duration = "2 s", warmup = "500 ms", runs = 2 }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 2000 }
[wlan]
streams = 1
[wlan.stations]
near = { mcs = 11 }
old = { mcs = 3, standard = "n", width = "20 MHz" }
[flows]
down = { station = "near" }
up = { station = "old", direction = "up" }
"""
SCENARIOS = [
    *("wifi/ack-thinning", "wifi/airtime-anomaly", "wifi/bbr-over-aggregates"),
    *("wifi/call-beside-downloads", "wifi/home", "wifi/multi-link", "wifi/ofdma", "wifi/office"),
]


def test_check_says_modes_and_what_one_station_reaches(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    lines = cli("check", file).out.splitlines()
    assert lines[1] == "Wi-Fi network of 2 stations at 5 GHz: queues per station, AIFS 43 us"
    assert lines[2].startswith(
        "near: 1 x 802.11ax, 80 MHz, 1 stream, constant rate of 600.5 Mbit/s, window 256; "
        "alone up to 559.8 Mbit/s"
    )
    assert "(256 MPDUs in 5.321 ms)" in lines[2]
    assert lines[3].startswith("old: 1 x 802.11n, 20 MHz, 1 stream, constant rate of 26 Mbit/s, window 64")
    assert lines[4].startswith("flow down: bulk, TCP sack with cubic")
    assert lines[4].endswith("; down, near")
    assert lines[5].endswith("; up, old")
    with_dcf = cli("check", file, "--set", 'wlan.backoff="dcf"').out.splitlines()
    assert with_dcf[1] == f"{lines[1]}, backoff of DCF"
    assert with_dcf[2:] == lines[2:]
    facts = cf.check(HOME).wlan
    assert facts is not None
    assert facts["categories"] == [{"aifs_s": 43e-6, "windows": [15, 1023], "txop_s": 0.0}]


LINKS = [
    *(
        "--set",
        'wlan.standard="be"',
        "--set",
        'wlan.stations.old={ mcs = 3, standard = "n", width = "20 MHz" }',
    ),
    *(
        "--set",
        'wlan.links={ five = {}, two = { band = "2.4 GHz", width = "20 MHz", neighbours = { count = 2 } } }',
    ),
]


def test_links_of_multi_link_devices(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    lines = cli("check", file, *LINKS).out.splitlines()
    assert lines[1] == "Wi-Fi network of 2 stations on 2 links: queues per station, AIFS 43 us"
    assert lines[2] == "link 0, five: 5 GHz, 80 MHz, 2 stations; alone up to 557.7 Mbit/s"
    assert lines[3].startswith("link 1, two: 2.4 GHz, 20 MHz, 1 station, 2 neighbours; alone up to ")
    (point,) = json.loads(cli("run", file, *LINKS, "--json").out)
    first, second = point["wlan_links"]
    assert (first["wlan_link"], second["wlan_link"]) == (0, 1)
    shares = [link["wlan_link_mpdu_share"]["value"] for link in (first, second)]
    assert sum(shares) == pytest.approx(1)
    assert shares[0] > shares[1] > 0
    rates = [link["wlan_link_goodput_bps"]["value"] for link in (first, second)]
    near, old = (station["station_goodput_bps"]["value"] for station in point["stations"])
    assert sum(rates) == pytest.approx(near + old, rel=1e-6)
    (alone,) = cf.run(HOME, set={"run.runs": 1}).points
    assert alone.wlan_links == []
    events = tmp_path / "events.csv"
    cli("run", file, *LINKS, "--run", "0", "--link-events", events)
    with events.open(encoding="utf-8") as lines_of:
        frames = [row for row in csv.DictReader(lines_of) if row["event"] in {"air", "frame"}]
    assert {row["bin"] for row in frames} == {"0", "1"}


def test_a_single_radio_of_two_links(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    single = (*LINKS, "--set", 'wlan.multi_link="emlsr"')
    lines = cli("check", file, *single).out.splitlines()
    assert lines[2] == "EMLSR, one link at a time, of 1 station: padding and transition delay 32 us and 64 us"
    (point,) = json.loads(cli("run", file, *single, "--json").out)
    assert all(link["wlan_link_mpdus"]["value"] > 0 for link in point["wlan_links"])
    expect_one_line(
        cli("check", file, *single, "--set", 'wlan.emlsr.padding_delay="33 us"'),
        'wlan.emlsr.padding_delay = "33 us": must be one of 0, 32, 64, 128, 256 us',
    )


def test_the_air_of_two_links_can_be_captured(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    air = tmp_path / "air.pcap"
    cli("run", file, *LINKS, "--run", "0", "--air-pcap", air, "--snaplen", "200")
    assert air.stat().st_size > 10_000


def test_check_says_how_many_share_a_ppdu(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    of = ["--set", "wlan.ofdma={ users = 4 }"]
    lines = cli("check", file, *of).out.splitlines()
    assert lines[2] == "OFDMA downlink and uplink: PPDUs of up to 4 stations"
    lines = cli("check", file, "--set", "wlan.ofdma={ downlink = false, ru = 106 }").out.splitlines()
    assert lines[2] == "OFDMA uplink: PPDUs of up to 8 stations in RUs of 106 tones"


RFC_8869 = """\
schema = 2
run = { duration = "10 s", warmup = "4 s", runs = 1 }
link = { packet_size = "1500 B" }
wired = { rtt = "100 ms" }
wlan = { preset = "rfc-8869" }
tcp = { variant = "sack", congestion = "cubic", w_max = 2000, rfc = { profile = "linux" } }
flows = { f = { count = 4, start_within = "1 s" } }
"""


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_preset_gives_applications_what_its_source_says(direction: str) -> None:
    """Applications get about 20 of the 52 Mbit/s of MCS 11, as RFC 8869 states."""
    (result,) = cf.run(RFC_8869, set={"flows.f.direction": direction}, cache=False).points
    assert result.value("goodput_bps") == pytest.approx(20e6, rel=0.1)
    # The resolved scenario has the values of the preset, beside its name.
    network = cf.check(RFC_8869).scenario["wlan"]
    assert (network["preset"], network["standard"], network["mcs"]) == ("rfc-8869", "n", 3)


def test_stations_have_results_of_their_own() -> None:
    found: dict[str, Any] = json.loads(cf.run(HOME, cache=False).to_json())[0]
    stations = found["stations"]
    assert [one["station"] for one in stations] == [0, 1]
    assert stations[0]["station_goodput_bps"]["value"] > 50e6
    assert 1e6 < stations[1]["station_uplink_goodput_bps"]["value"] < 26e6
    whole = found["metrics"]
    shares = [one["airtime_share"]["value"] for one in stations]
    assert whole["airtime_share"]["value"] == pytest.approx(sum(shares) / 2)
    assert 0.8 < sum(shares) < 1.1  # a collision counts for both stations
    assert whole["collision_probability"]["value"] > 0.01
    data = cf.run(HOME).to_xarray()
    assert data["station_goodput_bps_by_station"].sizes["station"] == 2


def test_rows_are_equal_for_any_number_of_threads() -> None:
    set_ = {
        "run.runs": 4,
        "wlan.radio": {"mean_snr_db": 25},
        "wlan.stations": {"near": {}, "old": {"standard": "n"}},
    }
    one, four = (cf.run(HOME, set=set_, cache=False, jobs=jobs).to_json() for jobs in (1, 4))
    assert one == four


def test_events_tell_ppdus_and_mpdus(cli: Cli, tmp_path: Path) -> None:
    file, events = tmp_path / "home.toml", tmp_path / "events.csv"
    file.write_text(HOME)
    cli("run", file, "--set", "run.duration=100 ms", "--set", "run.warmup=0 s", "--link-events", events)
    with events.open() as lines:
        rows = list(csv.DictReader(lines))
    assert {row["kind"] for row in rows if row["event"] == "air"} == {"data", "block-ack"}
    frames = [row for row in rows if row["event"] == "frame"]
    assert {row["scheme"] for row in frames} == {"mcs-11", "mcs-3"}
    assert {row["link"] for row in rows} == {"forward", "reverse"}
    lost = sum(row["verdict"] == "lost" for row in frames)
    assert 0 < lost < len(frames) / 2


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_run(name: str) -> None:
    set_ = {"run.duration": "1 s", "run.warmup": "500 ms", "run.runs": 1}
    results = cf.run(name, set=set_, cache=False)
    assert all(point.value("goodput_bps") > 0 for point in results.points)


def test_what_cannot_be_is_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text(HOME)
    for change, said in [
        (
            'wlan.stations.near={ standard = "ac", width = "20 MHz", mcs = 9 }',
            "wlan.stations.near.mcs = 9: must be another one: 802.11ac at 20 MHz with 1 stream has no MCS 9",
        ),
        (
            "wlan.ofdma={ ru = 1992 }",
            "wlan.ofdma.ru = 1992: must be one of 26, 52, 106, 242, 484, 996, the RUs of 80 MHz",
        ),
        (
            "wlan.ofdma.users=38",
            "wlan.ofdma.users = 38: must be between 1 and 37: 80 MHz have 37 RUs of 26 tones",
        ),
        ("wlan.ampdu.window=512", "wlan.ampdu.window = 512: must be between 1 and 256 of 802.11ax"),
        ("wlan.stations.old.window=65", "wlan.stations.old.window = 65: must be between 1 and 64 of 802.11n"),
        ("flows.down.station=far", 'flows.down.station = "far": must be one of near, old'),
        ("wlan.stations.near.count=1001", "wlan.stations.near.count = 1001: must be between 1 and 1000"),
    ]:
        expect_one_line(cli("check", file, "--set", change), said)


OWN = """\
schema = 2
run = { duration = "2 s", warmup = "500 ms", runs = 2 }
link = { packet_size = "1500 B" }
wlan = { streams = 1, profile = "awgn", mcs = 5, radio = { mean_snr_db = 20 }, error_rates = "rates.csv" }
tcp = { flavour = "rfc", variant = "sack", w_max = 2000 }
"""


def test_error_rates_of_a_users_own(cli: Cli, tmp_path: Path) -> None:
    table, file = tmp_path / "rates.csv", tmp_path / "own.toml"
    file.write_text(OWN)
    table.write_text("mode,snr_db,error_rate\nmcs-5,10,0.5\nmcs-5,20,0.05\n")
    results = cf.run(file, cache=False)
    assert results.points[0].value("mpdu_error_rate") == pytest.approx(0.05, abs=0.005)
    table.write_text("mode,snr_db,error_rate\nmcs-4,10,0.5\nmcs-4,5,0.9\n")
    expect_one_line(cli("check", file), 'wlan.error_rates: has no mode "mcs-5": must be one of mcs-4')
    table.write_text("mode,snr_db,error_rate\nmcs-5,10,0.5\nmcs-5,10,0.9\n")
    expect_one_line(cli("check", file), "line 3: snr_db")
