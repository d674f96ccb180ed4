"""Congestion controls in files that a scenario names: ``tcp.congestion = "mine.py"``, ``"mine.py:Class"``,
``"mine.rs"``.

A Python file is checked when the scenario is read, and executed for each connection anew, so that
connections, runs and threads share nothing, and a run gives the same result in any process.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import inspect
import itertools
import sys
import textwrap
import threading
import types
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

from crossfade.errors import ScenarioError, shortened
from crossfade.files.compiled import CompiledControl

# Methods that a connection calls; teaching.CongestionControl defines all of them.
METHODS = ("start", "on_ack", "on_loss", "on_timeout", "on_ecn", "set_cwnd", "undo", "on_idle_end")
BASE = "derive it from crossfade.teaching.CongestionControl"
# Methods that a connection calls of a class with on_acks, which gets acknowledgements in batches.
BATCHED_METHODS = ("start", "on_acks")

# Names of all files with congestion controls, by which interrupt() finds their frames.
_files: set[str] = set()

# Numbers for unique module names: dataclasses look up their module by name while it is executed.
_numbers = itertools.count()


def control(name: str, class_name: str | None, text: str) -> PythonControl | CompiledControl:
    """The congestion control in a file with this name and text: a class in Python, or a control in Rust.

    Raises :class:`ScenarioError` if the text holds no control.
    """
    return CompiledControl(name, text) if name.endswith(".rs") else PythonControl(name, class_name, text)


class PythonControl:
    """A class of a Python file, of which each connection gets its own object.

    Raises :class:`ScenarioError` if the text is not Python, or has no such class.
    """

    def __init__(self, name: str, class_name: str | None, text: str) -> None:
        self._name = name
        _files.add(name)
        text = text.removeprefix("\ufeff")  # as Python itself drops a byte order mark
        try:
            tree = ast.parse(text, name)
            self._code = compile(tree, name, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise ScenarioError(f"{name}:{error.lineno}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:  # a NUL byte, or too deep nesting
            raise ScenarioError(f"{name}: no Python ({error})") from None
        classes = {node.name: node.lineno for node in tree.body if isinstance(node, ast.ClassDef)}
        self._class = class_name or self._only(list(classes))
        if self._class not in classes:
            near = get_close_matches(self._class, classes, n=1)
            there = f"did you mean {near[0]}?" if near else f"there are: {', '.join(classes) or 'none'}"
            raise ScenarioError(f"{name} has no class {self._class}; {there}")
        self._line = classes[self._class]

    def _only(self, classes: list[str]) -> str:
        public = [name for name in classes if not name.startswith("_")]
        if len(public) != 1:
            there = (
                f"the classes {', '.join(public)}: name one, {self._name}:{public[0]}"
                if public
                else "no class"
            )
            raise ScenarioError(f"{self._name} has {there}")
        return public[0]

    def __call__(self) -> object:
        """A congestion control for a new connection, from its own execution of the file."""
        module = types.ModuleType(f"{PurePath(self._name).stem}_{next(_numbers)}")
        module.__dict__.update(__file__=self._name, __builtins__=builtins)
        sys.modules[module.__name__] = module
        try:
            exec(self._code, module.__dict__)
        finally:
            del sys.modules[module.__name__]
        control = getattr(module, self._class)()
        methods = BATCHED_METHODS if hasattr(control, "on_acks") else METHODS
        if lacking := [name for name in methods if not callable(getattr(control, name, None))]:
            raise ScenarioError(f"class {self._class} has no {', '.join(lacking)}; {BASE}")
        return control

    def problem(
        self,
        error: BaseException,
        traceback: types.TracebackType | None,
        control: object = None,
        method: str = "",
    ) -> str:
        """One-line message for an exception: its place in the file, its type and its text."""
        place = f"{self._name}:{self._line}"
        said = _said_by(error)
        if not isinstance(error, _errors()):
            said = f"{type(error).__name__}: {said}" if said else type(error).__name__
        frames = [frame for frame in _frames(traceback) if frame.tb_frame.f_code.co_filename == self._name]
        if frames:
            function = frames[-1].tb_frame.f_code.co_name
            within = "" if function == "<module>" else f", in {function}"
            place = f"{self._name}:{frames[-1].tb_lineno}{within}"
        elif method:
            code = getattr(getattr(type(control), method, None), "__code__", None)
            if code is not None and code.co_filename == self._name:
                place = f"{self._name}:{code.co_firstlineno}, in {method}"
        return f"{place}: {shortened(' '.join(said.split()))}"


def _said_by(error: BaseException) -> str:
    """Message of an exception; empty if formatting it fails."""
    try:
        return str(error)
    except Exception:
        return ""


def interrupt() -> None:
    """Raise KeyboardInterrupt in every other thread that runs a congestion control, which may not end by
    itself.
    """
    for thread, innermost in sys._current_frames().items():
        frame: types.FrameType | None = innermost
        while frame is not None and frame.f_code.co_filename not in _files:
            frame = frame.f_back
        if frame is not None and thread != threading.get_ident():
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


def _errors() -> tuple[type[Exception], ...]:
    import crossfade._crossfade as _crossfade

    return ScenarioError, _crossfade.ScenarioError


def _frames(step: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


def text_of(control: type) -> str:
    """Text of a Python file with a class and everything that it uses of its module.

    Raises :class:`ScenarioError` if the source cannot be determined; the user then has to write a file.
    """
    parts: dict[str, str] = {}
    _collect(control, parts, {control.__name__}, control.__name__)
    return "\n\n".join(parts.values()) + "\n"


def _collect(what: Any, parts: dict[str, str], seen: set[str], whose: str) -> None:
    """Add the source of a class or function to ``parts``, after everything that it uses."""
    into_a_file = f"; write {whose} into a file, and name that"
    try:
        source = textwrap.dedent(inspect.getsource(what))
    except (OSError, TypeError):
        raise ScenarioError(
            f"tcp.congestion = {what.__name__}: its source is not known{into_a_file}"
        ) from None
    scope = vars(sys.modules[what.__module__])
    functions = [what, *vars(what).values()] if isinstance(what, type) else [what]
    for function in functions:
        code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
        outer = [name for name in code.co_freevars if name != "__class__"] if code else []
        if outer:
            raise ScenarioError(
                f"tcp.congestion = {whose}: uses the variable {outer[0]} around it{into_a_file}"
            )
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for name in sorted(names & scope.keys() - seen):
        seen.add(name)
        value = scope[name]
        if isinstance(value, types.ModuleType):
            parts[name] = f"import {value.__name__} as {name}"
        elif isinstance(value, bool | int | float | str | None):
            parts[name] = f"{name} = {value!r}"
        elif isinstance(value, type | types.FunctionType) and value.__module__ == what.__module__:
            _collect(value, parts, seen, whose)
        elif getattr(value, "__module__", None) and getattr(value, "__qualname__", "") == getattr(
            value, "__name__", None
        ):
            parts[name] = f"from {value.__module__} import {value.__name__} as {name}"
        else:
            raise ScenarioError(
                f"tcp.congestion = {whose}: uses {name}, a {type(value).__name__}{into_a_file}"
            )
    parts[what.__name__] = source.rstrip()
