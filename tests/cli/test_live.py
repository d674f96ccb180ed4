"""``crossfade live`` with real programs: packets that pass, exit codes, and complete clean-up.

Skipped, with the reason, on systems without network namespaces or TUN devices.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.cli.live import doctor
from crossfade.cli.live.config import Config
from crossfade.plans.options import Options
from tests.cli.live_runs import live, live_command, need, need_live, without_flags
from tests.conftest import Cli, expect_one_line, long_form

LATENCY = "/dev/cpu_dma_latency"


@pytest.fixture(autouse=True)
def possible(request: pytest.FixtureRequest) -> None:
    if not any(name in request.node.name for name in ("wrong_is_one_line", "without_hosts")):
        need_live()


def processes(mark: str) -> list[int]:
    """Ids of other processes whose environment contains a mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def state() -> tuple[str, ...]:
    """Network devices and routes of the host, and the network namespaces of all processes."""
    namespaces = {os.readlink(entry) for entry in Path("/proc").glob("[0-9]*/ns/net") if _is_there(entry)}
    devices = sorted(Path("/sys/class/net").iterdir())
    return (*map(str, devices), Path("/proc/net/route").read_text(), *sorted(namespaces))


def _is_there(link: Path) -> bool:
    try:
        os.readlink(link)
    except OSError:
        return False
    return True


def wait_until(condition: object, timeout_s: float = 60.0, looks_s: float = 0.02) -> None:
    until = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(looks_s)


def blocks(pid: int, number: int) -> bool:
    """True if a process holds back a signal, as ``crossfade live`` does from the check of its options on."""
    (mask,) = re.findall(r"^SigBlk:\t(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return bool(int(mask, 16) >> (number - 1) & 1)


def test_a_download_arrives_whole_and_what_happened_is_told(tmp_path: Path) -> None:
    need("curl")
    data = random.Random(1).randbytes(3_000_000)
    (tmp_path / "file").write_bytes(data)
    got, report = tmp_path / "got", tmp_path / "report.json"
    link: list[str | Path] = ["--rate", "20 Mbit/s", "--delay", "5 ms", "--loss", "1 %"]
    link += ["--serve", tmp_path, "--json", report]
    done = live(*link, "--", "sh", "-c", f"curl -sf -o {got} $CROSSFADE_SERVER/file")
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(data).digest()
    told = json.loads(report.read_text())
    down, up = told["directions"]
    assert down["ring_drops"] == up["ring_drops"] == 0
    assert down["packets"] == down["arrived"] + down["lost"] + down["dropped"] + down["left"]
    # About 2,100 packets with 1 % losses: the count is outside this range once in 10,000 runs.
    assert 5 <= down["lost"] <= 45
    assert 0.0055 < down["transit_p50_s"] < 0.1
    for words in ("late by", "packets never seen", "at a load of", "stolen"):
        assert words in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 7", 7), ("kill -KILL $$", 137), long_form("exit 0", 0), long_form("kill -TERM $$", 143)],
)
def test_the_exit_code_is_that_of_the_command(command: str, code: int) -> None:
    assert live("--rate", "1 Mbit/s", "--", "sh", "-c", command).returncode == code


def test_a_command_that_is_not_there_and_one_that_does_not_end() -> None:
    missing = live("--rate", "1 Mbit/s", "--", "no-such-program")
    assert (missing.returncode, "no-such-program: cannot be started" in missing.stderr) == (127, True)
    assert live("--rate", "1 Mbit/s", "--duration", "300 ms", "--", "sleep", "100").returncode == 124


def test_a_congestion_control_that_the_kernel_has_not_is_that_of_the_option(scenario: Path) -> None:
    for words in (["--rate", "1 Mbit/s", "--", "true"], [scenario, "--workload", "bulk"]):
        done = live("--congestion", "nosuch", *words)
        assert (done.returncode, done.stderr.count("\n")) == (125, 1)
        assert done.stderr.startswith('error: --congestion "nosuch": ')
        assert "the kernel has: " in done.stderr


def test_the_name_of_a_command_steers_no_terminal() -> None:
    for name, said in (
        (
            "\x1b]0;x\x07no\nsuch",
            "error: \\x1b]0;x\\x07no\\nsuch: cannot be started (No such file or directory)\n",
        ),
        ("", "error: '': cannot be started (it has no name)\n"),
        ("no-such-\udcff", "error: no-such-\\udcff: cannot be started (No such file or directory)\n"),
        ("x" * 300, f"error: {'x' * 197}...: cannot be started (File name too long)\n"),
    ):
        done = live("--rate", "1 Mbit/s", "--quiet", "--", name)
        assert (done.returncode, without_flags(done.stderr)) == (126 if "long" in said else 127, said)


