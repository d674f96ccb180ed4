"""Test suites for transports: named conditions with targets, for simulated controls and real programs.

A suite is a folder with a ``suite.toml`` (:mod:`crossfade.suite.cases`) and the scenarios of its cases beside
it. :func:`crossfade.suite.running.run_suite` carries one out and judges it.
"""
