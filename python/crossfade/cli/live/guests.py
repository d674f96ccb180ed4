"""Processes of a live run: a first one in a process namespace of its own, and those that it starts.

When the first process ends, the kernel kills all others, and when the helper ends, the first process is
killed. No process is therefore left, whichever of them is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import crossfade._crossfade as _crossfade
from crossfade.cli.live.internet import NAME_SERVER
from crossfade.errors import ScenarioError, one_line, shortened

if TYPE_CHECKING:
    from crossfade._crossfade import Live
    from crossfade.cli.live.config import Config

FAR, NEAR = 0, 1
FAR_IPV6 = "fd77::1"  # the address in crates/live/src/host.rs
NOT_STARTED, NOT_FOUND = 126, 127
# Longest wait in s of COMMAND for the far program to listen.
LISTEN_S = 2.0
# Time in s for the far program to end after SIGTERM, in which it may write logs.
GOODBYE_S = 5.0
# Longest wait in s from the exit of a program from its host until its exit status is known.
REAPED_S = 0.1
# Signals of the terminal for COMMAND; those before its start are held, and then passed to it.
HELD = (signal.SIGINT, signal.SIGQUIT)
# Orders of the helper to the first process: start, SIGTERM to COMMAND, and end of all.
GO, STOP, END = b"g", b"s", b"e"


class Guests:
    """Handle of the first process in its parent."""

    def __init__(self, live: Live, config: Config, printed: int | None = None) -> None:
        """``printed`` is a file for the terminal output of programs; None: the terminal."""
        orders, self._orders = os.pipe()
        self._reports, reports = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._orders)
                os.close(self._reports)
                _make_first(_First(live, config, orders, reports, printed))
            except BaseException as error:  # a forked process has no caller to catch it
                _say(f"error: {error}")
            finally:
                os._exit(NOT_STARTED)
        os.close(orders)
        os.close(reports)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def order(self, word: bytes) -> None:
        """Send an order to the first process; without effect if it has ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, word)

    def result(self, timeout_s: float) -> int | None:
        """Exit code of COMMAND if it ends in time, else None.

        Raises ``ChildProcessError`` if all processes ended without one.
        """
        if not select.select([self._reports], [], [], timeout_s)[0]:
            return None
        line = os.read(self._reports, 100)
        if not line:
            raise ChildProcessError("its processes were killed")
        return int(json.loads(line))

    def wait(self) -> None:
        """Wait until all processes have ended."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _make_first(first: _First) -> None:
    """Start the first process, and wait until it ends.

    This intermediate process is needed since a process that created a process namespace may not start threads
    any more, and only root can leave the namespace.
    """
    _ignore_signals()
    _crossfade.die_with_parent()
    _crossfade.new_process_namespace()
    if (pid := os.fork()) == 0:
        first.run()
    first.close()
    os.waitpid(pid, 0)
    os._exit(0)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _held() -> list[signal.Signals]:
    """Signals of the terminal that arrived before COMMAND started."""
    pending = signal.sigpending()
    return [number for number in HELD if number in pending]


class _First:
    """The first process: starts the others, reports the exit code of COMMAND, and reaps ended processes."""

    def __init__(self, live: Live, config: Config, orders: int, reports: int, printed: int | None) -> None:
        self._live, self._config = live, config
        self._orders, self._reports, self._printed = orders, reports, printed

    def close(self) -> None:
        """Close the pipes of the first process in another one."""
        os.close(self._orders)
        os.close(self._reports)

    def run(self) -> NoReturn:
        """Run as the first process, without return."""
        _ignore_signals()
        _crossfade.die_with_parent()
        # A signal writes to this pipe, which wakes ``select`` below.
        awake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if os.read(self._orders, 1) != GO:
            os._exit(0)
        with contextlib.suppress(_crossfade.ScenarioError):
            # Without a mount namespace, /proc stays the one of this machine; programs work with it too.
            _crossfade.new_mount_namespace()
            if self._config.internet:
                _use_name_server(NAME_SERVER)
            _crossfade.mount_proc()
        if self._config.ipv6:
            os.environ["CROSSFADE_SERVER6"] = FAR_IPV6
        far = self._start_far()
        near = self._start_command()
        while True:
            select.select([self._orders, awake], [], [])
            with contextlib.suppress(BlockingIOError):
                os.set_blocking(awake, False)
                os.read(awake, 4096)
            for pid, status in _ended():
                if pid == near:
                    code = os.waitstatus_to_exitcode(status)
                    os.write(self._reports, json.dumps(128 - code if code < 0 else code).encode())
            self._obey(near, far)

    @property
    def _server(self) -> str:
        return self._live.addresses()[FAR]

    def _obey(self, near: int, far: list[int]) -> None:
        if not select.select([self._orders], [], [], 0)[0]:
            return
        order = os.read(self._orders, 1)
        if order == STOP:
            with contextlib.suppress(ProcessLookupError):
                os.kill(near, signal.SIGTERM)
        elif order == END:
            for pid in far:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            until = time.monotonic() + GOODBYE_S
            while far and time.monotonic() < until:
                gone = [pid for pid, _ in _ended()]
                far = [pid for pid in far if pid not in gone]
                time.sleep(0.005)
            os._exit(0)
        else:  # end of file: the helper has ended
            os._exit(0)

    def _start_command(self) -> int:
        """Start COMMAND, to which each signal of the terminal is passed once, before or after the fork."""
        told, tell = os.pipe()

        def become() -> None:
            os.close(tell)
            os.read(told, 1)
            _execute(self._config.command, self._server)

        pid = self._start(NEAR, become)
        for number in _held():
            os.kill(pid, number)
        os.close(told)
        os.close(tell)
        return pid

    def _start_far(self) -> list[int]:
        """Start the programs of the far host, and wait until they listen; returns their process ids."""
        started, listening = [], 0
        if folder := self._config.serve:
            has_ipv6 = self._config.ipv6
            started.append(self._start(FAR, lambda: _serve(folder, has_ipv6)))
            listening = self._wait_until_it_listens(started[-1], listening)
        if far := self._config.far:
            started.append(
                self._start(FAR, lambda: _execute(["/bin/sh", "-c", far], self._server), silent=True)
            )
            self._wait_until_it_listens(started[-1], listening)
            if self._has_ended(started[-1]):
                started.pop()
        return started

    def _has_ended(self, pid: int) -> bool:
        """True if the far program has ended before COMMAND starts; a message if it failed."""
        until = time.monotonic() + REAPED_S
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and _listening(pid) is None and time.monotonic() < until:
            time.sleep(0.001)  # the program is ending
            ended, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status)
        if ended and code != 0 and not self._config.quiet and not _held():
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            _say(f"live: the far program ended {how} before COMMAND started")
        return bool(ended)

    def _wait_until_it_listens(self, pid: int, before: int) -> int:
        """Wait until a program of the far host listens, ends, exceeds the limit, or Ctrl-C is pressed.

        It listens if its host has more listening sockets than ``before``; returns their number.
        """
        until = time.monotonic() + LISTEN_S
        while (now := _listening(pid)) is not None and now <= before and not _held():
            if time.monotonic() > until:
                if not self._config.quiet:
                    _say(f"live: the far program does not listen after {LISTEN_S:g} s; COMMAND starts")
                break
            time.sleep(0.02)  # a look takes some ms, since the kernel goes through all sockets
        return now or before

    def _start(self, host: int, become: Callable[[], object], silent: bool = False) -> int:
        pid = os.fork()
        if pid != 0:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            self._live.enter(host)
            _crossfade.become_user()
            _leave_sudo()
            self.close()
            if silent or (self._printed is not None and os.isatty(0)):
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if self._printed is not None:
                for stream in (stream for stream in (1, 2) if os.isatty(stream)):
                    os.dup2(self._printed, stream)
            become()
        except BaseException as error:  # a forked process must not go on in its parent's code
            _say(f"error: {error}")
        finally:
            os._exit(NOT_STARTED)


def _use_name_server(address: str) -> None:
    """Set the address of the name server for this process and those that it starts."""
    with tempfile.NamedTemporaryFile("w") as file, contextlib.suppress(_crossfade.ScenarioError):
        file.write(f"nameserver {address}\n")
        file.flush()
        os.chmod(file.name, 0o644)
        _crossfade.cover("/etc/resolv.conf", file.name)


def _ended() -> list[tuple[int, int]]:
    """Process ids and wait statuses of the processes that have ended."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0] != 0:
            found.append(one)
    return found


