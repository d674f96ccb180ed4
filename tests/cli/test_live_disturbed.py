"""Live links with a NAT that changes its ports (``--rebind``), and with corrupted packets (``--corrupt``)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.live_runs import live, need_live
from tests.conftest import Cli

# UDP server that answers with the source port of a packet, and stores the packet.
SERVER = """\
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 7777))
with open("came", "wb", buffering=0) as came:
    while True:
        data, peer = server.recvfrom(65535)
        came.write(data.hex().encode() + b"\\n")
        server.sendto(str(peer[1]).encode(), peer)
"""

# UDP client that sends 60 packets of 40 equal bytes in 1.8 s, and prints pairs of its own port and the port
# seen by the server.
CLIENT = """\
import json, socket, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("10.77.0.2", 0))
client.settimeout(0.03)
found = []
time.sleep(0.5)  # the server starts meanwhile
for number in range(60):
    began = time.monotonic()
    client.sendto(bytes([number]) * 40, ("10.77.0.1", 7777))
    try:
        found.append((client.getsockname()[1], int(client.recv(100))))
    except TimeoutError:
        pass
    time.sleep(max(0.0, began + 0.03 - time.monotonic()))
print(json.dumps(found))
"""


def run(folder: Path, loss: float, *options: str) -> list[tuple[int, int]]:
    """Output of the client over a link that loses the share ``loss`` of its packets."""
    need_live()
    scenario = folder / "x.toml"
    scenario.write_text(
        "schema = 2\nchannel = { model = 'iid', p_e = 0 }\n"
        f"reverse.channel = {{ model = 'iid', p_e = {loss} }}\n"
        "link = { rate = '20 Mbit/s', packet_size = '1500 B', delay = '1 ms' }\n"
        "tcp = { flavour = 'rfc', variant = 'sack' }\n"
    )
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)
    far = f"cd {folder}; exec python3 server.py"
    done = live(scenario, "--quiet", *options, "--far", far, "--", "python3", str(folder / "client.py"))
    assert done.returncode == 0, done.stderr
    found: list[tuple[int, int]] = json.loads(done.stdout)
    return found


def test_a_nat_that_rebinds(tmp_path: Path) -> None:
    found = run(tmp_path, 0.0, "--rebind", "500 ms,1 s")
    ports = [outside for _, outside in found]
    own = {inside for inside, _ in found}
    assert len(own) == 1
    assert ports[0] in own
    # Time starts with the first packet; rebindings at 0.5 and 1.5 s affect the next packet each.
    assert sum(first != second for first, second in pairwise(ports)) == 2
    assert len(set(ports)) == 3
    assert 50 <= len(found) <= 60


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Output of the client, and the packets that came, over a link that only loses half of them."""
    folder = tmp_path_factory.mktemp("undisturbed")
    found = run(folder, 0.5)
    return found, [bytes.fromhex(line) for line in (folder / "came").read_text().split()]


def test_without_it_ports_stay(undisturbed: tuple[list[tuple[int, int]], list[bytes]]) -> None:
    found, _ = undisturbed
    assert found
    assert all(inside == outside for inside, outside in found)


def test_lost_packets_arrive_corrupted(
    tmp_path: Path, undisturbed: tuple[list[tuple[int, int]], list[bytes]]
) -> None:
    run(tmp_path, 0.5, "--corrupt")
    came = [bytes.fromhex(line) for line in (tmp_path / "came").read_text().split()]
    assert len(came) == 60
    changed = 0
    for number, data in enumerate(came):
        wrong = [byte for byte in data if byte != number]
        assert len(data) == 40
        assert len(wrong) <= 1
        changed += len(wrong)
    # Half of the 60 packets on average; the count exceeds these bounds once in 10^9 runs.
    assert 8 <= changed <= 52
    # Without --corrupt the same draws lose as many packets.
    _, came = undisturbed
    assert len(came) == 60 - changed
    assert all(len(set(data)) == 1 for data in came)


@pytest.mark.parametrize("text", ["1 s", "1 s,0 s", "1 s,2 s,3 s", "1 s,soon", ","])
def test_wrong_times_are_one_line(cli: Cli, text: str) -> None:
    done = cli("live", "--delay", "1 ms", "--rebind", text, "--", "true")
    assert done.code == 125
    assert done.err.startswith("error: --rebind")
    assert len(done.err.splitlines()) == 1
