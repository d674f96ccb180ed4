"""5G NR: the scenario that ships, what check says of it, and golden transport blocks."""

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
    # Flows in the order of their names: far, then near.
    assert min(goodputs[2:]) > max(goodputs[:2]) > 1e6
    assert abs(found["metrics"]["initial_frame_error_rate"]["value"] - 0.1) < 0.03
