"""Names of the package: ten at the top level, the others in modules; old names stay for one more release."""

from __future__ import annotations

import subprocess
import sys

import pytest

import crossfade as cf

TOP = [
    *("Scenario", "best", "check", "compare", "events"),
    *("explain", "open_results", "plot", "run", "sweep"),
]


def test_ten_names_stand_at_the_top() -> None:
    assert [name for name in cf.__all__ if name not in [*cf.MODULES, "__version__"]] == TOP
    assert {*cf.MODULES} <= {*cf.__all__} <= {*dir(cf)}
    assert not {*dir(cf)} & {*cf.MOVED}


@pytest.mark.parametrize("name", cf.MOVED)
def test_a_name_of_before_is_kept_with_a_warning(name: str) -> None:
    module, _, today = cf.MOVED[name].partition(".")
    said = rf"^crossfade\.{name} is crossfade\.{cf.MOVED[name]} now; the old name goes with 0\.3$"
    with pytest.warns(DeprecationWarning, match=said):
        found = getattr(cf, name)
    assert found is getattr(getattr(cf, module), today)
    assert today in getattr(cf, module).__all__


def test_fit_is_called_as_before() -> None:
    losses = [0, 0, 0, 1, 1, 0, 0, 1] * 40
    with pytest.warns(DeprecationWarning, match=r"^crossfade\.fit\(\.\.\.\) is crossfade\.fit\.losses"):
        found = cf.fit(losses)  # type: ignore[operator]
    assert found.p_e == cf.fit.losses(losses).p_e


def test_what_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'crossfade' has no attribute 'knees'"):
        cf.knees  # noqa: B018
    for module in cf.MODULES:
        there = getattr(cf, module)
        assert len(there.__all__) == len(set(there.__all__))
        assert all(hasattr(there, name) for name in there.__all__)


def test_modules_are_loaded_when_they_are_asked_for() -> None:
    """Explorer, reports and fits are imported on demand, since they load slowly and a run does not need
    them.
    """
    code = "import sys, crossfade as cf; late = ['papers', 'reports', 'explorer', 'fitting']\n"
    code += "print([name for name in late if f'crossfade.{name}' in sys.modules], cf.papers.paper.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] paper\n"
