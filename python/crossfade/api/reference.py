"""Reference functions: meaning of keys and metrics, values as written, a closed form, golden data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.files import read_text
from crossfade.plans import translated_errors
from crossfade.results.metrics import metric_of, near_metrics


def schema() -> str:
    """The JSON Schema of a scenario, for editors.

    Returns
    -------
    str
        JSON text (draft 2020-12).

    Examples
    --------
    >>> import json
    >>> import crossfade as cf
    >>> "tcp" in json.loads(cf.reference.schema())["properties"]
    True
    """
    return json.dumps(json.loads(_crossfade.schema()), indent=2)


def explain(key: str) -> str:
    """Explain a key of a scenario (type, unit, default, allowed values) or a metric.

    Parameters
    ----------
    key : str
        A dotted key (``"tcp.w_max"``), the last part of one (``"fd_t"``), or the name of a metric.

    Returns
    -------
    str
        Some lines of text.

    Raises
    ------
    ScenarioError
        If there is no such key and no such metric; the message names the nearest.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.explain("goodput_bps").splitlines()[0]
    'goodput_bps: a metric, in bit/s; higher is better'
    """
    if not isinstance(key, str):
        raise errors.ScenarioError(f"key = {errors.shortened(repr(key))}: must be a text, as tcp.w_max")
    try:
        with translated_errors():
            return _crossfade.explain(key)
    except errors.ScenarioError:
        if (metric := metric_of(key)) is not None:
            return f"{metric}\n"
        if "." not in key and (found := _keys_that_end(key)):
            return found
        if "." not in key and (meant := near_metrics(key)):
            raise errors.ScenarioError(f"{errors.shortened(key)}: no key and no metric; {meant}") from None
        raise


def _keys_that_end(name: str) -> str:
    """Explanation of the key with the fewest parts that ends with ``name``; empty if no key ends with it.

    If several keys have as few parts, :class:`ScenarioError` names them.
    """
    found = sorted(
        (key for key in _dotted(json.loads(_crossfade.schema())) if key.rpartition(".")[2] == name),
        key=lambda key: key.count("."),
    )
    if not found:
        return ""
    nearest = [key for key in found if key.count(".") == found[0].count(".")]
    if len(nearest) > 1:
        raise errors.ScenarioError(f"{name}: several keys end in this name: {', '.join(found)}")
    also = f"\nAlso: {', '.join(found[1:])}\n" if found[1:] else ""
    return _crossfade.explain(found[0]) + also


def _dotted(schema: dict[str, Any], table: str = "") -> Iterator[str]:
    """The dotted keys of a JSON schema, those of tables included."""
    tables = [schema, *schema.get("anyOf", [])]
    properties: dict[str, Any] = next((one["properties"] for one in tables if "properties" in one), {})
    for name, inner in properties.items():
        key = f"{table}.{name}" if table else name
        yield key
        yield from _dotted(inner, key)


def parse_value(text: str) -> Any:
    """Parse a value of the command line: a TOML number, list or inline table, else the text itself.

    Parameters
    ----------
    text : str
        Text after the ``=`` of ``--set KEY=VALUE``.

    Returns
    -------
    int, float, bool, str, list or dict
        The value.

    Raises
    ------
    ScenarioError
        If ``text`` is not a string.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.reference.parse_value("[1, 2]"), cf.reference.parse_value("1.5 Mbit/s")
    ([1, 2], '1.5 Mbit/s')
    """
    with translated_errors():
        return json.loads(_crossfade.parse_value(text))


def markov_from_rayleigh(
    fd_t: float, *, p_e: float | None = None, fading_margin_db: float | None = None
) -> dict[str, float]:
    """The two-state Markov channel of a Rayleigh fading link with a threshold (Zorzi, Rao and Milstein 1995).

    Parameters
    ----------
    fd_t : float
        Doppler frequency times the slot duration.
    p_e : float, optional
        Mean packet error probability; exactly one of this and ``fading_margin_db`` is given.
    fading_margin_db : float, optional
        Mean received power over the threshold, in dB.

    Returns
    -------
    dict of str to float
        ``fd_t``, ``p_e``, ``fading_margin_db``, the probabilities to stay in the good and in the bad state,
        ``p_gg`` and ``p_bb``, the mean length of an error burst in slots, ``mean_burst``, and the fading's
        correlation over one slot, ``rho``.

    Raises
    ------
    ScenarioError
        If a number is out of range, or not exactly one of ``p_e`` and ``fading_margin_db`` is given.

    Examples
    --------
    >>> import crossfade as cf
    >>> channel = cf.fit.markov_from_rayleigh(0.01, p_e=0.01)
    >>> round(channel["mean_burst"], 3), round(channel["p_gg"], 5)
    (4.07, 0.99752)
    """
    with translated_errors():
        found = _crossfade.markov_from_rayleigh(fd_t, p_e=p_e, fading_margin_db=fading_margin_db)
    return cast(dict[str, float], found)


@dataclass(frozen=True)
class GoldenCase:
    """One golden case of another program, repeated and compared with its stored output.

    Attributes
    ----------
    case : str
        Name of the case.
    rows : int
        Number of rows that were compared.
    difference : str or None
        First difference from the stored output; None if there is none.
    found : str or None
        For a case of one number: the number found, the stored one and the tolerance. Otherwise None.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.reference.GoldenCase("single_1 reno", rows=120, difference=None).difference is None
    True
    """

    case: str
    rows: int
    difference: str | None
    found: str | None = None


#: Files of which each tells the kind of golden data in its folder.
_LAYOUTS = ("equal.csv", "wider.csv", "vectors.json", "durations.csv", "transport-blocks.csv")


def verify(folder: str | PathLike[str]) -> list[GoldenCase]:
    """Repeat reference cases of another program, stored in a folder, and compare the results.

    Parameters
    ----------
    folder : path
        Folder with TCP traces (``patterns.json`` and ``sends_SET_VARIANT.csv`` or ``.csv.gz``; every row has
        to be identical), throughputs of chains of 802.11 stations (``equal.csv`` and ``wider.csv``: within 4
        and 5 %, 0.5 % where the window is one packet; about a minute), antenna weights (``vectors.json``;
        1e-9), durations of 802.11 PPDUs (``durations.csv``; identical) or NR's transport block sizes
        (``transport-blocks.csv``; equal).

    Returns
    -------
    list of GoldenCase
        One entry per case, in the order of the files.

    Raises
    ------
    GoldenError
        If the folder cannot be read, or holds none of these kinds of data.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.reference.verify("no-folder")
    Traceback (most recent call last):
    crossfade.errors.GoldenError: no-folder: no such folder
    """
    path = Path(folder)
    if not os.path.isdir(path):
        raise errors.GoldenError(f"{errors.shortened(path)}: no such folder")
    names = [path / name for name in _LAYOUTS if (path / name).exists()]
    patterns = None
    if not names:
        patterns = read_text(path / "patterns.json", errors.GoldenError)
        names = sorted([*path.glob("sends_*.csv"), *path.glob("sends_*.csv.gz")])
    files = [(name.name.removesuffix(".gz"), read_text(name, errors.GoldenError)) for name in names]
    with translated_errors():
        cases = json.loads(_crossfade.verify(files, patterns))
    return [
        GoldenCase(_case_name(case["case"]), case["rows"], case["difference"], case["found"])
        for case in cases
    ]


def _case_name(name: str) -> str:
    return name.replace(".csv/", " ").replace(".json/", " ")
