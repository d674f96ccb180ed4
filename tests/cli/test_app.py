"""The command line: commands, options, help texts and outputs, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import crossfade as cf
from crossfade.files import SCENARIOS, shipped_scenarios
from tests.conftest import Cli, long_form
from tests.test_fit_link import TRUTH

EXAMPLES = Path(__file__).parents[2] / "examples" / "congestion-control"
COMMANDS = [
    *["run", "sweep", "merge", "plot", "report", "export", "compare", "best", "suite"],
    *[
        "paper",
        "phy",
        "fit",
        "record",
        "trace",
        "reuse",
        "explore",
        "list",
        "copy",
        "check",
        "explain",
        "metrics",
        "schema",
    ],
    *["verify", "control", "doctor", "cite", "complete", "live"],
]


def crossfade(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crossfade", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_help_shows_every_command_and_an_example(cli: Cli) -> None:
    top = cli("--help")
    assert top.code == 0
    listed = top.out[top.out.index("Commands:\n") :].splitlines()[1:]
    assert [line.split()[0] for line in listed] == COMMANDS
    assert not any(line.endswith("...") for line in listed), "the first sentence is too long for the list"
    for command in COMMANDS:
        outcome = cli(command, "--help")
        assert outcome.code == 0
        assert f"  crossfade {command}" in outcome.out
    assert cli().out == top.out


# Options that shorten slow examples; they do not affect whether the example's command line is valid.
FEWER = {
    ("phy", "mimo-fer"): ["--over", "channel.snr_db=0:20:10"],
    ("phy", "nr-blocks"): ["--over", "nr.block.mcs=7", "--over", "nr.radio.mean_snr_db=-2:8:2"],
    ("paper", "tcp-markov", "fig2"): ["--over", "p_e=0.1"],
    ("run", "lte-like-cell"): ["--set", "run.duration=500 ms", "--runs", "1"],
    ("sweep", "lte-like-cell"): ["--set", "run.duration=500 ms"],
    ("reuse", "mesh-chain"): ["--runs", "1", "--set", "run.duration=300 ms", "--set", "run.warmup=0 s"],
    ("compare", "quickstart"): ["--set", "run.duration=3000 slots"],
    ("compare", "quickstart", "--by", "method"): ["--over", "channel.p_e=0.01"],
    ("best", "quickstart"): ["--set", "run.duration=3000 slots"],
    ("best", "classics/bufferbloat"): ["--set", "run.duration=2 s", "--set", "run.warmup=1 s"],
}


# The examples that take most of the time, by their first words: the long form runs them too.
LONGEST = (
    ("suite", "interop", "--stack"),
    ("suite", "interop", "--control", "cubic"),
    ("sweep", "lte-like-cell"),
    ("plot", "cell.sqlite"),
    ("export", "results.sqlite", "--to", "netcdf"),
    ("fit", "mine.pcap", "--predict"),
    ("fit", "lost-numbers.txt"),
    ("paper", "tcp-markov", "fig2", "--plot"),
    ("phy", "mimo-fer", "--plot"),
    ("best", "mimo-arq"),
    ("plot", "results.sqlite", "--y", "goodput_bps", "--width"),
    ("plot", "links.csv"),
)


@pytest.mark.parametrize("all_of_them", [False, long_form(True)])
def test_the_examples_of_the_help_are_right(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Path, all_of_them: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if not all_of_them:  # figures have their own tests, and most of their time is that of their letters
        monkeypatch.setattr(Figure, "draw_without_rendering", lambda _: None)
        monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    Path("my.toml").write_text(small.read_text())
    examples = []
    for command in ["", *COMMANDS]:
        text = cli(*command.split(), "--help").out
        lines = [line.strip().split("   ")[0] for line in text.splitlines()]
        examples += [
            shlex.split(line)[1:] for line in lines if line.startswith("crossfade ") and "COMMAND" not in line
        ]
    over = {"tcp.variant": ["tahoe", "reno"], "tcp.w_max": [6, 24], "channel.p_e": [0.01, 0.1]}
    results = cf.sweep("my.toml", over=over, runs=2, out="results.sqlite")
    Path("results.csv").write_text(results.to_csv())
    Path("mine.rs").write_text((EXAMPLES / "reno.rs").read_text())
    for name in ("losses.txt", "lost-numbers.txt"):
        Path(name).write_text("\n".join(str(number) for number in range(0, 3000, 7)))
    for name in ("cell.up", "cell.down", "bw.txt"):
        Path(name).write_text("".join(f"{at}\n" for at in range(4, 2000, 4)))
    Path("delay.txt").write_text("20\n21\n19\n" * 66)
    Path("mine.pcap").write_bytes(cf.runs.pcap(TRUTH, set={"run.duration": "5 s"}))
    # Golden traces and a cluster are missing here; claims take a minute and have their own test.
    skipped = [["verify", f"golden/{layout}"] for layout in ("ns2", "ns2-chain", "weights", "wifi", "nr")]
    skipped += [["paper", "tcp-markov"], ["paper", "tcp-rlp", "--readings"]]
    skipped += [["sweep", "my.toml", "--cluster", "10.0.0.1:8786"]]
    skipped += [["suite", "interop", "--control", "new.rs", "--baseline", "old.json"]]
    # User programs, and captures at both ends of a connection, have their own tests.
    skipped += [["suite", "interop", "--server", "my-server -p $CROSSFADE_PORT", "--client", "my-client"]]
    skipped += [["fit", "sender.pcap", "receiver.pcap", "--to", "link.toml", "--plot", "link.png"]]
    assert all(example in examples for example in skipped)
    assert len(examples) >= 30
    assert all(any(example[: len(head)] == [*head] for example in examples) for head in LONGEST)
    # Examples with Rust files are skipped without a compiler.
    uncompiled = shutil.which("rustc") is None
    for example in examples:
        if uncompiled and any("mine.rs" in word for word in example):
            continue
        # Commands that run on real hosts, or until Ctrl-C, have their own tests.
        if example in skipped or example[0] in ("live", "doctor", "explore", "record"):
            continue
        if not all_of_them and any(example[: len(head)] == [*head] for head in LONGEST):
            continue
        words = example[: example.index(">")] if ">" in example else example
        words = words[: words.index("|")] if "|" in words else words
        words = [file for word in words for file in (sorted(map(str, Path().glob(word))) or [word])]
        if words[0] in ("run", "sweep", "paper") and len(words) > 1:
            words = [*words, "--set", "run.duration=3000 slots", "--set", "run.warmup=0 s", "--runs", "2"]
            words = [word for word in words if word not in ("--precision", "1%")]
        if words[0] == "phy":
            words = [*words, "--set", "run.frame_errors=2", "--set", "run.max_frames=100"]
        if words[1:2] == ["mimo-arq"]:
            words = [*words, "--set", "run.duration=2 s", "--set", "run.warmup=0 s"]
        if words[0] == "suite":  # real programs take their time
            words = [*words, "--runs", "1" if "--stack" in words else "2"]
        if words[0] in ("compare", "best") and words[1] != "results.sqlite":
            words = [*words, "--runs", "2"]
        for head, fewer in FEWER.items():
            words += fewer if words[: len(head)] == [*head] else []
        outcome = cli(*words)
        assert outcome.code == 0, (words, outcome.err)


def test_the_version(cli: Cli) -> None:
    assert cli("--version").out == f"crossfade {cf.__version__}\n"


def test_run_prints_values_with_their_intervals(cli: Cli, small: Path) -> None:
    outcome = cli("run", small)
    assert outcome.code == 0
    assert "A small scenario (10 runs, simulation)" in outcome.out
    for name in ("goodput_bps", "throughput_per_slot", "timeouts"):
        assert name in outcome.out
    assert " ± " in outcome.out


def test_run_prints_a_row_a_point(cli: Cli, sweep: Path) -> None:
    lines = cli("run", sweep).out.splitlines()
    assert sum("tahoe" in line for line in lines) == 2
    assert sum("reno" in line for line in lines) == 2


def test_csv_on_standard_output_is_alone_there(cli: Cli, sweep: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("run", sweep, "--csv", "-").out)))
    assert [row["tcp.variant"] for row in rows] == ["tahoe", "tahoe", "reno", "reno"]
    assert [row["channel.p_e"] for row in rows] == ["0.01", "0.1", "0.01", "0.1"]
    assert all(0.0 < float(row["throughput_per_slot"]) < 1.0 for row in rows)
    assert all(float(row["throughput_per_slot_ci95"]) > 0.0 for row in rows)


def test_json_is_alone_on_standard_output_and_equals_the_csv(cli: Cli, sweep: Path) -> None:
    points = json.loads(cli("run", sweep, "--json").out)
    rows = list(csv.DictReader(io.StringIO(cli("run", sweep, "--csv", "-").out)))
    for point, row in zip(points, rows, strict=True):
        for name, metric in point["metrics"].items():
            assert repr(metric["value"]) == repr(float(row[name]))


def test_files_are_written_and_named(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    files = [tmp_path / "out.csv", tmp_path / "out.png"]
    outcome = cli("run", sweep, "--csv", files[0], "--plot", files[1], "--quiet")
    assert outcome.out == ""
    assert outcome.err == f"wrote {files[0]}\nwrote {files[1]}\n"
    assert cf.store.Table.read(files[0]).to_csv() == cf.run(sweep).to_csv()


def test_the_number_of_threads_changes_no_byte(cli: Cli, sweep: Path) -> None:
    texts = {cli("run", sweep, "--jobs", jobs, "--no-cache", "--csv", "-").out for jobs in ("1", "2", "5")}
    assert len(texts) == 1


def test_a_precision_is_reached_whatever_the_number_of_threads(cli: Cli, small: Path) -> None:
    texts = [
        cli("run", small, "--precision", "3%", "--jobs", jobs, "--no-cache", "--json").out
        for jobs in ("1", "3")
    ]
    assert texts[0] == texts[1]
    (found,) = json.loads(texts[0])
    goodput = found["metrics"]["goodput_bps"]
    assert found["runs"] >= 10
    assert goodput["ci95"] <= 0.03 * goodput["value"]


def test_set_and_over_change_the_scenario(cli: Cli, small: Path) -> None:
    outcome = cli("run", small, "--set", "tcp.w_max=6", "--over", "channel.p_e=0.1,0.2", "--json")
    points = json.loads(outcome.out)
    assert [point["scenario"]["tcp"]["w_max"] for point in points] == [6, 6]
    assert [point["axes"] for point in points] == [{"channel.p_e": 0.1}, {"channel.p_e": 0.2}]
    assert points[0]["provenance"]["overrides"] == {
        "set": {"tcp.w_max": 6},
        "over": {"channel.p_e": "0.1,0.2"},
    }


def test_over_takes_tables(cli: Cli, small: Path) -> None:
    channels = 'channel=[{ model = "iid" }, { model = "markov", fd_t = 0.01 }]'
    rows = list(csv.DictReader(io.StringIO(cli("run", small, "--over", channels, "--csv", "-").out)))
    assert [row["channel"] for row in rows] == ["iid", "markov fd_t=0.01"]


def test_events_are_written_in_order_of_time(cli: Cli, small: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    assert cli("run", small, "--events", file, "--quiet").code == 0
    events = cf.store.Table.read(file)
    assert events.columns[:6] == ["time_s", "event", "flow", "seq", "cwnd", "ssthresh"]
    times = events.column("time_s")
    assert len(times) > 2000
    assert (times[1:] >= times[:-1]).all()


def test_warnings_go_to_standard_error(cli: Cli, small: Path) -> None:
    outcome = cli("run", small, "--set", "tcp.w_max=3", "--csv", "-")
    assert outcome.code == 0
    assert "warning: " in outcome.err
    assert "warning" not in outcome.out


def test_check_says_what_would_run(cli: Cli, sweep: Path) -> None:
    outcome = cli("check", sweep, "--runs", "7")
    first, *lines = outcome.out.splitlines()
    assert first == (
        "ok: A small scenario: 4 points, tcp.variant: 2, channel.p_e: 2 (simulation; runs 7, seed 1; "
        "up to 1 MB of memory a run)"
    )
    # A slot is the time of 1400 B at 1.5 Mbit/s.
    assert lines[0].startswith("sender > link (1.5 Mbit/s; 0 s; drop-tail, unlimited) > receiver; back: ")
    assert "slot 7.467 ms (a packet of 1400 B at the rate of the link)" in lines
    assert lines[-1].endswith("round trip 7.467 ms, bandwidth-delay product 1.4 kB (1 packets)")


def test_check_says_where_the_figures_of_a_fading_link_come_from(cli: Cli) -> None:
    """``check`` shows the derivation of f_d T: 3 km/h at 2 GHz give v f / c = 5.5594 Hz, and 0.0011119 in
    frames of 0.2 ms.
    """
    out = cli("check", "fading-queues").out
    assert "f_d T = 0.001112, 5.559 Hz: 3 km/h at 2 GHz" in out
    # 20 Mbit/s for 200 ms, and for three frames of 0.2 ms and 40 ms there and back.
    assert "selective-repeat; drop-tail, 500000 B" in out
    assert "bandwidth-delay product 101.5 kB (67.67 packets)" in out
    named = cli("check", "fading-queues", "--set", "flows.bulkk.count=2")
    assert "flow bulkk: 2 x bulk, TCP cubic (rfc, linux)" in named.out
    assert "warning: flows.bulkk is a new flow: the scenario itself does not name it" in named.err
    for limit, bytes_ in (("1 bdp", "101500 B"), ("750 kB", "750000 B")):
        assert bytes_ in cli("check", "fading-queues", "--set", f"link.queue.limit={limit}").out


def test_the_schema_is_json(cli: Cli) -> None:
    assert json.loads(cli("schema").out)["properties"]["tcp"]


def test_tables_have_short_numbers_and_their_units(cli: Cli, small: Path, sweep: Path) -> None:
    """Tables scale units: 1.5 Mbit/s carry a little less than 1.46 Mbit/s of data; CSV and JSON stay in
    bit/s.
    """
    lines = [line.split() for line in cli("run", small).out.splitlines()]
    _, value, *_, unit = next(words for words in lines if words[:1] == ["goodput_bps"])
    assert 1.0 < float(value) < 1.46
    assert unit == "Mbit/s"
    goodput = json.loads(cli("run", small, "--json").out)[0]["metrics"]["goodput_bps"]
    assert goodput["unit"] == "bit/s"
    assert value == f"{goodput['value'] / 1e6:.{len(value) - 2}f}"
    real = [
        "--set",
        "tcp={flavour='rfc', w_max=24}",
        "--set",
        "link.delay=10 ms",
        "--over",
        "tcp.variant=sack",
    ]
    lines_of_sweep = cli("run", sweep, *real, "--y", "rtt_p95_s/goodput_bps").out.splitlines()
    heads = next(at for at, line in enumerate(lines_of_sweep) if line.split()[:1] == ["rtt_p95_s"])
    names, units = lines_of_sweep[heads : heads + 2]
    assert names.split()[:2] == ["rtt_p95_s", "goodput_bps"]
    assert units.split()[-5:-3] == ["ms", "Mbit/s"]


def test_a_metric_that_there_is_not_is_refused_before_anything_runs(cli: Cli, sweep: Path) -> None:
    long = ["--set", "run.duration=100000000 slots", "--no-cache"]
    outcome = cli("run", sweep, "--y", "cubic.godput_bps", *long)
    assert outcome.code == 2
    assert "--y cubic.godput_bps: no metric (did you mean cubic.goodput_bps or" in outcome.err
    outcome = cli("run", sweep, "--y", "goodput_bps/zzz", *long)
    assert outcome.err == "error: --y zzz: no metric (crossfade metrics lists all)\n"
    # ``--y`` also takes an axis or an interval.
    assert cli("run", sweep, "--y", "channel.p_e", "--quiet").code == 0
    assert cli("run", sweep, "--y", "goodput_bps_ci95", "--quiet").code == 0


def test_shipped_scenarios_are_listed_with_their_titles(cli: Cli) -> None:
    lines = cli("list").out.splitlines()
    assert [line.split()[0] for line in lines] == shipped_scenarios()
    assert "quickstart Three TCPs over a slowly fading link" in [" ".join(line.split()) for line in lines]
    classics = [line for line in lines if line.startswith("classics/")]
    assert [line.split() for line in cli("list", "classics").out.splitlines()] == [
        line.split() for line in classics
    ]
    assert cli("list", "quickstrt").err.startswith("error: quickstrt: no shipped scenario")


def test_a_shipped_scenario_is_copied_with_the_files_it_reads(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("copy", "satellite-modcod")
    assert outcome.err == "wrote satellite-modcod.toml\nwrote satellite-rain.csv\n"
    for name in ("satellite-modcod.toml", "satellite-rain.csv"):
        assert (tmp_path / name).read_bytes() == (SCENARIOS / name).read_bytes()
    # A copied shipped scenario is valid in the new folder, and its runs have the same keys.
    assert cli("check", "satellite-modcod.toml").out == cli("check", "satellite-modcod").out
    Path("satellite-modcod.toml").write_text("mine")
    outcome = cli("copy", "satellite-modcod")
    assert outcome.code == 2
    assert outcome.err == "error: satellite-modcod.toml: is there already; --out gives another name\n"
    assert Path("satellite-modcod.toml").read_text() == "mine"
    (tmp_path / "a").mkdir()
    assert cli("copy", "classics/slow-start", "--out", "a/mine.toml").code == 0
    assert (tmp_path / "a" / "mine.toml").read_text() == (SCENARIOS / "classics/slow-start.toml").read_text()
    assert "did you mean classics/slow-start?" in cli("copy", "slow-start").err
    assert "no shipped scenario" in cli("copy", "satellite-modcod.toml").err


def test_metrics_are_listed_and_explained(cli: Cli) -> None:
    table, listed = cli("metrics").out, json.loads(cli("metrics", "--json").out)
    assert [line.split()[0] for line in table.splitlines()[4:] if line.strip()] == [m["name"] for m in listed]
    assert listed[0] == asdict(cf.reference.metrics()[0])
    explained = cli("explain", "rtt_p95_s").out
    assert explained.startswith("rtt_p95_s: a metric, in s; lower is better\n")
    assert "95th percentile of the RTTs" in explained
    assert cli("explain", "reverse.queue_drops").out == cli("explain", "queue_drops").out
    assert cli("explain", "goodput").err.startswith(
        "error: goodput: no key and no metric; did you mean goodput_bps"
    )
    # A name that is also a key, or near one, is explained as a key.
    assert "tcp.w_max" in cli("explain", "tcp.wmax").err


def test_explain_says_what_a_key_is(cli: Cli) -> None:
    assert "Doppler" in cli("explain", "channel.fd_t").out


# Figures of a paper whose scenarios differ by a value or two: the usual form has the others of the paper.
ALIKE = [f"papers/mimo-arq/fig{number}" for number in range(7, 14)]


@pytest.mark.parametrize(
    "name", [long_form(name, id=name) if name in ALIKE else name for name in shipped_scenarios()]
)
def test_every_shipped_scenario_is_right_and_short_enough_to_read_aloud(cli: Cli, name: str) -> None:
    """The figure that a scenario describes can be drawn too: a plan is refused otherwise."""
    checked = cli("check", name)
    assert checked.code == 0
    assert re.match(r"ok: .*: [1-9][\d,]* points?\b", checked.out), checked.out
    text = (SCENARIOS / f"{name}.toml").read_text()
    assert len(text.splitlines()) <= 24
    assert tomllib.loads(text)["title"]


def test_a_file_wins_over_a_shipped_scenario(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)
    small.rename(small.parent / "quickstart")
    assert "A small scenario" in cli("check", "quickstart").out


GOLDEN = Path(__file__).parents[1] / "data" / "golden"


def test_a_process_ends_with_the_exit_code() -> None:
    assert crossfade("--version").returncode == 0
    failed = crossfade("run", "nowhere.toml")
    assert failed.returncode == 2
    assert failed.stderr.startswith("error: nowhere.toml: ")
    assert failed.stderr.count("\n") == 1


def test_a_command_starts_without_what_it_does_not_need(small: Path) -> None:
    """typer's conversion of texts, numbers and lists is left out, since pydantic loads slowly."""
    words = ["run", str(small), "--runs", "2", "--set", "tcp.w_max=9", "--over", "channel.p_e=0.1", "--quiet"]
    code = f"import sys; from crossfade.cli.app import main; assert main({words!r}) == 0\n"
    code += "print('\\n', sorted({'pydantic', 'matplotlib', 'xarray', 'http'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == " []"


