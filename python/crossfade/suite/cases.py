"""Suites of cases from ``suite.toml``: each case is a scenario with targets, a source, and omissions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crossfade.errors import ScenarioError, shortened
from crossfade.files import SCENARIOS, SUITE_FILE, read_text, shipped_suites
from crossfade.suite.targets import Target, read_target, seconds

# Key for the congestion control under test if a case names no other.
USUAL_KEYS = ("tcp.congestion",)

_SUITE = {"title", "source", "read", "left_out", "runs", "case"}
_CASE = {
    "name",
    "scenario",
    "clause",
    "set",
    "under_test",
    "target",
    "left_out",
    "live",
    "size",
    "time_limit",
    "lasts",
    "rebind",
    "corrupt",
}


@dataclass(frozen=True)
class Live:
    """Parameters of a case for real programs: bytes that the client fetches, and its time limit.

    With ``lasts_s`` the file is too long to be fetched in that time: the client is then ended, and the data
    after the scenario's warm-up is measured. ``rebind`` has the times in seconds of the first rebinding of
    the client's UDP port by a NAT, and between two rebindings. With ``corrupts`` packets that the channel
    loses arrive with a changed byte. Simulated controls are not affected by either.
    """

    size: int
    limit_s: float
    lasts_s: float | None = None
    rebind: tuple[float, float] | None = None
    corrupts: bool = False

    @property
    def is_disturbed(self) -> bool:
        """True if the case differs from another one only for real programs."""
        return self.rebind is not None or self.corrupts


@dataclass(frozen=True)
class Case:
    """A condition of a suite: a scenario, the keys for the control under test, and its targets."""

    name: str
    scenario: str
    """Name of a shipped scenario, or path of a scenario file."""
    clause: str
    targets: Sequence[Target]
    set: Mapping[str, Any] = field(default_factory=dict)
    under_test: Sequence[str] = USUAL_KEYS
    left_out: str = ""
    live: Live | None = None
    not_live: str = ""
    """Reason why the case is not for real programs; empty if it is."""


@dataclass(frozen=True)
class Suite:
    """A suite: its source, the parts of the source that are left out and why, and its cases."""

    name: str
    title: str
    source: str
    read: str
    """Version of the source that was read."""
    left_out: Sequence[str]
    runs: int
    cases: Sequence[Case]

    def chosen(self, names: Sequence[str]) -> Suite:
        """Suite with only the named cases; all cases without names."""
        known = [case.name for case in self.cases]
        for name in names:
            if name not in known:
                raise ScenarioError(
                    f"case {shortened(name)}: not in suite {self.name} ({_nearest(name, known)})"
                )
        cases = [case for case in self.cases if not names or case.name in names]
        return Suite(self.name, self.title, self.source, self.read, self.left_out, self.runs, cases)


def load_suite(name: str) -> Suite:
    """Load a shipped suite by its name, or a suite from a folder or a ``.toml`` file.

    Raises :class:`ScenarioError` if there is none, or a key of it is wrong.
    """
    path = Path(name)
    if path.is_dir():
        path /= SUITE_FILE
    if not path.is_file() and name in shipped_suites():
        path = SCENARIOS / "suites" / name / SUITE_FILE
    if not path.is_file():
        known = shipped_suites()
        raise ScenarioError(f"suite {shortened(name)}: no such suite ({_nearest(name, known)})")
    text = read_text(path, ScenarioError)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{shortened(path)}: {error}") from None
    return _Reader(path).suite(document)


class _Reader:
    """Reader of the tables of one suite file; each error names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_shipped = SCENARIOS in path.resolve().parents

    def suite(self, document: Mapping[str, Any]) -> Suite:
        self._check(document, _SUITE, "")
        cases = document.get("case", [])
        if not isinstance(cases, list) or not cases:
            raise self._error("case", "must be a list of tables, [[case]], at least one")
        found = [self._case(number, case) for number, case in enumerate(cases, 1)]
        names = [case.name for case in found]
        for name in names:
            if names.count(name) > 1:
                raise self._error("case.name", f"{shortened(repr(name))} stands twice")
        return Suite(
            name=self._path.parent.name if self._path.name == SUITE_FILE else self._path.stem,
            title=self._text(document, "title", "title"),
            source=self._text(document, "source", "source"),
            read=self._text(document, "read", "read", ""),
            left_out=self._texts(document, "left_out"),
            runs=self._whole(document, "runs", "runs", 10),
            cases=found,
        )

    def _case(self, number: int, table: Any) -> Case:
        place = f"case {number}"
        if not isinstance(table, Mapping):
            raise self._error(place, "must be a table")
        name = self._text(table, "name", f"{place}.name")
        place = f"case {shortened(name)}"
        self._check(table, _CASE, place)
        targets = table.get("target", [])
        if not isinstance(targets, list) or not targets:
            raise self._error(f"{place}.target", "must be a list of tables, at least one")
        keys = table.get("set", {})
        if not isinstance(keys, Mapping):
            raise self._error(f"{place}.set", "must be a table of dotted keys and values")
        not_live, live = self._live(table, place)
        return Case(
            name=name,
            scenario=self._scenario(self._text(table, "scenario", f"{place}.scenario"), place),
            clause=self._text(table, "clause", f"{place}.clause"),
            targets=[self._target(one, f"{place}.target {n}") for n, one in enumerate(targets, 1)],
            set=keys,
            under_test=self._texts(table, "under_test") or USUAL_KEYS,
            left_out=self._text(table, "left_out", f"{place}.left_out", ""),
            live=live,
            not_live=not_live,
        )

    def _live(self, table: Mapping[str, Any], place: str) -> tuple[str, Live | None]:
        """Reason why a case is for simulated controls only, or its parameters for real programs."""
        if "size" not in table:
            for key in ("lasts", "time_limit", "rebind", "corrupt"):
                if key in table:
                    raise self._error(f"{place}.{key}", "needs size, the bytes of the file that is fetched")
            return self._text(table, "live", f"{place}.live", "no transfer with an end"), None
        if "live" in table:
            raise self._error(f"{place}.live", "says why real programs are left out; contradicts size")
        size = table["size"]
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 1 << 30:
            raise self._error(f"{place}.size = {shortened(repr(size))}", "must be bytes, between 1 and 2^30")
        try:
            limit_s = seconds("time_limit", table.get("time_limit", "60 s"))
            lasts_s = seconds("lasts", table["lasts"]) if "lasts" in table else None
        except ScenarioError as error:
            raise self._error(place, str(error)) from None
        if lasts_s is not None and "time_limit" in table:
            raise self._error(f"{place}.lasts", "says when the client is ended; contradicts time_limit")
        key, value = ("time_limit", limit_s) if lasts_s is None else ("lasts", lasts_s)
        if not 0.0 < value <= 3600.0:
            raise self._error(f"{place}.{key}", "must be above 0 s and at most 1 h")
        corrupts = table.get("corrupt", False)
        if not isinstance(corrupts, bool):
            raise self._error(f"{place}.corrupt = {shortened(repr(corrupts))}", "must be true or false")
        return "", Live(size, value, lasts_s, self._rebind(table, place), corrupts)

    def _rebind(self, table: Mapping[str, Any], place: str) -> tuple[float, float] | None:
        """Times in seconds of the first rebinding of a port, and between two rebindings."""
        if "rebind" not in table:
            return None
        value = table["rebind"]
        problem = 'must be two times above 0 s, such as ["1 s", "5 s"]'
        if not isinstance(value, list) or len(value) != 2:
            raise self._error(f"{place}.rebind = {shortened(repr(value))}", problem)
        try:
            first_s, every_s = (seconds("rebind", one) for one in value)
        except ScenarioError as error:
            raise self._error(place, str(error)) from None
        if not min(first_s, every_s) > 0.0:
            raise self._error(f"{place}.rebind = {shortened(repr(value))}", problem)
        return first_s, every_s

    def _target(self, table: Any, place: str) -> Target:
        if not isinstance(table, Mapping):
            raise self._error(place, "must be a table")
        try:
            return read_target(table)
        except ScenarioError as error:
            raise self._error(place, str(error)) from None

    def _scenario(self, name: str, place: str) -> str:
        """Name of a scenario beside the suite's file, or of a shipped one."""
        beside = self._path.parent / f"{name.removesuffix('.toml')}.toml"
        if beside.is_file():
            if self._is_shipped:
                return beside.resolve().relative_to(SCENARIOS).with_suffix("").as_posix()
            return str(beside)
        if (SCENARIOS / f"{name}.toml").is_file():
            return name
        raise self._error(
            f"{place}.scenario = {shortened(repr(name))}", "no such file, and no shipped scenario"
        )

    def _check(self, table: Mapping[str, Any], known: set[str], place: str) -> None:
        for key in table:
            if key not in known:
                whole = f"{place}.{key}" if place else key
                raise self._error(shortened(whole), f"unknown key ({_nearest(key, sorted(known))})")

    def _text(self, table: Mapping[str, Any], key: str, place: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if value is None:
            raise self._error(place, "is missing; must be a text")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self._error(f"{place} = {shortened(repr(value))}", "must be a text")
        return value

    def _texts(self, table: Mapping[str, Any], key: str) -> list[str]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._error(f"{key} = {shortened(repr(value))}", "must be a list of texts")
        return value

    def _whole(self, table: Mapping[str, Any], key: str, place: str, default: int) -> int:
        value = table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 100_000:
            raise self._error(f"{place} = {shortened(repr(value))}", "must be a whole number above 0")
        return value

    def _error(self, place: str, problem: str) -> ScenarioError:
        return ScenarioError(f"{shortened(self._path)}: {place}: {problem}")


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