def ended_by_terminal(
    arguments: tuple[str, ...], number: int, when: Callable[[int], None]
) -> tuple[int, str]:
    """Exit code and standard error of a live run that gets a terminal signal as soon as ``when`` returns."""

    def listen() -> None:
        # A shell's background job ignores SIGINT, and its children inherit that; the tested command must not.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)

    command = live_command("--rate", "1 Mbit/s", "--quiet", *arguments, "--", "sleep", "1000")
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=listen, start_new_session=True
    ) as process:
        try:
            when(process.pid)
            os.killpg(process.pid, number)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, without_flags(err)


@pytest.mark.parametrize("after_s", [0.0, 0.05, long_form(0.02), long_form(0.1), long_form(0.2)])
def test_ctrl_c_while_the_helper_is_loaded_says_nothing(after_s: float) -> None:
    def is_loaded(pid: int) -> None:
        wait_until(lambda: blocks(pid, signal.SIGINT), looks_s=0.002)
        time.sleep(after_s)

    assert ended_by_terminal((), signal.SIGINT, is_loaded) == (130, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_what_the_terminal_says_before_the_command_is_there_is_held_for_it(
    number: int, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    # The far program ignores the signals and never listens, so COMMAND is not started yet.
    far = f"trap '' INT QUIT; touch {there}; sleep 1000"
    ended = ended_by_terminal(("--far", far), number, lambda _: wait_until(there.exists))
    assert ended == (128 + number, "")


def test_the_command_is_alone_with_its_link_and_is_who_called_it() -> None:
    script = "tail -n +3 /proc/net/dev | cut -d: -f1; id -u; echo $CROSSFADE_SERVER; ps ax | wc -l"
    done = live("--delay", "1 ms", "--quiet", "--", "sh", "-c", script)
    devices = done.stdout.split()
    assert sorted(devices[:2]) == ["lo", "tun0"]
    assert devices[2:4] == [str(os.getuid()), "10.77.0.1"]
    assert int(devices[4]) < 10, "a process namespace of its own"
    assert without_flags(done.stderr) == ""


def test_a_far_program_sees_the_end_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(
        "import socket, sys\n"
        "server = socket.create_server(('', 7000))\n"
        "connection, _ = server.accept()\n"
        "data = b''\n"
        "while chunk := connection.recv(65536): data += chunk\n"
        "open(sys.argv[1], 'w').write(str(len(data)))\n"
    )
    got = tmp_path / "got"
    client = (
        "import os, socket; s = socket.create_connection((os.environ['CROSSFADE_SERVER'], 7000)); "
        "s.sendall(bytes(50000))"
    )
    far = f"{sys.executable} {server} {got} > /dev/null & wait; sleep 1000"
    done = live("--rate", "2 Mbit/s", "--delay", "30 ms", "--far", far, "--", sys.executable, "-c", client)
    assert done.returncode == 0, done.stderr
    assert got.read_text() == "50000"


def test_captures_have_the_delay_and_the_losses_of_the_journal(scenario: Path, tmp_path: Path) -> None:
    need("tshark")
    near, far, report = tmp_path / "near.pcap", tmp_path / "far.pcap", tmp_path / "report.json"
    done = live(
        scenario, "--workload", "bulk", "--duration", "600 ms", "--pcap", f"{near},{far}", "--json", report
    )
    assert done.returncode == 0, done.stderr
    sent, came = packets(far, "10.77.0.1"), packets(near, "10.77.0.1")
    down = json.loads(report.read_text())["directions"][0]
    assert (len(sent), len(came)) == (down["packets"], down["arrived"])
    assert set(came) <= set(sent)
    # The delay is at least 5 ms plus the transmission time at 20 Mbit/s.
    delays = [came[packet] - sent[packet] for packet in came if packet[1] > 1400]
    assert min(delays) >= 0.0056


def packets(path: Path, source: str) -> dict[tuple[str, int], float]:
    """Times of packets from a source in a capture, by IP identification and length, as tshark reads them."""
    fields = [word for name in ("ip.id", "ip.len", "frame.time_epoch") for word in ("-e", name)]
    command = ["tshark", "-r", str(path), "-Y", f"ip.src == {source}", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    cells = [line.split("\t") for line in lines]
    return {(number, int(length)): float(at) for number, length, at in cells}


def test_method_live_stands_beside_simulation_and_is_not_kept(scenario: Path) -> None:
    short = {"run.duration": "1 s"}
    both = cf.run(str(scenario), methods=["simulation", "live"], set=short, runs=2)
    simulated, measured = both.points
    assert (simulated.method, measured.method) == ("simulation", "live")
    assert measured.metrics["ring_drops"].value == 0.0
    for name in ("goodput_bps", "rtt_mean_s", "retransmissions", "frame_error_rate"):
        assert (measured.metrics[name].value or 0.0) > 0.0
        assert measured.metrics[name].unit == simulated.metrics[name].unit
    again = cf.run(str(scenario), methods=["live"], set=short, runs=1)
    assert again.points[0].rows[0].seconds > 0.95, "made, not taken from the cache"
    with pytest.raises(cf.errors.ScenarioError, match="methods"):
        cf.sweep(str(scenario), methods=["live"], out=str(scenario.with_suffix(".sqlite")))


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[str]]:
    """A live run whose programs never end; its processes carry a mark in their environment."""
    mark = f"CROSSFADE_TEST={os.getpid()}-{time.monotonic_ns()}"
    name, value = mark.split("=")
    command = [
        "--rate",
        "1 Mbit/s",
        "--far",
        "sleep 1000 & sleep 1000",
        "--",
        "sh",
        "-c",
        "sleep 1000 | sleep 1000",
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "crossfade", "live", *command],
        env={**os.environ, name: value},
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    running.mark = mark  # type: ignore[attr-defined]
    yield running
    for pid in processes(mark):
        os.kill(pid, signal.SIGKILL)
    running.wait()


@pytest.mark.parametrize("victim", [0, 1, long_form(2)])
def test_nothing_is_left_whoever_is_killed(tree: subprocess.Popen[str], victim: int) -> None:
    before = state()
    mark: str = tree.mark  # type: ignore[attr-defined]
    wait_until(lambda: len(processes(mark)) >= 8)
    chosen = (
        random.Random(victim).choice(sorted(processes(mark)))
        if victim > 1
        else sorted(processes(mark))[victim]
    )
    os.kill(chosen, signal.SIGKILL)
    if processes(mark):  # killing a leaf program may leave the others running; then Ctrl-C ends them
        time.sleep(0.2)
        for pid in processes(mark):
            if Path(f"/proc/{pid}").exists() and processes(mark):
                os.killpg(tree.pid, signal.SIGINT)
                break
    wait_until(lambda: not processes(mark))
    tree.wait(5)
    # No namespace, device or route of the run is left; those of other programs may have disappeared
    # meanwhile.
    wait_until(lambda: set(before) >= set(state()))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["live"], ["live", "--rate"]),
        (["live", "no-such-scenario", "--", "true"], ["no-such-scenario"]),
        (["live", "--delay", "1 ms", "--queue", "9 packets", "--", "true"], ["--queue", "--rate"]),
        (["live", "quickstart", "--rate", "1 Mbit/s"], ["--rate", "--set"]),
        (["live", "--rate", "fast", "--", "true"], ["link.rate"]),
        (["live", "--rate", "1 Mbit/s", "--duration", "soon", "--", "true"], ["--duration", "soon"]),
        (["live", "--rate", "1 Mbit/s", "--pcap", "one", "--", "true"], ["--pcap", "NEAR,FAR"]),
        (["live", "--rate", "1 Mbit/s", "--pcap", "a,b,c", "--", "true"], ["--pcap", "NEAR,FAR"]),
        (["live", "--rate", "1 Mbit/s", "--workload", "web"], ["--workload", "bulk"]),
        (["live", "--rate", "1 Mbit/s", "--mtu", "5", "--", "true"], ["--mtu", "576"]),
        (["live", "--rate", "1 Mbit/s", "--serve", "/no/folder", "--", "true"], ["--serve"]),
        (["live", "--rate", "1e300 bit/s", "--", "true"], ["link.rate", "at most 10000 Gbit/s"]),
        (["live", "--rate", "1 Mbit/s", "--record", "/dev/null", "--", "true"], ["--record", "new file"]),
        (["live", "--rate", "1 Mbit/s", "--congestion", "bbr x", "--", "true"], ["--congestion", "bbr x"]),
        (["live", "--rate", "1 Mbit/s", "--workload", "bulk", "--mtu", "900"], ["--mtu", "link.packet_size"]),
        # An error in options before -- is not an exit code of COMMAND.
        (["live", "--rate", "1 Mbit/s", "--page", "x", "--", "true"], ["--page"]),
        (["live", "--rate", "1 Mbit/s", "--fly", "--", "true"], ["--fly"]),
        (["live", "--rate", "1 Mbit/s", "--seed", "x", "--", "true"], ["--seed"]),
        (["live", "--rate", "1 Mbit/s", "true"], ["--rate"]),
        # An empty value, as from an unset shell variable, is an error and does not mean "no limit".
        (["live", "--rate", "", "--", "true"], ["link.rate"]),
        (["live", "--delay", "", "--", "true"], ["link.delay"]),
        (["live", "--loss", "", "--", "true"], ["channel.p_e"]),
        (["live", "--rate", "1 Mbit/s", "--queue", "", "--", "true"], ["link.queue.limit"]),
        (["live", "--rate", "1 Mbit/s", "--duration", "", "--", "true"], ["--duration"]),
        (["live", "--rate", "1 Mbit/s", "--far", " ", "--", "true"], ["--far", "shell command"]),
        (["live", "--rate", "1 Mbit/s", "--serve", "", "--", "true"], ["--serve", "folder"]),
        (["live", "--rate", "1 Mbit/s", "--congestion", "", "--", "true"], ["--congestion", "name"]),
    ],
)
def test_what_is_wrong_is_one_line(cli: Cli, arguments: Sequence[str], parts: Sequence[str]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 125
    expect_one_line(type(outcome)(2, outcome.out, outcome.err), *parts)


def test_the_doctor_says_what_there_is(cli: Cli) -> None:
    outcome = cli("doctor")
    assert outcome.code == 0, outcome.out
    assert "ok      /dev/net/tun: can be opened" in outcome.out
    assert outcome.out.splitlines()[-1] == "crossfade live works here"
    assert all(re.match(r"(ok|note)\s+[\w/ -]+: ", line) for line in outcome.out.splitlines()[:-1])


def test_the_doctor_tries_real_time_priority() -> None:
    need("setpriv")
    if os.geteuid() != 0:
        pytest.skip("real-time priority that root lacks: only root can give it up")
    less = ["setpriv", "--inh-caps=-sys_nice", "--bounding-set=-sys_nice"]
    command = ["prlimit", "--rtprio=0", *less, sys.executable, "-m", "crossfade"]
    done = subprocess.run([*command, "doctor"], capture_output=True, text=True, check=False)
    assert "note    real-time priority: not allowed (--realtime: Operation not permitted)" in done.stdout
    words = [*command, "live", "--rate", "1 Mbit/s", "--realtime", "--", "true"]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    said = "error: --realtime: not allowed (Operation not permitted); see crossfade doctor\n"
    assert (refused.returncode, without_flags(refused.stderr)) == (125, said)


def test_the_helper_has_one_thread_when_it_forks() -> None:
    code = (
        "import os, crossfade.cli.live.helper, crossfade.sweeps.apart; "
        "print(len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n", "what starts threads (numpy) is loaded where it is used"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_process_with_several_threads_makes_room_for_a_new_one(threads: int, tmp_path: Path) -> None:
    """The helper is the process of the command, or one in its place if the command's has several threads."""
    there = tmp_path / "there"
    script = f"echo begun >> {there}; read line; exit 7"
    command = ["live", "--rate", "1 Mbit/s", "--quiet", "--", "sh", "-c", script]
    sleeper = "threading.Thread(target=time.sleep, args=[60], daemon=True).start()"
    code = f"import threading, time\n{sleeper if threads > 1 else ''}\n"
    code += f"from crossfade.cli.app import main\nmain({command!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        wait_until(there.exists)
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert process.returncode == 7
    assert (b"crossfade.cli.live.helper" in words) == (threads > 1)
    assert there.read_text() == "begun\n", "COMMAND ran once"


def test_who_reads_the_messages_may_go_away() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = live_command("--rate", "1 Mbit/s", "--", "sh", "-c", "exit 7")
    assert subprocess.run(words, stderr=writer, timeout=60, check=False).returncode == 7
    os.close(writer)


@pytest.mark.parametrize(
    ("options", "is_held"), [(["--realtime"], True), ([], False), (["--realtime", "--let-sleep"], False)]
)
def test_with_real_time_priority_processors_stay_awake_before_any_packet(
    options: list[str], is_held: bool, tmp_path: Path
) -> None:
    if os.geteuid() != 0 or not os.access(LATENCY, os.W_OK):
        pytest.skip(f"root and {LATENCY} are needed")
    if "--realtime" in options and not doctor.realtime().is_good:
        pytest.skip("real-time priority is not allowed here")
    mark, begun = f"awake-{os.getpid()}-{random.random()}", tmp_path / "begun"
    words = live_command("--delay", "1 ms", *options, "--", "sh", "-c", f"touch {begun}; read line")
    run = subprocess.Popen(words, stdin=subprocess.PIPE, env={**os.environ, "MARK": mark})
    try:
        while not begun.exists():
            assert run.poll() is None
            time.sleep(0.02)
        assert (LATENCY in opened_by(processes(mark))) == is_held
    finally:
        run.communicate()
    assert run.returncode == 1, "no line to read"


def opened_by(numbers: Sequence[int]) -> set[str]:
    """Paths of the open files of some processes."""
    found = set()
    for number in numbers:
        with suppress(OSError):
            found |= {os.readlink(entry) for entry in Path(f"/proc/{number}/fd").iterdir()}
    return found


def test_of_a_sweep_the_first_point_runs_or_what_is_set(scenario: Path, cli: Cli) -> None:
    swept = (
        '[sweep]\n"channel.p_e" = [0, 0.5]\n"link.rate,tcp.w_max" = [["5 Mbit/s", 50], ["9 Mbit/s", 90]]\n'
    )
    scenario.write_text(scenario.read_text() + swept)
    done = live(scenario, "--quiet", "--", "true")
    assert done.returncode == 0, done.stderr
    first = "channel.p_e = 0, link.rate = 5 Mbit/s, tcp.w_max = 50"
    assert f"the first of 4 points: {first}; --point" in done.stderr
    done = live(scenario, "--set", "channel.p_e=0.5", "--quiet", "--", "true")
    assert "the first of 2 points: channel.p_e = 0.5, link.rate" in done.stderr
    for chosen in (["--point", "3"], ["--where", "channel.p_e=0.5", "--where", "tcp.w_max=90"]):
        done = live(scenario, *chosen, "--quiet", "--", "true")
        assert (done.returncode, "the first of" in done.stderr) == (0, False), done.stderr
    for chosen, said in (
        (["--point", "4"], "error: point = 4: no point of the plan (its points: 0 to 3)"),
        (["--where", "channel.p_e=0.5"], "error: --where: leaves 2 points; live takes one"),
    ):
        refused = cli("live", scenario, *chosen, "--quiet", "--", "true")
        assert (refused.code, refused.err.strip()) == (125, said)


CONFIG: dict[str, Any] = {
    **dict.fromkeys(("ipv6", "large_segments", "data_only", "is_shell", "internet", "realtime"), False),
    **dict.fromkeys(("strict", "watch", "quiet"), False),
    **dict.fromkeys(("congestion", "mtu", "captures", "far", "serve", "duration_s", "record"), None),
    **dict.fromkeys(("events", "link_events", "opportunities", "page", "json"), None),
    **dict.fromkeys(("air_pcap", "snaplen", "rebind"), None),
    "corrupt": False,
    "bulk": True,
    "awake": "never",
    "run": 0,
    "command": [],
    "plan": {"name": "a", "text": "schema = 2", "overrides": {}, "files": {}},
}


def test_a_key_too_many_or_too_few_is_an_error_without_hosts() -> None:
    config = Config.read(json.dumps(CONFIG))
    assert json.loads(config.to_json()) == CONFIG
    for key in CONFIG:
        with pytest.raises(TypeError, match=key):
            Config.read(json.dumps({name: value for name, value in CONFIG.items() if name != key}))
    with pytest.raises(TypeError, match="colour"):
        Config.read(json.dumps({**CONFIG, "colour": "red"}))
    asked = config.hosts() | {"journal": None, "packets": None, "version": "", "watch": False, "run": 0}
    asked["source"] = config.plan
    plan = plans.load("quickstart", Options(over={"tcp.w_max": [6, 24]}))
    for key in asked:
        with pytest.raises(ValueError, match=f"missing field `{key}`"):
            _crossfade.Live(plan.core, json.dumps({name: asked[name] for name in asked if name != key}))
    with pytest.raises(ValueError, match="colour"):
        _crossfade.Live(plan.core, json.dumps({**asked, "colour": "red"}))
    with pytest.raises(_crossfade.ScenarioError, match="a live run has one point"):
        _crossfade.Live(plan.core, json.dumps(asked))
