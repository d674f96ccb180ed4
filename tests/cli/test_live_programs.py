"""Real programs through a link with frames that are lost and repeated; what is missing is skipped aloud."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.live_runs import live, need, need_live

# 10 % of frames are lost, and repeated until they arrive.
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
    # 10,000,000 bytes are some 21,000 frames of 500 bytes: 0.1 within six standard deviations.
    assert abs(down["frame_error_rate"] - 0.1) < 0.0125
    assert down["lost"] == down["ring_drops"] == 0


def iperf3(scenario: Path, folder: Path, *options: str) -> tuple[dict[str, Any], Path, Path]:
    """What it says, and the captures of both hosts."""
    near, far, out = folder / "near.pcap", folder / "far.pcap", folder / "iperf3.json"
    client = f"iperf3 -J -c $CROSSFADE_SERVER {' '.join(options)} > {out}"
    done = live(scenario, "--far", "iperf3 -s -1", "--pcap", f"{near},{far}", "--", "sh", "-c", client)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found, near, far


def received(capture: Path, source: str, protocol: str) -> int:
    """The bytes of data of the largest flow from a host; what came again counts once (as tshark reads it)."""
    length = "tcp.len" if protocol == "tcp" else "udp.length"
    fields = ["tcp.srcport", "udp.srcport", length, "tcp.seq"]
    wanted = [word for name in fields for word in ("-e", name)]
    select = ["-Y", f"ip.src == {source} && {length} > {0 if protocol == 'tcp' else 8}"]
    command = ["tshark", "-r", str(capture), *select, "-T", "fields", *wanted]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parts: dict[int, dict[int, int]] = defaultdict(dict)
    for number, line in enumerate(lines):
        tcp_port, udp_port, size, seq = line.split("\t")
        port = int(tcp_port or udp_port)
        parts[port][int(seq or number)] = int(size) - (0 if tcp_port else 8)
    return max(sum(flow.values()) for flow in parts.values())


CONTROLS = ["reno", "cubic", "bbr"]


@pytest.mark.parametrize("is_reverse", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("control", CONTROLS)
def test_what_iperf3_reports_is_what_the_record_has(
    lossy: Path, tmp_path: Path, control: str, is_reverse: bool
) -> None:
    need("iperf3", "tshark")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if control not in known:
        pytest.skip(f"the kernel has no {control}")
    # So many bytes, not so many seconds: what is on its way when the time is over is counted by nobody.
    options = ["-n", "5M", "-C", control, *(["-R"] if is_reverse else [])]
    said, near, far = iperf3(lossy, tmp_path, *options)
    assert said["end"]["sender_tcp_congestion"] == control
    source, capture = ("10.77.0.1", near) if is_reverse else ("10.77.0.2", far)
    size = received(capture, source, "tcp")
    total = said["end"]["sum_received"]
    assert abs(total["bytes"] / size - 1.0) < 0.01
    assert size >= 5 * 2**20


def test_udp_of_iperf3(lossy: Path, tmp_path: Path) -> None:
    need("iperf3", "tshark")
    said, _, far = iperf3(lossy, tmp_path, "-u", "-b", "10M", "-t", "1", "-l", "1200")
    size = received(far, "10.77.0.2", "udp")
    total = said["end"]["sum"]
    arrived = (total["packets"] - total["lost_packets"]) * 1200
    assert abs(arrived / size - 1.0) < 0.01
    assert total["packets"] > 900


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
    """A certificate that its own key has signed."""
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


def test_a_browser_loads_a_page(lossy: Path, tmp_path: Path) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium: no browser loads a page through a link")
    site = tmp_path / "site"
    site.mkdir()
    (site / "words.js").write_text(f"document.title = 'loaded'; // {'x' * 400_000}\n")
    (site / "index.html").write_text("<!doctype html><title>not yet</title><script src=words.js></script>")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [program, *options, "--dump-dom", "http://10.77.0.1/"]
    report = tmp_path / "report.json"
    done = live(lossy, "--serve", site, "--json", report, "--", *command, timeout=300.0)
    assert done.returncode == 0, done.stderr
    assert re.search("<title>loaded</title>", done.stdout)
    assert json.loads(report.read_text())["directions"][0]["arrived_bytes"] > 400_000
