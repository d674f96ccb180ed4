"""Further wrong commands, beside test_wrong_commands.py: one line each, status 2, no output, no file left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_wrong_commands import WRONG as EARLIER
from tests.conftest import Cli, expect_one_line

PLOT = ["plot", "table.csv"]
BY = ["compare", "quickstart", "--by"]
CHOOSE = ["best", "quickstart", "--choose", "tcp.variant"]
SUITE = ["suite", "rfc8867", "--control", "reno"]
LOSSES = ["fit", "losses.txt"]
RECORD = ["record", "localhost", "--to", "r.csv"]
SLOW = ["run", "classics/slow-start"]
FIGURE = ["run", "quickstart", "--plot", "x.png"]
WRONG: list[tuple[list[str], list[str]]] = [
    # Runs and their figures, refused before anything runs.
    (["run", "quickstart", "--columns", "goodput"], ["--columns goodput: no metric", "goodput_bps"]),
    (["run", "quickstart", "--columns", ""], ["--columns", "no metric"]),
    ([*FIGURE, "--font-size", "0"], ["font_size = 0", "from 4 to 40"]),
    ([*FIGURE, "--font-size", "big"], ["--font-size", "number"]),
    ([*FIGURE, "--width", "2"], ["width = 2", "40 to 500"]),
    ([*FIGURE, "--panels", "colour"], ["--panels colour: not an axis", "tcp.variant, channel.p_e"]),
    ([*FIGURE, "--by", "tcp.variant,colour"], ["--by colour: not an axis"]),
    ([*FIGURE, "--y", "goodput_bps/"], ["--y", "no metric"]),
    (["run", "quickstart", "--method", ""], ["methods[0]", "must be one of"]),
    (["run", "quickstart", "--precision", "200%"], ["run.precision", "between 0 and 1"]),
    ([*SLOW, "--interval", "0"], ["--interval 0: must be a time above 0"]),
    ([*SLOW, "--interval", "soon"], ["soon", "must be a time"]),
    ([*SLOW, "--samples", "s.csv"], ["run.sample: missing"]),
    ([*SLOW, "--trace-out", "t.up", "--trace-user", "5"], ["flows: there is no number 5"]),
    ([*SLOW, "--trace-out", "t.up", "--trace-user", "-1"], ["user = -1: must be 0 or more"]),
    ([*SLOW, "--air-pcap", "x.pcap"], ["wlan: missing; a Wi-Fi network or a mesh has an air to capture"]),
    (["run", "--replay", "nowhere.cfj"], ["nowhere.cfj: cannot be read"]),
    (["run", "--replay", "table.csv"], ["table.csv", "not a journal"]),
    # Values of keys.
    (["run", "quickstart", "--set", "tcp.congestion=cubik"], ['did you mean "cubic"?']),
    (["run", "quickstart", "--set", "link.rate=1.5 Mbit"], ["link.rate", "must be a positive bit rate"]),
    (["run", "quickstart", "--set", "link.delay=5"], ["link.delay = 5: must be a time"]),
    (["run", "quickstart", "--set", "link.queue.limit=-3 packets"], ["link.queue.limit", "unlimited"]),
    (["run", "quickstart", "--over", "channel.p_e=log:0:1:5"], ["two different positive ends"]),
    (["run", "quickstart", "--over", "channel.p_e=0.1:0.01:0.01"], ["the step must lead from start"]),
    (["run", "quickstart", "--over", "channel.p_e="], ["must be KEY=VALUES with at least one value"]),
    (["run", "quickstart", "--set", "run.warmup=-1 s"], ["run.warmup", "must be a time"]),
    (["run", "wifi/home", "--set", "wlan.standard=802.11zz"], ["wlan.standard", "a, g, n, ac, ax, be"]),
    (["run", "nr-downlink", "--set", "nr.numerology=9"], ["nr.numerology = 9: must be between"]),
    (["run", "lte-like-cell", "--set", "cell.scheduler=fifo"], ["cell.scheduler", "proportional-fair"]),
    (["run", "mesh-chain", "--set", "mesh.hops=0"], ["mesh.hops = 0: must be between 1 and 1023"]),
    # Sweeps and their files.
    (["sweep", "quickstart", "--shard", "4/3"], ["shard = 4/3: must be K/N"]),
    (["sweep", "quickstart", "--shard", "three"], ["--shard three: must be K/N"]),
    (["sweep", "quickstart", "--out", "table.csv"], ["table.csv: not a results file"]),
    (["sweep", "quickstart", "--tls-cert", "cert.pem"], ["need --cluster ADDRESS"]),
    (["merge", "table.csv", "--out", "b.sqlite"], ["table.csv: not a results file"]),
    (["merge", "--out", "b.sqlite"], ["RESULTS..."]),
    # Figures and pages of files.
    ([*PLOT, "--cdf", "colour"], ["column colour: not in the table"]),
    ([*PLOT, "--fold", "15 s"], ["fold: only samples and events have times"]),
    ([*PLOT, "--plan", "3"], ["a CSV file holds no plans"]),
    ([*PLOT, "--out", "picture"], [".png, .pdf or .svg"]),
    (["plot", "notes.txt"], ["notes.txt: not a CSV table (its first line is a word or two)"]),
    (["plot", "quickstart"], ["crossfade run quickstart --plot FILE draws it"]),
    (["report", "table.csv"], ["table.csv: not a results file"]),
    # Comparisons and choices.
    ([*BY, "method"], ["by method: has but one value"]),
    ([*CHOOSE, "--subject-to", "rtt_p95_s"], ["must be METRIC<NUMBER"]),
    ([*CHOOSE, "--subject-to", "rtt_p95_s<fast"], ["must be METRIC<NUMBER"]),
    ([*CHOOSE, "--switching"], ["--switching: needs --csv FILE"]),
    ([*CHOOSE, "--plot", "x.gif"], [".png, .pdf or .svg"]),
    # Suites, papers, the physical layer.
    (["suite", "nowhere"], ["suite nowhere: no such suite"]),
    (["suite", "rfc8867"], ["one of --control, --stack, --client with --server"]),
    (["suite", "rfc8867", "--control", "warp"], ["tcp.congestion", "warp"]),
    ([*SUITE, "--runs", "0"], ["runs = 0: must be at least 1"]),
    ([*SUITE, "--case", "sunny"], ["case sunny: not in suite rfc8867"]),
    ([*SUITE, "--margin", "wide"], ["--margin wide: must be a share"]),
    ([*SUITE, "--port", "4434"], ["--port 4434: is that of --client and --server"]),
    ([*SUITE, "--qlog"], ["--qlog: is asked of --client and --server"]),
    (["suite", "interop", "--stack", "netscape"], ["stack netscape: not known"]),
    (["phy", "quickstart"], ["method phy needs the physical layer"]),
    (["phy", "mimo-arq", "--y", "goodput_bps", "--plot", "x.png"], ["--y goodput_bps: not a column"]),
    # Records and traces.
    (["fit", "notes.txt"], ["notes.txt: line 1"]),
    ([*LOSSES, "--format", "morse"], ["must be auto, bits or lost"]),
    ([*LOSSES, "--packets", "-3"], ["packets = -3"]),
    ([*LOSSES, "--predict", "cubic"], ["need a capture, not a loss trace"]),
    (["record"], ["needs either HOST, to send, or --listen ADDRESS"]),
    ([*RECORD, "--for", "1 s"], ["--for 1 s: must be from 3 to 120 s"]),
    ([*RECORD, "--token", "secret"], ["must have 16 to 4096 bytes"]),
    (["trace", "notes.txt"], ["begins no format that is known"]),
    (["trace", "cell.up", "--to", "mahimahi"], ["--to and --out: one needs the other"]),
    (["reuse", "mesh-chain", "--over", "mesh.mac=loud"], ["mesh.mac", "nulling"]),
    # Other commands.
    (["explore", "--at", "colour=red", "--no-browser"], ["colour: not part of a state"]),
    (["explore", "--port", "99999", "--no-browser"], ["port = 99999", "65535"]),
    (["copy", "quickstart", "--out", "table.csv"], ["table.csv: is there already"]),
    (["check", "quickstart", "--repair"], ["--repair: quickstart is not a results file"]),
    (["explain", "tcp.congestion.cubic"], ["tcp.congestion.cubic: unknown key"]),
    (["schema", "--best", "--compare"], ["--compare and --best: give one of them"]),
    (["control", "make", "mine.rs"], ["make"]),
    (["control", "build", "notes.txt"], ["must be a Rust file"]),
    (["doctor", "--now"], ["--now"]),
    # Conditions on points, checked before anything runs.
    (
        [*BY, "tcp.variant", "--where", "tcp.variant=cubic"],
        ["no row has that (values: tahoe, reno, newreno)"],
    ),
    ([*BY, "tcp.variant", "--where", "channel.p_x=1"], ["where channel.p_x: no axis and no metric (axes:"]),
    ([*BY, "tcp.variant", "--where", "channel.p_e<some"], ["must be compared with a number"]),
    ([*BY, "tcp.variant", "--where", "tcp.variant=reno"], ["has but one value, which leaves no choice"]),
    ([*CHOOSE, "--where", "goodput>5"], ["where goodput: no axis and no metric (did you mean goodput_bps"]),
    ([*CHOOSE, "--where", "channel.p_e>1"], ["no row has that (values: 0.001 to 0.3)"]),
    # Files that a command cannot read; the message names their kind.
    (["plot", "picture.png"], ["picture.png: is a figure"]),
    (["fit", "picture.png"], ["picture.png: is a figure"]),
    (["fit", "mine.toml"], ["mine.toml: is a scenario: run, sweep"]),
    (["report", "mine.toml"], ["mine.toml: is a scenario: run, sweep"]),
    (["trace", "mine.toml"], ["mine.toml: is a scenario: run, sweep"]),
    # Options of conversions.
    (["trace", "cell.up", "--direction", "sideways"], ["--direction sideways: must be up or down"]),
    (["trace", "cell.up", "--direction", "up"], ["--direction: needs --to and --out"]),
    (["trace", "cell.up", "--lossy"], ["--lossy: needs --to and --out"]),
    (["trace", "cell.up", "--delay-interval-ms", "0"], ["--delay-interval-ms 0: must be from 0.001"]),
    (
        ["trace", "cell.up", "--to", "rates", "--out", "r.csv", "--direction", "down"],
        ["direction = down: the recordings do not tell up from down"],
    ),
    (["complete", "fishy"], ["bash", "zsh", "fish"]),
    (["control"], ["Choose from: build"]),
]


def test_there_are_sixty_others() -> None:
    commands = {tuple(command) for command, _ in WRONG}
    assert len(commands) == len(WRONG) >= 60
    assert not commands & {tuple(command) for command, _ in EARLIER}


@pytest.mark.parametrize(("command", "said"), WRONG, ids=[" ".join(command) for command, _ in WRONG])
def test_a_wrong_command_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("p_e,goodput_bps\n0.1,3\n0.2,4\n")
    (tmp_path / "losses.txt").write_text("\n".join(str(number) for number in range(0, 3000, 7)))
    (tmp_path / "notes.txt").write_text("a word or two\n")
    (tmp_path / "secret").write_text("short\n")
    (tmp_path / "mine.toml").write_text('schema = 2\nlink = { rate = "1 Mbit/s" }\n')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    (tmp_path / "cell.up").write_text("".join(f"{at}\n" for at in range(4, 2000, 4)))
    before = sorted(tmp_path.iterdir())
    expect_one_line(cli(*command), *said)
    assert sorted(tmp_path.iterdir()) == before
