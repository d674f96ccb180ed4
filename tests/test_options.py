"""Shared keyword arguments of functions: an argument that does not apply is refused by name."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import crossfade as cf
from crossfade.plans.options import RunOptions
from tests.test_docstrings import public

# Positional arguments of functions with keyword options; PATH is a file that must not be created.
PATH = "PATH"
BEFORE: dict[str, tuple[Any, ...]] = {
    "best": ("quickstart", "tcp.variant"),
    "claims": ("tcp-markov",),
    "compare": ("quickstart", "tcp.variant"),
    "crossings": ("quickstart", 0.5),
    "draw": ("quickstart", PATH),
    "paper": ("tcp-markov", "table1"),
    "write_air_pcap": (PATH, "quickstart"),
    "write_opportunities": (PATH, "quickstart"),
    "write_events": (PATH, "quickstart"),
    "write_pcap": (PATH, "quickstart"),
    "write_samples": (PATH, "quickstart"),
}
SHARING = {
    name.rpartition(".")[2]: function
    for name, function in public()
    if inspect.isfunction(function) and "options" in inspect.signature(function).parameters
}


def test_those_that_share_options_are_found() -> None:
    assert {*BEFORE, "run", "check", "sweep", "phy", "reuse", "events", "transfers"} <= SHARING.keys()
    assert len(SHARING) >= 16


@pytest.mark.parametrize("name", SHARING)
def test_an_option_that_means_nothing_is_refused_by_name(name: str, tmp_path: Path) -> None:
    function = SHARING[name]
    # Return types may belong to packages that are imported late, so only ``options`` is evaluated.
    (kind,) = get_args(eval(inspect.get_annotations(function)["options"], function.__globals__))
    known = {*inspect.signature(function).parameters, *kind.__annotations__}
    arguments = [tmp_path / "x.png" if part == PATH else part for part in BEFORE.get(name, ("quickstart",))]
    wrong = {*get_type_hints(RunOptions), "method", "threads"} - known
    assert wrong
    for option in wrong:
        with pytest.raises(TypeError, match=rf"argument '{option}'"):
            function(*arguments, **{option: None})
    assert not list(tmp_path.iterdir())


def test_results_take_no_options_of_runs() -> None:
    results = cf.run("quickstart", methods=["formula"], cache=False)
    for option, value in {"jobs": 2, "runs": 3, "seed": 4, "set": {"tcp.w_max": 6}}.items():
        with pytest.raises(cf.errors.ScenarioError, match=rf"^{option}: is for a scenario to be run"):
            cf.compare(results, "tcp.variant", **{option: value})  # type: ignore[arg-type]


def test_a_figure_over_time_refuses_what_it_cannot_show(tmp_path: Path) -> None:
    for option, value in {"cdf": "cwnd", "log_x": True, "intervals": "bands"}.items():
        with pytest.raises(cf.errors.ScenarioError, match=rf"^{option} = "):
            cf.pictures.draw("classics/slow-start", tmp_path / "x.png", y="cwnd", **{option: value})  # type: ignore[arg-type]
