"""The processes of a live run: a first one, in a process namespace of its own, and those that it starts.

When the first one ends the kernel kills all others; it is killed itself when the helper ends. So nothing is
left, whoever of them is killed.
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
FAR_IPV6 = "fd77::1"  # as crates/live/src/host.rs has it
NOT_STARTED, NOT_FOUND = 126, 127
# How long COMMAND waits for the far program to listen, and how long that one may take to end: it may write
# logs then.
LISTEN_S = 2.0
GOODBYE_S = 5.0
# From when a program has left its host to when its end is known.
REAPED_S = 0.1
# Signals of the terminal that are COMMAND's: what comes before it is there is held for it.
HELD = (signal.SIGINT, signal.SIGQUIT)
# The words of the helper.
GO, STOP, END = b"g", b"s", b"e"


class Guests:
    """The first process, as its parent sees it."""

    def __init__(self, live: Live, config: Config, printed: int | None = None) -> None:
        """``printed`` takes what programs would print on a terminal."""
        orders, self._orders = os.pipe()
        self._reports, reports = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._orders)
                os.close(self._reports)
                _make_first(_First(live, config, orders, reports, printed))
            except BaseException as error:  # nobody is there to catch it
                _say(f"error: {error}")
            finally:
                os._exit(NOT_STARTED)
        os.close(orders)
        os.close(reports)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def order(self, word: bytes) -> None:
        """Tell it what to do; nothing happens where it is gone."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, word)

    def result(self, timeout_s: float) -> int | None:
        """The exit code of COMMAND if it has ended, or ends in time; raises ``ChildProcessError`` where all
        are gone without one."""
        if not select.select([self._reports], [], [], timeout_s)[0]:
            return None
        line = os.read(self._reports, 100)
        if not line:
            raise ChildProcessError("its processes were killed")
        return int(json.loads(line))

    def wait(self) -> None:
        """Until all are gone."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _make_first(first: _First) -> None:
    """Start the first process, and last as long as it does.

    This process is between it and the helper because who has made a process namespace may start no threads
    any more, and only root gets out of that again.
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
    """Signals of the terminal that came before COMMAND was there."""
    pending = signal.sigpending()
    return [number for number in HELD if number in pending]


class _First:
    """The first process: starts the others, tells how COMMAND ended, and takes in what has ended."""

    def __init__(self, live: Live, config: Config, orders: int, reports: int, printed: int | None) -> None:
        self._live, self._config = live, config
        self._orders, self._reports, self._printed = orders, reports, printed

    def close(self) -> None:
        """Close what the process itself alone needs."""
        os.close(self._orders)
        os.close(self._reports)

    def run(self) -> NoReturn:
        """Be that process."""
        _ignore_signals()
        _crossfade.die_with_parent()
        # A signal wakes the waiting below.
        awake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        if os.read(self._orders, 1) != GO:
            os._exit(0)
        with contextlib.suppress(_crossfade.ScenarioError):
            # Without one of its own, /proc is that of the host: programs work with it all the same.
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
        else:  # the helper is gone
            os._exit(0)

    def _start_command(self) -> int:
        """COMMAND, which gets each signal of the terminal once, whether it came before the fork or after."""
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
        """Programs of the far host; it is waited for that they listen."""
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
        """Whether the far program has ended before COMMAND starts; a word where that was with an error."""
        until = time.monotonic() + REAPED_S
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and _listening(pid) is None and time.monotonic() < until:
            time.sleep(0.001)  # it is ending
            ended, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status)
        if ended and code != 0 and not self._config.quiet and not _held():
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            _say(f"live: the far program ended {how} before COMMAND started")
        return bool(ended)

    def _wait_until_it_listens(self, pid: int, before: int) -> int:
        """Until a program of the far host listens at more sockets than there were, has ended, or does not
        seem to, or until Ctrl-C; gives how many there are."""
        until = time.monotonic() + LISTEN_S
        while (now := _listening(pid)) is not None and now <= before and not _held():
            if time.monotonic() > until:
                if not self._config.quiet:
                    _say(f"live: the far program does not listen after {LISTEN_S:g} s; COMMAND starts")
                break
            time.sleep(0.01)
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
        except BaseException as error:  # this process must not go on as its parent
            _say(f"error: {error}")
        finally:
            os._exit(NOT_STARTED)


def _use_name_server(address: str) -> None:
    """Names are asked for at an address, by this process and those that it starts."""
    with tempfile.NamedTemporaryFile("w") as file, contextlib.suppress(_crossfade.ScenarioError):
        file.write(f"nameserver {address}\n")
        file.flush()
        os.chmod(file.name, 0o644)
        _crossfade.cover("/etc/resolv.conf", file.name)


def _ended() -> list[tuple[int, int]]:
    """Processes that have ended, and how."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0] != 0:
            found.append(one)
    return found


def sudo_user() -> pwd.struct_passwd | None:
    """The user who called sudo, None without sudo; ``ScenarioError`` if that user does not exist."""
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
    """Under sudo, be the user who called it; raises where that cannot be, and nothing is run as
    root instead.
    """
    if (user := sudo_user()) is not None:
        name = user.pw_name
        os.initgroups(name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


def _execute(command: list[str], server: str) -> None:
    """Become a program."""
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
    """A static web server at port 80 of all addresses."""
    import socket
    from functools import partial
    from http import HTTPStatus
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from socketserver import TCPServer

    root = os.path.realpath(folder)

    class Quiet(SimpleHTTPRequestHandler):
        def send_head(self) -> Any:
            # What a link in the folder leads to is not in the folder; a pipe or a device has no end.
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
            """Nobody reads it."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if has_ipv6 else socket.AF_INET
        # Connections that are made at once wait for each other, and do not try again a second later.
        request_queue_size = 128

        def server_bind(self) -> None:
            if has_ipv6:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            # HTTPServer's would ask name servers, which the far host cannot reach, what it is called.
            TCPServer.server_bind(self)

        def handle_error(self, *_: object) -> None:
            """A client that has gone away is not the business of COMMAND."""

    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
    # A client that has gone away ends its connection, not the server.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Server(("::" if has_ipv6 else "", 80), partial(Quiet, directory=folder)).serve_forever()


def _listening(pid: int) -> int | None:
    """Number of TCP and UDP sockets that wait on the host of a process; None if it has ended."""
    try:
        if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            return 0  # it is not there yet
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