def test_a_reader_that_has_had_enough_is_no_error(sweep: Path) -> None:
    command = f"{sys.executable} -m crossfade schema | head -n 1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("{\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "crossfade", "schema"]
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: standard output: cannot be written")
    assert ended.stderr.count("\n") == 1


def test_a_working_folder_that_was_deleted_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for command in ("run quickstart --csv rows.csv", "live --rate '1 Mbit/s' --json report.json -- true"):
        gone.mkdir()
        script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m crossfade {command}"
        ended = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        said = "error: the working folder was deleted: change to one that is there\n"
        assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


def test_a_terminal_without_unicode_gets_a_table_too(small: Path) -> None:
    import os

    ended = crossfade("run", str(small), env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "goodput_bps" in ended.stdout


@pytest.mark.parametrize(
    ("words", "code", "streams"),
    [
        *[("check nowhere", 2, streams) for streams in ("2>&-", ">&- 2>&-", "2>/dev/full")],
        *[("run small.toml --no-cache", 0, streams) for streams in ("<&- >&- 2>&-", "2>/dev/full")],
        long_form("check nowhere", 2, "<&- >&- 2>&-"),
        *[long_form("run small.toml --no-cache", 0, streams) for streams in ("2>&-", ">&- 2>&-")],
        *[
            long_form("check small.toml", 0, streams)
            for streams in ("2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full")
        ],
    ],
)
def test_streams_that_are_closed_or_full_change_no_exit_code(
    small: Path, words: str, code: int, streams: str
) -> None:
    command = f'"$0" -m crossfade {words} {streams}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=small.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert "error: " not in done.stdout
