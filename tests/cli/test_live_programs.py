"""Real programs over a link with frame losses and retransmissions; tests of missing programs are skipped."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.live_runs import browse, live, need, need_live
from tests.conftest import long_form

# 10 % of frames are lost, and retransmitted until they arrive.
ARQ = """\
schema = 1
channel = { model = "iid", p_e = 0.1 }
[link]
rate = "40 Mbit/s"
delay = "5 ms"
packet_size = "1500 B"
frame_size = "500 B"
arq = { protocol = "selective-repeat", window = 512, max_retransmissions = 10 }
queue = { limit = "100 packets" }
[reverse]
rate = "40 Mbit/s"
delay = "5 ms"
[tcp]
flavour = "rfc"
variant = "cubic"
"""


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    need_live()
    path = tmp_path / "arq.toml"
    path.write_text(ARQ)
    return path


def test_curl_of_ten_megabytes(lossy: Path, tmp_path: Path) -> None:
    need("curl")
    data = random.Random(1).randbytes(10_000_000)
    (tmp_path / "file").write_bytes(data)
    got, report = tmp_path / "got", tmp_path / "report.json"
    command = f"curl -sf -o {got} $CROSSFADE_SERVER/file"
    done = live(lossy, "--serve", tmp_path, "--json", report, "--", "sh", "-c", command)
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(data).digest()
    down = json.loads(report.read_text())["directions"][0]
    # 10,000,000 bytes are about 21,000 frames of 500 bytes: the rate is 0.1 within six standard deviations.
    assert abs(down["frame_error_rate"] - 0.1) < 0.0125
    assert down["lost"] == down["ring_drops"] == 0


@dataclass
class Connection:
    """Data that a host received over one TCP connection or UDP flow."""

    port: int
    """Port at the near host."""
    packets: list[tuple[float, int, int]]
    """Time in s, sequence number (UDP: index) and bytes of data of each packet with data."""

    @property
    def began(self) -> float:
        """Arrival time of the first packet, in seconds."""
        return self.packets[0][0]

    def size(self, until: float = float("inf")) -> int:
        """Bytes of data until a time, with retransmitted data counted once."""
        return sum({place: size for at, place, size in self.packets if at <= until}.values())


def connections(capture: Path, to_near: bool) -> list[Connection]:
    """Data that arrived at the host of a capture, by connection, as tshark reads it."""
    names = ["tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport", "tcp.len", "udp.length", "tcp.seq"]
    fields = [word for name in (*names, "frame.time_epoch") for word in ("-e", name)]
    select = ["-Y", f"ip.src == 10.77.0.{1 if to_near else 2} && (tcp.len > 0 || udp.length > 8)"]
    command = ["tshark", "-r", str(capture), *select, "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[int, Connection] = {}
    for number, line in enumerate(lines):
        cells = line.split("\t")
        is_udp = not cells[0]
        port = int(cells[2 * is_udp + to_near])
        size = int(cells[5]) - 8 if is_udp else int(cells[4])
        place = number if is_udp else int(cells[6])
        found.setdefault(port, Connection(port, [])).packets.append((float(cells[7]), place, size))
    return list(found.values())


# In the usual form test_live_wifi.py has iperf3, and test_live.py captures beside what the journal counts.
@pytest.mark.parametrize("congestion", [long_form(["cubic"]), long_form(["reno", "cubic", "bbr"])])
def test_what_iperf3_reports_is_what_the_record_has(
    lossy: Path, tmp_path: Path, congestion: list[str]
) -> None:
    need("iperf3", "tshark")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    controls = [control for control in congestion if control in known]
    # Transfers have a fixed size, not a fixed duration, so that a loaded machine only takes longer.
    calls = [(control, way) for control in controls for way in ("", "-R")]
    # A server that is scheduled late learns that the client has finished before it reads the rest, and never
    # counts the rest, which is at most a window.
    options = [f"{'-n 3M' if way else '-n 8M -w 64K'} -C {control} {way}" for control, way in calls]
    options.append("-u -b 10M -t 1 -l 1200")
    # The server is briefly unavailable between two calls, and iperf3 exits with 0 after an error, so calls
    # are repeated.
    script = [
        f"until iperf3 -J -c $CROSSFADE_SERVER {option} > {tmp_path}/{number}.json && "
        f"! grep -q '\"error\"' {tmp_path}/{number}.json; do sleep 0.1; done"
        for number, option in enumerate(options)
    ]
    near, far = tmp_path / "near.pcap", tmp_path / "far.pcap"
    outputs = ["--pcap", f"{near},{far}"]
    done = live(lossy, "--far", "iperf3 -s", *outputs, "--", "sh", "-c", " && ".join(script))
    assert done.returncode == 0, done.stderr
    # Each call has a control connection with one-byte messages, then a data connection; the last call uses
    # UDP.
    up, down = connections(far, to_near=False), connections(near, to_near=True)
    words = [one for one in up if any(size == 1 for _, _, size in one.packets)]
    for number, (control, way) in enumerate(calls):
        said = json.loads((tmp_path / f"{number}.json").read_text())
        assert said["end"]["sender_tcp_congestion"] == control
        flow = flow_of(said, down if way else up)
        size = flow.size()
        if not way:
            # The server stops counting when the control connection reports the end. A refused call had a
            # control connection too, earlier.
            call = max((one for one in words if one.began < flow.began), key=lambda one: one.began)
            size = flow.size(until=next(at for at, _, size in call.packets if size == 1))
        assert size > 1_000_000
        assert abs(said["end"]["sum_received"]["bytes"] / size - 1.0) < 0.01, (control, way)
    said = json.loads((tmp_path / f"{len(calls)}.json").read_text())
    total = said["end"]["sum"]
    arrived = (total["packets"] - total["lost_packets"]) * 1200
    assert abs(arrived / flow_of(said, up).size() - 1.0) < 0.01
    assert total["packets"] > 900


def flow_of(said: Any, found: list[Connection]) -> Connection:
    """The data connection of an iperf3 report."""
    (port,) = {one["local_port"] for one in said["start"]["connected"]}
    (flow,) = (one for one in found if one.port == port and one.size() > 1000)
    return flow


def test_quic(lossy: Path, tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="aioquic is not installed")
    from tests.cli.quic_peer import content

    certificate, key = make_certificate(tmp_path)
    peer, got, report = Path(__file__).with_name("quic_peer.py"), tmp_path / "got", tmp_path / "report.json"
    far = f"{sys.executable} {peer} serve 10.77.0.1 {certificate} {key}"
    client = [sys.executable, str(peer), "fetch", "10.77.0.1", "500000", str(got)]
    done = live(lossy, "--far", far, "--json", report, "--", *client)
    assert done.returncode == 0, done.stderr
    assert got.read_bytes() == content(500_000)
    down = json.loads(report.read_text())["directions"][0]
    assert down["arrived_bytes"] > 500_000
    assert 0.05 < down["frame_error_rate"] < 0.15


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "far")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    now = datetime(2020, 1, 1)
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=36500))
    certificate = builder.sign(key, hashes.SHA256())
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.mark.long  # curl and QUIC load through the same link, and test_live_watching.py has a browser
def test_a_browser_loads_a_page(lossy: Path, tmp_path: Path) -> None:
    assert browse(lossy, tmp_path, 400_000)[0]["arrived_bytes"] > 400_000
