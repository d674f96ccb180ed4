"""Runs of method ``live`` for a user without root, made by a fresh process that can enter a user namespace.

``python -m crossfade.sweeps.apart`` is this process: it reads the plan from standard input, and writes rows
to standard output. A process with several threads, as the caller may be, cannot enter a user namespace.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.errors import CrossfadeError, ScenarioError, as_bug, outlive_peers
from crossfade.plans import Plan
from crossfade.results.rows import Row

COMMAND = [sys.executable, "-P", "-m", "crossfade.sweeps.apart"]


def is_needed(plan: Plan) -> bool:
    """True if a plan has live runs and this process has no root privileges, so that another process must make
    them.
    """
    return "live" in plan.description["methods"] and hasattr(os, "geteuid") and os.geteuid() != 0


def execute(
    plan: Plan,
    known: _crossfade.Known,
    jobs: int | None,
    shard: tuple[int, int],
    on_rows: Callable[[Sequence[Row]], object],
    on_progress: Callable[[float, int], object],
) -> bool:
    """Make the missing rows of a shard in a fresh process; parameters and result are those of
    :meth:`Engine.execute`.
    """
    outlive_peers()
    asked = (plan.name, plan.text, plan.overrides, plan.files, known.entries(), jobs, shard)
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(asked, process.stdin)
            process.stdin.close()
            while True:
                kind, content = pickle.load(process.stdout)
                if kind == "rows":
                    on_rows([Row(*row) for row in content])
                elif kind == "progress":
                    on_progress(*content)
                elif kind == "end":
                    return bool(content)
                else:
                    raise ScenarioError(content)
        except (EOFError, BrokenPipeError):
            raise ScenarioError("live: the process that made the runs was killed") from None
        except KeyboardInterrupt:
            return False
        finally:
            process.terminate()


def main() -> None:
    """Read a plan from standard input, make its missing rows, and write them to standard output."""
    _crossfade.keep_panics()
    name, text, overrides, files, known, jobs, shard = pickle.load(sys.stdin.buffer)
    out = sys.stdout.buffer

    def hand_over(kind: str, content: object) -> None:
        pickle.dump((kind, content), out)
        out.flush()

    def rows(batch: Iterable[tuple[Any, ...]]) -> None:
        hand_over("rows", [tuple(row) for row in batch])

    try:
        _crossfade.gain_privileges()
        _crossfade.die_with_parent()
        plan = plans.read(name, text, overrides, files.__getitem__)
        there = plan.core.known()
        there.put(known)
        complete = plan.core.execute(there, jobs, shard, rows, lambda *done: hand_over("progress", done))
        hand_over("end", complete)
    except (CrossfadeError, _crossfade.ScenarioError) as error:
        hand_over("error", str(error))
    except _crossfade.PanicException as panic:
        hand_over("error", as_bug(_crossfade.panic_said() or str(panic)))


if __name__ == "__main__":
    main()
