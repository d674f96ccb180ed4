"""``crossfade record``: sender and receiver with a common token make a record that can be fitted."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.errors import CrossfadeError
from crossfade.fitting import recorder
from tests.conftest import Cli, expect_one_line

TOKEN = b"sixteen bytes or more"


def receiving(token: bytes, found: list[int]) -> tuple[threading.Thread, int]:
    """A receiver on the loopback interface in a thread, and its port."""
    ports: list[int] = []
    listens = threading.Event()

    def ready(port: int) -> None:
        ports.append(port)
        listens.set()

    def run() -> None:
        found.append(recorder.receive("127.0.0.1", 0, token, ready))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert listens.wait(20)
    return thread, ports[0]


def test_what_both_ends_saw_is_a_record_that_is_fitted(tmp_path: Path) -> None:
    arrived: list[int] = []
    thread, port = receiving(TOKEN, arrived)
    file = tmp_path / "mine.csv"
    sent = recorder.send("127.0.0.1", port, file, 2e6, 4.0, TOKEN)
    thread.join(20)
    # In 4 s there are 2 s of rest with 100 packets/s, and 2 s of bursts with 166.7 packets/s.
    assert 350 < sent.packets <= 536
    assert arrived == [sent.arrived]
    assert sent.arrived > 0.9 * sent.packets
    fit = cf.fit.link(file)
    assert fit.found["packets"] == sent.packets
    assert fit.rate.high >= 1e6
    assert 0 <= fit.delay.value < 0.5


def test_the_bursts_and_rests_show_a_link(tmp_path: Path) -> None:
    """Bursts of 12 Mbit/s show a link of 8 Mbit/s, 20 ms and a queue of 30 packets, although the receiver's
    clock is 5 s ahead.
    """
    sent = [round(at * 1e9) for at in recorder._times(12e6, 15.0)]
    arrived, free, waiting = {}, 0, list[int]()
    for number, at in enumerate(sent):
        waiting = [left for left in waiting if left > at]
        if len(waiting) > 30:
            continue
        free = max(free, at) + 1_500_000
        waiting.append(free)
        arrived[number] = free + 20_000_000 + 5_000_000_000
    recorder._write(tmp_path / "mine.csv", sent, arrived, 5_000_000_000)
    fit = cf.fit.link(tmp_path / "mine.csv")
    assert (fit.rate.verdict, fit.queue.verdict) == ("identified", "identified")
    assert fit.rate.value == pytest.approx(8e6, rel=1e-3)
    assert fit.delay.value == pytest.approx(40e-3, rel=1e-3)
    assert fit.queue.value == pytest.approx(30, abs=1)
    assert fit.found["random_losses"] == 0


def test_who_has_another_token_gets_nothing(tmp_path: Path) -> None:
    arrived: list[int] = []
    _, port = receiving(TOKEN, arrived)
    with pytest.raises(CrossfadeError, match="the receiver has another token") as told:
        recorder.send("127.0.0.1", port, tmp_path / "x.csv", 2e6, 4.0, b"another token than that")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "x.csv").exists()
    # Connections without the token, some with the right words; the receiver continues.
    for said in (b"GET / HTTP/1.1\r\n\r\n", b'{"crossfade-record": 1}\n', b"[1]\n", b"\xff\n"):
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(said)
    assert arrived == []
    assert recorder.send("127.0.0.1", port, tmp_path / "y.csv", 1e6, 3.0, TOKEN).arrived > 0


def test_bursts_have_the_full_rate_and_rests_do_not() -> None:
    times = list(recorder._times(12e6, 6.0))
    counts = [sum(second <= at < second + 1 for at in times) for second in range(6)]
    assert counts == pytest.approx([100, 1000, 1000, 100, 1000, 1000], abs=3)
    # A requested rate below that of the probes is not exceeded.
    slow = list(recorder._times(240e3, 6.0))
    assert len(slow) <= 6 * 20 + 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["192.0.2.1", "--to", "x.csv"], "--token"),
        (["--listen", "192.0.2.1"], "--token"),
        (["127.0.0.1"], "--to"),
        ([], "--listen"),
        (["127.0.0.1", "--listen", "127.0.0.1"], "--listen"),
        (["--listen", "127.0.0.1", "--to", "x.csv"], "the sender writes"),
        (["127.0.0.1", "--to", "x.csv", "--rate", "2 Gbit/s"], "--rate"),
        (["127.0.0.1", "--to", "x.csv", "--rate", "fast"], "--rate"),
        (["127.0.0.1", "--to", "x.csv", "--for", "1 h"], "--for"),
        (["127.0.0.1", "--to", "x.csv", "--port", "70000"], "--port"),
        (["127.0.0.1", "--to", "x.csv", "--port", "1"], "port 1"),
        (["127.0.0.1", "--to", "x.csv", "--token", "short"], "16"),
        (["no.such.host.invalid", "--to", "x.csv"], "is no address"),
    ],
)
def test_bad_input_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], match: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short").write_text("abc\n")
    expect_one_line(cli("record", *arguments), match)
    assert not Path("x.csv").exists()


def test_a_receiver_that_leaves_in_the_middle_is_no_loss() -> None:
    """If the receiver ends before its report is complete, there is no record: missing packets would count as
    lost.
    """
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        recorder._Talk(socket.create_connection(server.getsockname())) as talk,
    ):
        with server.accept()[0] as theirs:
            theirs.sendall(b'{"arrived": 2}\n' + recorder.ARRIVAL.pack(0, 1))
        with pytest.raises(ConnectionError, match="left before it had said what arrived"):
            talk.arrivals(2)
