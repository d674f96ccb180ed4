"""Command ``crossfade doctor``, which checks the requirements of live emulation on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import crossfade._crossfade as _crossfade
from crossfade.files.compiled import rust_version

# Program of a child process that tries namespaces; a process with threads may not enter a user namespace.
TRIAL = """
import json
import crossfade._crossfade as core
core.gain_privileges()
text = '''
schema = 2
channel = { model = "iid", p_e = 0 }
link = { rate = "1 Mbit/s", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack" }
'''
asked = dict(bulk=False, congestion=None, mtu=None, ipv6=False, large_segments=False,
             data_only=False, rebind=None, corrupt=False, awake="never", run=0, journal=None,
             captures=None, packets=None, version="", watch=False,
             source=dict(name="", text="", overrides={}, files={}))
core.Live(core.Plan.load(text, "doctor", "{}"), json.dumps(asked))
core.new_process_namespace()
"""


# The device number of /dev/net/tun (Linux, Documentation/networking/tuntap.rst).
TUN = os.makedev(10, 200) if hasattr(os, "makedev") else 0


@dataclass(frozen=True)
class Check:
    """Result of one check; ``required`` is true if live emulation cannot work without it."""

    name: str
    found: str
    is_good: bool
    required: bool = False
    mend: str = ""


def doctor() -> int:
    """Check what crossfade live needs, and print how to get it.

    Each check prints a line, with a command that mends it if it fails. The last check is for congestion
    controls in Rust files, not for live. The exit code is 1 if crossfade live cannot work.

    \b
    crossfade doctor
    """
    is_able = True
    for check in checks():
        word = "ok" if check.is_good else "MISSING" if check.required else "note"
        mend = f"; mend: {check.mend}" if check.mend and not check.is_good else ""
        print(f"{word:<8}{check.name}: {check.found}{mend}")
        is_able &= check.is_good or not check.required
    print("crossfade live works here" if is_able else "crossfade live cannot work here")
    return 0 if is_able else 1


def checks() -> Iterator[Check]:
    """Results of all checks, required ones first."""
    if sys.platform != "linux":
        yield Check("system", sys.platform, False, required=True, mend="run it on Linux")
        yield _rustc()
        return
    if not hasattr(_crossfade, "Live"):
        yield Check("this build", "without live", False, required=True, mend="build with feature live")
        yield _rustc()
        return
    is_root = os.geteuid() == 0
    yield Check("user", "root" if is_root else f"uid {os.geteuid()}, needs user namespaces", True)
    if not is_root:
        yield _user_namespaces()
    yield _tun(is_root)
    yield _trial()
    yield _congestion_controls()
    yield realtime()
    yield _awake()
    yield _clock()
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    yield Check("load", f"{load:.1f} on {cores} processors", load < cores, mend="wait, or use --realtime")
    for program, use in (
        ("slirp4netns", " (--internet)"),
        ("iperf3", ""),
        ("curl", ""),
        ("tshark", ""),
    ):
        path = shutil.which(program)
        found = path or f"not installed{use}"
        yield Check(program, found, path is not None, mend=f"apt install {program}")
    yield _rustc()


def _rustc() -> Check:
    found = rust_version()
    mend = "https://rustup.rs"
    return Check("rustc", found or 'not installed (tcp.congestion = "mine.rs")', found is not None, mend=mend)


def _user_namespaces() -> Check:
    for name, wanted, mend in (
        ("kernel/unprivileged_userns_clone", "1", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "0",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):
        found = _read(f"/proc/sys/{name}")
        if found not in ("", wanted):
            words = f"{name.replace('/', '.')} = {found}"
            return Check("user namespaces", words, False, required=True, mend=f"sudo {mend}")
    most = _read("/proc/sys/user/max_user_namespaces")
    mend = "sudo sysctl -w user.max_user_namespaces=10000"
    return Check("user namespaces", f"at most {most}", most != "0", required=True, mend=mend)


def _tun(is_root: bool) -> Check:
    node = Path("/dev/net/tun")
    if not node.exists():
        return Check("/dev/net/tun", "not there", False, required=True, mend="sudo modprobe tun")
    if node.stat().st_rdev != TUN:
        mend = "sudo rm /dev/net/tun; sudo mknod -m 666 /dev/net/tun c 10 200"
        return Check("/dev/net/tun", "is no TUN device", False, required=True, mend=mend)
    try:
        os.close(os.open(node, os.O_RDWR))
    except OSError as reason:
        mend = "sudo modprobe tun" if is_root else "sudo chmod 666 /dev/net/tun"
        return Check("/dev/net/tun", f"cannot be opened ({reason.strerror})", False, required=True, mend=mend)
    return Check("/dev/net/tun", "can be opened", True, required=True)


def _trial() -> Check:
    """Check that two hosts can be created, by creating them."""
    command = [sys.executable, "-P", "-c", TRIAL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.strip().splitlines()
    found = "two hosts were made" if done.returncode == 0 else lines[-1] if lines else "failed"
    found = found.removeprefix("crossfade.").removeprefix("_crossfade.ScenarioError: ")
    return Check(
        "namespaces", found, done.returncode == 0, required=True, mend="run it as root, or see above"
    )


def _congestion_controls() -> Check:
    found = _read("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    default = _read("/proc/sys/net/ipv4/tcp_congestion_control")
    missing = [name for name in ("reno", "cubic", "bbr") if name not in found]
    mend = "; ".join(f"sudo modprobe tcp_{name}" for name in missing)
    return Check("congestion controls", f"{' '.join(found)} (default {default})", not missing, mend=mend)


def realtime() -> Check:
    """Check --realtime by using it: even root may be refused in a container or a control group."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    mend = (
        "capability CAP_SYS_NICE, or ulimit -r 1 by /etc/security/limits.conf; "
        "of a control group cpu.rt_runtime_us above 0"
    )
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as reason:
        found = f"not allowed (--realtime: {reason.strerror})"
        return Check("real-time priority", found, False, mend=mend)
    os.sched_setscheduler(0, *before)
    return Check("real-time priority", "allowed", True)


def _awake() -> Check:
    """Check that a live run may keep processors from sleeping."""
    may = os.access("/dev/cpu_dma_latency", os.W_OK)
    found = "stay awake while packets pass" if may else "sleep while packets pass: 0.1 ms later"
    return Check("idle processors", found, may, mend="sudo chmod 666 /dev/cpu_dma_latency")


def _clock() -> Check:
    found = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    is_good = found in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
    return Check("clock", found or "unknown", is_good, mend="boot with clocksource=tsc")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def reason_against() -> str | None:
    """Reason why live emulation cannot work here, which tests print when skipped; None if it can."""
    missing = [check for check in checks() if check.required and not check.is_good]
    return "; ".join(f"{check.name}: {check.found}" for check in missing) or None
