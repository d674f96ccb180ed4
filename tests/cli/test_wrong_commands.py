"""Sixty wrong commands as users may type them: one line each, status 2, no output, no file left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, expect_one_line

COMPARE = ["compare", "quickstart", "--by", "tcp.variant"]
BEST = ["best", "quickstart", "--choose", "tcp.variant"]
WRONG: list[tuple[list[str], list[str]]] = [
    # Points and runs.
    (["run", "quickstart", "--point", "27"], ["point = 27: no point of the plan", "0 to 26"]),
    (["run", "quickstart", "--point", "-1"], ["point = -1: must be a whole number, 0 or more"]),
    (["run", "quickstart", "--point", "first"], ["first: must be a whole number"]),
    (["run", "quickstart", "--point", "1.5"], ["1.5: must be a whole number"]),
    (["run", "quickstart", "--run", "3"], ["--run 3: needs an output of that run"]),
    (["run", "quickstart", "--run", "last", "--events", "e.csv"], ["last: must be a whole number"]),
    (
        ["run", "quickstart", "--point", "0", "--run", "-2", "--events", "e.csv"],
        ["run = -2: must be a whole"],
    ),
    (
        ["run", "quickstart", "--pcap", "x.pcap", "--run", "2"],
        ["the plan has 27 points (--point N takes one)"],
    ),
    (["run", "quickstart", "--interval", "1", "--run", "2"], ["shows one run of one point", "--point N"]),
    (["run", "quickstart", "--where", "tcp.variant=vegas"], ["tcp.variant", "vegas"]),
    (["run", "quickstart", "--point", "3", "--where", "tcp.variant=reno"], ["point and where: give one"]),
    (["run", "quickstart", "--where", "colour=red"], ["where colour: no axis", "tcp.variant"]),
    (["run", "quickstart", "--where", "tcp.variant"], ["--where tcp.variant: must be KEY=VALUE"]),
    (["run", "quickstart", "--where", "channel.p_e<low"], ["channel.p_e<", "low"]),
    (["check", "quickstart", "--points", "--point", "99"], ["point = 99: no point"]),
    (["check", "quickstart", "--points", "--where", "colour=red"], ["where colour: no axis", "tcp.variant"]),
    (["check", "quickstart", "--where", "runs>5"], ["where runs: no axis"]),
    (["sweep", "quickstart", "--point", "27", "--out", "x.sqlite"], ["point = 27: no point"]),
    (["run", "classics/slow-start", "--point", "1"], ["point = 1: no point", "0 alone"]),
    # Verdicts.
    ([*COMPARE, "--fail-if", "worse"], ["fail if worse: must be one of higher, lower"]),
    ([*COMPARE, "--fail-if", "difference"], ["fail if difference: must be one of"]),
    ([*COMPARE, "--fail-if", "difference<two"], ["fail if difference<two: must be one of"]),
    ([*COMPARE, "--fail-if", "goodput<2%"], ["fail if goodput<2%: must be one of"]),
    ([*COMPARE, "--fail-if", ""], ["fail if", "must be one of"]),
    ([*COMPARE, "--fail-if"], ["--fail-if"]),
    ([*COMPARE, "--within", "2%"], ["--within"]),
    ([*COMPARE, "--point", "1"], ["--point"]),
    ([*BEST, "--fail-if", "higher"], ["fail if higher: must be one of best, within"]),
    ([*BEST, "--fail-if", "margin<2 kbit/s"], ["fail if margin<2 kbit/s: must be one of"]),
    ([*BEST, "--within", "two"], ["within two: must be a share below 100 %"]),
    ([*BEST, "--within", "-2%"], ["within -2%: must be a share"]),
    ([*BEST, "--within", "100%"], ["within 100%: must be a share"]),
    ([*BEST, "--within", "5"], ["within 5: must be a share"]),
    ([*BEST, "--within", "2%", "--choose", "tcp.colour"], ["choose tcp.colour: not an axis"]),
    # Files of a wrong kind.
    (["plot", "wifi.toml"], ["wifi.toml: is a scenario: run, sweep, check"]),
    (["export", "wifi.toml"], ["wifi.toml: is a scenario: run, sweep, check"]),
    (["check", "events.csv"], ["events.csv: is a table of CSV: plot takes it"]),
    (["check", "run.pcap"], ["run.pcap: is a packet capture: fit, Wireshark and tshark take it"]),
    (["plot", "run.pcap"], ["run.pcap: is a packet capture"]),
    (["plot", "fake.sqlite"], ["fake.sqlite: not a results file, as its name says: it holds text"]),
    (["report", "fake.sqlite"], ["fake.sqlite: not a results file, as its name says: it holds text"]),
    (["export", "empty.sqlite"], ["empty.sqlite: not a results file, as its name says: it holds nothing"]),
    (["compare", "fake.sqlite", "--by", "x"], ["fake.sqlite: not a results file"]),
    (
        ["best", "noise.sqlite", "--choose", "x"],
        ["noise.sqlite: not a results file, as its name says: it holds other"],
    ),
    (["check", "fake.sqlite"], ["fake.sqlite: not a results file"]),
    (["compare", "events.csv", "--by", "x"], ["events.csv: is a table of CSV"]),
    (["best", "run.pcap", "--choose", "x"], ["run.pcap: is a packet capture"]),
    (["export", "events.csv"], ["events.csv: is a table of CSV"]),
    (["check", "live.cfj"], ["live.cfj: is a journal of a live run: run --replay"]),
    (["export", "quickstart", "--to", "xml"], ["xml"]),
    (["export", "quickstart", "--to", "netcdf", "--out", "-"], ["only csv and json go to standard output"]),
    # Alternatives.
    (["run", "wifi.toml", "--set", "alternative=wfii"], ["must be one of wifi, lte", 'did you mean "wifi"?']),
    (
        ["run", "wifi.toml", "--over", "alternative=wifi,5g"],
        ["alternative", "5g", "must be one of wifi, lte"],
    ),
    (["run", "quickstart", "--set", "alternative=wifi"], ["there is no table of alternatives"]),
    (
        ["run", "wifi.toml", "--set", "alternatives.lte.rate=3"],
        ["alternatives.lte.rate: unknown key; did you mean alternatives.lte.link.rate"],
    ),
    (["run", "wifi.toml", "--set", "alternatives.lte=3"], ["alternatives.lte = 3: must be a table"]),
    (
        ["run", "wifi.toml", "--set", "alternatives.lte.link.rat=1"],
        ["unknown key; did you mean alternatives.lte.link.rate?"],
    ),
    (["run", "wifi.toml", "--set", 'alternatives.lte.run.duration="1 s"'], ["alternatives.lte.run: unknown"]),
    (["run", "wifi.toml", "--over", "alternative=wifi,wifi"], ["is twice among the values of the axis"]),
    # Keys, completion, captures.
    (["explain", "delay"], ["delay: several keys end in this name: ", "link.delay"]),
    (["explain", "fd_tt"], ["fd_tt"]),
    (["explain", "channel.fdt"], ["did you mean channel.fd_t?"]),
    (["complete", "tcsh"], ["tcsh"]),
    (["complete"], ["bash|zsh|fish"]),
    (["schema", "--result"], ["--result"]),
    (["run", "classics/slow-start", "--pcap", "x.pcap", "--snaplen", "0"], ["snaplen = 0", "1 or more"]),
    (["run", "classics/slow-start", "--pcap", "x.pcap", "--snaplen", "96B"], ["96B: must be a whole number"]),
]

WIFI = """
schema = 2
run = { duration = "1 s", runs = 2 }
tcp = { variant = "sack" }
channel = { model = "none" }
link = { rate = "1 Mbit/s", packet_size = "1500 B" }
[alternatives.wifi]
link = { rate = "2 Mbit/s", packet_size = "1500 B" }
[alternatives.lte]
link = { rate = "3 Mbit/s", packet_size = "1500 B" }
"""


def test_there_are_sixty() -> None:
    assert len({tuple(command) for command, _ in WRONG}) >= 60


@pytest.mark.parametrize(("command", "said"), WRONG, ids=[" ".join(command) for command, _ in WRONG])
def test_a_wrong_command_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wifi.toml").write_text(WIFI)
    (tmp_path / "events.csv").write_text("time_s,event,flow,seq,cwnd\n0,send,0,0,1\n")
    (tmp_path / "run.pcap").write_bytes(bytes.fromhex("4d3cb2a1") + bytes(20))
    (tmp_path / "live.cfj").write_bytes(b"crossfade journal")
    (tmp_path / "fake.sqlite").write_text("no results\n")
    (tmp_path / "empty.sqlite").write_bytes(b"")
    (tmp_path / "noise.sqlite").write_bytes(bytes(range(256)))
    before = sorted(tmp_path.iterdir())
    expect_one_line(cli(*command), *said)
    assert sorted(tmp_path.iterdir()) == before
