"""Journals of live runs: replay, events, delivery opportunities."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crossfade._crossfade as _crossfade
from crossfade import errors
from crossfade.api.views import opportunities_frame
from crossfade.figures.choice import number
from crossfade.files import read_bytes
from crossfade.plans import translated_errors
from crossfade.tables import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Replayed:
    """Replay of one link of a journal, with the first difference from the recording.

    Attributes
    ----------
    link : str
        Name of the link.
    packets : int
        Number of packets that entered the link.
    arrived, lost, dropped : int
        Numbers of packets by fate: delivered, lost on the channel, dropped by the queue.
    difference : str or None
        First packet whose fate or time differs from the recorded one; None where all are identical.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.live.Replayed("forward", 10, 9, 1, 0, None).lost
    1
    """

    link: str
    packets: int
    arrived: int
    lost: int
    dropped: int
    difference: str | None


def replay(journal: str | PathLike[str]) -> list[Replayed]:
    """Replay a journal: simulate its links with the recorded packet arrivals.

    Parameters
    ----------
    journal : path
        File that ``crossfade live --record`` wrote.

    Returns
    -------
    list of Replayed
        One entry for each link. ``difference`` is None if every packet has its recorded fate at its recorded
        nanosecond.

    Raises
    ------
    ScenarioError
        If the journal cannot be read or is damaged (every byte is checked), or the system is not Linux.

    Examples
    --------
    >>> import crossfade as cf
    >>> for link in cf.live.replay("run.cfj"):  # doctest: +SKIP
    ...     print(link.link, link.difference)
    """
    found = json.loads(of_journal(journal, "replay"))
    for warning in found["warnings"]:
        warnings.warn(warning, errors.CrossfadeWarning, stacklevel=2)
    return [Replayed(**lane) for lane in found["lanes"]]


def journal_events(journal: str | PathLike[str]) -> pd.DataFrame:
    """Events of the kernel's TCP senders in a recorded live run: columns of :func:`crossfade.events` and
    more.

    Parameters
    ----------
    journal : path
        File that ``crossfade live --record`` wrote.

    Returns
    -------
    pandas.DataFrame
        One row per event, times in seconds. If the run had the scenario's own transfers, events of a
        simulation of the same scenario, seed and run follow, up to the last recorded time; the column
        ``method`` is then ``live`` or ``simulation``.

    Raises
    ------
    ScenarioError
        If the journal cannot be read or is damaged, or the system is not Linux.

    Examples
    --------
    >>> import crossfade as cf
    >>> figure = cf.pictures.plot_events(cf.live.events("run.cfj"))  # doctest: +SKIP
    """
    return journal_table(journal).to_pandas()


def journal_table(journal: str | PathLike[str]) -> Table:
    """Events of the kernel's TCP senders in a journal, as :func:`journal_events` returns them, as a table."""
    table = Table.from_csv(of_journal(journal, "journal_events"), str(journal))
    simulated = of_journal(journal, "journal_simulated")
    if simulated is None or not table.rows:
        return table
    beside = Table.from_csv(simulated, str(journal))
    last = max(map(number, table.cells("time_s")))
    records = [{"method": "live", **record} for record in table.records()]
    records += [
        {"method": "simulation", **record} for record in beside.records() if number(record["time_s"]) <= last
    ]
    return Table.of(["method", *table.columns], records)


def journal_link_events(journal: str | PathLike[str]) -> pd.DataFrame:
    """Events inside the links of a recorded live run, in the columns of :func:`crossfade.runs.link_events`.

    Parameters
    ----------
    journal : path
        File that ``crossfade live --record`` wrote.

    Returns
    -------
    pandas.DataFrame
        One row per event, times in seconds. Events are those of the replay, which repeats the recorded run to
        the nanosecond.

    Raises
    ------
    ScenarioError
        If the journal cannot be read or is damaged, or the system is not Linux.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.live.link_events("run.cfj")["event"].value_counts()  # doctest: +SKIP
    """
    return Table.from_csv(journal_link_text(journal), str(journal)).to_pandas()


def journal_link_text(journal: str | PathLike[str]) -> str:
    """Link events of a journal, as :func:`journal_link_events` returns them, as CSV text."""
    return str(of_journal(journal, "journal_link_events"))


def journal_opportunities(journal: str | PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Delivery opportunities of both directions of a recorded live run: from the far host, and to it.

    For a link whose queue was never empty they are a trace of its capacity, which ``link.trace`` reads.

    Parameters
    ----------
    journal : path
        File that ``crossfade live --record`` wrote.

    Returns
    -------
    tuple of two pandas.DataFrame
        From the far host, and to it. Column ``time_ms``: whole milliseconds since the start of the run, one
        row for each 1500 bytes that left the link.

    Raises
    ------
    ScenarioError
        If the journal cannot be read or is damaged, or the system is not Linux.

    Examples
    --------
    >>> import crossfade as cf
    >>> down, up = cf.live.opportunities("run.cfj")  # doctest: +SKIP
    """
    down, up = of_journal(journal, "journal_opportunities")
    return opportunities_frame(down), opportunities_frame(up)


def of_journal(journal: str | PathLike[str], function: str) -> Any:
    """Result of a function of the Rust core, by name, for the bytes of a journal of a live run."""
    if not hasattr(_crossfade, function):
        raise errors.ScenarioError(f"{journal}: journals are read on Linux, by builds with live emulation")
    data = read_bytes(Path(journal), errors.ScenarioError)
    try:
        with translated_errors():
            return getattr(_crossfade, function)(data)
    except errors.ScenarioError as error:
        raise errors.ScenarioError(f"{errors.shortened(journal)}: {error}") from None
