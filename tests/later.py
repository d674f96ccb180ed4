"""Modules that load slowly, loaded by the first test that uses them: each worker reads all files of tests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pandas
    import xarray as xarray
    from scipy import stats as stats

    from bench import phy_fidelity as phy_fidelity


class _Later:
    """Stand-in for a module until one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, what: str) -> Any:
        # pytest asks every object of a file for marks of fixtures, such as __wrapped__.
        if what.startswith("_"):
            raise AttributeError(what)
        return getattr(import_module(self._name), what)


if not TYPE_CHECKING:
    pandas = _Later("pandas")
    phy_fidelity = _Later("bench.phy_fidelity")
    stats = _Later("scipy.stats")
    xarray = _Later("xarray")
