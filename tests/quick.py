"""Quick tests, which `make check` runs: determined by measured durations, not by a list.

A test is quick if in one of its last two runs on this machine it took at most ``MOST`` CPU seconds, with the
programs that it started, and at most ``MOST_OF_CLOCK`` elapsed seconds (one of two runs, since the first test
that needs a module loads it for all others). The time of a shared fixture is divided among its tests. A test
that is new, or failed in its last run, is quick. A test that needs network namespaces or a browser never is.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Generator

import pytest

from tests.longest_first import KEPT, LIVE, group_of, kept

MOST, MOST_OF_CLOCK = 0.2, 1.0

# CPU seconds and elapsed seconds.
Spent = tuple[float, float]
NOTHING = (0.0, 0.0)


def spent() -> Spent:
    """CPU time so far of this process and of its ended child processes, and the present time."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used), time.monotonic()


def plus(one: Spent, other: Spent, times: float = 1.0) -> Spent:
    return one[0] + times * other[0], one[1] + times * other[1]


def is_quick(test: str, known: dict[str, list[Spent]]) -> bool:
    """True if the test of this name is quick, by its recorded runs."""
    if group_of(test.split("::")[0]) == LIVE:
        return False
    last = known.get(test, [])
    return not last or any(cpu <= MOST and clock <= MOST_OF_CLOCK for cpu, clock in last)


class Quick:
    """Plugin that marks quick tests, and measures all tests that run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.known = kept(config)
        self.now: dict[str, Spent] = {}
        self.failed: set[str] = set()
        self.began = NOTHING
        # Durations of fixtures with the scope of a module or wider, by name and by owner.
        self.shared: dict[tuple[str, str], Spent] = {}
        # Duration of the shared fixtures that were set up during the current test.
        self.set_up = NOTHING
        # Tests that need each shared fixture, by its name, and their number by name and owner.
        self.needed: dict[str, list[str]] = {}
        self.sharing: dict[tuple[str, str], int] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for name in getattr(item, "fixturenames", ()):
                self.needed.setdefault(name, []).append(item.nodeid)
            if is_quick(item.nodeid, self.known):
                item.add_marker(pytest.mark.quick)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.began, self.set_up = spent(), NOTHING
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        began = spent()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                took = plus(spent(), began, -1.0)
                self.shared[fixturedef.argname, fixturedef.baseid] = took
                self.set_up = plus(self.set_up, took)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            took = plus(plus(spent(), self.began, -1.0), self.set_up, -1.0)
            for (name, whose), fixture in self.shared.items():
                if name in getattr(item, "fixturenames", ()) and item.nodeid.startswith(whose):
                    if (name, whose) not in self.sharing:
                        found = sum(test.startswith(whose) for test in self.needed.get(name, []))
                        self.sharing[name, whose] = max(found, 1)
                    took = plus(took, fixture, 1.0 / self.sharing[name, whose])
            # Sent with the report to the process that stores durations.
            vars(report)["spent"] = took
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        if "spent" in vars(report):
            self.now[report.nodeid] = vars(report)["spent"]

    def pytest_sessionfinish(self) -> None:
        cache = getattr(self.config, "cache", None)
        if cache is None or hasattr(self.config, "workerinput"):
            return
        for test, took in self.now.items():
            last = [] if test in self.failed else [*self.known.get(test, [])[-1:], took]
            self.known[test] = [(round(cpu, 3), round(clock, 3)) for cpu, clock in last]
        cache.set(KEPT, self.known)
