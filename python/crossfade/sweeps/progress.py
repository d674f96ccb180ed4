"""A progress bar for anything that takes more than two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Duration of work in seconds below which no bar appears.
PATIENCE_S = 2.0


class ProgressBar:
    """Progress bar on standard error, only on a terminal and after :data:`PATIENCE_S` seconds."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: int) -> None:
        """Show that ``done`` of ``total`` runs are finished, with fractions for runs under way; ``total`` may
        change.
        """
        if not self._enabled or (self._bar is None and time.monotonic() - self._started < PATIENCE_S):
            return
        if self._bar is None:
            # Imported here, since most work takes less.
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            # Runs finished before the bar appears must not count as speed.
            self._task = self._bar.add_task("runs", total=total, completed=int(done))
        self._bar.update(self._task, completed=done, total=total)
