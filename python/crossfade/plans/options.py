"""Options on top of a scenario, such as set keys and the number of threads, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self, TypedDict, cast

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.errors import shortened
from crossfade.files import controls
from crossfade.results.cache import Cache


class Described:
    """A scenario that was read, with the changes asked for on top of it; see :class:`crossfade.Scenario`."""

    name: str
    text: str
    read_file: Callable[[str], str]
    asked: Options


ScenarioLike = str | PathLike[str] | Mapping[str, Any] | Described
"""A scenario file, the name of a shipped scenario, the TOML text itself (with a line break in it), a mapping
of the keys of a file, or a :class:`crossfade.Scenario`."""

Values = Mapping[str, Any]
"""Dotted keys and what they are set to, or run over (a list, an array, or a range as text)."""

# Largest number of values in a list; the core allows an axis 100,000.
MOST_VALUES = 1_000_000
# Deepest nesting of lists and tables in a value.
MOST_DEPTH = 50


class ViewOptions(TypedDict, total=False):
    """Keyword arguments of functions that show single runs of a scenario.

    ``set`` changes keys (``{"tcp.w_max": 6}``; None removes a key), ``over`` replaces or adds axes
    (``{"channel.p_e": [0.01, 0.1]}``, also ``"log:0.001:0.3:13"`` and ``"start:stop:step"``), and ``seed``
    replaces that of the file. ``point`` selects one point of the sweep by its number, counted from 0
    (``crossfade check --points`` lists them), ``at`` points by values of axes (``{"tcp.variant": "reno",
    "channel.p_e<": 0.01}``).
    """

    set: Values | None
    over: Values | None
    seed: int | None
    point: int | None
    at: Values | None


class LookOptions(ViewOptions, total=False):
    """Keyword arguments of functions that show one run of each point.

    ``run`` is the number of the run, counted from 0: run 7 is the one with the metrics in row 7 of the point.
    """

    run: int


class PlanOptions(ViewOptions, total=False):
    """Keyword arguments of functions that plan runs.

    ``runs`` or ``precision`` (``"1 %"``) replace the stop rule of the file.
    """

    runs: int | None
    precision: str | None


class RunOptions(PlanOptions, total=False):
    """Keyword arguments of functions that run a scenario.

    ``jobs`` is the number of threads (None: all cores), on which results do not depend; with ``cache``
    finished runs are taken from the user's cache and kept there; ``progress`` shows a bar on standard error.
    """

    jobs: int | None
    cache: bool | Cache
    progress: bool


@dataclass(frozen=True)
class Options:
    """Options on top of a scenario: those of :class:`RunOptions` and :class:`LookOptions`, and methods."""

    set: Values | None = None
    over: Values | None = None
    runs: int | None = None
    precision: str | None = None
    seed: int | None = None
    methods: Sequence[str] | None = None
    jobs: int | None = None
    cache: bool | Cache = True
    progress: bool = False
    point: int | None = None
    at: Values | None = None
    run: int = 0

    def __post_init__(self) -> None:
        """Raise :class:`ScenarioError` for an option of the wrong type."""
        for name in ("set", "over", "at"):
            _check_values(name, getattr(self, name))
        check_number("run", self.run)
        if self.point is not None:
            check_number("point", self.point)
        if isinstance(self.methods, str):
            object.__setattr__(self, "methods", [self.methods])
        elif not isinstance(self.methods, Sequence | None):
            raise errors.ScenarioError(f"methods = {_said(self.methods)}: must be a list of methods")
        if not isinstance(self.cache, bool | Cache):
            raise errors.ScenarioError(f"cache = {_said(self.cache)}: must be True or False")
        if not isinstance(self.progress, bool):
            raise errors.ScenarioError(f"progress = {_said(self.progress)}: must be True or False")
        check_jobs(self.jobs)

    def above(self, under: Options) -> Options:
        """These options, completed by the options ``under`` them where these say nothing.

        A key that is set here is no axis any more, and an axis given here is no longer set.
        """
        newly, along = dict(self.set or {}), dict(self.over or {})
        # Later settings come last: a "channel" set here follows a "channel.p_e" from before.
        left = {key: value for key, value in (under.set or {}).items() if key not in {*newly, *along}}
        over = {key: value for key, value in (under.over or {}).items() if key not in newly} | along
        stop = self if self.runs is not None or self.precision is not None else under
        return replace(
            self,
            set=(left | newly) or None,
            over=over or None,
            runs=stop.runs,
            precision=stop.precision,
            seed=under.seed if self.seed is None else self.seed,
            point=under.point if self.point is None else self.point,
            at=under.at if self.at is None else self.at,
            methods=under.methods if self.methods is None else self.methods,
        )

    @classmethod
    def of(cls, kind: type[Any], given: Mapping[str, Any], **more: Any) -> Self:
        """Options from the keyword arguments of a function that takes those of ``kind``, such as
        :class:`RunOptions`.

        Raises :class:`TypeError` for an argument that the function does not take.
        """
        check_names(kind, given)
        return cls(**given, **more)

    def given(self) -> RunOptions:
        """Options as keyword arguments of a function that takes :class:`RunOptions`."""
        return cast(RunOptions, {name: getattr(self, name) for name in RunOptions.__optional_keys__})

    def classes(self) -> dict[str, str]:
        """Source texts of the congestion controls given as classes among the values, by their file names."""
        return classes([*(self.set or {}).items(), *(self.over or {}).items()])

    def overrides(self) -> dict[str, Any]:
        """The options that change the plan, as plain values, which JSON and results files can hold."""
        return {
            "set": list(plain(self.set or {}).items()),
            "over": list(plain(self.over or {}).items()),
            "runs": self.runs,
            "precision": self.precision,
            "seed": self.seed,
            "methods": None if self.methods is None else list(self.methods),
        }


def classes(values: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Source texts of the congestion controls given as classes among values, by their file names."""
    texts: dict[str, str] = {}
    for key, value in values:
        for control in _classes(value):
            text = controls.text_of(control)
            if texts.setdefault(_file_of(control), text) != text:
                raise errors.ScenarioError(f"{key}: two classes are called {control.__name__}")
    return texts


