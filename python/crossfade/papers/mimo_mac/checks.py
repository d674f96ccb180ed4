"""Checks of kinds of this paper only: k, growth of the optimum, pairs of senders, and spatial reuse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crossfade import api
from crossfade.comparison.paired import COVERAGE, Sample, each_of
from crossfade.files import SCENARIOS
from crossfade.papers.checks import best_place
from crossfade.papers.figures import SpecialCheck
from crossfade.papers.mimo_mac.optima import (
    METRIC,
    Chain,
    growth,
    mean_k,
    optimum_of,
    share_of,
)
from crossfade.papers.mimo_mac.runs import ARRAYS, RUNS, asked, chains, window
from crossfade.papers.options import Options
from crossfade.papers.verdicts import Outcome
from crossfade.results.points import Point


def _grid(
    check: Mapping[str, Any], options: Options, cwl: Iterable[int | str] | None
) -> tuple[dict[Chain, dict[int | None, Point]], str]:
    """Chains of a check at the limits ``cwl`` of the window (None: those of figure 6).

    Also returns the definition of saturation.
    """
    wanted, (definition, *_) = asked("fig6", options)
    over = dict(wanted.over or {}) | {"hops": check["hops"]}
    over["mac"] = sorted({_mac(side, check, options) for side in _sides(check)})
    over["interference_class"] = sorted({_kind(side, check) for side in _sides(check)})
    if cwl is not None:
        over["cwl"] = list(cwl)
    if over.get("cwl") == []:
        return {}, definition
    results = RUNS.results("fig6", replace(wanted, over=over, methods=["simulation"]))
    return chains(results), definition


def _sides(check: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [check[side] for side in ("first", "second") if side in check] or [{}]


def _mac(side: Mapping[str, Any], check: Mapping[str, Any], options: Options) -> str:
    read = options.reading.of("fig6")[1] if options.reading else {}
    return str(side.get("mac", check.get("mac", read.get("mac", [ARRAYS])[0])))


def _kind(side: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    return str(side.get("interference_class", check.get("interference_class")))


def _judged(
    where: str, value: float, low: float | None, high: float | None, between: Sequence[float]
) -> Outcome:
    """True if a value and its interval lie in a range, False if outside; an unknown end may lie anywhere."""
    least, most = (-math.inf if low is None else low), (math.inf if high is None else high)
    inside = between[0] <= least and most <= between[1]
    outside = most < between[0] or least > between[1]
    half = None if low is None or high is None else max(high - value, value - low)
    holds = True if inside else False if outside else None
    return Outcome(where, value, half, holds, min(least - between[0], between[1] - most))


def _beyond(chain: Chain) -> Outcome:
    """Outcome for an optimum at the end of the grid: undecided."""
    return Outcome(f"{chain}: beyond the grid of windows", math.nan, None, None, -math.inf)


def _knees(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that k of each chain, or its mean over chains, lies ``between`` two numbers."""
    grid, definition = _grid(check, options, None)
    share = share_of(check.get("optimum", definition))
    found = {chain: optimum_of(chain, points, share) for chain, points in grid.items()}
    optima = [one for one in found.values() if one is not None]
    if not check.get("mean"):
        return [
            _beyond(chain)
            if one is None
            else _judged(
                str(chain),
                one.k,
                None if one.low is None else one.low / chain.rthc,
                None if one.high is None else one.high / chain.rthc,
                check["between"],
            )
            for chain, one in found.items()
        ]
    if len(optima) < len(found):
        return [_beyond(next(chain for chain, one in found.items() if one is None))]
    mean = mean_k(optima)
    where = f"mean over {len(optima)} chains: 1/{1.0 / mean.k:.2f}"
    return [_judged(where, mean.k, mean.low, mean.high, check["between"])]


