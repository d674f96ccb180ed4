"""Targets of a case: limits on a metric of whole runs or of a time window, or on a recovery time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from crossfade.errors import ScenarioError, shortened
from crossfade.quantities import in_common_unit
from crossfade.results.metrics import metric_of, near_metrics

Side = Literal["at least", "at most"]

RECOVERY = "recovery_s"
"""Name of the metric that :class:`Recovery` measures: the time until a flow is back at its rate."""

SHARE = "share"
"""Name of the metric ``main.share``: the share of the goodput of all flows that one flow has."""

# Quantities of samples of a flow or a link over time, and their units.
SAMPLED = {"goodput_bps": "bit/s", "rtt_mean_s": "s", "queue_packets": "packets", "capacity_bps": "bit/s"}

_KEYS = {"metric", "at_least", "at_most", "why", "from", "to", "after", "level", "beside", "every"}


@dataclass(frozen=True)
class Window:
    """Time window of a run, over whose samples a metric is averaged."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Recovery:
    """Measure of recovery: the time from an event to the first sample at or above a level.

    ``level`` is in bit/s. A sample is the goodput over the ``every`` seconds before it, so that no recovery
    is shorter than that.
    """

    after_s: float
    level: float


@dataclass(frozen=True)
class Target:
    """A metric, and the limit that it must keep.

    ``beside`` names a congestion control: the metric is then the quotient of its value under test and its
    value under this control, run by run.
    """

    metric: str
    side: Side
    limit: float
    written: str
    """The limit as written in the suite's file."""
    unit: str
    why: str
    window: Window | None = None
    recovery: Recovery | None = None
    beside: str | None = None
    every_s: float = 0.1
    """Interval of samples in seconds, for targets that need samples."""

    @property
    def needs_samples(self) -> bool:
        """True if the target is computed from samples over time."""
        return self.window is not None or self.recovery is not None

    @property
    def words(self) -> str:
        """Target as text, such as ``goodput_bps at least 9 Mbit/s (10 s to 20 s)``."""
        when = f" ({self.window.start_s:g} s to {self.window.end_s:g} s)" if self.window else ""
        when = f" (after {self.recovery.after_s:g} s)" if self.recovery else when
        of = f" of {self.beside}'s" if self.beside else ""
        return f"{self.metric} {self.side} {self.written}{of}{when}"


def read_target(table: Mapping[str, Any]) -> Target:
    """Read a target from a table; :class:`ScenarioError` names what is wrong."""
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise ScenarioError(f"{shortened(key)}: unknown key ({_or(near, sorted(_KEYS))})")
    metric, why = _text(table, "metric"), _text(table, "why")
    beside = _text(table, "beside") if "beside" in table else None
    sides = [key for key in ("at_least", "at_most") if key in table]
    if len(sides) != 1:
        raise ScenarioError("must have one of at_least and at_most")
    window, recovery = _window(table), _recovery(table, metric)
    unit = _unit(metric, window is not None)
    value = table[sides[0]]
    limit, kind = _number(sides[0], value)
    wanted = "1" if beside is not None else unit
    if kind not in ("", wanted) and not (kind == "1" and wanted == "packets"):
        raise ScenarioError(
            f"{sides[0]} = {shortened(repr(value))}: must be in {'no unit, a quotient' if beside else wanted}"
        )
    return Target(
        metric=metric,
        side="at least" if sides[0] == "at_least" else "at most",
        limit=limit,
        written=value if isinstance(value, str) else f"{value:g}",
        unit=wanted,
        why=why,
        window=window,
        recovery=recovery,
        beside=beside,
        every_s=seconds("every", table["every"]) if "every" in table else 0.1,
    )


def _window(table: Mapping[str, Any]) -> Window | None:
    if ("from" in table) != ("to" in table):
        raise ScenarioError("from and to: one needs the other")
    if "from" not in table:
        return None
    window = Window(seconds("from", table["from"]), seconds("to", table["to"]))
    if window.end_s <= window.start_s:
        raise ScenarioError(f"to = {table['to']!r}: must be later than from = {table['from']!r}")
    return window


def _recovery(table: Mapping[str, Any], metric: str) -> Recovery | None:
    if metric.rpartition(".")[2] != RECOVERY:
        if "after" in table or "level" in table:
            raise ScenarioError(f"after, level: are for metric {RECOVERY}")
        return None
    if "after" not in table or "level" not in table or "from" in table:
        raise ScenarioError(f"{RECOVERY}: needs after and level, and takes no from and to")
    level, kind = _number("level", table["level"])
    if kind != "bit/s":
        raise ScenarioError(f"level = {shortened(repr(table['level']))}: must be a bit rate such as 8 Mbit/s")
    return Recovery(seconds("after", table["after"]), level)


def _unit(metric: str, is_sampled: bool) -> str:
    """Unit of a metric; :class:`ScenarioError` for an unknown name."""
    if "/" in metric:
        for part in metric.split("/", 1):
            _unit(part.strip(), is_sampled)
        return "1"
    name = metric.rpartition(".")[2]
    if name == RECOVERY:
        return "s"
    if name == SHARE:
        if not metric.rpartition(".")[0]:
            raise ScenarioError(f"metric {SHARE}: must name a flow, as main.{SHARE}")
        return "1"
    if is_sampled:
        if name not in SAMPLED:
            raise ScenarioError(
                f"metric {shortened(metric)}: of a stretch of time must be {', '.join(SAMPLED)}"
            )
        return SAMPLED[name]
    found = metric_of(metric)
    if found is None:
        raise ScenarioError(
            f"metric {shortened(metric)}: no metric ({near_metrics(name) or 'crossfade metrics'})"
        )
    return found.unit


def _number(key: str, value: Any) -> tuple[float, str]:
    """Number of a number or quantity in the common unit of its kind, and that unit (empty for a number)."""
    found = in_common_unit(value)
    if found is None:
        raise ScenarioError(f"{key} = {shortened(repr(value))}: must be a number or a quantity such as 30 ms")
    return found


def seconds(key: str, value: Any) -> float:
    """Time in seconds; :class:`ScenarioError` names ``key`` if the value is not a time."""
    number, unit = _number(key, value)
    if unit != "s" or number < 0.0:
        raise ScenarioError(f"{key} = {shortened(repr(value))}: must be a time such as 2 s")
    return number


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ScenarioError(f"{key}: must be a text")
    return value


def _or(near: list[str], known: list[str]) -> str:
    return f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
