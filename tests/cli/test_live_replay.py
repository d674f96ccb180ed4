"""Live runs replayed from journals: each packet has its recorded fate, over links, a mesh and a cell."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.cli.live_runs import live, need, need_live
from tests.conftest import Cli, expect_one_line, long_form, points

MESH = """\
schema = 1
run = { duration = "1 s", runs = 1 }
mesh = { topology = "chain", hops = 3, mac = "nulling" }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "cubic", w_max = 8, rfc = { profile = "linux" } }
"""
CELL = """\
schema = 2
run = { duration = "1 s", runs = 1 }
cell = { preset = "lte", scheduler = "proportional-fair", radio = { mean_snr_db = 16, speed = "30 km/h" } }
link = { packet_size = "1500 B" }
reverse = { rate = "10 Mbit/s", delay = "8 ms" }
tcp = { variant = "sack", w_max = 50, rfc = { profile = "linux" } }
"""

IID = "channel = { model = 'iid', p_e = 0.02 }\n"
MIMO = """\
channel = { model = "block-rayleigh", snr_db = 15, antennas = { correlation = "none" } }
phy = { modulation = "qpsk", symbol_rate = "250 kBd", scheme = "blast", detector = "mmse-osic" }
"""
LINKS = {
    "trace": (IID, "trace = { opportunities = 'opportunities.trace' }"),
    "delays": (IID, "trace = { opportunities = 'opportunities.trace', delays = 'delays.csv' }"),
    "table": ("", "trace = { rates = 'rates.csv', period = '1 s' }"),
    "MIMO": (MIMO, "frame_size = '60 B'\narq = { protocol = 'selective-repeat', window = 512 }"),
}
"""Links beside those of a rate: their channel, and their keys."""


@pytest.fixture(autouse=True)
def possible(request: pytest.FixtureRequest) -> None:
    if "needs_a_journal" not in request.node.name:
        need_live()


def test_transfers_of_a_scenario_with_its_congestion_control(
    scenario: Path, tmp_path: Path, cli: Cli, figures: list[Figure]
) -> None:
    journal, report, events = tmp_path / "rec.cfj", tmp_path / "report.json", tmp_path / "events.csv"
    outputs: list[str | Path] = ["--record", journal, "--json", report, "--events", events]
    done = live(scenario, "--workload", "bulk", "--set", "run.duration=1 s", *outputs)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert said["congestion"] == ["cubic"]
    assert [(flow["name"], flow["congestion"]) for flow in said["flows"]] == [("", "cubic")]
    assert said["directions"][0]["queueing_delay_mean_s"] >= 0.0
    replayed = cli("run", "--replay", journal)
    assert (replayed.code, replayed.err) == (0, "")
    assert re.fullmatch(r"forward: .*: identical\nreverse: .*: identical\n", replayed.out), replayed.out
    assert ", 0 lost" not in replayed.out.splitlines()[0]
    for name in (journal, events):
        figure = tmp_path / f"{name.stem}.png"
        assert cli("plot", name, "--y", "cwnd", "--out", figure).code == 0
        # Curves of the kernel, and of the simulation beside it.
        windows = [[y for _, y in points(line)] for line in figures[-1].axes[0].lines]
        # The axes also have marks for timeouts and other events; curves are the longer lines.
        longest = max(windows, key=len)
        assert len(longest) > 20
        assert max(longest) > 1.0
        assert "window" in figures[-1].get_supylabel().lower()
    # A journal with one changed bit is refused as damaged.
    damaged = bytearray(journal.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    journal.write_bytes(damaged)
    expect_one_line(cli("run", "--replay", journal), "rec.cfj", "damaged")


def test_two_congestion_controls_beside_each_other(tmp_path: Path) -> None:
    scenario, report = tmp_path / "two.toml", tmp_path / "report.json"
    scenario.write_text(
        'schema = 2\nrun = { duration = "1 s", runs = 1 }\nchannel = { model = "none" }\n'
        'link = { rate = "10 Mbit/s", packet_size = "1500 B", queue = { limit = "50 packets" } }\n'
        'reverse = { delay = "10 ms" }\n'
        'tcp = { flavour = "rfc", variant = "sack", w_max = 100, rfc = { profile = "linux" } }\n'
        '[flows.old]\ntcp = { congestion = "reno" }\n[flows.new]\ntcp = { variant = "cubic" }\n'
    )
    done = live(scenario, "--workload", "bulk", "--json", report)
    assert done.returncode == 0, done.stderr
    said = json.loads(report.read_text())
    assert {(flow["name"], flow["congestion"]) for flow in said["flows"]} == {
        ("old", "reno"),
        ("new", "cubic"),
    }


@pytest.mark.parametrize("name", [name if name in ("trace", "MIMO") else long_form(name) for name in LINKS])
def test_a_link_of_any_kind_is_replayed(name: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "opportunities.trace").write_text("1\n2\n2\n5\n9\n9\n10\n")
    (tmp_path / "rates.csv").write_text("time_s,rate_bps,delay_s,loss\n0,8e6,0.01,0.02\n0.4,2e6,0,0.1\n")
    (tmp_path / "delays.csv").write_text("time_s,delay_s\n0,0.002\n0.004,0.01\n0.007,0.001\n")
    channel, keys = LINKS[name]
    scenario, journal = tmp_path / "link.toml", tmp_path / "rec.cfj"
    scenario.write_text(
        f'schema = 1\nrun = {{ duration = "1200 ms", runs = 1 }}\nreverse = {{ delay = "5 ms" }}\n{channel}'
        'tcp = { flavour = "rfc", variant = "sack", w_max = 200, rfc = { profile = "linux" } }\n'
        f'[link]\npacket_size = "1500 B"\ndelay = "5 ms"\nqueue = {{ limit = "30 packets" }}\n{keys}\n'
    )
    done = live(scenario, "--workload", "bulk", "--record", journal)
    assert done.returncode == 0, done.stderr
    replayed = cli("run", "--replay", journal)
    assert (replayed.code, replayed.err) == (0, "")
    assert re.fullmatch(r"forward: .*: identical\nreverse: .*: identical\n", replayed.out), replayed.out
    assert not replayed.out.startswith("forward: 0 packets")


# In the usual form the next test replays the cell.
@pytest.mark.parametrize("network", [pytest.param(MESH, id="mesh"), long_form(CELL, id="cell")])
def test_a_network_between_the_hosts_is_replayed(network: str, tmp_path: Path, cli: Cli) -> None:
    scenario, journal = tmp_path / "network.toml", tmp_path / "rec.cfj"
    scenario.write_text(network)
    done = live(scenario, "--workload", "bulk", "--record", journal)
    assert done.returncode == 0, done.stderr
    replayed = cli("run", "--replay", journal)
    assert (replayed.code, replayed.err) == (0, "")
    assert re.fullmatch(r"shared: .*: identical\n", replayed.out), replayed.out


def test_a_program_is_one_user_of_a_cell_among_others(tmp_path: Path, cli: Cli) -> None:
    need("curl")
    scenario, journal = tmp_path / "cell.toml", tmp_path / "rec.cfj"
    scenario.write_text(CELL + 'flows = { you = { traffic = "outside" }, others = { count = 19 } }\n')
    (tmp_path / "page").write_bytes(bytes(300_000))
    fetch = ["sh", "-c", f"curl -sf -o {tmp_path}/came $CROSSFADE_SERVER/page"]
    done = live(scenario, "--serve", tmp_path, "--record", journal, "--", *fetch)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "came").read_bytes() == bytes(300_000)
    replayed = cli("run", "--replay", journal)
    assert re.fullmatch(r"shared: .*: identical\n", replayed.out), replayed.out
    # If all flows were live they would be one user, so this is refused.
    every = scenario.read_text().replace('{ traffic = "outside" }', "{}")
    scenario.write_text(every)
    expect_one_line(cli("run", scenario, "--method", "live"), "one of the 20 places", "outside")


def test_recorded_packets_share_the_links_with_a_program(tmp_path: Path) -> None:
    need_live()
    (tmp_path / "sends.csv").write_text("0,1000\n0,500\n0,1000\n0.03,200\n0.031,1500\n")
    scenario = tmp_path / "call.toml"
    scenario.write_text(
        'schema = 2\nrun = { duration = "2 s", runs = 1 }\nchannel = { model = "none" }\n'
        'link = { rate = "1 Mbit/s", packet_size = "1500 B", delay = "10 ms" }\n'
        'reverse = { delay = "10 ms" }\n[flows]\nyou = { traffic = "outside" }\n'
        'call = { traffic = "recorded", record = "sends.csv", record_period = "100 ms" }\n'
    )
    journal, events = tmp_path / "run.cfj", tmp_path / "events.csv"
    # Time starts with the program's packet, which takes the reverse path.
    one = "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', (os.environ['CROSSFADE_SERVER'], 9))"
    idle = [sys.executable, "-c", f"import os, socket, time; {one}; time.sleep(1)"]
    done = live(scenario, "--quiet", "--record", journal, "--link-events", events, "--", *idle)
    assert done.returncode == 0, done.stderr
    with events.open() as file:
        starts = [float(row["time_s"]) for row in csv.DictReader(file) if row["event"] == "frame"]
    # One period by hand: frames of 8, 4 and 8 ms one after the other, and one of 1.6 ms from 30 ms on. Late
    # wake-ups do not shift the link's times.
    assert [1e3 * start for start in starts if 0.1 <= start < 0.2] == pytest.approx(
        [100, 108, 112, 130, 131.6], abs=1e-6
    )


def test_a_replay_needs_a_journal(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    expect_one_line(cli("run", "--replay", scenario), "not a journal")
    expect_one_line(cli("run", "--replay", tmp_path / "none.cfj"), "none.cfj")
    expect_one_line(cli("run", "quickstart", "--replay", scenario), "--replay")
    for option in (("--set", "channel.p_e=0"), ("--seed", "2"), ("--plot", "x.png"), ("--json",)):
        expect_one_line(cli("run", "--replay", scenario, *option), f"{option[0]}: not taken with --replay")
    expect_one_line(cli("run"), "SCENARIO")
