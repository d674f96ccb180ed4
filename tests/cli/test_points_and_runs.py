"""Selection of any point and run, by number or value, in every output; outputs agree with the results."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.results import jsonschema
from tests.conftest import Cli

LOSSY = """
schema = 2
run = { duration = "3 s", runs = 6, sample = "500 ms" }
channel = { model = "iid", p_e = 0.03 }
link = { rate = "2 Mbit/s", delay = "10 ms", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", w_max = 40 }
[sweep]
"tcp.variant" = ["sack", "newreno"]
"channel.p_e" = [0.01, 0.05, 0.1]
"""


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    file = tmp_path / "lossy.toml"
    file.write_text(LOSSY)
    return file


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_points_have_numbers_the_first_axis_varies_slowest(cli: Cli, lossy: Path) -> None:
    lines = cli("check", lossy, "--points").out.splitlines()
    assert lines[0] == "point 0: tcp.variant = sack, channel.p_e = 0.01"
    assert (len(lines), lines[4]) == (6, "point 4: tcp.variant = newreno, channel.p_e = 0.05")
    some = cli("check", lossy, "--points", "--where", "tcp.variant=newreno", "--where", "channel.p_e>0.02")
    assert some.out.splitlines() == lines[4:6]
    assert cli("check", lossy, "--points", "--point", "4").out.splitlines() == [lines[4]]
    assert (
        ": 2 points, tcp.variant: 2, channel.p_e: 1 ("
        in cli("check", lossy, "--where", "channel.p_e=0.1").out
    )


def test_a_point_is_the_same_however_it_is_chosen(cli: Cli, lossy: Path) -> None:
    whole = rows(cli("run", lossy, "--csv", "-").out)
    for chosen in (
        ["--point", "4"],
        ["--where", "tcp.variant=newreno", "--where", "channel.p_e=0.05"],
        ["--over", "tcp.variant=newreno", "--over", "channel.p_e=0.05"],
    ):
        assert rows(cli("run", lossy, *chosen, "--csv", "-").out) == [whole[4]], chosen
    assert rows(cli("run", lossy, "--where", "channel.p_e<0.02", "--csv", "-").out) == [whole[0], whole[3]]
    found = cf.run(lossy, at={"channel.p_e<": 0.02})
    assert [point.axes["tcp.variant"] for point in found.points] == ["sack", "newreno"]
    assert cf.run(lossy, point=5).points[0].axes == {"tcp.variant": "newreno", "channel.p_e": 0.1}


def test_zipped_axes_are_chosen_too(tmp_path: Path) -> None:
    file = tmp_path / "zipped.toml"
    zipped = (
        '"tcp.variant,tcp.w_max" = [["sack", 10], ["reno", 20], ["sack", 30]]\n"channel.p_e" = [0.01, 0.02]\n'
    )
    file.write_text(LOSSY.partition('"tcp.variant" =')[0] + zipped)
    axes = {"tcp.variant": "reno", "tcp.w_max": 20, "channel.p_e": 0.02}
    assert cf.run(file, point=3, runs=1).points[0].axes == axes
    found = cf.run(file, at={"tcp.variant": "sack"}, runs=1)
    assert [point.axes["tcp.w_max"] for point in found.points] == [10, 10, 30, 30]


def test_events_samples_and_packets_are_those_of_the_run(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    """Events, samples and packets of run 5 of point 2 add up to row 5 of the point; row 0 differs."""
    point = cf.run(lossy, point=2).points[0]
    again, sent = point.samples("retransmissions"), point.samples("segments_sent")
    assert again[5] != again[0]
    assert sent[5] != sent[0]
    files: dict[str, Any] = {name: tmp_path / name for name in ("events", "samples", "links", "x.pcap")}
    outputs = ["--events", files["events"], "--samples", files["samples"], "--link-events", files["links"]]
    done = cli("run", lossy, "--point", "2", "--run", "5", *outputs, "--pcap", files["x.pcap"], "--quiet")
    assert done.code == 0, done.err
    events = rows(files["events"].read_text())
    repeated = sum(
        int(row["retransmissions"] or 0) for row in rows(files["samples"].read_text()) if row["flow"]
    )
    assert repeated == again[5]
    timeouts = sum(row["event"] == "timeout" for row in events)
    assert timeouts == point.samples("timeouts")[5]
    lost = sum(row["verdict"] == "lost" for row in rows(files["links"].read_text()))
    # A row counts frames whose transmission ended before the end of the run.
    assert abs(lost - point.samples("frame_errors")[5]) <= 1
    data, place, segments = files["x.pcap"].read_bytes(), 24, 0
    while place < len(data):
        kept, length = struct.unpack("<II", data[place + 8 : place + 16])
        segments += length == 1500
        place += 16 + kept
    assert segments == sent[5]
    assert data == cf.runs.pcap(lossy, point=2, run=5) != cf.runs.pcap(lossy, point=2)
    assert [row["event"] for row in events] == list(cf.events(lossy, point=2, run=5)["event"])
    lines = cli("run", lossy, "--point", "2", "--run", "5", "--interval", "1").out
    assert lines.startswith("     1.00 s  flow 0")
    assert lines != cli("run", lossy, "--point", "2", "--interval", "1").out


def test_json_is_a_list_that_its_schema_describes(cli: Cli, lossy: Path, tmp_path: Path) -> None:
    single = json.loads(cli("run", lossy, "--point", "0", "--json").out)
    assert (len(single), single[0]["axes"]) == (1, {"tcp.variant": "sack", "channel.p_e": 0.01})
    small = json.loads(cli("run", "classics/slow-start", "--json").out)
    assert (len(small), small[0]["axes"]) == (1, {})
    assert cli("sweep", lossy, "--out", tmp_path / "r.sqlite", "--quiet").code == 0
    exported = cli("export", tmp_path / "r.sqlite", "--to", "json")
    assert exported.code == 0, exported.err
    written = json.loads((tmp_path / "r.json").read_text())
    whole = json.loads(cli("run", lossy, "--json").out)
    assert [(one["axes"], one["metrics"]) for one in written] == [
        (one["axes"], one["metrics"]) for one in whole
    ]
    assert json.loads(cli("export", tmp_path / "r.sqlite", "--to", "json", "--out", "-").out) == written
    runs = json.loads(cli("export", tmp_path / "r.sqlite", "--to", "json", "--runs", "--out", "-").out)
    assert (len(runs), runs[7]["run"]) == (36, 1)
    schema = json.loads(cli("schema", "--results").out)
    assert schema == jsonschema.RESULTS
    solved = json.loads(cli("run", "quickstart", "--method", "analysis", "--point", "0", "--json").out)
    cell = json.loads(
        cli(
            "run",
            "lte-like-cell",
            "--set",
            "run.duration=1 s",
            "--set",
            "run.warmup=0 s",
            "--runs",
            "2",
            "--json",
        ).out
    )
    for found in (single, small, written, whole, solved, cell):
        assert problems(schema, found) == []
    assert problems(schema, single[0]) == ["$: is no array"]
    del single[0]["axes"]
    single[0]["metrics"]["goodput_bps"]["value"] = "fast"
    assert problems(schema, single) == [
        "$[0]: lacks axes",
        "$[0].metrics.goodput_bps.value: is no number, null",
    ]


TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None),
    "boolean": bool,
}  # fmt: skip


def problems(schema: dict[str, Any], value: Any, at: str = "$") -> list[str]:
    """Parts of a value that a schema forbids, for the subset of JSON Schema that results use."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return [f"{at}: is no {', '.join(kinds)}"]
    if "oneOf" in schema:  # objects with a field for their kind
        kinds = {one["properties"]["kind"]["const"]: one for one in schema["oneOf"]}
        known = kinds.get(value.get("kind"))
        return [f"{at}: kind is none of {', '.join(kinds)}"] if known is None else problems(known, value, at)
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: is none of {', '.join(schema['enum'])}"]
    if "const" in schema and value != schema["const"]:
        return [f"{at}: is not {schema['const']}"]
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        return [f"{at}: is below {schema['minimum']}"]
    found = []
    if isinstance(value, list) and "items" in schema:
        found = [
            one
            for place, item in enumerate(value)
            for one in problems(schema["items"], item, f"{at}[{place}]")
        ]
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        found = [f"{at}: lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            if name in known:
                found += problems(known[name], item, f"{at}.{name}")
            elif others is False:
                found.append(f"{at}: has {name}")
            elif isinstance(others, dict):
                found += problems(others, item, f"{at}.{name}")
    return found


def test_json_of_compare_and_best_is_a_list_that_its_schema_describes(cli: Cli) -> None:
    small = [
        "quickstart",
        "--over",
        "tcp.variant=tahoe,reno",
        "--over",
        "channel.p_e=0.01,0.1",
        "--runs",
        "5",
    ]
    commands = {
        "compare": [["--by", "tcp.variant"], ["--by", "tcp.variant", "--metric", "throughput_per_slot"]],
        "best": [
            ["--choose", "tcp.variant"],
            ["--choose", "tcp.variant", "--within", "2%"],
            ["--choose", "tcp.variant", "--subject-to", "timeouts<0.001"],  # no feasible choice
            ["--choose", "channel.p_e"],  # no numeric axis: no ranges
        ],
    }
    for command, asked in commands.items():
        schema = json.loads(cli("schema", f"--{command}").out)
        for options in asked:
            said = cli(command, *small, *options, "--json")
            assert said.code == 0, said.err
            found = json.loads(said.out)
            assert problems(schema, found) == []
            assert found[0]["kind"] == {"compare": "difference", "best": "decision"}[command]
        del found[0]["verdict"]
        assert problems(schema, found) == ["$[0]: lacks verdict"]
        found[0] = {"kind": "guess"}
        assert problems(schema, found)[0].startswith("$[0]: kind is none of ")
    both = cli("schema", "--results", "--best")
    assert (both.code, both.err) == (2, "error: --results and --best: give one of them\n")


ALTERNATIVES = """
schema = 2
run = { duration = "2 s", runs = 5 }
channel = { model = "none" }
link = { rate = "1 Mbit/s", packet_size = "1500 B" }
tcp = { variant = "sack" }
figure = { labels = { fast = "a fast link" } }
[alternatives.fast]
link = { rate = "4 Mbit/s", packet_size = "1500 B" }
[alternatives.long]
link = { rate = "2 Mbit/s", delay = "100 ms", packet_size = "1500 B" }
"""


def test_alternatives_are_an_axis_of_names(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(ALTERNATIVES)
    table = cli("run", file)
    assert [word for word in ("alternative", "a fast link", "long") if word not in table.out] == [], table.err
    found = json.loads(cli("run", file, "--json").out)
    assert [one["axes"] for one in found] == [{"alternative": "fast"}, {"alternative": "long"}]
    # Goodput of a link that never idles: 1460 of 1500 bytes.
    assert found[0]["metrics"]["goodput_bps"]["value"] == pytest.approx(4e6 * 1460 / 1500, rel=0.01)
    assert found[0]["scenario"]["link"]["rate"] == "4000000 bit/s"
    one = cli("run", file, "--set", "alternative=long", "--csv", "-")
    assert rows(one.out)[0]["goodput_bps"] == str(found[1]["metrics"]["goodput_bps"]["value"])
    compared = cli("compare", file, "--by", "alternative")
    assert (compared.code, "--set alternative=fast" in compared.err) == (0, True), compared.err
    drawn = cli("run", file, "--over", "link.delay=1 ms,2 ms,3 ms", "--plot", tmp_path / "a.png", "--quiet")
    assert drawn.code == 0, drawn.err
    assert cli("sweep", file, "--out", tmp_path / "a.sqlite", "--quiet").code == 0
    assert list(cf.open_results(tmp_path / "a.sqlite")["alternative"].values) == ["fast", "long"]
