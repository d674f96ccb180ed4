"""Flavour rfc compared with flavour ns2, whose sends equal ns-2's row by row, where their rules coincide.

They coincide while the receive window limits the sender before and after the losses. Window growth differs
(ns-2 adds 1/cwnd per ACK, RFC 5681 a segment per window), and so does the reaction to a timeout.
"""

from __future__ import annotations

import csv
import io

import pytest

from tests.conftest import events_text

LINK = """
schema = 1
run = { duration = "3 s", runs = 1 }
channel = { model = "drop-list", drops = [100] }
link = { rate = "1.5 Mbit/s", packet_size = "1000 B", delay = "20 ms" }
reverse = { delay = "20 ms" }
tcp = { variant = "sack", w_max = 20, initial_window = 1, headers = "0 B", ack_size = "40 B" }
"""

# Rules that switch off mechanisms which ns-2 of 2011 lacks.
LATER = {"delayed_ack": "0 s", "timestamps": False, "rate_reduction": "immediate", "cwnd_validation": False}
LATER |= {"f_rto": False, "d_sack": False, "rescue_retransmission": False}


Sends = list[tuple[str, str]]


def sends(variant: str, drops: list[int]) -> tuple[Sends, Sends]:
    """Sequence number and time of each segment sent, by the rules of ns-2 and by those of the RFCs."""
    found = []
    for flavour, rfc in (("ns2", {}), ("rfc", LATER)):
        values = {"channel.drops": drops, "tcp.flavour": flavour, "tcp.variant": variant, "tcp.rfc": rfc}
        events = csv.DictReader(io.StringIO(events_text(LINK, set=values)))
        found.append([(row["seq"], row["time_s"]) for row in events if row["event"] == "send"])
    return found[0], found[1]


@pytest.mark.parametrize("drops", [[100], [100, 101], [100, 105], [100, 102, 104], [100, 101, 102]])
def test_sack_sends_the_same_segments_in_the_same_order(drops: list[int]) -> None:
    ns2, rfc = sends("sack", drops)
    assert len(ns2) > 500
    assert [seq for seq, _ in rfc] == [seq for seq, _ in ns2]


def test_reno_sends_the_same_segments_at_the_same_times() -> None:
    ns2, rfc = sends("reno", [100])
    assert [seq for seq, _ in rfc] == [seq for seq, _ in ns2]
    # Sends are identical from the start, through the loss and its repair, until window growth differs.
    assert rfc[:160] == ns2[:160]
    assert ns2[160][1] > "0.9"


@pytest.mark.parametrize("drops", [[100], [100, 101], [100, 105], [100, 102, 104]])
def test_newreno_repeats_the_same_segments_and_leaves_recovery_more_carefully(drops: list[int]) -> None:
    ns2, rfc = sends("newreno", drops)
    shorter = min(len(ns2), len(rfc))
    assert [seq for seq, _ in rfc][:shorter] == [seq for seq, _ in ns2][:shorter]
    # RFC 6582 section 3.2, step 3, option 1: cwnd becomes the flight size plus one segment, not ssthresh.
    repaired = max(index for index, (seq, _) in enumerate(ns2) if int(seq) in drops)
    assert rfc[: repaired + 1] == ns2[: repaired + 1]
