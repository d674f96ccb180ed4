"""Test suites for transports: named conditions with targets, for simulated controls and real programs.

A suite is a folder with a ``suite.toml`` (:mod:`crossfade.suite.cases`) and the scenarios of its cases beside
it. :func:`run` carries one out and judges it.
"""

from crossfade.suite.running import SuiteResult
from crossfade.suite.running import run_suite as run

__all__ = ["SuiteResult", "run"]
