"""5G NR: shipped scenarios, output of check, and golden transport blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli

GOLDEN = Path(__file__).parent / "data" / "golden" / "nr"


def test_transport_blocks_are_those_of_another_program() -> None:
    cases = cf.reference.verify(GOLDEN)
    assert len(cases) == 96
    assert all(case.difference is None for case in cases)


def test_an_altered_transport_block_is_found(tmp_path: Path) -> None:
    text = (GOLDEN / "transport-blocks.csv").read_text(encoding="utf-8")
    (tmp_path / "transport-blocks.csv").write_text(text.replace(",160\n", ",168\n", 1), encoding="utf-8")
    assert sum(case.difference is not None for case in cf.reference.verify(tmp_path)) == 1
    (tmp_path / "transport-blocks.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(
        cf.errors.CrossfadeError, match=r"transport-blocks\.csv: the first line must be symbols"
    ):
        cf.reference.verify(tmp_path)


def test_check_says_rates_and_round_trips(cli: Cli) -> None:
    done = cli("check", "nr-downlink")
    first = (
        "NR cell of 4 users at 8 to 25 dB: 106 resource blocks, slots of 500 us (DDDSU), peak 303.2 Mbit/s"
    )
    assert first in done.out
    assert "HARQ round trip 4, 5.125, 6 ms (least, mean, greatest); one user takes 10 processes" in done.out
    assert "flow far-bbr: bulk, TCP sack with bbr-v3" in done.out


def test_near_users_have_more_than_far_ones() -> None:
    results = cf.run(
        "nr-downlink", set={"run.duration": "3 s", "run.warmup": "1 s", "run.runs": 1}, cache=False
    )
    (found,) = json.loads(results.to_json())
    goodputs = [user["user_goodput_bps"]["value"] for user in found["users"]]
    # Flows are ordered by name: far, then near.
    assert min(goodputs[2:]) > max(goodputs[:2]) > 1e6
    assert abs(found["metrics"]["initial_frame_error_rate"]["value"] - 0.1) < 0.03


BLOCKS = """\
schema = 2
methods = ["phy"]
run = { frames = 100, frame_errors = 100000, max_frames = 400 }
nr = { profile = "awgn", layers = 1, harq = { transmissions = 1 }, block = { mcs = 7, bits = 304 } }
"""


def test_blocks_have_a_row_for_each_ratio_and_number_of_transmissions(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "blocks.csv"
    axes = ("--over", "nr.block.mcs=3,7", "--over", "nr.radio.mean_snr_db=2,6")
    few = ("--set", "run.frame_errors=20", "--set", "run.max_frames=400")
    done = cli("phy", "nr-blocks", *axes, *few, "--method", "phy,formula", "--csv", file)
    assert done.code == 0, done.err
    assert "mean_snr_db" not in done.out
    table = cf.store.Table.from_csv(file.read_text(encoding="utf-8"))
    rows = list(table.records())
    assert len(rows) == 2 * 2 * 2 * 3
    assert {row["rate_times_1024"] for row in rows} == {449, 490}
    assert {(row["frame_bits"], row["code_blocks"]) for row in rows} == {(304, 1)}
    assert "ber" not in table.columns
    by = {
        (row["nr.block.mcs"], row["snr_db"], row["method"], row["transmissions"]): float(str(row["residual"]))
        for row in rows
    }
    # Blocks of 320 bits with CRC have a BLER of 10 % at 6.19 dB by another implementation, with two copies
    # about 4.4 dB lower.
    assert 0.05 < by[7, 6, "phy", 1] < 0.35
    assert by[7, 2, "phy", 1] == 1.0
    assert by[7, 2, "phy", 2] < 0.3
    for key in by:
        if key[2] == "phy":
            assert by[key] == pytest.approx(by[(*key[:2], "formula", key[3])], abs=0.12), key


def test_a_table_of_blocks_is_that_of_the_package(cli: Cli, tmp_path: Path) -> None:
    """A fitted curve for a code block of 320 bits at 4 x 490/1024 agrees with the shipped table, made from
    600 blocks.
    """
    file = tmp_path / "own.csv"
    scenario = tmp_path / "blocks.toml"
    scenario.write_text(BLOCKS, encoding="utf-8")
    done = cli(
        "phy", scenario, "--over", "nr.radio.mean_snr_db=5.0,5.5,6.0", "--error-table", file, "--quiet"
    )
    assert done.code == 0, done.err
    line = file.read_text(encoding="utf-8").splitlines()[2].split(",")
    assert line[:4] == ["4", "490", "320", "1"]
    assert int(line[6]) == 1200
    # The shipped values are 5.509 and 0.513 dB, with standard errors of 0.03 dB each.
    assert float(line[4]) == pytest.approx(5.509, abs=0.12)
    assert float(line[5]) == pytest.approx(0.513, abs=0.15)
    # The table is read, but a cell needs every scheme of its MCS tables.
    cell = cli("check", "nr-downlink", "--set", f"nr.error_table={file}")
    assert cell.code == 2
    assert "nr.error_table" in cell.err
    assert "a table with every scheme of the MCS and CQI tables" in cell.err


def test_a_table_needs_both_outcomes(cli: Cli, tmp_path: Path) -> None:
    over = ("--over", "nr.radio.mean_snr_db=20,25", "--set", "run.max_frames=100", "--quiet")
    done = cli("phy", "nr-blocks", *over, "--error-table", tmp_path / "own.csv")
    assert done.code == 2
    assert "some blocks fail and others not" in done.err
    assert not (tmp_path / "own.csv").exists()
    other = cli(
        "phy", "mimo-fer", "--point", "0", "--runs", "1", "--quiet", "--error-table", tmp_path / "b.csv"
    )
    assert other.code == 2
    assert "error table: needs blocks of an NR cell (nr.block)" in other.err


def test_check_says_what_a_block_is(cli: Cli) -> None:
    done = cli("check", "nr-blocks", "--point", "0")
    said = "block of method phy: 304 bits in 1 code block of 320, 2 bits a symbol at 449/1024"
    assert said in done.out, done.out
    assert "flow" not in done.out


BOTH_WAYS = {
    "nr": {"profile": "awgn", "radio": {"mean_snr_db": 20}, "uplink": {"grants": "proactive"}},
    "schema": 2,
    "run": {"duration": "4 s", "warmup": "1 s", "runs": 1},
    "link": {"packet_size": "1500 B", "queue": {"limit": "1000 packets"}},
    "tcp": {"flavour": "rfc", "variant": "sack", "congestion": "cubic", "w_max": 4000},
}


def test_queue_disciplines_keep_the_delay_short() -> None:
    """CUBIC fills a queue of a thousand packets; CoDel keeps about 5 ms; DualPI2 marks Prague and keeps about
    1 ms.
    """
    found = {}
    for discipline, congestion in (("drop-tail", "cubic"), ("codel", "cubic"), ("dualpi2", "prague")):
        keys = {"link.queue.discipline": discipline, "tcp.congestion": congestion}
        (point,) = cf.run(BOTH_WAYS, set=keys, cache=False).points
        found[discipline] = point
    delays = [found[name].value("delay_queue_mean_s") for name in found]
    assert delays[0] > 2.0 * delays[1]
    assert delays[1] < 0.015
    assert delays[2] < 0.004
    assert found["dualpi2"].value("ecn_marks") > 100
    assert found["dualpi2"].value("queue_drops") == 0
    # Thresholds of a millisecond let the queue of a radio with slots and gaps of 0.5 ms run empty.
    full, kept, scalable = (found[name].value("goodput_bps") for name in found)
    assert kept > 0.95 * full
    assert scalable > 0.5 * full


def test_parameter_sets_of_open_stacks_are_theirs() -> None:
    """Preset of OpenAirInterface: nr_rlc_oai_api.c has ms45, p64, ms15, ms15, t32, and its cell min_rxtxtime
    2.
    """
    checked = cf.check(BOTH_WAYS, set={"nr.preset": "oai-tdd-40"}).scenario["nr"]
    expected = ("45 ms", 64, "15 ms", "15 ms", 32, 18)
    keys = (
        "t_poll_retransmit",
        "poll_pdu",
        "t_reassembly",
        "t_status_prohibit",
        "max_retransmissions",
        "sn_bits",
    )
    assert tuple(checked["rlc"][key] for key in keys) == expected
    assert (checked["harq"]["k1"], checked["uplink"]["k2"], checked["layers"]) == (2, 2, 1)
    checked = cf.check(BOTH_WAYS, set={"nr.preset": "srsran-tdd-100"}).scenario["nr"]
    assert (checked["harq"]["transmissions"], checked["rlc"]["t_poll_retransmit"]) == (5, "20 ms")


BESIDE = {"traffic": "udp", "rate": "64 kbit/s", "packet_size": "200 B", "five_qi": 1, "beside": "a"}
CALL = {
    "schema": 2,
    "run": {"duration": "4 s", "warmup": "1 s", "runs": 1},
    "nr": {"profile": "TDL-C", "uplink": {"grants": "requested"}, "rlc": {"mode": "am"}},
    "link": {"packet_size": "1500 B", "queue": {"limit": "1 MB"}},
    "wired": {"rtt": "20 ms"},
    "tcp": {"flavour": "rfc", "variant": "sack", "congestion": "cubic", "w_max": 4000},
    "flows": {"a": {"radio": {"mean_snr_db": 18, "speed": "3 km/h"}}, "call": BESIDE},
}


def test_a_call_has_a_bearer_beside_the_download_of_its_user() -> None:
    first, last = {"flows.call.five_qi": 1}, {"flows.call.five_qi": 9, "flows.a.five_qi": 5}
    point, behind = (cf.run(CALL, set=keys, cache=False).points[0] for keys in (first, last))
    assert point.value("call.goodput_bps") == 64000.0
    assert point.value("a.goodput_bps") > 80e6
    # The wired segment takes 10 ms; slots, HARQ and reordering take the rest.
    assert point.value("call.one_way_delay_p99_s") < 0.025
    # With lower priority than the download, the call gets the remaining capacity.
    assert behind.value("call.one_way_delay_p99_s") > 0.05


def test_each_bearer_has_its_own_metrics() -> None:
    point = cf.run(CALL, cache=False).points[0]
    assert point.value("call.bearer_delay_queue_mean_s") < 1e-3
    assert point.value("a.bearer_delay_queue_mean_s") > 10e-3
    names = {name for flow in point.flows for name in flow if name.startswith("bearer_")}
    assert {"bearer_queue_drops", "bearer_pdcp_discards", "bearer_rlc_status_pdus"} <= names
    sums = {
        name: sum(flow[name]["value"] for flow in point.flows)
        for name in ("bearer_rlc_status_pdus", "bearer_pdcp_discards")
    }
    assert sums["bearer_rlc_status_pdus"] == point.value("rlc_status_pdus")
    assert sums["bearer_pdcp_discards"] == point.value("pdcp_discards")


def test_a_poll_after_bytes_is_read_up_to_the_largest_value() -> None:
    for size in ("125 kB", "40 MB"):
        checked = cf.check(BOTH_WAYS, set={"nr.rlc.poll_byte": size}).scenario
        assert cf.check(checked).scenario["nr"]["rlc"]["poll_byte"] == checked["nr"]["rlc"]["poll_byte"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"flows.call.beside": "b"},
            'flows.call.beside = "b": must be a flow that has users of its own, of a',
        ),
        ({"flows.call.beside": "call"}, "must be a flow that has users of its own, of a"),
        ({"nr.uplink": None, "nr.rlc": None}, "nr.uplink: missing; a table, with flows.call.beside"),
        (
            {"flows.call.radio": {"mean_snr_db": 3}},
            "flows.call.radio contradicts flows.call.beside: the radio is that of the users of a",
        ),
        (
            {"flows.call.bearer.prioritised_rate": "7 kB/s"},
            'flows.call.bearer.prioritised_rate = "7 kB/s": must be one of TS 38.331: 0, 8, 16, 32, 64, ',
        ),
        (
            {"flows.call.bearer.priority": 3},
            "flows.a.bearer.priority: missing; between 1 and 16, as flows.call, a bearer of the same user",
        ),
        (
            {"nr": None, "flows.call.five_qi": None},
            "flows.call.beside: needs an nr, whose users have queues and bearers of their own",
        ),
    ],
)
def test_what_cannot_be_beside_is_one_line(keys: dict[str, object], said: str) -> None:
    with pytest.raises(cf.errors.ScenarioError) as refused:
        cf.check(CALL, set=keys)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"nr.block.bits": 320}, "nr.block.mcs: missing; an index of MCS table 2, 0 to 27"),
        ({"nr.block.mcs": 28}, "nr.block.mcs = 28: must be between 0 and 27"),
        ({"nr.block": {"mcs": 1, "cqi": 1}}, "nr.block.cqi contradicts nr.block.mcs"),
        ({"nr.block.cqi": 16}, "nr.block.cqi = 16: must be between 1 and 15"),
        ({"nr.block": {"mcs": 1, "prbs": 107}}, "nr.block.prbs = 107: must be between 1 and 106"),
        ({"nr.block": {"mcs": 1, "bits": 25}}, "nr.block.bits = 25: must be a multiple of 8"),
        ({"nr.block": {"mcs": 1, "iterations": 0}}, "nr.block.iterations = 0: must be between 1 and 200"),
        ({"nr.mcs_table": 3, "nr.effective_sinr": "eesm"}, "EESM has no parameters for these"),
        (
            {"flows.a.five_qi": 11},
            "flows.a.five_qi = 11: must be one of TS 23.501: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65, ",
        ),
        (
            {"nr.uplink": {"limit": "1 MB", "queue": {"discipline": "codel", "limit": "1 MB"}}},
            "nr.uplink.limit contradicts nr.uplink.queue: the queue has a limit of its own",
        ),
        ({"nr.uplink": {"queue": {"limit": "10 ms"}}}, 'nr.uplink.queue.limit = "10 ms": must be packets'),
        ({"flows.a.five_qi": 9, "nr.uplink": None}, "nr.uplink: missing; a table, with flows.a.five_qi"),
        ({"flows.a.queue.limit": "10 ms"}, "flows.a.queue.limit = "),
        ({"link.queue.target": "5 ms"}, "link.queue"),
    ],
)
def test_bad_input_is_one_line(keys: dict[str, object], said: str) -> None:
    with pytest.raises(cf.errors.ScenarioError) as refused:
        cf.check(BOTH_WAYS, set=keys)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_phy_refuses_what_has_no_block(cli: Cli) -> None:
    none = cli("phy", "nr-downlink", "--runs", "1")
    assert none.code == 2
    assert "nr.block: missing" in none.err
    fading = cli("phy", "nr-blocks", "--method", "formula", "--set", "nr.profile=TDL-C", "--point", "0")
    assert fading.code == 2
    assert "nr.profile: the formula of a block assumes a channel that does not fade" in fading.err
    queue = cli("check", "quickstart", "--set", "flows.a.queue.limit=9 packets")
    assert queue.code == 2
    assert "flows.a.queue: needs an nr" in queue.err
