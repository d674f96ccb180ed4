"""Writer of TOML, which Python's standard library only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from crossfade.errors import ScenarioError, shortened

_BARE = re.compile("[A-Za-z0-9_-]+")


def document(values: Mapping[str, Any]) -> str:
    """TOML text of a mapping, keys in their order; a dotted key addresses a key of a table.

    ``values`` are plain values as in JSON. Raises :class:`ScenarioError` for None, which TOML lacks, and for
    a key that occurs twice.
    """
    root = _nested(values)
    plain = {key: value for key, value in root.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {_value(key, value)}" for key, value in plain.items()]
    for name, table in root.items():
        if isinstance(table, dict):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(key)} = {_value(f'{name}.{key}', value)}" for key, value in table.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Mapping with dotted keys as nested tables; below the first level, keys keep their dots (axes of a
    sweep).
    """
    root: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise ScenarioError(f"scenario: {shortened(repr(key))} is no key (keys are texts, as tcp.w_max)")
        *path, last = key.split(".")
        table = root
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ScenarioError(f"{shortened(key)}: {shortened(name)} is a value here, and no table")
        if isinstance(value, Mapping) and isinstance(table.get(last), dict):
            table, value = table[last], dict(value)
            for name in value.keys() & table.keys():
                raise ScenarioError(f"{shortened(f'{key}.{name}')}: stands twice in the mapping")
            table.update(value)
            continue
        if last in table:
            raise ScenarioError(f"{shortened(key)}: stands twice in the mapping")
        table[last] = dict(value) if isinstance(value, Mapping) else value
    return root


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # JSON escapes are valid in TOML, which also requires one for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name)} = {_value(f'{key}.{name}', item)}" for name, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_value(key, item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    raise ScenarioError(f"{shortened(key)} = {value!r}: must have a value (a key without one is left out)")


def inline(value: Any) -> str:
    """TOML text of a value, as it follows a key; tables are inline tables."""
    return _value("value", value)