def check_names(kind: type[Any], given: Iterable[str]) -> None:
    """Raise :class:`TypeError` for a keyword argument that is not an option of ``kind``."""
    known = kind.__optional_keys__
    for name in given:
        if name not in known:
            among = ", ".join(sorted(known))
            raise TypeError(f"unexpected keyword argument {name!r} (options here: {among})")


def check_jobs(jobs: int | None) -> None:
    """Raise :class:`ScenarioError` for a number of threads out of range."""
    if jobs is not None and not is_whole(jobs):
        raise errors.ScenarioError(f"jobs = {_said(jobs)}: must be a number of threads (None: all cores)")
    if jobs is not None and not 1 <= jobs <= _crossfade.MOST_JOBS:
        raise errors.ScenarioError(f"jobs = {jobs}: must be at least 1 and at most {_crossfade.MOST_JOBS}")


def check_number(name: str, number: Any) -> None:
    """Raise :class:`ScenarioError` if ``number`` cannot be the number of a point or run."""
    if not is_whole(number) or not 0 <= number < 2**53:
        raise errors.ScenarioError(f"{name} = {_said(number)}: must be a whole number, 0 or more")


def is_whole(value: Any) -> bool:
    """True if a value is an integer of Python or numpy; booleans are not."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _said(value: Any) -> str:
    return shortened(repr(value))


def _check_values(name: str, values: Any) -> None:
    """Raise :class:`ScenarioError` if ``values`` is no mapping from keys to values."""
    if values is None:
        return
    if not isinstance(values, Mapping):
        raise errors.ScenarioError(f'{name} = {_said(values)}: must be a mapping, as {{"tcp.w_max": ...}}')
    for key in values:
        if not isinstance(key, str):
            raise errors.ScenarioError(f"{name}: {_said(key)} is no key (keys are texts, as tcp.w_max)")


def plain(values: Values) -> dict[str, Any]:
    """Values as JSON can hold them: numpy arrays and numbers become lists and numbers."""
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
    """The classes among values, at any depth of nesting."""
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
    """File name under which a class appears in a scenario."""
    return f"{control.__name__}.py"


AS_WRITTEN = Options()
