"""Meshes on the command line: output of check, results of runs, and agreement with other programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import crossfade as cf
from tests.conftest import Cli, points

CHAIN = """\
schema = 1
run = { duration = "4 s", warmup = "1 s", runs = 3 }
mesh = { topology = "chain", hops = 4, mac = "nulling" }
link = { packet_size = "2312 B" }
tcp = { flavour = "ns2", variant = "newreno", cwnd_limit = { per_hop = 0.357 } }
[flows]
file = { rate = "3 Mbit/s" }
"""
STAR = """\
schema = 1
run = { duration = "12 s", warmup = "2 s", runs = 2 }
mesh = { topology = "star", stations = 5, spacing = "100 m" }
link = { packet_size = "1500 B" }
[flows]
all = { from = "others", to = 0, traffic = "saturated" }
"""
GOLDEN = Path(__file__).parent / "data" / "golden"
TSHARK = shutil.which("tshark")


def test_check_says_what_needs_no_run(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN.replace("hops = 4", "hops = 8"))
    outcome = cli("check", file)
    # 16 exchanges in both directions take 38.75 ms, computed by hand from 802.11b timing.
    assert outcome.out.splitlines()[1] == (
        "mesh of 9 nodes: an exchange takes 2.888 ms, 3.248 ms with its wait; a window of one packet reaches "
        "at most: file (16 hops there and back) 0.4773 Mbit/s, round trip 38.75 ms"
    )
    assert cf.check("quickstart").mesh is None


@pytest.mark.parametrize(
    ("mesh", "over"),
    [
        ({"mesh.mac": "plain"}, 3.0),
        ({"mesh.mac": "plain", "mesh.interference": "450 m"}, 4.0),
        ({"mesh.mac": "nulling"}, 2.0),
        ({"mesh.mac": "nulling", "mesh.interference": "450 m"}, 4.0),
        ({"mesh.mac": "nulling", "mesh.range": "450 m"}, 2.4),
        ({"mesh.mac": "nulling", "mesh.range": "450 m", "mesh.antennas": 3}, 2.0),
    ],
)
def test_the_largest_sets_are_those_of_an_exhaustive_search(mesh: dict[str, object], over: float) -> None:
    hops = [4, 8, 12]
    table = cf.store.Table.of_frame(cf.mesh.reuse(CHAIN, set=mesh, over={"mesh.hops": hops}, simulated=False))
    assert set(table.cells("exact")) == {"true"}
    found = [int(str(cell)) for cell in table.cells("exchanges")]
    # A repeating pattern fits h / over times, whole or cut, so within one.
    assert all(abs(count - h / over) < 1.0 for count, h in zip(found, hops, strict=True)), found
    # Nodes in a line 200 m apart with a range of 250 m hear one neighbour on each side, with 450 m two.
    reach = {
        key: float(str(mesh.get(f"mesh.{key}", "250 m")).split()[0]) for key in ("range", "interference")
    }
    nulls = int(str(mesh.get("mesh.antennas", 2))) - 1 if mesh["mesh.mac"] == "nulling" else 0
    heard, disturbed = reach["range"] // 200.0, max(reach.values()) // 200.0
    assert found == [largest_in_a_chain(h, heard, disturbed, nulls) for h in hops]
    for pairs, count, h in zip(table.cells("set"), found, hops, strict=True):
        links = [int(pair.split("-")[0]) for pair in str(pairs).split()]
        assert len(links) == count
        assert all(0 <= link < h for link in links)
        assert possible_in_a_chain(links, heard, disturbed, nulls)


def possible_in_a_chain(links: Sequence[int], heard: float, disturbed: float, nulls: int) -> bool:
    """True if exchanges between nodes n and n + 1 can be simultaneous, by trying all assignments of nulls."""
    pairs = []
    for first, second in combinations(links, 2):
        for a, b in product((first, first + 1), (second, second + 1)):
            if a == b or heard < abs(a - b) <= disturbed:
                return False
            if abs(a - b) <= disturbed:
                pairs.append((a, b))
    # Nulls used by each node, for every assignment of the pairs so far.
    ways = {frozenset[tuple[int, int]]()}
    for pair in pairs:
        settled = set()
        for way in ways:
            for node in pair:
                used = dict(way)
                used[node] = used.get(node, 0) + 1
                if used[node] <= nulls:
                    settled.add(frozenset(used.items()))
        ways = settled
    return bool(ways)


def largest_in_a_chain(hops: int, heard: float, disturbed: float, nulls: int) -> int:
    """Size of the largest possible set of exchanges, trying all sets from the largest size down."""
    sizes = range(hops, 0, -1)
    return next(
        size
        for size in sizes
        if any(
            possible_in_a_chain(links, heard, disturbed, nulls) for links in combinations(range(hops), size)
        )
    )


def test_reuse_stands_beside_the_simulation(cli: Cli, tmp_path: Path, figures: list[Figure]) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN)
    outcome = cli("reuse", file, "--over", "mesh.mac=plain,nulling", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [row["mesh.mac"] for row in rows] == ["plain", "nulling"]
    assert all(0.0 < float(row["exchanges_mean"]) <= float(row["exchanges"]) for row in rows)
    assert cli("reuse", "quickstart").err.startswith("error: mesh: missing; spatial reuse is about a mesh")
    image = tmp_path / "map.svg"
    assert cli("reuse", file, "--no-simulation", "--plot", image).code == 0
    (axes,) = figures[0].axes
    exchanges = [tuple(map(int, pair.split("-"))) for pair in rows[1]["set"].split()]
    places = [200.0 * node for node in range(5)]
    lines = [(line.get_linewidth(), [x for x, _ in points(line)]) for line in axes.lines]
    assert [xs for width, xs in lines if width == 0.8] == [places[hop : hop + 2] for hop in range(4)]
    assert [xs for width, xs in lines if width == 2.4] == [[places[a], places[b]] for a, b in exchanges]
    assert lines[-1][1] == places
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "3", "4"]


def test_nodes_have_parts_of_their_own(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(CHAIN)
    (found,) = json.loads(cli("run", file, "--json").out)
    nodes = found["nodes"]
    assert [node["node"] for node in nodes] == [0, 1, 2, 3, 4]
    for name in ("rts_losses", "data_sent", "deferrals", "nulls_spent", "exchanges_mean"):
        whole = found["metrics"][name]["value"]
        assert sum(node[name]["value"] for node in nodes) == pytest.approx(whole)
    assert found["metrics"]["nulls_spent"]["value"] > 0.0
    # Every packet that TCP counts left the mesh at the last node, and every acknowledgement at the first.
    assert nodes[4]["packets_delivered"]["value"] >= found["metrics"]["segments_delivered"]["value"]
    assert nodes[0]["packets_delivered"]["value"] > 0.0
    assert nodes[1]["packets_delivered"]["value"] == 0.0
    shares = [
        sum(node[name]["value"] for name in ("transmit_share", "receive_share", "busy_share"))
        for node in nodes
    ]
    assert all(0.0 < share < 1.0 for share in shares)


def test_shadowing_that_changes_the_routes_is_warned_of() -> None:
    shadowed = {"mesh.reception": "sinr", "mesh.shadowing_db": 4.0}
    (warning,) = [text for text in cf.check(CHAIN, set=shadowed).warnings if "route discovery" in text]
    assert "packets take 4 hops" in warning
    assert "would find 2 hops" in warning
    without = cf.check(CHAIN, set={**shadowed, "mesh.shadowing_db": 0.0}).warnings
    assert not [text for text in without if "route discovery" in text]


def test_a_star_by_formula_and_by_simulation() -> None:
    over = {"mesh.stations": [2, 10, 20], "mesh.rts": [True, False]}
    results = cf.run(STAR, over=over, methods=["formula", "simulation"], cache=False)
    assert any("finite retries" in text for text in results.warnings)
    by_point: dict[str, dict[str, float]] = {}
    for point in results.points:
        by_point.setdefault(json.dumps(point.axes), {})[point.method] = point.value("goodput_bps")
    assert len(by_point) == 6
    for axes, found in by_point.items():
        assert found["simulation"] == pytest.approx(found["formula"], rel=0.03), axes


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"mesh.spacing": "200 m"}, "mesh.range: Bianchi's model assumes stations that all hear each other"),
        ({"mesh.mac": "nulling"}, "mesh.mac: Bianchi's model assumes 802.11 with one antenna"),
        ({"flows.all.from": 1}, None),
        (
            {"flows.all": {"traffic": "udp", "rate": "1 Mbit/s"}},
            "flows.all: Bianchi's model assumes saturated",
        ),
    ],
)
def test_the_formula_says_what_it_assumes(changed: dict[str, object], expected: str | None) -> None:
    if expected is None:
        assert (
            cf.run(STAR, set=changed, methods=["formula"], cache=False).points[0].value("goodput_bps") > 0.0
        )
        return
    with pytest.raises(cf.errors.ScenarioError, match=expected.replace("(", r"\(")):
        cf.run(STAR, set=changed, methods=["formula"], cache=False)


def test_other_methods_have_nothing_to_say_of_a_mesh() -> None:
    for method in ("analysis", "formula:square-root"):
        with pytest.raises(cf.errors.ScenarioError, match=r"mesh: .* assumes one"):
            cf.run(CHAIN, set={"flows.file.rate": None}, methods=[method], cache=False)


def test_golden_chains_and_weights_are_read_as_traces_are(cli: Cli, tmp_path: Path) -> None:
    chain = (GOLDEN / "ns2-chain" / "wider.csv").read_text().splitlines()
    (tmp_path / "wider.csv").write_text(
        "\n".join([chain[0], *(row for row in chain if row.startswith("4,1,"))])
    )
    outcome = cli("verify", tmp_path)
    assert outcome.code == 0
    first, last = outcome.out.splitlines()
    assert first.startswith("ok   wider 4 hops, window 1 0.9")
    assert first.endswith("(0.5 % allowed)")
    assert last == "1 cases: 1 agree, 0 different"
    (tmp_path / "wider.csv").write_text(f"{chain[0]}\n4,1,0.9,0.001,4\n")
    outcome = cli("verify", tmp_path)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (1, "1 cases: 0 agree, 1 different")
    (tmp_path / "wider.csv").unlink()
    shutil.copyfile(GOLDEN / "weights" / "vectors.json", tmp_path / "vectors.json")
    outcome = cli("verify", tmp_path)
    assert outcome.code == 0
    assert outcome.out.startswith("ok   vectors 0 ")
    assert "(1e-9 allowed)" in outcome.out
    (tmp_path / "vectors.json").write_text("[]")
    assert cli("verify", tmp_path).code == 1
    (tmp_path / "vectors.json").write_text("{")
    assert cli("verify", tmp_path).err.startswith("error: vectors.json")


@pytest.mark.skipif(TSHARK is None, reason="no tshark (Debian: apt-get install tshark)")
def test_tshark_sees_the_exchanges(cli: Cli, tmp_path: Path) -> None:
    assert TSHARK is not None
    scenario, file = tmp_path / "chain.toml", tmp_path / "air.pcap"
    scenario.write_text(CHAIN)
    changed = ["--set", "run.duration=1 s", "--set", "run.warmup=0 s", "--runs", "1"]
    found = json.loads(cli("run", scenario, *changed, "--air-pcap", file, "--json").out)[0]["metrics"]
    fields = ["wlan.fc.type_subtype", "wlan.ra", "wlan.ta", "wlan.duration", "radiotap.datarate", "frame.len"]
    asked = [word for field in fields for word in ("-e", field)]
    text = subprocess.run(
        [TSHARK, "-r", str(file), "-T", "fields", *asked], capture_output=True, text=True, check=True
    ).stdout
    frames = [line.split("\t") for line in text.splitlines()]
    kinds = {
        kind: [frame for frame in frames if int(frame[0], 0) == kind] for kind in (0x1B, 0x1C, 0x1D, 0x20)
    }
    assert sum(map(len, kinds.values())) == len(frames)
    # A frame still on the air at the end of the run counts, since its transmission began.
    assert len(kinds[0x1B]) == found["rts_sent"]["value"]
    assert len(kinds[0x20]) == found["data_sent"]["value"]
    assert {frame[4] for frame in kinds[0x20]} == {"11"}
    assert {frame[4] for frame in kinds[0x1B]} == {"1"}
    # Frames have 2312 or 40 bytes, after 30 of the MAC header and 22 of radiotap.
    assert {frame[5] for frame in kinds[0x20]} == {"2364", "92"}
    assert {frame[3] for frame in kinds[0x20]} == {"314"}
    assert {frame[1] for frame in frames} == {f"02:00:00:00:00:0{node}" for node in range(5)}
    malformed = subprocess.run(
        [TSHARK, "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert malformed.stdout == ""


def test_the_air_is_drawn(tmp_path: Path) -> None:
    table = cf.store.Table.of_frame(cf.runs.link_events(CHAIN, set={"run.duration": "1.03 s"}))
    assert {"air", "defer", "queue"} <= set(table.cells("event"))
    image = tmp_path / "air.svg"
    cf.pictures.plot_events(table, image, y="node")
    text = image.read_text()
    assert all(word in text for word in ("RTS", "CTS", "DATA", "ACK", "nulls", "defers"))


def test_a_knee_is_the_first_place_that_is_near_the_best() -> None:
    over = {"tcp.cwnd_limit": [1, 2, 3, 4]}
    results = cf.run(CHAIN, over=over, set={"run.runs": 10}, cache=False)
    means = {point.axes["tcp.cwnd_limit"]: point.value("ip_goodput_bps") for point in results.points}
    best = max(means.values())
    for share in (0.0, 0.02, 0.05, 0.5):
        (knee,) = cf.curves.knee(results, x="tcp.cwnd_limit", metric="ip_goodput_bps", share=share)
        assert knee.x == min(x for x, mean in means.items() if mean >= (1.0 - share) * best)
        assert knee.low is not None
        assert knee.high is not None
        assert knee.low <= knee.x <= knee.high
    with pytest.raises(cf.errors.ResultsError, match="no axis"):
        cf.curves.knee(results, x="mesh.hops")
    with pytest.raises(cf.errors.ResultsError, match="from 0 to below 1"):
        cf.curves.knee(results, x="tcp.cwnd_limit", share=1.0)
