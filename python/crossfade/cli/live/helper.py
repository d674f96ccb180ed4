"""The process of a live run: ``python -m crossfade.cli.live.helper FD``; FD holds what is asked for as JSON.

It has one thread until its guests are there, because only such a process may enter a user namespace and fork.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.cli import terminal
from crossfade.cli.live import words
from crossfade.cli.live.command import OWN_FAILURE
from crossfade.cli.live.guests import END, GO, STOP, Guests
from crossfade.errors import CrossfadeError, one_line
from crossfade.files import write_text

# COMMAND was ended by --duration, as by timeout(1).
TIMED_OUT = 124
INTERRUPTED = 130
# What is between the hosts when COMMAND has ended still arrives, if that takes no longer.
LINGER_S = 2.0
QUIET_S = 0.1
LOOK_S = 0.02


class _Run:
    """One live run."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._stopped = False
        given = config["plan"]
        self._plan = plans.read(given["name"], given["text"], given["overrides"], given["files"].__getitem__)
        asked = {name: config[name] for name in ("bulk", "congestion", "mtu", "data_only", "captures")}
        watch = config["events"] is not None or config["record"] is not None or config["bulk"]
        asked |= {"journal": config["record"], "watch": watch, "run": 0, "source": given}
        self._live = _crossfade.Live(self._plan.core, json.dumps(asked))
        self._guests = None if config["bulk"] else Guests(self._live, config)

    def carry_out(self) -> int:
        """Start, wait, stop, tell. Gives the exit code."""
        for number in (signal.SIGTERM, signal.SIGHUP, *((signal.SIGINT,) if self._guests is None else ())):
            signal.signal(number, self._stop)
        self._start()
        code = self._wait()
        report, events = self._live.stop()
        if self._guests is not None:
            self._guests.order(END)
            self._guests.wait()
        return self._tell(json.loads(report), events, code)

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _start(self) -> None:
        """Threads inherit the priority of their process, which then gives it up."""
        if self._config["realtime"]:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            except OSError as reason:
                raise CrossfadeError(
                    f"--realtime: not allowed ({reason.strerror}); see crossfade doctor"
                ) from None
        self._live.start()
        if self._config["realtime"]:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if self._guests is not None:
            # Ctrl-C is COMMAND's: it decides whether to end.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGQUIT, signal.SIG_IGN)
            if self._config["is_shell"] and not self._config["quiet"]:
                near = self._live.addresses()[1]
                terminal.say(f"live: a shell on {near}; the far host is $CROSSFADE_SERVER; exit ends it")
            self._guests.order(GO)

    def _wait(self) -> int:
        return self._wait_for_transfers() if self._guests is None else self._wait_for_command(self._guests)

    def _wait_for_transfers(self) -> int:
        limit_s = self._config["duration_s"] or self._live.duration()
        while self._live.is_running() and not self._live.is_finished():
            if self._stopped:
                return INTERRUPTED
            if limit_s is not None and self._live.elapsed() >= limit_s:
                break
            time.sleep(LOOK_S)
        return 0

    def _wait_for_command(self, guests: Guests) -> int:
        limit_s, told = self._config["duration_s"], False
        while (code := guests.result(LOOK_S)) is None:
            if not self._live.is_running():
                return OWN_FAILURE
            is_over = limit_s is not None and self._live.elapsed() >= limit_s
            if (is_over or self._stopped) and not told:
                guests.order(STOP)
                told = True
            elif told and limit_s is not None and self._live.elapsed() >= limit_s + 5.0:
                break  # it does not listen to SIGTERM
        self._linger()
        return TIMED_OUT if told and not self._stopped else code or 0

    def _linger(self) -> None:
        """The far host shall see the end of what COMMAND has sent."""
        until = time.monotonic() + LINGER_S
        quiet_since = time.monotonic()
        while (now := time.monotonic()) < until and now < quiet_since + QUIET_S:
            if self._live.inside() > 0:
                quiet_since = now
            time.sleep(0.002)

    def _tell(self, report: dict[str, Any], events: str, code: int) -> int:
        for name, text in (("events", events), ("json", json.dumps(report, indent=2) + "\n")):
            if self._config[name] is not None:
                write_text(Path(self._config[name]), text)
        if not self._config["quiet"]:
            for line in words.lines(report):
                terminal.say(line)
        terminal.print_warnings(report["flags"], terminal.console(stderr=True))
        return 1 if code == 0 and self._config["strict"] and report["flags"] else code


def main() -> int:
    """Do what is asked for; gives the exit code."""
    with os.fdopen(int(sys.argv[1])) as file:
        config = json.load(file)
    try:
        if os.geteuid() != 0:
            _crossfade.gain_privileges()
        return _Run(config).carry_out()
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CrossfadeError, _crossfade.ScenarioError, OSError) as error:
        terminal.say(f"error: {one_line(str(error))}")
        return OWN_FAILURE


if __name__ == "__main__":
    exit_code = main()
    with suppress(OSError):
        sys.stderr.flush()
    # Nothing is left to clean up: the kernel removes hosts and processes.
    os._exit(exit_code)
