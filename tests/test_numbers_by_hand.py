"""Numbers worked out by hand in each test, as users may check them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli

# A packet has 1448 bytes of data and 52 of headers, and takes 12 ms.
LINK = """
schema = 1
run = { duration = "20 s", runs = 1, seed = 3 }
channel = { model = "none" }
link = { rate = "1 Mbit/s", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack" }
"""
TRANSFER = LINK + '[flows.page]\ntraffic = "transfer"\nsize = "100 B"\n'


def value(scenario: str, metric: str, **options: object) -> float:
    """Value of a metric at the only point of a scenario."""
    return cf.run(scenario, **options).points[0].value(metric)  # type: ignore[arg-type]


def test_the_last_segment_has_its_own_length() -> None:
    # 152 bytes on the wire take 1.216 ms; goodput is 100 bytes in 20 s.
    assert value(TRANSFER, "completion_time_s") == pytest.approx(0.001216)
    assert value(TRANSFER, "goodput_bps") == pytest.approx(40.0)
    assert value(TRANSFER, "ip_goodput_bps") == value(TRANSFER, "link_goodput_bps") == pytest.approx(60.8)
    assert value(TRANSFER, "link_utilisation") == pytest.approx(0.001216 / 20)
    # 3000 bytes are two whole segments and one of 104 bytes, all in the initial window.
    longer = {"flows.page.size": "3000 B"}
    assert value(TRANSFER, "completion_time_s", set=longer) == pytest.approx(2 * 0.012 + 156 * 8e-6)
    assert value(TRANSFER, "goodput_bps", set=longer) == pytest.approx(1200.0)
    # A size of whole segments gives only whole segments.
    whole = {"flows.page.size": "2896 B"}
    assert value(TRANSFER, "completion_time_s", set=whole) == pytest.approx(0.024)


def test_flavours_of_ns2_send_whole_segments() -> None:
    for flavour in ("paper", "ns2"):
        data = value(
            TRANSFER,
            "goodput_bps",
            set={"tcp.flavour": flavour, "tcp.headers": "40 B", "tcp.rto.fixed": "1 s"},
        )
        assert data == pytest.approx(1460 * 8 / 20)


def test_arrivals_count_their_own_bytes() -> None:
    # Each transfer has 2000 bytes, or 2104 on the wire in two segments.
    arrivals = LINK + (
        '[flows.web]\ntraffic = "arrivals"\nsize = "2 kB"\nsizes = "fixed"\narrivals_per_s = 20\n'
    )
    point = cf.run(arrivals).points[0]
    flows, bits = point.value("segments_delivered") / 2, point.value("goodput_bps") * 20
    # Of the last transfer perhaps only the first segment is delivered.
    assert bits == pytest.approx(flows * 2000 * 8, abs=2000 * 8)
    assert point.value("link_goodput_bps") * 20 == pytest.approx(flows * 2104 * 8, abs=2104 * 8)


def test_a_capture_has_the_bytes_of_the_transfer(cli: Cli, tmp_path: Path) -> None:
    scenario, capture = tmp_path / "page.toml", tmp_path / "page.pcap"
    scenario.write_text(TRANSFER)
    assert cli("run", scenario, "--pcap", capture).code == 0
    data, at, lengths = capture.read_bytes(), 24, []
    little = data[0] in (0xD4, 0x4D)
    while at < len(data):
        on_wire = int.from_bytes(data[at + 12 : at + 16], "little" if little else "big")
        captured = int.from_bytes(data[at + 8 : at + 12], "little" if little else "big")
        lengths.append(on_wire)
        at += 16 + captured
    # The data packet is 100 bytes longer than the final pure ACK, and not a full segment.
    assert max(lengths) - lengths[-1] == 100


def test_what_arrived_in_the_warm_up_is_not_counted_after_it() -> None:
    # Segment 5 is lost; its successors arrive in the warm-up, and its retransmission releases them after the
    # warm-up.
    lossy = LINK.replace('{ model = "none" }', '{ model = "drop-list", drops = [5] }').replace(
        'duration = "20 s"', 'duration = "0.6 s", warmup = "0.4 s"'
    )
    assert "warmup" in lossy
    slow = {"link.delay": "100 ms", "reverse.delay": "100 ms", "tcp.w_max": 10}
    point = cf.run(lossy, set=slow).points[0]
    segments = point.value("segments_delivered")
    # The retransmission arrives at 0.42 s and releases ten segments, of which only itself arrived after the
    # warm-up.
    assert segments == 1
    assert point.value("goodput_bps") * 0.2 == pytest.approx(1448 * 8)


BULK = LINK.replace('{ model = "none" }', '{ model = "iid", p_e = 0.01 }').replace(
    '"1 Mbit/s"', '"100 Mbit/s", delay = "20 ms"'
)


def test_the_formula_counts_bytes_where_the_sender_does() -> None:
    # Mathis et al.: sqrt(3 / (2 p)) segments per RTT, with b = 1 although acknowledgements are delayed.
    rtt = 0.04 + 1500 * 8 / 100e6
    back = {"reverse.delay": "20 ms", "tcp.w_max": 1000}
    by_hand = 0.99 * math.sqrt(1.5 / 0.01) / rtt * 1448 * 8
    found = value(BULK, "goodput_bps", set=back, methods=["formula:square-root"])
    assert found == pytest.approx(by_hand, rel=1e-3)


def test_cubic_has_its_own_formula() -> None:
    # RFC 9438 figure 7: 1.054 rtt^0.75 / p^0.75 = 14.9 segments at 1 s and 3 %, Reno's sqrt(1.5 / p) is 7.1.
    cubic = {"tcp.variant": "cubic", "channel.p_e": 0.03, "tcp.w_max": 1000}
    cubic |= {"link.delay": "0.5 s", "reverse.delay": "0.5 s"}
    rtt = 1.0 + 1500 * 8 / 100e6
    by_hand = 0.97 * 1.054 * rtt**0.75 / 0.03**0.75 / rtt * 1448 * 8
    assert value(BULK, "goodput_bps", set=cubic, methods=["formula"]) == pytest.approx(by_hand, rel=1e-3)
    with pytest.raises(cf.errors.ScenarioError, match="square-root law is Reno's"):
        cf.run(BULK, set=cubic, methods=["formula:square-root"])


def test_energy_counts_the_frames_and_not_what_the_queue_dropped() -> None:
    # A source at twice the rate of the link: half of the packets are dropped and never transmitted.
    flood = LINK.replace('packet_size = "1500 B"', 'packet_size = "1500 B", queue = { limit = "5 packets" }')
    flood = flood.replace('duration = "20 s"', 'duration = "25 s", warmup = "5 s"')
    flood += '[flows.all]\ntraffic = "udp"\nrate = "2 Mbit/s"\n'
    # One of the 1667 packets may cross the end of the measured time.
    assert value(flood, "energy_per_packet") == pytest.approx(1.0, abs=2 / 1666)
    # Frames are lost with 30 % and retransmitted without limit, so each is sent 1 / 0.7 times on average.
    frames = LINK.replace('{ model = "none" }', '{ model = "iid", p_e = 0.3 }').replace(
        'packet_size = "1500 B"',
        'packet_size = "1500 B", frame_size = "150 B", arq = { protocol = "selective-repeat", window = 32 }',
    )
    point = cf.run(frames, set={"run.duration": "60 s", "tcp.w_max": 20}).points[0]
    assert point.value("energy_per_packet") == pytest.approx(1 / 0.7, rel=0.03)
    repeated = point.value("frame_transmissions_per_frame")
    # Packets have ten frames each; all are delivered except those within the window of 32 frames.
    delivered = point.value("segments_delivered")
    sent = point.value("energy_per_packet") / repeated * delivered
    assert sent == pytest.approx(round(sent))
    assert delivered <= round(sent) <= delivered + 4
    assert round(sent) < point.value("segments_sent")


def test_a_busy_link_is_busy_all_the_time_and_no_more() -> None:
    for discipline in ("drop-tail", "codel"):
        flood = LINK.replace(
            'packet_size = "1500 B"',
            f'packet_size = "1500 B", queue = {{ limit = "50 packets", discipline = "{discipline}" }}',
        ).replace('"20 s"', '"3.007 s"')
        flood += '[flows.all]\ntraffic = "udp"\nrate = "2 Mbit/s"\n'
        assert value(flood, "link_utilisation") == pytest.approx(1.0, abs=1e-9)
        assert value(flood, "link_utilisation") <= 1.0


def test_a_loss_is_dated_when_the_packet_is_sent(cli: Cli, tmp_path: Path) -> None:
    # Ten segments of 12 ms leave the sender at 0; the seventh is transmitted from 72 to 84 ms, and lost at
    # the end.
    scenario, events = tmp_path / "loss.toml", tmp_path / "events.csv"
    scenario.write_text(LINK.replace('{ model = "none" }', '{ model = "drop-list", drops = [6] }'))
    cli("run", scenario, "--events", events)
    rows = [line.split(",") for line in events.read_text().splitlines()]
    lost = [row for row in rows[1:] if row[1] == "lost"]
    assert [(float(row[0]), int(row[3])) for row in lost] == [(0.084, 6)]
    times = [float(row[0]) for row in rows[1:]]
    assert times == sorted(times)


def test_sources_without_phase_share_a_full_queue_by_what_they_offer() -> None:
    link = LINK.replace(
        'rate = "1 Mbit/s", packet_size = "1500 B"',
        'rate = "10 Mbit/s", packet_size = "1000 B", queue = { limit = "50 packets" }',
    ).replace('"20 s", runs = 1', '"22 s", warmup = "2 s", runs = 10')
    offered = {"a": 0.3, "b": 1.0, "c": 4.0, "d": 20.0}
    sources = "".join(
        f'[flows.{name}]\ntraffic = "poisson"\nrate = "{rate} Mbit/s"\n' for name, rate in offered.items()
    )
    point = cf.run(link + sources).points[0]
    for name, rate in offered.items():
        # Of 25.3 Mbit/s all but 10 are dropped, the same share of each flow.
        found = point.parts[f"{name}.goodput_bps"]
        assert found.ci95 is not None
        assert found.value == pytest.approx(rate / 25.3 * 10e6, abs=2.0 * found.ci95)
    # Exactly periodic sources keep their phase, so the first never finds room in the queue.
    point = cf.run(link + sources.replace("poisson", "udp")).points[0]
    assert any("exactly periodic and in phase" in warning for warning in point.warnings)
    assert [point.value(f"{name}.goodput_bps") for name in offered] == [0.0, 1e6, 1e6, 8e6]


OPENED = """
schema = 2
run = { duration = "5 s", runs = 1 }
channel = { model = "none" }
link = { rate = "1 Mbit/s", packet_size = "1000 B", delay = "10 ms" }
reverse = { rate = "2 Mbit/s", delay = "20 ms" }
tcp = { variant = "sack" }
[flows]
page = { traffic = "transfer", size = "500 B" }
"""


@pytest.mark.parametrize(
    ("more", "opening_ms"),
    [
        ({}, 0.0),
        ({"handshake": False}, 0.0),
        # 60 B at 1 Mbit/s forward and 2 Mbit/s back: 0.48 + 10 + 0.24 + 20 ms.
        ({"handshake": True}, 30.72),
        # A request of 300 B on the reverse path at 2 Mbit/s: 1.2 + 20 ms.
        ({"request": "300 B"}, 21.2),
        ({"handshake": True, "request": "300 B"}, 51.92),
        # The handshake crosses the access line twice, the request once, and the data once.
        ({"handshake": True, "request": "300 B", "access_delay": "5 ms"}, 71.92),
    ],
)
def test_a_transfer_begins_with_a_handshake_and_a_request_where_asked_for(
    more: dict[str, object], opening_ms: float
) -> None:
    values = {f"flows.page.{key}": value for key, value in more.items()}
    found = cf.run(OPENED, set=values, cache=False).points[0]
    # 500 B of data and 52 B of headers take 4.416 ms.
    assert found.value("completion_time_s") == pytest.approx((opening_ms + 4.416 + 10.0) / 1000, abs=1e-9)
    assert found.value("segments_delivered") == 1
    # Each arriving transfer has its own handshake and request.
    arriving = {"flows.page.traffic": "arrivals", "flows.page.arrivals_per_s": 1, "flows.page.sizes": "fixed"}
    found = cf.run(OPENED, set=values | arriving, cache=False).points[0]
    assert found.value("flows_completed") > 1
    assert found.value("completion_time_s") == pytest.approx((opening_ms + 14.416) / 1000, abs=2e-3)


def test_what_is_not_asked_for_leaves_the_key_of_a_row() -> None:
    keys = [
        cf.run(OPENED, set={"flows.page.handshake": on}, cache=False).points[0].rows[0].key
        for on in (False, True)
    ]
    assert cf.run(OPENED, cache=False).points[0].rows[0].key == keys[0] != keys[1]
    with pytest.raises(cf.errors.ScenarioError, match=r'flows.page.request = "0 B": must be at least 1 B'):
        cf.check(OPENED, set={"flows.page.request": "0 B"})
    with pytest.raises(cf.errors.ScenarioError, match=r"flows\.page\.handshake"):
        cf.check(
            OPENED, set={"flows.page.traffic": "bulk", "flows.page.size": None, "flows.page.handshake": True}
        )
