"""Flavour quic, from the scenario to results: RFC 9002 loss recovery over one stream."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line
from tests.test_pcap import TSHARK, needs_tshark

SHIPPED = Path(__file__).parents[1] / "scenarios"

# Delay of 20 ms in each direction, 10 Mbit/s; 1 % of the data and of the acknowledgements are lost.
LINK = """
schema = 2
run = { duration = "20 s", runs = 2 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "20 ms", queue = { limit = "100 packets" } }
reverse = { rate = "10 Mbit/s", delay = "20 ms", channel = { model = "iid", p_e = 0.01 } }
tcp = { flavour = "quic", w_max = 1000 }
"""


def rows(**keys: Any) -> cf.store.Results:
    return cf.run(LINK, set={key.replace("__", "."): value for key, value in keys.items()}, cache=False)


def test_what_is_lost_is_sent_again_and_nothing_else() -> None:
    point = rows().points[0]
    assert point.value("goodput_bps") > 1e6
    lost = point.value("segments_sent") * point.value("segment_loss_rate")
    # Every loss is repaired by one retransmission, except those in flight at the end.
    assert abs(point.value("retransmissions") - lost) < 0.05 * lost + 5
    assert point.value("spurious_fast_retransmits") == 0


# ARQ repairs every loss; retransmitted packets arrive about five packets late.
OUT_OF_ORDER = """
schema = 2
run = { duration = "20 s", runs = 2 }
channel = { model = "iid", p_e = 0.05 }
wired = { rtt = "40 ms" }
tcp = { flavour = "quic", congestion = "cubic", w_max = 60 }
[link]
rate = "10 Mbit/s"
packet_size = "1500 B"
frame_size = "1500 B"
framing = { payload = "1500 B", slotted = false }
queue = { limit = "1000 packets" }
[link.arq]
protocol = "selective-repeat"
window = 64
max_retransmissions = 20
delivery = "immediate"
feedback = { delay = "4 ms" }
"""


def test_losses_that_were_none_are_known() -> None:
    late = cf.run(OUT_OF_ORDER, cache=False).points[0]
    assert late.value("segment_loss_rate") == 0
    assert late.value("timeouts") == 0
    # Without losses and probes, every retransmission is of a packet wrongly declared lost.
    assert late.value("spurious_losses") >= late.value("retransmissions") > 5
    again = cf.run(OUT_OF_ORDER, set={"tcp.quic.undo": True}, cache=False).points[0]
    assert again.value("goodput_bps") > 1.2 * late.value("goodput_bps")
    in_order = cf.run(OUT_OF_ORDER, set={"link.arq.delivery": "in-order"}, cache=False).points[0]
    assert in_order.value("spurious_losses") == 0
    of_tcp = cf.run(OUT_OF_ORDER, set={"tcp.flavour": "rfc", "tcp.variant": "sack"}, cache=False).points[0]
    assert "spurious_losses" not in of_tcp.metrics


@pytest.mark.parametrize("congestion", ["reno", "cubic", "highspeed", "dctcp", "prague", "bbr-v1", "bbr-v3"])
def test_every_congestion_control_stands_on_it(congestion: str) -> None:
    point = rows(tcp__congestion=congestion, channel__p_e=0, run__duration="10 s").points[0]
    assert 6e6 < point.value("goodput_bps") < 10e6 * 1437 / 1500
    assert point.value("timeouts") < 3


def test_pacing_can_be_switched_off() -> None:
    assert rows(tcp__pacing="off", run__duration="5 s").points[0].value("goodput_bps") > 1e6


def test_a_class_of_ones_own_stands_on_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from crossfade.teaching import CongestionControl\n\n\n"
        "class Constant(CongestionControl):\n"
        "    cwnd = 20.0\n    ssthresh = 20.0\n"
        "    def start(self, cwnd, ssthresh): pass\n"
        "    def on_ack(self, ack): pass\n"
        "    def on_loss(self, now, window): pass\n"
        "    def on_timeout(self, now, window): pass\n"
    )
    scenario = tmp_path / "own.toml"
    scenario.write_text(LINK.replace("w_max = 1000", 'congestion = "mine.py", w_max = 1000'))
    point = cf.run(scenario, set={"channel.p_e": 0, "run.duration": "10 s"}, cache=False).points[0]
    # At most 20 packets per RTT: 40 ms plus the packet's transmission time.
    assert 4e6 < point.value("goodput_bps") < 20 * 1437 * 8 / 0.0412


def test_rows_do_not_depend_on_jobs() -> None:
    one, two = (cf.run(LINK, runs=4, jobs=jobs, cache=False).points[0].metrics for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("cdma-rlp", {"channel.p_e": 0.1, "run.duration": "100 s"}),
        ("wifi-like-arq", {"run.duration": "8 s"}),
        ("mimo-arq", {"phy.scheme": "stbc-2", "phy.detector": "ml", "channel.snr_db": 16}),
        ("lte-like-cell", {"run.duration": "7 s"}),
        ("mesh-chain", {"run.duration": "4 s", "mesh.hops": 3}),
        ("satellite-modcod", {"run.duration": "8 s"}),
    ],
)
def test_it_goes_over_every_kind_of_link(name: str, keys: dict[str, Any], tmp_path: Path) -> None:
    """Shipped scenarios run with QUIC over a radio link protocol, ARQ, antennas, a cell, a mesh and a
    trace.
    """
    for file in SHIPPED.glob("*.csv"):
        shutil.copy(file, tmp_path)
    text = re.split(r"(?m)^\[(?:sweep|figure)\]", (SHIPPED / f"{name}.toml").read_text())[0]
    text = re.sub(
        r"(?m)^tcp = .*$",
        'tcp = { flavour = "quic", w_max = 20, mss = "536 B" }'
        if name == "mimo-arq"
        else 'tcp = { flavour = "quic", w_max = 20 }',
        text,
    )
    scenario = tmp_path / f"{name}.toml"
    scenario.write_text(text)
    point = cf.run(scenario, set=keys, runs=1, cache=False).points[0]
    assert point.value("segments_delivered") > 50
    assert point.value("goodput_bps") > 0


@needs_tshark
@pytest.mark.parametrize("ipv6", [False, True])
def test_captures_are_datagrams(ipv6: bool, tmp_path: Path) -> None:
    file = tmp_path / "run.pcap"
    keys = {"run.runs": 1, "run.duration": "5 s", "tcp.quic.ecn": True}
    file.write_bytes(cf.runs.pcap(LINK, set=keys, ipv6=ipv6))
    point = cf.run(LINK, set=keys, cache=False).points[0]
    assert TSHARK is not None
    fields = ["frame.len", "udp.length", "udp.dstport", "udp.payload", "ip.dsfield.ecn", "ipv6.tclass.ecn"]
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "udp")]
    command = [
        TSHARK,
        "-r",
        str(file),
        *checks,
        "-Y",
        "udp && !_ws.malformed && udp.checksum.status == 1",
        "-T",
        "fields",
    ]
    printed = subprocess.run(
        [*command, *(f"-e{field}" for field in fields)], capture_output=True, text=True, check=True
    ).stdout
    packets = [line.split("\t") for line in printed.splitlines()]
    data = [packet for packet in packets if packet[2] == "9"]
    assert len(data) == point.value("segments_sent") > 500
    assert {packet[0] for packet in data} == {"1500"}
    assert {packet[5 if ipv6 else 4] for packet in data} == {"2"}, "ECT(0)"
    payloads = [bytes.fromhex(packet[3]) for packet in data]
    # Packets have a short header, the connection id of flow 0, consecutive numbers, and a STREAM frame.
    assert {payload[0] for payload in payloads} == {0x41}
    assert {payload[1:9] for payload in payloads} == {bytes(8)}
    assert [int.from_bytes(payload[9:11]) for payload in payloads] == [n % 65536 for n in range(len(data))]
    assert {payload[11:13] for payload in payloads} == {b"\x0e\x00"}
    acks = [bytes.fromhex(packet[3]) for packet in packets if packet[2] != "9"]
    assert 0.4 * len(data) < len(acks) < len(data)
    assert {ack[11] for ack in acks} == {3}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"tcp.variant": "reno"},
            'tcp.variant = "reno": must be sack or cubic for flavour "quic", or left out',
        ),
        ({"tcp.dupthresh": 3}, 'tcp.dupthresh = 3: flavour "quic" has tcp.quic.packet_threshold instead'),
        (
            {"tcp.limited_transmit": False},
            'tcp.limited_transmit = false: flavour "quic" counts no duplicates',
        ),
        ({"tcp.rto.min": "1 s"}, 'tcp.rto contradicts tcp.flavour: flavour "quic" has probe timeouts'),
        ({"tcp.rfc.sack": True}, "tcp.rfc.sack"),
        (
            {"tcp.rfc.timestamps": False},
            'tcp.rfc contradicts tcp.flavour: flavour "quic" has tcp.quic instead',
        ),
        (
            {"tcp.flavour": "rfc", "tcp.variant": "sack", "tcp.quic.probes": 1},
            'needs tcp.flavour = "quic", not "rfc"',
        ),
        ({"tcp.quic.packet_threshold": 0}, "tcp.quic.packet_threshold = 0: must be between 1 and 1000000"),
        ({"tcp.quic.time_threshold": 0.5}, "tcp.quic.time_threshold = 0.5: must be between 1 and 1000"),
        ({"tcp.quic.ack_ranges": 0}, "tcp.quic.ack_ranges = 0: must be between 1 and 256"),
        ({"tcp.quic.max_ack_delay": "20 s"}, 'tcp.quic.max_ack_delay = "20 s": must be below 16384 ms'),
        ({"tcp.quic.initial_rtt": "0 s"}, 'tcp.quic.initial_rtt = "0 s": must be longer than 0 s'),
        ({"tcp.quic.probes": 3}, "tcp.quic.probes = 3: must be between 1 and 2"),
    ],
)
def test_nonsense_is_one_line(keys: dict[str, Any], message: str, cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "quic.toml"
    scenario.write_text(LINK)
    settings = [f"--set={key}={cf_text(value)}" for key, value in keys.items()]
    done = cli("check", str(scenario), *settings)
    expect_one_line(done, message)


def cf_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("analysis", "flavour"),
        ("formula", "the formulas are TCP's, with its timeouts; use method simulation"),
        ("live", "the kernel has no QUIC"),
    ],
)
def test_other_methods_refuse_it(method: str, message: str, cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "quic.toml"
    scenario.write_text(LINK)
    done = cli("run", str(scenario), f"--method={method}")
    expect_one_line(done, message)
