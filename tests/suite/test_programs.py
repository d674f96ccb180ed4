"""Suites with real programs, measured by their hosts' captures; any failure is one line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from crossfade.cli.app import main
from crossfade.errors import ScenarioError
from crossfade.suite import watched
from crossfade.suite.captures import Transfer, delays, packets, transfer
from crossfade.suite.cases import Case, load_suite
from crossfade.suite.harness import Outcome
from crossfade.suite.programs import Programs, gathered, live_scenario
from crossfade.suite.qlogs import beside_link, read_qlog
from crossfade.suite.stacks import known_stack, known_stacks, own_stack
from crossfade.suite.timeline import Timeline
from tests.cli.live_runs import need, need_live
from tests.conftest import Cli, long_form
from tests.suite.test_cases import SUITE, own

PYTHON = shlex.quote(sys.executable)
SERVER = f"{PYTHON} -m http.server $CROSSFADE_PORT --bind 0.0.0.0 --directory $CROSSFADE_ROOT"
CLIENT = "curl -sf -o $CROSSFADE_DOWNLOAD http://$CROSSFADE_SERVER:$CROSSFADE_PORT/$CROSSFADE_FILE"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Suite of one short transfer; processes of its runs carry its folder in their environment."""
    need_live()
    need("curl", "openssl")
    monkeypatch.chdir(tmp_path)
    return own(tmp_path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a suite of three runs of curl, with its rows in ``rows.json``: measured once for the tests
    that look at it, or compare other runs with it.
    """
    need_live()
    need("curl", "openssl")
    here = tmp_path_factory.mktemp("measured")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(here), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        options = ("--runs", "3", "--quiet", "--json", "--junit", "x.xml")
        code = main(["suite", own(here), "--stack", "curl", *options])
    assert code == 0, err.getvalue()
    (here / "rows.json").write_text(out.getvalue())
    return here


def left_behind(tmp_path: Path) -> list[str]:
    """Processes with a folder in their environment."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(tmp_path / "suite-").encode() in environment.read_bytes():
                found.append((environment.parent / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


def suite(cli: Cli, folder: str, client: str = CLIENT, server: str = SERVER, *more: str) -> object:
    arguments = ("--client", client, "--server", server, "--runs", "2", "--quiet", *more)
    return cli("suite", folder, *arguments)


def test_a_transfer_is_measured_by_its_packets(
    cli: Cli, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(measured)
    (row,) = json.loads(Path("rows.json").read_text())
    assert row["tested"] == "curl"
    # 300 kB over 4 Mbit/s take at least 0.6 s, plus handshake and losses; the start of curl does not count.
    assert all(0.6 < value < 3.0 for _, value in row["values"])
    assert len(row["values"]) == 3
    # The journal of the worst run replays exactly.
    again = cli(*shlex.split(row["replay"])[1:])
    assert again.code == 0, again.err
    assert again.out.count("identical") == 2
    assert {"journal", "report"} <= row["files"].keys()
    assert left_behind(measured) == []
    kept = {path.name for path in (measured / f"suite-{measured.name}").rglob("*") if path.is_file()}
    assert kept
    assert not {"near.pcap", "far.pcap", "download"} & kept


def test_two_builds_meet_the_same_losses(cli: Cli, folder: str, measured: Path) -> None:
    done = suite(cli, folder, CLIENT, SERVER, "--runs", "1", "--out", "a")
    assert done.code == 0  # type: ignore[attr-defined]
    reports = []
    for out in (measured / f"suite-{measured.name}", Path("a")):
        journals = sorted(out.rglob("*.cfj"))
        reports.append([json.loads((journal.parent / "report.json").read_text()) for journal in journals])
    assert [len(found) for found in reports] == [3, 1]
    for first, second in zip(reports[0][:1], reports[1], strict=True):
        # Packet n is lost in both runs or in neither, so counts differ at most by the last few packets.
        assert abs(first["directions"][0]["lost"] - second["directions"][0]["lost"]) <= 2
    # Different runs lose different numbers of packets.
    assert len({report["directions"][0]["lost"] for report in reports[0]}) >= 1
    refused = suite(cli, folder, CLIENT, SERVER, "--out", "a")
    assert refused.code == 2  # type: ignore[attr-defined]
    assert "is there already" in refused.err  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("client", "server", "said"),
    [
        ("no-such-client", SERVER, r"the client cannot be started \(exit code 127\): no-such-client"),
        (CLIENT, "no-such-server", r"the server cannot be started \(exit code 127\): no-such-server"),
        (CLIENT, "exit 3", r"the server ended with exit code 3 before it listened"),
        (
            CLIENT,
            SERVER.replace("$CROSSFADE_PORT", "4434"),
            r"the server does not listen on port 4433 after 1 s \(it listens on 4434\)",
        ),
        long_form(
            CLIENT, "sleep 60", r"the server does not listen on port 4433 after 1 s \(it listens nowhere\)"
        ),
    ],
)
def test_what_cannot_be_tested_is_one_line(
    cli: Cli,
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    server: str,
    said: str,
) -> None:
    short = tmp_path / "watched.py"
    short.write_text(Path(watched.__file__).read_text().replace("STARTS_S = 30.0", "STARTS_S = 1.0"))
    monkeypatch.setattr(watched, "__file__", str(short))
    monkeypatch.setattr(watched, "STARTS_S", 1.0)
    done = suite(cli, folder, client, server)
    assert done.code == 2, done.err  # type: ignore[attr-defined]
    lines = done.err.splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 1, lines
    assert re.search(rf"^error: case short, run 0: {said}", lines[0]), lines[0]
    assert left_behind(tmp_path) == []
    # The folder of runs stays if the message names a log in it, and never prevents the next try.
    out = tmp_path / f"suite-{tmp_path.name}"
    assert out.exists() == (str(out) in lines[0])


@pytest.mark.parametrize(
    ("client", "said", "runs"),
    [
        ("sleep 90 & sleep 90", "the client did not end within 1 s", 1),
        ("exit 7", "the client ended with exit code 7", 3),
        long_form("kill -9 $$", "the client ended by signal 9", 3),
        (
            f"{CLIENT} && truncate -s 100 $CROSSFADE_DOWNLOAD",
            r"the client left 100 bytes in \$CROSSFADE_DOWNLOAD, not the 300,000",
            1,
        ),
        long_form("sleep 90 & sleep 90", "the client did not end within 1 s", 3),
        long_form("true", r"the client left 0 bytes", 3),
        long_form(
            "mkdir $CROSSFADE_DOWNLOAD", r"the client left a folder in \$CROSSFADE_DOWNLOAD, not the file", 3
        ),
    ],
)
def test_a_client_that_does_not_do_its_part_fails(
    cli: Cli, folder: str, tmp_path: Path, client: str, said: str, runs: int
) -> None:
    limit = "1 s" if "sleep" in client else "60 s"
    own(tmp_path, SUITE.replace("size = 300000", f'size = 300000\ntime_limit = "{limit}"'))
    done = cli("suite", folder, "--client", client, "--server", SERVER, "--runs", str(runs), "--json")
    assert done.code == 1, done.err
    problems = [line for line in done.err.splitlines() if line.startswith("case short, run")]
    # A failing run is not tried a third time.
    assert len(problems) == min(runs, 2)
    for line in problems:
        assert re.search(said, line), line
    (row,) = json.loads(done.out)
    assert row["verdict"] == "fail"
    assert re.search(said, row["note"])
    assert left_behind(tmp_path) == []


def test_a_server_that_ends_within_a_transfer_is_named(cli: Cli, folder: str, tmp_path: Path) -> None:
    """A server that ends after half of a transfer is reported with its exit code."""
    program = tmp_path / "server.py"
    program.write_text(
        "import os, socket, sys\n"
        "server = socket.create_server(('0.0.0.0', int(os.environ['CROSSFADE_PORT'])))\n"
        "peer, _ = server.accept()\n"
        "peer.recv(65536)\n"
        "peer.sendall(b'HTTP/1.0 200 OK\\r\\nContent-Length: 300000\\r\\n\\r\\n' + bytes(150000))\n"
        "sys.exit(5)\n"
    )
    done = suite(cli, folder, CLIENT, f"exec {PYTHON} {program}", "--runs", "1", "--json")
    assert done.code == 1, done.err  # type: ignore[attr-defined]
    (row,) = json.loads(done.out)  # type: ignore[attr-defined]
    said = r"the client ended with exit code \d+ .*; the server had ended with exit code 5 \(see .*/log\)$"
    assert re.search(said, row["note"]), row["note"]
    assert left_behind(tmp_path) == []
    assert not (tmp_path / f"suite-{tmp_path.name}" / "root").exists()


def test_a_missing_qlog_is_one_line(cli: Cli, folder: str) -> None:
    done = suite(cli, folder, CLIENT, SERVER, "--qlog")
    assert done.code == 2  # type: ignore[attr-defined]
    assert done.err == "error: case short, run 0: the client wrote no qlog into $QLOGDIR\n"  # type: ignore[attr-defined]


def test_a_qlog_that_is_missing_later_ends_nothing(cli: Cli, folder: str, tmp_path: Path) -> None:
    """Runs after the first may lack a qlog: a server that writes it at the end may miss the lost close of the
    connection.
    """
    seen, log = tmp_path / "seen", "echo '{}' > $QLOGDIR/x.qlog"
    client = f"{CLIENT} && {{ [ -e {seen} ] || {log}; }} && : > {seen}"
    done = suite(cli, folder, client, f"{log}; {SERVER}", "--qlog")
    assert done.code == 0, done.err  # type: ignore[attr-defined]


def test_a_transfer_without_an_end(cli: Cli, folder: str, tmp_path: Path) -> None:
    """A case of limited duration ends the client; rate and queue of the link come from the hosts'
    captures.
    """
    text = SUITE.replace("size = 300000", 'size = 30000000\nlasts = "2 s"')
    names = ("goodput_bps", "link_utilisation", "forward.queueing_delay_p95_s", "rtt_p95_s")
    targets = ", ".join(f'{{ metric = "{name}", {at_least(name)}, why = "ours" }}' for name in names)
    own(tmp_path, text[: text.index("target = ")] + f"target = [{targets}]\n")
    done = suite(cli, folder, CLIENT, SERVER, "--runs", "1", "--json")
    assert done.code == 0, done.err  # type: ignore[attr-defined]
    found = {row["metric"]: row["value"] for row in json.loads(done.out)}  # type: ignore[attr-defined]
    # TCP carries 1448 of 1500 bytes at 4 Mbit/s, less some losses.
    assert 1.5e6 < found["goodput_bps"] < 4e6 * 1448 / 1500
    assert found["goodput_bps"] / 4e6 < found["link_utilisation"] <= 1.01
    assert 0.0 < found["forward.queueing_delay_p95_s"] < found["rtt_p95_s"] < 3.0
    assert left_behind(tmp_path) == []
    # A file too short for the duration is an error.
    own(tmp_path, SUITE.replace("size = 300000", 'size = 30000\nlasts = "20 s"'))
    done = suite(cli, folder, CLIENT, SERVER, "--runs", "1", "--out", "short", "--json")
    assert done.code == 1  # type: ignore[attr-defined]
    assert "30,000 bytes must last 20 s" in done.out  # type: ignore[attr-defined]


def at_least(metric: str) -> str:
    """A lower limit that every value meets."""
    return 'at_least = "0 bit/s"' if metric.endswith("_bps") else "at_least = 0"


def test_a_run_that_cannot_be_carried_out_later_fails_alone(tmp_path: Path) -> None:
    """If the stack has worked before, a failing run leaves the others their rows; if it never has, the suite
    ends.
    """

    class Broken:
        stack, congestion, folder = own_stack("c", "s", 1, False), None, tmp_path

        def __init__(self, *broken: int) -> None:
            self.broken, self.count = broken, 0

        def run(self, case: Case, run: int, seed: int | None, scenario: Path) -> Outcome:
            self.count += 1
            if self.count - 1 in self.broken:
                raise ScenarioError(f"case {case.name}, run {run}: the client was not started")
            return Outcome(Transfer(0.0, 1.0, Timeline({})), {}, "")

    case = load_suite(own(tmp_path)).cases[0]
    source = Programs(Broken(1), 3, None)  # type: ignore[arg-type]
    (sample,) = source.measure(case, "c")
    assert sample.values == {0: 1.0, 1: 60.0, 2: 1.0}
    assert sample.unfinished == {1}
    with pytest.raises(ScenarioError, match="was not started"):
        Programs(Broken(0), 3, None).measure(case, "c")  # type: ignore[arg-type]


def test_delays_by_hand(tmp_path: Path) -> None:
    """Delays of two full packets (10 and 30 ms) and of an acknowledgement (5 ms); a lost packet does not
    count.
    """

    def captured(name: str, *packets: tuple[float, str, bytes]) -> Path:
        body = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 16, 101)
        for time_s, source, data in packets:
            header = bytes([0x45, 0]) + struct.pack(">H", 28 + len(data)) + bytes(5) + bytes([17, 0, 0])
            packet = header + bytes(map(int, source.split("."))) + bytes(4) + bytes(8) + data
            size = len(packet)
            body += struct.pack("<IIII", int(time_s), round(time_s % 1 * 1e9), size, size) + packet
        (tmp_path / name).write_bytes(body)
        return tmp_path / name

    near, far = "10.77.0.2", "10.77.0.1"
    one, two, lost, reply = b"1" * 1200, b"2" * 1200, b"3" * 1200, b"4" * 30
    sent = captured("far", (1.0, far, one), (1.1, far, lost), (1.2, far, two), (1.355, near, reply))
    came = captured("near", (1.01, far, one), (1.23, far, two), (1.35, near, reply))
    took = delays(came, sent, near)
    assert [delay for _, delay in took.data] == pytest.approx([0.01, 0.03])
    assert [delay for _, delay in took.back] == pytest.approx([0.005])
    assert took.queueing_s(0.95) == pytest.approx(0.02)
    assert took.round_trip_s(0.95) == pytest.approx(0.035)
    assert took.one_way_s(0.95, 1.0, 1.1) == pytest.approx(0.01)
    found = transfer(came, near, 0.1)
    assert found is None or found.bytes_between(1.2, 1.3) == (1228, 1200)


def test_quic_with_its_qlog(cli: Cli, folder: str, tmp_path: Path) -> None:
    done = cli("suite", folder, "--stack", "aioquic", "--runs", "1", "--quiet", "--json")
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)
    assert row["values"][0][1] > 0.6
    for role in ("client", "server"):
        log = json.loads(Path(row["files"][f"{role} qlog"]).read_text())
        assert log["traces"]
    # The stack's losses equal those of the link and its queue, except for tail losses and spurious ones.
    events = log["traces"][0]["events"]
    lost = sum(event["name"] == "recovery:packet_lost" for event in events)
    down = json.loads(Path(row["files"]["report"]).read_text())["directions"][0]
    assert abs(lost - down["lost"] - down["dropped"]) <= 3
    drawn = beside_link(Path(row["files"]["server qlog"]), Path(row["files"]["journal"]))
    assert f"red: {down['lost']} packets that the channel lost, {down['dropped']} that" in drawn


@pytest.mark.usefixtures("folder")
def test_a_slowed_stack_is_caught(cli: Cli, measured: Path) -> None:
    """A stack whose client reads slowly is worse than a baseline of the unchanged one."""
    # curl reads at most 100 kB/s, so the receive window closes.
    slow = f"{CLIENT} --limit-rate 100k"
    old = str(measured / "rows.json")
    done = suite(cli, str(measured), slow, SERVER, "--runs", "3", "--baseline", old, "--out", "b")
    assert done.code == 1, done.err  # type: ignore[attr-defined]
    assert "baseline (worse): curl: slower by " in done.err  # type: ignore[attr-defined]


def test_bad_options(cli: Cli, folder: str) -> None:
    for arguments, said in (
        (("--client", "x"), "--client and --server go together"),
        (("--client", "x", "--server", "y", "--control", "cubic"), "one of --control"),
        (("--client", " ", "--server", "y"), "must be a shell command"),
        (("--client", "x", "--server", "y", "--port", "0"), "--port 0: must be between"),
        (("--stack", "crul"), "did you mean curl?"),
        (("--stack", "curl", "--out", "no/where"), "there is no folder no"),
        (("--stack", "curl", "--runs", "0"), "must be at least 1"),
    ):
        done = cli("suite", folder, *arguments, "--quiet")
        assert done.code == 2
        assert said in done.err, done.err
        assert len(done.err.splitlines()) == 1


def test_other_flows_are_simulated(tmp_path: Path) -> None:
    case = next(case for case in load_suite("c4").cases if case.name == "beside-cubic")
    text = live_scenario(case, tmp_path).read_text()
    assert 'main = { traffic = "outside" }' in text
    assert "20 MB" in text
    case = next(case for case in load_suite("interop").cases if case.name == "blackhole")
    assert "main" not in live_scenario(case, tmp_path / "b").read_text()
    assert (tmp_path / "b" / "blackhole.csv").exists()


def test_known_stacks() -> None:
    assert list(known_stacks()) == ["curl", "iperf3", "aioquic", "quinn", "quic-go"]
    assert known_stack("curl").port == 8080
    assert own_stack("/usr/bin/mine -x", "y", 1, True).name == "mine"
    with pytest.raises(ScenarioError, match="did you mean quinn"):
        known_stack("quin")


def test_captures_by_hand(tmp_path: Path) -> None:
    """A request, two packets with data 1 s apart, and a farewell without: 1.5 s."""

    def packet(time_s: float, source: int, protocol: int, data: int) -> bytes:
        inner = bytes(12) + bytes([5 << 4]) + bytes(7) if protocol == 6 else bytes(8)
        total = 20 + len(inner) + data
        head = bytes([0x45, 0]) + total.to_bytes(2, "big") + bytes(5) + bytes([protocol]) + bytes(2)
        whole = head + bytes([10, 77, 0, source]) + bytes(4) + inner
        seconds, nanos = int(time_s), round(time_s % 1 * 1e9)
        return struct.pack("<IIII", seconds, nanos, len(whole), total) + whole

    for protocol in (6, 17):
        file = tmp_path / f"{protocol}.pcap"
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
        sent = [(0.5, 2, 10), (1.0, 1, 1000), (2.0, 1, 1000), (2.5, 1, 0), (2.6, 2, 0)]
        file.write_bytes(head + b"".join(packet(at, who, protocol, data) for at, who, data in sent))
        assert [one.data for one in packets(file)] == [10, 1000, 1000, 0, 0]
        found = transfer(file, "10.77.0.2", 0.5)
        assert found is not None
        assert found.took_s == pytest.approx(1.5)
        series = dict(found.line.series["goodput_bps"])
        assert series[1.5] == series[2.5] == 16_000.0
        assert sum(series.values()) == 32_000.0
    (tmp_path / "x").write_bytes(b"no capture")
    with pytest.raises(ScenarioError, match="no packet capture"):
        list(packets(tmp_path / "x"))


def test_what_ends_a_suite_ends_all(folder: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "crossfade",
        "suite",
        folder,
        "--server",
        SERVER,
        "--runs",
        "2",
        "--quiet",
    ]
    process = subprocess.Popen(
        [*command, "--client", "sleep 50"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    status = tmp_path / f"suite-{tmp_path.name}" / "short" / "run0" / "server" / "status"
    for _ in range(2000):
        if status.exists():
            break
        subprocess.run(["sleep", "0.01"], check=True)
    assert left_behind(tmp_path)
    process.kill()
    process.communicate()
    for _ in range(500):
        if not left_behind(tmp_path):
            break
        subprocess.run(["sleep", "0.02"], check=True)
    assert left_behind(tmp_path) == []


def test_qlogs_of_two_kinds(tmp_path: Path) -> None:
    events = [
        {"time": 1000.0, "name": "transport:packet_received", "data": {}},
        {"time": 1001.5, "name": "recovery:metrics_updated", "data": {"congestion_window": 12000}},
        {"time": 1002.0, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 5}},
    ]
    whole, parts = tmp_path / "a.qlog", tmp_path / "a.sqlog"
    whole.write_text(json.dumps({"traces": [{"events": events}]}))
    head = {"qlog_format": "JSON-SEQ", "trace": {}}
    parts.write_text("".join(f"\x1e{json.dumps(one)}\n" for one in (head, *events)))
    for file in (whole, parts):
        found = read_qlog(file)
        assert found.first_received_s == 1.0
        assert found.window == [(1.0015, 12000.0)]
    for text in ("no JSON", '{"traces": []}'):
        whole.write_text(text)
        with pytest.raises(ScenarioError, match="qlog"):
            read_qlog(whole)


def test_flags_of_many_runs_are_one_line() -> None:
    late = "forward: {} % of packets were more than 0.30 ms late"
    flags = [(0, late.format(2.1)), (1, late.format(15.7)), (1, "no clock"), (3, late.format(9.0))]
    assert gathered(flags) == [
        "runs 0, 1 and 3: forward: up to 15.7 % of packets were more than 0.30 ms late",
        "run 1: no clock",
    ]
    # Warnings with different limits are not combined.
    other = late.format(3.0).replace("0.30", "0.60")
    assert len(gathered([*flags, (4, other)])) == 3
    assert gathered([]) == []


def test_one_line_warns_of_other_work_on_the_machine(tmp_path: Path) -> None:
    class Loaded:
        stack = known_stack("curl")
        folder = tmp_path
        congestion = None

        def run(self, case: Case, run: int, seed: int | None, scenario: Path) -> Outcome:
            report = {"flags": ["2.0 % late"] if run else [], "load": 5.0 + 2.0 * run, "processors": 2}
            return Outcome(Transfer(0.0, 1.0, Timeline({})), report, "")

    source = Programs(Loaded(), 3, None)  # type: ignore[arg-type]
    source.measure(load_suite(own(tmp_path)).cases[0], "c")
    # Two of three runs had more than three processes per processor.
    assert source.warnings() == [
        "case short, runs 1 and 2: up to 2.0 % late",
        "up to 4.5 processes wanted each processor in 2 of 3 runs: what is slow may be the machine, and not "
        "the program",
    ]
