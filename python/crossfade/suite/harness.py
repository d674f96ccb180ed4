"""One run of real programs behind the links of a case: certificates, ports, logs, qlogs, time limits.

``crossfade live`` makes two network namespaces with the links between them. The server runs on the far host,
the client on the near one, each in a shell under :mod:`crossfade.suite.watched`. Both find in their
environment ``CROSSFADE_SERVER`` (the server's address), ``CROSSFADE_PORT``, ``CROSSFADE_FILE`` (a name in
``CROSSFADE_ROOT``), ``CROSSFADE_SIZE`` (its bytes), ``CROSSFADE_DOWNLOAD`` (the path for the client's copy),
``CROSSFADE_CERTIFICATE`` and ``CROSSFADE_KEY`` (PEM), ``QLOGDIR`` and ``SSLKEYLOGFILE``. When ``crossfade
live`` ends, the kernel ends all its processes and hosts.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crossfade import _crossfade
from crossfade.errors import ScenarioError, shortened
from crossfade.suite import watched
from crossfade.suite.captures import Delays, Transfer, delays, transfer
from crossfade.suite.cases import Case, Live
from crossfade.suite.stacks import Stack

NEAR = "10.77.0.2"
"""Address of the near host of ``crossfade live``, on which the client runs."""

FILE = "file"
EVERY_S = 0.1
MORE_S = 120.0
"""Time in seconds that a run may take beyond the client's limit, to start and end its programs."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one run: the transfer in the capture of the client's host, and the report of the links.

    ``problem`` is a line about the client's failure; empty without one. ``files`` are the files that were
    kept.
    """

    transfer: Transfer | None
    report: Mapping[str, Any]
    problem: str
    files: dict[str, str] = field(default_factory=dict)
    delays: Delays = field(default_factory=Delays)


class Harness:
    """Runs of a stack, each in a folder of its own."""

    def __init__(self, stack: Stack, folder: Path, congestion: str | None = None) -> None:
        """``congestion`` is the kernel's name of TCP's congestion control on both hosts; None: default."""
        self.stack = stack
        self.folder = folder
        self.congestion = congestion
        self._root = folder / "root"
        self._root.mkdir()
        self._is_hollow = False
        self._writes_qlog: set[str] = set()
        self._certificate, self._key = _certificate(folder)

    def run(self, case: Case, run: int, seed: int | None, scenario: Path) -> Outcome:
        """Make run number ``run`` of a case over the links of a ``scenario``.

        Raises :class:`ScenarioError` with one line if the server does not serve, the client cannot be
        started, a promised qlog is missing, or ``crossfade live`` itself fails.
        """
        assert case.live is not None
        here = self.folder / case.name / f"run{run}"
        here.mkdir(parents=True)
        data = self._content(case.live)
        kept = {name: here / file for name, file in _FILES.items()}
        command = self._command(case.live, here, kept, run, seed, scenario)
        done = self._carry_out(command, case.live, here)
        where = f"case {case.name}, run {run}"
        found = self._judge(where, done, here, case.live, data)
        near, far = kept["capture"], kept["far capture"]
        captured = transfer(near, NEAR, EVERY_S) if near.exists() else None
        took = delays(near, far, NEAR) if near.exists() and far.exists() else Delays()
        if (download := here / "download").is_dir():
            shutil.rmtree(download)
        download.unlink(missing_ok=True)
        far.unlink(missing_ok=True)
        near.unlink(missing_ok=True)
        files = {name: str(file) for name, file in kept.items() if file.exists()}
        files |= {f"{role} qlog": str(log) for role in ("client", "server") for log in _qlogs(here, role)}
        report = json.loads(kept["report"].read_text()) if kept["report"].exists() else {}
        if found == "" and captured is None:
            found = "nothing came through the link"
        return Outcome(captured, report, found and f"{where}: {found}", files, took)

    def remove_content(self) -> None:
        """Remove the files that clients fetched, which no report needs."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _content(self, live: Live) -> bytes:
        """Content of the fetched file, equal in every run; empty if the file is never fetched whole."""
        path, size = self._root / FILE, live.size
        if live.lasts_s is not None:
            self._is_hollow = True
            path.unlink(missing_ok=True)
            with path.open("wb") as file:
                file.truncate(size)  # a sparse file of zeros takes no disk space
            return b""
        if not path.exists() or path.stat().st_size != size or self._is_hollow:
            path.write_bytes(random.Random(size).randbytes(size))
        self._is_hollow = False
        return path.read_bytes()

    def _command(
        self,
        live: Live,
        here: Path,
        kept: Mapping[str, Path],
        run: int,
        seed: int | None,
        scenario: Path,
    ) -> list[str]:
        words = [sys.executable, "-m", "crossfade", "live", str(scenario), "--quiet", "--run", str(run)]
        words += ["--seed", str(seed)] if seed is not None else []
        words += ["--congestion", self.congestion] if self.congestion is not None else []
        if live.rebind is not None:
            words += ["--rebind", ",".join(f"{time_s:g} s" for time_s in live.rebind)]
        words += ["--corrupt"] if live.corrupts else []
        words += ["--record", str(kept["journal"]), "--json", str(kept["report"])]
        words += ["--pcap", f"{kept['capture']},{kept['far capture']}"]
        far = self._under("server", here, live.limit_s, self.stack.server)
        near = self._under("client", here, live.limit_s, self.stack.client)
        return [*words, "--far", f"exec {shlex.join(far)}", "--", *near]

    def _under(self, role: str, here: Path, limit_s: float, command: str) -> list[str]:
        """Command of a program under :mod:`watched`, with a log of its own."""
        own = here / role
        own.mkdir()
        log = shlex.quote(str(own / "log"))
        qlogs = shlex.quote(str(own / "qlog"))
        (own / "qlog").mkdir()
        script = f"exec >{log} 2>&1; export QLOGDIR={qlogs} SSLKEYLOGFILE={shlex.quote(str(own / 'keys'))}\n"
        program = [sys.executable, "-I", str(watched.__file__), role, str(own / "status")]
        return [*program, f"{limit_s:g}", script + command]

    def _carry_out(self, command: list[str], live: Live, here: Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "CROSSFADE_PORT": str(self.stack.port),
            "CROSSFADE_ROOT": str(self._root),
            "CROSSFADE_FILE": FILE,
            "CROSSFADE_SIZE": str(live.size),
            "CROSSFADE_DOWNLOAD": str(here / "download"),
            "CROSSFADE_CERTIFICATE": str(self._certificate),
            "CROSSFADE_KEY": str(self._key),
            "CROSSFADE_SERVER_STATUS": str(here / "server" / "status"),
        }
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Ends the command if this process is killed; a build without live emulation lacks the function.
            preexec_fn=getattr(_crossfade, "die_with_parent", None),
        )
        try:
            out, _ = process.communicate(timeout=live.limit_s + MORE_S)
        except BaseException as error:
            process.kill()  # the kernel ends its hosts and their processes with it
            out, _ = process.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            out = f"crossfade live did not end; {out}"
        return subprocess.CompletedProcess(command, process.returncode, out)

    def _judge(
        self,
        where: str,
        done: subprocess.CompletedProcess[str],
        here: Path,
        live: Live,
        data: bytes,
    ) -> str:
        """Fault of the client's transfer as text; raises ``ScenarioError`` if further runs are pointless."""
        server, client = _status(here, "server"), _status(here, "client")
        if server is None and client is None:
            said = " ".join(done.stdout.split()).removeprefix("error: ") or f"exit code {done.returncode}"
            raise ScenarioError(f"{where}: crossfade live failed: {shortened(said)}")
        if server is None or not server["ready"]:
            raise ScenarioError(f"{where}: {self._no_server(server, here)}")
        if client is None:
            raise ScenarioError(f"{where}: the client was not started (see {here / 'client' / 'log'})")
        code = client.get("code")
        if code in (126, 127):
            what = shortened(self.stack.client)
            raise ScenarioError(f"{where}: the client cannot be started (exit code {code}): {what}")
        problem = self._of_client(client, here, live, data)
        if problem and server.get("code") is not None:
            log = here / "server" / "log"
            problem += f"; the server had ended with exit code {server['code']} (see {log})"
        # A client that was ended may have written no qlog, nor may a server whose connection was not closed.
        wants_qlog = self.stack.has_qlog and live.lasts_s is None and not problem
        for role in ("client", "server"):
            if _qlogs(here, role):
                self._writes_qlog.add(role)
            elif wants_qlog and role not in self._writes_qlog:
                raise ScenarioError(f"{where}: the {role} wrote no qlog into $QLOGDIR")
        return problem

    def _of_client(self, status: Mapping[str, Any], here: Path, live: Live, data: bytes) -> str:
        """Fault of the client as text; empty without one."""
        code, log = status.get("code"), here / "client" / "log"
        if live.lasts_s is not None and code in (None, 0):
            if code is None:
                return ""
            return (
                f"the client ended after {status['took_s']:.3g} s: {live.size:,} bytes must last "
                f"{live.lasts_s:g} s (see {log})"
            )
        if code is None:
            return f"the client did not end within {live.limit_s:g} s, and was ended (see {log})"
        if code != 0:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            return f"the client ended {how} after {status['took_s']:.2g} s (see {log})"
        if not self.stack.has_file:
            return ""
        download = here / "download"
        if download.is_dir():
            return "the client left a folder in $CROSSFADE_DOWNLOAD, not the file"
        got = download.read_bytes() if download.is_file() else b""
        if hashlib.sha256(got).digest() != hashlib.sha256(data).digest():
            what = f"not the {live.size:,} of the file"
            return f"the client left {len(got):,} bytes in $CROSSFADE_DOWNLOAD, {what}"
        return ""

    def _no_server(self, status: Mapping[str, Any] | None, here: Path) -> str:
        if status is None:
            return f"the server was not started (see {here / 'server' / 'log'})"
        port, there = self.stack.port, ", ".join(map(str, status["listening"]))
        if status["code"] in (126, 127):
            return (
                f"the server cannot be started (exit code {status['code']}): {shortened(self.stack.server)}"
            )
        if status["code"] is not None:
            log = here / "server" / "log"
            return f"the server ended with exit code {status['code']} before it listened (see {log})"
        what = f"it listens on {there}" if there else "it listens nowhere"
        return f"the server does not listen on port {port} after {watched.STARTS_S:g} s ({what})"


