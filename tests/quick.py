"""Which tests are quick, which `make check` runs: measured, not listed.

A test is quick if in one of its last two runs on this machine it took at most ``MOST`` seconds of processor
time, with the programs that it started, and ``MOST_OF_CLOCK`` seconds of the clock (one of two, since the
first test that needs a module loads it for all others). What a shared fixture takes is divided among its
tests. A test that is new, or failed when it ran last, is quick. A test that needs network namespaces or a
browser never is.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Generator

import pytest

from tests.longest_first import KEPT, LIVE, group_of, kept

MOST, MOST_OF_CLOCK = 0.2, 1.0

# Of the processor and of the clock, in seconds.
Spent = tuple[float, float]
NOTHING = (0.0, 0.0)


def spent() -> Spent:
    """Processor time of this process and the programs that it has waited for."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used), time.monotonic()


def plus(one: Spent, other: Spent, times: float = 1.0) -> Spent:
    return one[0] + times * other[0], one[1] + times * other[1]


def is_quick(test: str, known: dict[str, list[Spent]]) -> bool:
    """Whether the test of this name is quick, by what is known of its last runs."""
    if group_of(test.split("::")[0]) == LIVE:
        return False
    last = known.get(test, [])
    return not last or any(cpu <= MOST and clock <= MOST_OF_CLOCK for cpu, clock in last)


class Quick:
    """Marks the tests that are quick, and measures all that run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.known = kept(config)
        self.now: dict[str, Spent] = {}
        self.failed: set[str] = set()
        self.began = NOTHING
        # What fixtures of a module or more have taken, by name and by whose they are.
        self.shared: dict[tuple[str, str], Spent] = {}
        # What those that were set up in this test have taken.
        self.set_up = NOTHING
        # The tests that need a fixture, by its name.
        self.needed: dict[str, list[str]] = {}

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
                    sharing = sum(test.startswith(whose) for test in self.needed.get(name, []))
                    took = plus(took, fixture, 1.0 / max(sharing, 1))
            # Goes to the process that keeps the times, along with the report.
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