def _proportional(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that the optimum of each chain is within ``packets`` of the mean k times its round-trip hops."""
    grid, definition = _grid(check, options, None)
    found = {chain: optimum_of(chain, points, share_of(definition)) for chain, points in grid.items()}
    optima = [one for one in found.values() if one is not None]
    k = mean_k(optima).k
    outcomes = [_beyond(chain) for chain, one in found.items() if one is None]
    for one in optima:
        meant = k * one.chain.rthc
        between = [meant - check["packets"], meant + check["packets"]]
        outcomes.append(_judged(f"{one.chain} ({meant:.1f})", float(one.cwl), one.low, one.high, between))
    return outcomes


def _grows(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that in each of ``pairs`` the longer chain has the larger optimum."""
    longer = {**check, "hops": sorted({hops for pair in check["pairs"] for hops in pair})}
    grid, definition = _grid(longer, options, None)
    found = {
        chain.hops: (chain, optimum_of(chain, points, share_of(definition))) for chain, points in grid.items()
    }
    outcomes = []
    for short, long in check["pairs"]:
        (_, less), (chain, more) = found[short], found[long]
        if less is None or more is None:
            outcomes.append(_beyond(chain))
            continue
        value, low, high = growth(less, more)
        holds = True if low > 0.0 else False if high <= 0.0 else None
        outcomes.append(
            Outcome(f"{long} hops over {short}", value, max(high - value, value - low), holds, low)
        )
    return outcomes


def _pairs(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that one sender's throughput as a share of another's is ``above`` or ``below`` a limit.

    A side has ``mac``, ``interference_class`` and ``cwl``: a number, a rule (``1/2.8``), ``optimal`` (by the
    reading's definition), ``best`` (of figure 6) or ``unlimited``. With ``some`` one chain suffices.
    """
    sides = _sides(check)
    searched = any(side["cwl"] in ("optimal", "best") for side in sides)
    grid, definition = _grid(check, options, None if searched else [])
    if fixed := [side["cwl"] for side in sides if side["cwl"] not in ("optimal", "best")]:
        limits: set[int | str] = set()
        for limit in fixed:
            is_rule = "/" in str(limit)
            limits |= {window(limit, 2 * hops) for hops in check["hops"]} if is_rule else {limit}
        for chain, points in _grid(check, options, sorted(limits, key=str))[0].items():
            grid[chain] = grid.get(chain, {}) | points
    by_place = {
        (chain.mac, chain.interference_class, chain.hops): (chain, points) for chain, points in grid.items()
    }
    outcomes = []
    for hops in check["hops"]:
        samples = [
            _of_side(
                *by_place[_mac(side, check, options), _kind(side, check), hops],
                side["cwl"],
                definition,
                check,
            )
            for side in sides
        ]
        outcomes.append(_compared(f"{hops} hops", samples, check))
    return [best_place(outcomes)] if check.get("some") else outcomes


def _of_side(
    chain: Chain,
    points: Mapping[int | None, Point],
    limit: Any,
    definition: str,
    check: Mapping[str, Any],
) -> Sample:
    if limit in ("optimal", "best"):
        found = optimum_of(chain, points, 0.0 if limit == "best" else share_of(definition))
        # The best limit that was tried, if the optimum lies at the end of the grid.
        cwl: int | None = max(one for one in points if one is not None) if found is None else found.cwl
    elif limit == "unlimited":
        cwl = None
    else:
        cwl = window(limit, chain.rthc) if "/" in str(limit) else int(limit)
    return Sample.of(points[cwl], check.get("metric", METRIC))


def _compared(where: str, samples: Sequence[Sample], check: Mapping[str, Any]) -> Outcome:
    """Outcome for the first value divided by the second, less 1, against a limit."""
    difference = samples[0] - samples[1]
    divisor = abs(samples[1].mean)
    coverage = each_of(len(check["hops"])) if check.get("some") else COVERAGE
    value, half = difference.mean / divisor, difference.half_width(coverage) / divisor
    sign = 1.0 if "above" in check else -1.0
    margin = sign * (value - check["above" if "above" in check else "below"])
    holds = True if margin > half else False if margin <= -half else None
    return Outcome(where, value, half, holds, margin - half)


def _largest(check: Mapping[str, Any], options: Options) -> list[Outcome]:
    """Check that the largest set of exchanges of each chain is its hops over a number, rounded up or down."""
    set = {"mesh.mac": _mac({}, check, options), "run.runs": 1} | check["mesh"]
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    over = {"mesh.hops": check["hops"]}
    found = api.reuse_table(scenario, set=set, over=over, simulated=False, cache=options.cache)
    outcomes = []
    for record in found.records():
        hops, exchanges = int(str(record["mesh.hops"])), int(str(record["exchanges"]))
        least, most = hops // check["over"], -(-hops // check["over"])
        off = min(abs(exchanges - least), abs(exchanges - most)) if not least <= exchanges <= most else 0
        where = f"{hops} hops (said: {hops / check['over']:.3g})"
        outcomes.append(Outcome(where, float(exchanges), None, off == 0, -float(off)))
    return outcomes


def _round_trips(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check that the round trip of a lone packet takes at most a number of exchanges."""
    outcomes = []
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    for hops in check["hops"]:
        mesh = api.check(scenario, set={"mesh.hops": hops}).mesh
        assert mesh is not None
        (flow,) = mesh["flows"]
        share = flow["round_trip_s"] / (2 * hops * mesh["slot_s"])
        outcomes.append(Outcome(f"{hops} hops", share, None, share <= 1.0, 1.0 - share))
    return outcomes


def _ack_share(check: Mapping[str, Any], _: Options) -> list[Outcome]:
    """Check of the share of the air that TCP's acknowledgements take, if nothing else is sent."""
    scenario = (SCENARIOS / "mesh-chain.toml").read_text(encoding="utf-8").partition("[sweep]")[0]
    mesh = api.check(scenario, set={"mesh.hops": 1}).mesh
    assert mesh is not None
    (flow,) = mesh["flows"]
    share = 1.0 - mesh["slot_s"] / flow["round_trip_s"]
    low, high = check["between"]
    return [
        Outcome(
            "a packet and its acknowledgement",
            share,
            None,
            low <= share <= high,
            min(share - low, high - share),
        )
    ]


KINDS: dict[str, SpecialCheck] = {
    "knees": _knees,
    "proportional": _proportional,
    "grows": _grows,
    "pairs": _pairs,
    "largest": _largest,
    "round-trips": _round_trips,
    "ack-share": _ack_share,
}