_FILES = {"journal": "run.cfj", "report": "report.json", "capture": "near.pcap", "far capture": "far.pcap"}


def _status(here: Path, role: str) -> Mapping[str, Any] | None:
    path = here / role / "status"
    if not path.exists():
        return None
    found: Mapping[str, Any] = json.loads(path.read_text())
    return found if found.get("started", True) else None


def _qlogs(here: Path, role: str) -> list[Path]:
    """Qlogs that a program wrote: JSON, or the sequence of JSON texts of draft-ietf-quic-qlog."""
    folder = here / role / "qlog"
    ends = (".qlog", ".sqlog", ".json")
    return sorted(path for path in folder.rglob("*") if path.suffix in ends and path.stat().st_size)


_CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
_REQUEST = ["req", "-x509", *_CURVE, "-nodes", "-days", "30"]


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Certificate for this suite alone, and its key, made by openssl."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ScenarioError("suite: openssl is not installed, which makes the certificate of the server")
    name = ["-subj", "/CN=crossfade", "-addext", "subjectAltName=DNS:crossfade,IP:10.77.0.1"]
    made = subprocess.run(
        [openssl, *_REQUEST, *name, "-keyout", str(key), "-out", str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise ScenarioError(f"suite: openssl made no certificate: {shortened(made.stderr.strip())}")
    return certificate, key
