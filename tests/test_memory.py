"""Memory of runs: estimated, refused above a limit, and constant while a file is written."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import files, plans
from crossfade.errors import ScenarioError
from crossfade.plans.options import Options
from tests.conftest import Cli

FLOOD = """
schema = 1
run = { duration = "1000 s", runs = 1 }
channel = { model = "none" }
link = { rate = "100 Mbit/s", packet_size = "1000 B", queue = { limit = "unlimited" } }
tcp = { flavour = "rfc", variant = "sack", w_max = 10 }
flows = { a = { traffic = "udp", rate = "1 Gbit/s" } }
"""

# Program that prints its peak memory; without /proc that of its parent may count, too.
PEAK = """
def used():
    try:
        with open("/proc/self/status") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""


def test_a_run_that_would_fill_the_memory_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD.replace("1000 s", "100000 s"))
    for command in ("check", "run"):
        outcome = cli(command, tmp_path / "flood.toml")
        assert outcome.code == 2
        assert outcome.err.startswith("error: run.memory: a run may take ") or "runs at once" in outcome.err
        assert outcome.err.count("\n") == 1
    # With the default queue the scenario takes almost no memory.
    assert cf.check(FLOOD, set={"link.queue.limit": None}).memory < 2e6


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_memory_that_is_not_there_ends_the_command_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "flood.toml").write_text(FLOOD)
    program = """
import resource, sys
from crossfade import plans
from crossfade.cli.app import main
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
sys.exit(main(["run", sys.argv[1], "--no-cache", "--jobs", "1", "--set", "run.memory=900 GB"]))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "flood.toml")]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("error: there is not enough memory")
    assert found.stderr.count("\n") == 1


def test_what_a_process_may_not_have_is_not_counted_on() -> None:
    program = """
import resource
from crossfade.plans.memory import _memory_of_machine
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000,) * 2)
print(_memory_of_machine() <= 3_000_000_000)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_an_axis_of_25_million_values_is_refused_at_once(tmp_path: Path) -> None:
    text = f'{FLOOD}[sweep]\n"tcp.w_max" = [{"1," * 25_000_000}]\n'
    with pytest.raises(ScenarioError, match=r"^scenario: larger than 8 MiB, which no scenario is$"):
        cf.check(text)
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ScenarioError, match=r"x.toml: larger than 8 MiB"):
        cf.check(tmp_path / "x.toml")
    with pytest.raises(ScenarioError, match=r"^tcp.w_max: 25,000,000 values are too many"):
        cf.check(FLOOD, over={"tcp.w_max": range(25_000_000)})
    with pytest.raises(ScenarioError, match=r'^sweep."tcp.w_max" = "1:25000000:1": has 25000000 values'):
        cf.check(FLOOD, over={"tcp.w_max": "1:25000000:1"})


def test_the_limit_is_a_key_and_moves_no_row() -> None:
    with pytest.raises(ScenarioError, match=r"run.memory: a run may take .* and 2,000,000 B are allowed"):
        cf.check(FLOOD, set={"run.memory": "2 MB"})
    assert cf.check(FLOOD, set={"run.memory": "1 TB"} | {"run.memory": "900 GB"}).memory > 1e9
    with pytest.raises(ScenarioError, match=r'run.memory = "1 kB": must be'):
        cf.check(FLOOD, set={"run.memory": "1 kB"})
    small = FLOOD.replace("1000 s", "1 s")
    keys = [plans.load(small, Options(set=set)).core.keys() for set in ({}, {"run.memory": "4 GiB"})]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    "values",
    [
        {"flows.a": {"traffic": "arrivals", "arrivals_per_s": 1e6, "size": "50 kB", "rate": None}},
        {"flows.a": {"count": 10_000, "traffic": "bulk", "rate": None}, "tcp.w_max": 1_000_000},
    ],
)
def test_many_flows_are_judged(values: dict[str, object]) -> None:
    assert cf.check(FLOOD, set={**values, "run.duration": "10 s", "run.memory": "900 GB"}).memory > 1e8


# Frames of 480,000 symbols with one bit each, detected one by one.
LARGE_FRAMES = """
schema = 2
methods = ["phy"]
run = { runs = 1 }
channel = { model = "block-rayleigh", snr_db = 10 }
phy = { modulation = "bpsk", symbol_rate = "8 kBd", scheme = "siso", detector = "linear" }
link = { frame_size = "60 kB" }
"""


@pytest.mark.parametrize(
    ("scenario", "small"),
    [
        # Ten seconds of load at ten times the rate, into an unlimited queue.
        (FLOOD.replace("1000 s", "10 s"), {"run.duration": "1 ms"}),
        (LARGE_FRAMES, {"link.frame_size": "60 B"}),
    ],
)
def test_a_run_takes_no_more_than_was_said(scenario: str, small: dict[str, str]) -> None:
    program = f"""
import json
import crossfade as cf
{PEAK}
cf.run({scenario!r}, set={small!r}, cache=False)
before = used()
cf.run({scenario!r}, cache=False, jobs=1)
print(json.dumps(used() - before))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    said = cf.check(scenario).memory
    assert said / 8 < json.loads(found.stdout) < said


def test_events_and_captures_take_no_memory_of_their_length(tmp_path: Path) -> None:
    program = f"""
import json
import crossfade as cf
TCP = {{"flows.a": {{"traffic": "bulk", "rate": None}}, "link.queue.limit": "20 packets"}}
{PEAK}
def write(duration):
    values = TCP | {{"run.duration": duration}}
    cf.runs.write_events({str(tmp_path / "e.csv")!r}, {FLOOD!r}, set=values)
    cf.runs.write_events({str(tmp_path / "l.csv")!r}, {FLOOD!r}, set=values, of_links=True)
    cf.runs.write_pcap({str(tmp_path / "p.pcap")!r}, {FLOOD!r}, set=values)
write("0.1 s")
before = used()
write("3 s")
print(json.dumps(used() - before))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    written = sum((tmp_path / name).stat().st_size for name in ("e.csv", "l.csv", "p.pcap"))
    assert written > 30e6
    assert json.loads(found.stdout) < 5e6


def test_a_stream_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(cf.errors.OutputError, match=r"cannot be written"):
        cf.runs.write_events("/dev/full", FLOOD, set={"run.duration": "1 s", "link.queue.limit": None})


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    # A gzip file may have many members: each is compressed as the first.
    bomb.write_bytes(gzip.compress(bytes(2**20), 9) * (files.LARGEST_FILE // 2**20 + 1))
    assert bomb.stat().st_size < 300_000
    program = f"""
{PEAK}
from pathlib import Path
from crossfade.errors import TraceError
from crossfade.files import read_text
try:
    read_text(Path({str(bomb)!r}), TraceError)
except TraceError as error:
    print(error)
print(used() // 2**20)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    said, megabytes = found.stdout.splitlines()
    assert said.endswith("cannot be read (larger than 256 MiB when it is unpacked)")
    assert int(megabytes) < 200
