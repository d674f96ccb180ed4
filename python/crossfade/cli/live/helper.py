"""Process of a live run, the helper: that of ``crossfade live`` itself, or a new one in its place.

The new one is ``python -m crossfade.cli.live.helper FD``; FD holds its configuration as JSON. The helper has
one thread until its guests have started, since only such a process may enter a user namespace and fork.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.cli import messages
from crossfade.cli.live import words
from crossfade.cli.live.config import OWN_FAILURE, Config
from crossfade.cli.live.guests import END, GO, STOP, Guests, sudo_user
from crossfade.cli.live.internet import WARNING, WayOut
from crossfade.cli.live.watching import PERIOD_S, Seen, Viewer
from crossfade.errors import CrossfadeError, as_bug, one_line, outlive_peers
from crossfade.files import whole_file, write_text
from crossfade.files.version import version

# Exit code if --duration ended COMMAND, as of timeout(1).
TIMED_OUT = 124
INTERRUPTED = 130
# Time in s from SIGTERM to SIGKILL for COMMAND and its other processes.
GRACE_S = 5.0
KILLED = 128 + signal.SIGKILL
# Longest wait in s, after the end of COMMAND, for packets between the hosts to arrive.
LINGER_S = 2.0
QUIET_S = 0.1
LOOK_S = 0.02
USUAL_MTU = 1500
# Snapshot length in bytes above the size of any frame, so that captures keep frames whole.
WHOLE_FRAMES = 1 << 18


class _Run:
    """One live run, from its hosts to its report."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stopped = self._is_to_pause = False
        given = config.plan
        self._plan = plans.read(given["name"], given["text"], given["overrides"], given["files"].__getitem__)
        is_shown = config.watch or config.page is not None
        watch = is_shown or config.bulk or config.events is not None or config.record is not None
        # Link events, opportunities and air captures need the journal, an unnamed file without --record.
        read = (config.link_events, config.opportunities, config.air_pcap)
        is_read = any(file is not None for file in read)
        # Packets that entered the link, as contents of the captured air frames.
        self._packets = None if config.air_pcap is None else _nameless()
        self._snaplen = WHOLE_FRAMES if config.snaplen is None else config.snaplen
        self._journal = _nameless() if is_read and config.record is None else None
        journal = _path(self._journal) if self._journal else config.record
        asked = config.hosts() | {
            "journal": journal,
            "packets": None if self._packets is None else (_path(self._packets), self._snaplen),
            "watch": watch,
            "run": config.run,
            "source": given,
            "version": version(),
        }
        self._live = _crossfade.Live(self._plan.core, json.dumps(asked))
        # While plots use the terminal, output of programs to it goes to a file, and is printed at the end.
        self._printed = _nameless() if config.watch else None
        waits = None if self._printed is None else self._printed.fileno()
        self._way_out = WayOut(self._live, config.mtu or USUAL_MTU) if config.internet else None
        self._guests = None if config.bulk else Guests(self._live, config, waits)
        self._seen, self._looked_s = Seen(), 0.0
        self._viewers: list[Viewer] = []

    def carry_out(self) -> int:
        """Start the run, wait for its end, stop it and report; returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGHUP, *((signal.SIGINT,) if self._guests is None else ())):
            signal.signal(number, self._stop)
        # SIGINT stays blocked until here: during imports, Python drops a ``KeyboardInterrupt`` in a callback.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        self._start()
        try:
            code = self._wait()
        finally:
            self._close_viewers()
        report, events = self._live.stop()
        if self._guests is not None:
            self._guests.order(END)
            self._guests.wait()
        if self._way_out is not None:
            self._way_out.close()
        return self._tell(json.loads(report), events, code)

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _pause(self, *_: object) -> None:
        self._is_to_pause = True

    def _start(self) -> None:
        """Start the emulation, whose threads inherit real-time priority; the process itself then drops it."""
        if self._config.realtime:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            except OSError as reason:
                raise CrossfadeError(
                    f"--realtime: not allowed ({reason.strerror}); see crossfade doctor"
                ) from None
        self._live.start()
        if self._config.realtime:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if self._way_out is not None:
            messages.say(WARNING)
        # The port is opened before COMMAND starts, so that a used port is an error before any work.
        if self._config.page is not None:
            # Imported here, since other runs need no web server.
            from crossfade.cli.live.page import Page, link_rates

            self._viewers.append(Page(self._config.page, link_rates(self._plan.description)))
        if self._config.watch:
            # Imported here, since other runs draw nothing.
            from crossfade.cli.live.screen import Screen

            self._viewers.append(Screen())
            signal.signal(signal.SIGTSTP, self._pause)
        if self._guests is not None:
            # From here on, COMMAND receives Ctrl-C and decides if it ends; the helper ignores it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGQUIT, signal.SIG_IGN)
            if self._config.is_shell and not self._config.quiet:
                near = self._live.addresses()[1]
                messages.say(f"live: a shell on {near}; the far host is $CROSSFADE_SERVER; exit ends it")
            self._guests.order(GO)

    def _look(self) -> None:
        """Pass new samples to the viewers, and handle Ctrl-Z."""
        if self._is_to_pause:
            self._is_to_pause = False
            self._lend_terminal()
        if self._viewers and (now := time.monotonic()) >= self._looked_s + PERIOD_S:
            self._looked_s = now
            if self._seen.look(self._live):
                for viewer in self._viewers:
                    viewer.show(self._seen)

    def _lend_terminal(self) -> None:
        """Stop as Ctrl-Z demands, and take the screen again when the process continues."""
        from crossfade.cli.live.screen import Screen

        (screen,) = (viewer for viewer in self._viewers if isinstance(viewer, Screen))
        screen.close()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._pause)
        screen.resume()

    def _close_viewers(self) -> None:
        if self._config.watch:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        for viewer in self._viewers:
            viewer.close()
        if self._printed is not None:
            self._printed.seek(0)
            while block := self._printed.read(1 << 16):
                os.write(2, block)

    def _wait(self) -> int:
        return self._wait_for_transfers() if self._guests is None else self._wait_for_command(self._guests)

    def _wait_for_transfers(self) -> int:
        limit_s = self._config.duration_s or self._live.duration()
        while self._live.is_running() and not self._live.is_finished():
            if self._stopped:
                return INTERRUPTED
            if limit_s is not None and self._live.elapsed() >= limit_s:
                break
            self._look()
            time.sleep(LOOK_S)
        return 0

    def _wait_for_command(self, guests: Guests) -> int:
        limit_s, told_s = self._config.duration_s, None
        while (code := guests.result(LOOK_S)) is None:
            self._look()
            if not self._live.is_running():
                return OWN_FAILURE
            now_s = self._live.elapsed()
            if told_s is None:
                if self._stopped or (limit_s is not None and now_s >= limit_s):
                    guests.order(STOP)
                    told_s = now_s
            elif now_s >= told_s + GRACE_S:
                break  # COMMAND ignores SIGTERM
        self._linger()
        if told_s is not None and not self._stopped:
            return TIMED_OUT
        return KILLED if code is None else code

    def _linger(self) -> None:
        """Wait until packets that COMMAND has sent have reached the far host."""
        until = time.monotonic() + LINGER_S
        quiet_since = time.monotonic()
        while (now := time.monotonic()) < until and now < quiet_since + QUIET_S:
            if self._live.inside() > 0:
                quiet_since = now
            time.sleep(0.002)

    def _tell(self, report: dict[str, Any], events: str, code: int) -> int:
        for name, text in (
            (self._config.events, events),
            (self._config.json, json.dumps(report, indent=2) + "\n"),
        ):
            if name is not None:
                write_text(Path(name), text)
        if (file := self._config.link_events) is not None:
            write_text(Path(file), _crossfade.journal_link_events(self._recorded()))
        if self._packets is not None and (file := self._config.air_pcap) is not None:
            with whole_file(Path(file)) as made, open(made, "wb") as air:
                packets = _path(self._packets)
                _crossfade.journal_air_pcap(self._recorded(), packets, self._snaplen, air.write)
        if (files := self._config.opportunities) is not None:
            for name, text in zip(files, _crossfade.journal_opportunities(self._recorded()), strict=True):
                write_text(Path(name), text)
        if not self._config.quiet:
            for line in words.lines(report):
                messages.say(line)
        if report["flags"]:
            from crossfade.cli import terminal

            terminal.print_warnings(report["flags"])
        return 1 if code == 0 and self._config.strict and report["flags"] else code

    def _recorded(self) -> bytes:
        if self._journal is None:
            assert self._config.record is not None
            return Path(self._config.record).read_bytes()
        self._journal.seek(0)
        return self._journal.read()


def _nameless() -> BinaryIO:
    """Temporary file without a name, which disappears when it is closed."""
    return cast(BinaryIO, tempfile.TemporaryFile())


def _path(file: BinaryIO) -> str:
    """Path under which this process can open a file that has no name."""
    return f"/proc/self/fd/{file.fileno()}"


def _drop_empty(journal: str | None) -> None:
    """Remove a journal in which nothing was recorded, so that its name is free for the corrected command."""
    if journal is not None:
        with suppress(OSError):
            found = os.lstat(journal)
            if stat.S_ISREG(found.st_mode) and found.st_size == 0:
                os.unlink(journal)


def main() -> int:
    """Carry out the run whose configuration the command line names; returns the exit code."""
    with os.fdopen(int(sys.argv[1])) as file:
        config = Config.read(file.read())
    _crossfade.keep_panics()
    return _carried_out(config)


def _carried_out(config: Config) -> int:
    try:
        sudo_user()
        if os.geteuid() != 0:
            _crossfade.gain_privileges()
        return _Run(config).carry_out()
    except KeyboardInterrupt:
        _drop_empty(config.record)
        return INTERRUPTED
    except (CrossfadeError, _crossfade.ScenarioError, OSError) as error:
        messages.say(f"error: {one_line(str(error))}")
        _drop_empty(config.record)
        return OWN_FAILURE
    except _crossfade.PanicException as panic:
        messages.say(f"error: {as_bug(_crossfade.panic_said() or str(panic))}")
        return OWN_FAILURE


def end_with(config: Config) -> NoReturn:
    """Carry out a run in the process of ``crossfade live``, and end the process with its exit code."""
    # As in a new process of Python: a far host or a terminal that is gone is an error, not the end.
    outlive_peers()
    _exit(_carried_out(config))


def _exit(code: int) -> NoReturn:
    """End the process without clean-up: the kernel removes hosts and processes."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit(main())
