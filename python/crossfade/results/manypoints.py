"""Points and rows that are made on access, for results that would not fit into memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from crossfade.errors import ResultsError
from crossfade.results.points import Point
from crossfade.results.rows import Row

# Greatest numbers of points, and of rows, of a chunk whose points are made together.
POINTS_AT_ONCE = 64
ROWS_AT_ONCE = 4096

ReadRows = Callable[[list[str]], dict[str, Row]]
"""Function that gives the rows of these keys, by key."""

Make = Callable[[Sequence[int]], list[Point]]
"""Function that makes the points of a plan with these numbers, by each method."""


def chunks(counts: Sequence[int], *, all: bool) -> list[list[int]]:
    """Chunks of a plan's point numbers that are made together; points without a row only if ``all`` is true.

    ``counts`` has the number of rows of each point.
    """
    found: list[list[int]] = []
    rows = 0
    for number, count in enumerate(counts):
        if not (count or all):
            continue
        if not found or len(found[-1]) == POINTS_AT_ONCE or rows + count > ROWS_AT_ONCE:
            found.append([])
            rows = 0
        found[-1].append(number)
        rows += count
    return found


class ManyPoints(Sequence[Point]):
    """Points in the order of their plan, made in chunks, of which only the last is kept.

    ``methods`` is the number of results of a point; None if some may be left out, in which case they are made
    to be counted.
    """

    def __init__(self, chunks: Sequence[Sequence[int]], make: Make, methods: int | None) -> None:
        self._chunks = chunks
        self._make = make
        self._methods = methods
        self._last: tuple[int, list[Point]] = (-1, [])

    def __iter__(self) -> Iterator[Point]:
        for number in range(len(self._chunks)):
            yield from self._of_chunk(number)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        number = bisect_right(self._ends, at)
        return self._of_chunk(number)[at - (self._ends[number - 1] if number else 0)]

    @cached_property
    def _ends(self) -> list[int]:
        """Number of points up to the end of each chunk."""
        if self._methods is not None:
            return list(accumulate(self._methods * len(chunk) for chunk in self._chunks))
        return list(accumulate(len(self._of_chunk(number)) for number in range(len(self._chunks))))

    def _of_chunk(self, number: int) -> list[Point]:
        if self._last[0] != number:
            self._last = (number, self._make(self._chunks[number]))
        return self._last[1]


class RowsOnDemand(Sequence[Row]):
    """Rows of these keys, read in portions at each iteration."""

    def __init__(self, read: ReadRows, keys: Sequence[str]) -> None:
        self._read = read
        self._keys = keys

    def parts(self) -> Iterator[list[Row]]:
        """All rows in portions, in order."""
        for start in range(0, len(self._keys), ROWS_AT_ONCE):
            keys = list(self._keys[start : start + ROWS_AT_ONCE])
            rows = self._read(keys)
            if missing := sum(key not in rows for key in keys):
                raise ResultsError(f"{missing} rows are not there any more")
            yield [rows[key] for key in keys]

    def __iter__(self) -> Iterator[Row]:
        for part in self.parts():
            yield from part

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        keys = self._keys[index]
        if isinstance(keys, str):
            return next(iter(RowsOnDemand(self._read, [keys])))
        return RowsOnDemand(self._read, keys)
