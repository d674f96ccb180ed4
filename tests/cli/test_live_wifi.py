"""Real programs behind an access point at several hundred Mbit/s: the fate of every packet is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.live_runs import browse, live, need, need_live
from tests.conftest import Cli

# A network in which one station gets 560 Mbit/s of UDP without losses.
WIFI = """\
schema = 2
run = { duration = "30 s", runs = 1 }
link = { packet_size = "1500 B" }
wired = { rtt = "4 ms" }
wlan = { standard = "ax", width = "80 MHz", streams = 1, mcs = 11, mpdu_error_rate = 0.02 }
tcp = { flavour = "rfc", variant = "cubic", w_max = 4000, rfc = { profile = "linux" } }
"""


@pytest.fixture
def wifi(tmp_path: Path) -> Path:
    need_live()
    path = tmp_path / "wifi.toml"
    path.write_text(WIFI)
    return path


def test_no_datagram_is_dropped_unseen(wifi: Path, tmp_path: Path, cli: Cli) -> None:
    need("iperf3")
    told, report, journal = (tmp_path / name for name in ("iperf3.json", "report.json", "run.cfj"))
    near = f"iperf3 -u -R -b 500M -l 1472 -c $CROSSFADE_SERVER -n 25M -J --get-server-output > {told}"
    options: list[str | Path] = [
        "--quiet",
        "--json",
        report,
        "--record",
        journal,
        "--far",
        "iperf3 -s -1 > /dev/null",
    ]
    done = live(wifi, *options, "--", "sh", "-c", near, timeout=120.0)
    assert done.returncode == 0, done.stderr
    down = json.loads(report.read_text())["directions"][0]
    assert down["packets"] == down["arrived"] + down["lost"] + down["dropped"] + down["left"]
    sent = json.loads(told.read_text())["end"]["sum_sent"]["packets"]
    # The load of iperf3 depends on the machine, and its control connection adds packets.
    assert sent > 1000
    assert sent <= down["packets"] + down["ring_drops"] < sent + 1000
    replayed = cli("run", "--replay", journal)
    assert replayed.code == 0
    assert replayed.out.endswith("identical\n")


@pytest.mark.long  # tests/cli/test_live_programs.py has a browser over another link
def test_a_browser_loads_a_page_over_wifi(wifi: Path, tmp_path: Path) -> None:
    down, up = browse(wifi, tmp_path, 5_000_000)
    assert down["arrived_bytes"] > 5_000_000
    assert down["ring_drops"] == up["ring_drops"] == 0
