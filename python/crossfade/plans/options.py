"""What may be asked for on top of a scenario, and how it is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self, TypedDict, cast

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.errors import shortened
from crossfade.files import controls
from crossfade.results.cache import Cache

Scenario = str | PathLike[str]
"""A scenario file, the name of a shipped scenario, or (with a line break in it) the TOML text itself."""

Values = Mapping[str, Any]
"""Dotted keys and what they are set to, or run over (a list, an array, or a range as text)."""

# More in a list than any axis has: the core allows 100,000.
MOST_VALUES = 1_000_000
# A value of that many brackets was not meant.
MOST_DEPTH = 50


class ViewOptions(TypedDict, total=False):
    """The keyword arguments of functions that look at single runs of a scenario.

    ``set`` changes keys (``{"tcp.w_max": 6}``; None takes a key out), ``over`` replaces or adds axes
    (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"`` and ``"start:stop:step"``), and ``seed``
    stands above that of the file.
    """

    set: Values | None
    over: Values | None
    seed: int | None


class PlanOptions(ViewOptions, total=False):
    """The keyword arguments of functions that plan runs.

    ``runs`` or ``precision`` (``"1 %"``) stand above the file's.
    """

    runs: int | None
    precision: str | None


class RunOptions(PlanOptions, total=False):
    """The keyword arguments of functions that run a scenario.

    ``jobs`` is the number of threads (all cores where None), on which results do not depend; with ``cache``
    finished runs are taken from the user's cache and kept there; ``progress`` shows a bar on standard error.
    """

    jobs: int | None
    cache: bool | Cache
    progress: bool


@dataclass(frozen=True)
class Options:
    """What is asked for on top of a scenario, and how it is carried out: :class:`RunOptions`, and methods."""

    set: Values | None = None
    over: Values | None = None
    runs: int | None = None
    precision: str | None = None
    seed: int | None = None
    methods: Sequence[str] | None = None
    jobs: int | None = None
    cache: bool | Cache = True
    progress: bool = False

    @classmethod
    def of(cls, kind: type[Any], given: Mapping[str, Any], **more: Any) -> Self:
        """The options that a function was ``given``, which takes those of a ``kind`` (:class:`RunOptions`).

        :class:`TypeError` names one that it does not take: there it would mean nothing.
        """
        check_names(kind, given)
        return cls(**given, **more)

    def given(self) -> RunOptions:
        """As the keyword arguments of a function that takes :class:`RunOptions`."""
        return cast(RunOptions, {name: getattr(self, name) for name in RunOptions.__optional_keys__})

    def classes(self) -> dict[str, str]:
        """The texts of the classes among the values, which are congestion controls, by the names of files."""
        texts: dict[str, str] = {}
        for key, value in [*(self.set or {}).items(), *(self.over or {}).items()]:
            for control in _classes(value):
                text = controls.text_of(control)
                if texts.setdefault(_file_of(control), text) != text:
                    raise errors.ScenarioError(f"{key}: two classes are called {control.__name__}")
        return texts

    def overrides(self) -> dict[str, Any]:
        """What of them makes another plan, as JSON has it and results files keep it."""
        return {
            "set": list(_plain(self.set or {}).items()),
            "over": list(_plain(self.over or {}).items()),
            "runs": self.runs,
            "precision": self.precision,
            "seed": self.seed,
            "methods": None if self.methods is None else list(self.methods),
        }


AS_WRITTEN = Options()


def check_names(kind: type[Any], given: Iterable[str]) -> None:
    """:class:`TypeError` that names a keyword argument which is none of a ``kind`` of options."""
    known = kind.__optional_keys__
    for name in given:
        if name not in known:
            among = ", ".join(sorted(known))
            raise TypeError(f"unexpected keyword argument {name!r} (options here: {among})")


def check_jobs(jobs: int | None) -> None:
    """:class:`ScenarioError` for a number of threads that cannot be meant."""
    if jobs is not None and not 1 <= jobs <= _crossfade.MOST_JOBS:
        raise errors.ScenarioError(f"jobs = {jobs}: must be at least 1 and at most {_crossfade.MOST_JOBS}")


def _plain(values: Values) -> dict[str, Any]:
    """Values as JSON has them (numpy arrays and numbers become lists and numbers)."""
    return {key: _plain_value(key, value) for key, value in values.items()}


def _plain_value(key: str, value: Any, depth: int = 0) -> Any:
    if depth > MOST_DEPTH:
        raise errors.ScenarioError(
            f"{shortened(key)}: lists and tables in each other more than {MOST_DEPTH} deep"
        )
    values = getattr(value, "size", None)
    if values is None and isinstance(value, list | tuple | range):
        values = len(value)
    if isinstance(values, int) and values > MOST_VALUES:
        raise errors.ScenarioError(
            f"{shortened(key)}: {values:,} values are too many; at most {MOST_VALUES:,}"
        )
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {inner: _plain_value(f"{key}.{inner}", item, depth + 1) for inner, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain_value(key, item, depth + 1) for item in value]
    if isinstance(value, type) and key.endswith("congestion"):
        return f"{_file_of(value)}:{value.__name__}"
    if value is not None and not isinstance(value, str | int | float | bool):
        raise errors.ScenarioError(
            f"{shortened(key)} = {shortened(repr(value))}: must be a number, a text, true or false, a list "
            "or a table"
        )
    if isinstance(value, float) and value - value != 0.0:
        raise errors.ScenarioError(f"{key} = {value}: must be a finite number")
    return value


def _classes(value: Any) -> Iterator[type]:
    """The classes among values, however deep they lie."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, type):
            yield inner
        elif isinstance(inner, Mapping):
            waiting.extend(inner.values())
        elif isinstance(inner, list | tuple):
            waiting.extend(inner)


def _file_of(control: type) -> str:
    """The name that a class has as a file."""
    return f"{control.__name__}.py"
