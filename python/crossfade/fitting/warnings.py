"""Warnings of a fit: what its record does not show, and how this limits predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Duration in seconds below which a record cannot show slow changes of the link.
SHORT_S = 30.0
# Share of the data of a capture from which on a flow counts as alone.
ALONE = 0.9
# Share of waiting packets from which on a warning names causes of delays other than a queue of the flow.
OFTEN = 0.3
# Share of waiting packets below which no packet counts as having waited for another.
ALONE_SHARE = 0.01


def warnings(found: Mapping[str, Any], of: Mapping[str, Any]) -> list[str]:
    """Sentences, each without its full stop, about what a record does not show and what predictions assume.

    ``found`` has the findings of the fit, and ``of`` the fitted parameters by name.
    """
    said = []
    seen = min(found["busy_share"], 1.0)
    if found["kind"] == "opportunities":
        said.append(
            "a trace of opportunities has the rate alone: the queue is taken to hold 0.2 to 5 times what is "
            "under way, and nothing is lost"
        )
        if of["delay"].verdict == "not identified":
            said.append("the trace has no round trip: give it (--rtt)")
        return said
    if of["loss"].verdict == "not identified":
        said.append("what was lost does not show: half of the predictions lose nothing, the others up to 2 %")
    if found["kind"] == "probes":
        said.append("probes never wait for one another: nothing is known of the rate and the queue")
    elif of["rate"].verdict == "bounded":
        why = "no interval had a standing queue or an overload"
        if found["kind"] == "packets":
            is_alone = found["quiet_bps"] is None and found["waited_share"] < ALONE_SHARE
            if is_alone:
                why = "no packet waited for another"
            elif found["left_by_others"]:
                why = "flows that are not in the record had the rest of the link"
            elif found["quiet_bps"] is None and found["waited_share"] >= OFTEN:
                why = (
                    "packets were late, but not as in a queue that they built (jitter, retransmissions below "
                    "IP, acknowledgements that wait on the reverse path, rates that differ)"
                )
            else:
                why = "few packets waited, or at rates that differ"
        said.append(
            f"{why}: the rate is a lower bound; predictions are ranges over rates up to 4 times it, and "
            "goodput beyond it has no upper end"
        )
    elif seen < 0.2 and found["kind"] == "packets":
        said.append(f"the link was seen busy {seen * 100:.2g} % of the time")
    if policer := found["policer"]:
        said.append(
            f"a policer drops what is beyond {policer['rate_bps'] / 1e6:.4g} Mbit/s and bursts of "
            f"{policer['burst_bytes'] / 1e3:.3g} kB, without a queue: the rate is that of the policer"
        )
    stood = of["delay"].verdict == "bounded"
    if of["queue"].verdict == "bounded" and not (stood and found["congestive_losses"]):
        most = f"{of['queue'].value:.0f}"
        said.append(
            f"the queue was never seen full: its limit is at least {most} packets, and predictions go up to "
            "4 times that, or from 0.2 to 5 times what is under way"
        )
    if stood:
        said.append(
            f"the queue was never seen empty: the empty path takes at most {of['delay'].value * 1e3:.4g} ms, "
            "and the queue may hold more by what stood in it; record the beginning of a connection"
        )
    if found["paced"]:
        said.append("recorded with pacing: few packets left back to back")
    if found["lasts_s"] < SHORT_S:
        said.append(f"only {found['lasts_s']:.0f} s: no slow process can be seen")
    if of["delay"].verdict == "not identified":
        if found["kind"] == "stretches":
            said.append("the log has no round trip: give it (--rtt)")
        else:
            said.append(
                "nothing came back, and the clocks of both ends may be apart: the reverse path is taken to "
                "be as long as the way there; give the round trip (--rtt)"
            )
    if found["at_receiver"]:
        said.append("captured at the receiver: the times of sending are those of TCP timestamps, to a tick")
    if found["held_s"]:
        said.append(
            f"one acknowledgement in ten waited {found['held_s'] * 1e3:.3g} ms or more on the reverse path: "
            "arrivals have the times of the receiver's clock, and predictions a reverse path without a queue"
        )
    if not found["has_sizes"]:
        said.append("the file has no sizes: packets of 1500 bytes were taken")
    if found["kind"] == "stretches":
        said.append("intervals, not packets: losses at a full queue and at random are told apart coarsely")
    if found["loss_grows_with_queue"]:
        said.append(
            "loss grows with the queue: a short queue, a policer or an AQM, which the model does not have"
        )
    if found["share"] < ALONE:
        said.append(
            f"other flows carried {(1 - found['share']) * 100:.0f} % of the capture: the fitted link is what "
            "they left, and they react to another control: predictions have runs with a CUBIC flow instead"
        )
    base = [delay for _, delay in found["delays"]]
    if base and max(base) - min(base) > max(1e-3, 0.05 * of["delay"].value):
        ends = f"{min(base) * 1e3:.4g} to {max(base) * 1e3:.4g} ms"
        said.append(f"the base delay changed ({ends}): the scenario has its median")
    if found["deviation_s"] > 0.1 * max(of["delay"].value, 1e-3):
        said.append(
            f"delays differ from those of the model by {found['deviation_s'] * 1e3:.3g} ms in the mean"
        )
    if found["rates"]:
        said.append(
            "the rate follows the record: the draws have the rest, predictions what was not seen of it"
        )
    if found["period"]:
        said.append("the rate has a period of 15 s, as Starlink has")
    if found["offloads"]:
        said.append("the interface cut or joined packets (TSO, GRO): they were taken apart by size")
    if not found["captured_whole"]:
        said.append("the capture ends in the middle of a packet, or was read in part")
    return said