def sudo_user() -> pwd.struct_passwd | None:
    """User who called sudo, None without sudo; ``ScenarioError`` if that user does not exist."""
    name = os.environ.get("SUDO_USER")
    if os.geteuid() != 0 or not name:
        return None
    try:
        return pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise ScenarioError(
            f"SUDO_USER = {shortened(name)}: is no user of this machine, and COMMAND is not run as "
            "root instead; unset SUDO_USER to run it as root"
        ) from None


def _leave_sudo() -> None:
    """Under sudo, change to the user who called it; an error is raised and COMMAND is not run as root."""
    if (user := sudo_user()) is not None:
        name = user.pw_name
        os.initgroups(name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


def _execute(command: list[str], server: str) -> None:
    """Replace this process by a program; exits with 126 or 127 if it cannot be started."""
    os.environ["CROSSFADE_SERVER"] = server
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    try:
        os.execvp(command[0], command)
    except OSError as reason:
        _say(f"error: {shortened(command[0])}: cannot be started ({reason.strerror})")
        os._exit(NOT_FOUND if isinstance(reason, FileNotFoundError) else NOT_STARTED)
    except ValueError:
        _say("error: '': cannot be started (it has no name)")
        os._exit(NOT_FOUND)


def _serve(folder: str, has_ipv6: bool) -> None:
    """Run a static web server at port 80 of all addresses."""
    import socket
    from functools import partial
    from http import HTTPStatus
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from socketserver import TCPServer

    root = os.path.realpath(folder)

    class Quiet(SimpleHTTPRequestHandler):
        def send_head(self) -> Any:
            # Not served: targets of links outside the folder, and pipes and devices, which have no end.
            asked = Path(self.translate_path(self.path))
            for path in (asked, asked / "index.html", asked / "index.htm"):
                real = os.path.realpath(path)
                is_inside = os.path.commonpath([root, real]) == root
                if os.path.lexists(real) and not (
                    is_inside and (os.path.isfile(real) or os.path.isdir(real))
                ):
                    return self.send_error(HTTPStatus.NOT_FOUND, "not found")
            return super().send_head()

        def log_message(self, *_: object) -> None:
            """Print no log."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if has_ipv6 else socket.AF_INET
        # Many simultaneous connections wait here; beyond the queue, a client retries a second later.
        request_queue_size = 128

        def server_bind(self) -> None:
            if has_ipv6:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            # HTTPServer.server_bind would ask name servers, which the far host cannot reach, for its name.
            TCPServer.server_bind(self)

        def handle_error(self, *_: object) -> None:
            """Ignore errors of a connection, such as a client that is gone."""

    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    # A client that closes early ends its connection, not the server.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Server(("::" if has_ipv6 else "", 80), partial(Quiet, directory=folder)).serve_forever()


def _listening(pid: int) -> int | None:
    """Number of listening TCP and UDP sockets on the host of a process; None if it has ended."""
    try:
        if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            return 0  # the process is still on the host of this one
    except OSError:
        return None
    found = 0
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
            found += sum(line.split()[3] == state for line in lines)
    return found


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{one_line(line)}\n".encode())
