"""Fuzzes readers and senders by coverage, each until no new edge of the compiled code was reached.

Usage: python bench/fuzz.py [TARGET ...] [--quiet SECONDS] [--most SECONDS] [--jobs N]

A TARGET is one of those of fuzz/, or ``control:NAME`` for senders under one congestion control alone.
Builds the targets of fuzz/ with overflow checks, debug assertions and, for the crates of this repository,
coverage; seeds them with what the repository holds (fuzz/corpus, kept between runs, with what was said on
the way) and runs each until --quiet seconds of a processor (600) brought no new edge in a function of this
repository, or --most (3600) are spent: CPU time, so that a busy machine takes longer and shows no less.
Prints a line a target, which also says when the last edge was found of anything that is counted: generic
functions of other libraries, compiled for this one, among it. Status 1 if anything was found
(fuzz/artifacts holds the input).
"""

from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import gzip
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUZZ = ROOT / "fuzz"

# The longest input of each target, bytes: what its reader meets in practice and a little more.
LONGEST = {
    "scenario": 6000,
    "golden": 4000,
    "trace": 600,
    "losses": 400,
    "table": 1200,
    "rows": 4096,
    "arq": 2000,
    "packet": 210,
    "journal": 2400,
    "control": 600,
}

# What has edges counted, which cargo has to know of where it changes, and the checks of a debug build.
COUNTED = FUZZ / "counted.sh"
FLAGS = (
    "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=4 "
    f"--cfg counted_{zlib.crc32(COUNTED.read_bytes())}"
)


def texts_between_quotes(pattern: str, *folders: str) -> list[str]:
    """Every match of `pattern` in the Rust files below `folders`."""
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.rs"))]
    return [
        text for path in files for text in re.findall(pattern, path.read_text(encoding="utf-8"), re.DOTALL)
    ]


def scenarios() -> Iterator[bytes]:
    """Shipped scenarios, and those written in tests and pages."""
    for path in sorted((ROOT / "scenarios").rglob("*.toml")):
        yield path.read_bytes()
    pages = [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "crates").glob("*/tests/**/*.rs"),
    ]
    for path in sorted(pages):
        if "_build" in path.parts:
            continue
        for text in re.findall(
            r'schema = [12]\n.*?(?="#|"""|```)', path.read_text(encoding="utf-8"), re.DOTALL
        ):
            if len(text) < LONGEST["scenario"]:
                yield text.encode()


def golden() -> Iterator[bytes]:
    """The first lines of golden files behind their patterns, shortened."""
    for folder in sorted((ROOT / "tests/data/golden").glob("ns2*")):
        if not (folder / "patterns.json").is_file():
            continue
        whole = json.loads((folder / "patterns.json").read_text(encoding="utf-8"))
        short = {key: value[:6] if key == "patterns" else value for key, value in whole.items()}
        for path in sorted(folder.glob("*.csv.gz"))[:8]:
            lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            for count in (6, 30):
                yield "\n".join([json.dumps(short, separators=(",", ":")), *lines[:count], ""]).encode()


def traces() -> Iterator[bytes]:
    """Delivery opportunities, rates and attenuation over time: shipped files, those of tests."""
    for path in [*sorted((ROOT / "scenarios").rglob("*.csv")), *sorted((ROOT / "tests/data").glob("*.csv"))]:
        yield "\n".join([*path.read_text(encoding="utf-8").splitlines()[:60], ""]).encode()
    yield b"0\n0\n1\n5\n12\n"
    yield b"time_s,rate_bps\n0,1e6\n1.5,2e6\n10,0\n"
    yield b"time_s,attenuation_db\n0,3\n10,4.5\n"
    for text in texts_between_quotes(r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/link"):
        yield text.replace("\\n", "\n").encode()


def losses() -> Iterator[bytes]:
    """Recorded losses in the forms that the reader knows, and some that it does not."""
    yield from (
        b"0101101\n",
        b"0 1 0 1\n",
        b"0\n1\n1\n0\n",
        b"sent,lost\n1,0\n2,1\n",
        b"# lost\n3\n4\n10\n",
        b"10 3\n20 1\n",
    )
    for text in texts_between_quotes(
        r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/channel"
    ):
        yield text.replace("\\n", "\n").encode()


def tables() -> Iterator[bytes]:
    """Tables that scenarios name, and golden ones of chains and weights, before each reader."""
    for text in plain_tables():
        for reader in b"012345":
            yield bytes([reader]) + text


def plain_tables() -> Iterator[bytes]:
    """Each table alone."""
    weights = json.loads((ROOT / "tests/data/golden/weights/vectors.json").read_text(encoding="utf-8"))
    for entry in weights:
        if len(text := json.dumps([entry], separators=(",", ":"))) < LONGEST["table"]:
            yield text.encode()
    for path in (ROOT / "tests/data/golden/ns2-chain").glob("*.csv"):
        yield path.read_bytes()[: LONGEST["table"]]
    yield b"time_s,sinr_db\n0,12.5\n0.1,9\n"
    yield b"0 12.5 3\n0.1 9 -4\n# end\n"
    yield b"node,x_m,y_m\n0,0,0\n1,200,0\n2,400,50\n"
    yield b"snr_db,transmissions,residual\n0,1,0.5\n10,1,0.01\n10,2,0.001\n"
    yield b"scheme,snr_db,transmissions,residual\nsiso,0,1,0.5\nblast,0,1,0.1\n"
    yield b"axis,from,to,phy.scheme\nchannel.snr_db,-9,5,siso\nchannel.snr_db,5,40,alamouti\n"
    for text in texts_between_quotes(
        r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/phy", "crates/cell", "crates/mac"
    ):
        yield text.replace("\\n", "\n").encode()


def rows() -> Iterator[bytes]:
    """Names of metrics and values, many of them such as no run has."""
    rng = random.Random(1)
    names = ["goodput_bps", "rtt_mean_s", "link_utilisation", "flow:a.goodput_bps", "loss_rate", "timeouts"]
    values = [0.0, 1.0, 1e6, -1.0, 1e300, float("nan")]
    for _ in range(30):
        parts = []
        for _ in range(rng.randrange(1, 25)):
            chosen = "\n".join(sorted(rng.sample(names, rng.randrange(1, 5))))
            parts.append(chosen.encode() + struct.pack("<3d", *(rng.choice(values) for _ in range(3))))
        yield b"".join(parts)


def frames() -> Iterator[bytes]:
    """Frames that mostly follow one another, as an ARQ receiver meets them."""
    rng = random.Random(2)
    kinds = [0x80, 0x82, 0x42, 0x02, 0xC3, 0x81]
    for _ in range(40):
        data = bytearray()
        for number in range(rng.randrange(4, 120)):
            data += bytes(
                [
                    rng.choice(kinds),
                    (number + rng.randrange(-2, 3)) % 256,
                    max(0, number - 4),
                    rng.randrange(60),
                ]
            )
        yield bytes(data)


def packets() -> Iterator[bytes]:
    """IPv4 and IPv6 packets: TCP with options, UDP, ICMP, fragments, extension headers, tunnels.

    Before each what a device says of it (``struct virtio_net_hdr``): nothing, or how it is to be cut.
    """
    for data in plain_packets():
        for size in (1, 7, 20):
            for kind, place in ((0, 0), (1, 16), (0x81, 16), (4, 16), (5, 6)):
                begin = 20 if data[0] >> 4 == 4 else 40
                yield struct.pack("=BBHHHH", kind > 0, kind, 0, size, begin, place) + data


def plain_packets() -> Iterator[bytes]:
    """Each packet alone."""

    def ip4(protocol: int, payload: bytes, flags: int = 0x4000, tos: int = 0) -> bytes:
        fields = (0x45, tos, 20 + len(payload), 1, flags, 64, protocol, 0, 0x0A000001, 0x0A000002)
        return struct.pack(">BBHHHBBHII", *fields) + payload

    def ip6(following: int, payload: bytes, traffic_class: int = 0) -> bytes:
        return (
            struct.pack(">IHBB", 0x60000000 | traffic_class << 20, len(payload), following, 64)
            + bytes(32)
            + payload
        )

    def tcp(flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
        offset = (20 + len(options)) // 4 << 4
        return struct.pack(">HHIIBBHHH", 1000, 80, 5, 6, offset, flags, 100, 0, 0) + options + payload

    udp = struct.pack(">HHHH", 1, 2, 12, 0) + b"abcd"
    yield ip4(6, tcp(0x10))
    yield ip4(6, tcp(0x18, b"x" * 50))
    yield ip4(6, tcp(2, b"", b"\x02\x04\x05\xb4\x01\x03\x03\x07"))
    yield ip4(6, tcp(0x10, b"a"), tos=1)
    yield ip4(6, tcp(0x10)[:13])
    yield ip4(17, udp)
    yield ip4(17, udp, 0x2001)
    yield ip4(1, b"\x08\0\0\0abcd")
    yield ip4(4, ip4(6, tcp(0x10)))
    yield ip6(6, tcp(0x10))
    yield ip6(17, udp, 2)
    yield ip6(0, b"\x11\0" + bytes(6) + udp)
    yield ip6(44, b"\x06\0\0\1\0\0\0\1" + tcp(0x10))


def entries() -> Iterator[bytes]:
    """Entries of a journal: 24 bytes each."""
    rng = random.Random(3)
    for _ in range(20):
        count = rng.randrange(1, 30)
        yield bytes(rng.randrange(256) if at % 24 in (0, 8, 16) else 0 for at in range(24 * count))


def connections() -> Iterator[bytes]:
    """What a sender is, and a network that mostly delivers what it sends; each control over TCP and QUIC."""
    rng = random.Random(4)
    for control in range(14):
        for _ in range(6):
            sender = bytes([control, *(rng.randrange(256) for _ in range(7))])
            ops = [0, 3, 6] * 8 + list(range(16))
            yield sender + bytes(
                byte for _ in range(rng.randrange(20, 250)) for byte in (rng.choice(ops), rng.randrange(8))
            )


SEEDS = {
    "scenario": scenarios,
    "golden": golden,
    "trace": traces,
    "losses": losses,
    "table": tables,
    "rows": rows,
    "arq": frames,
    "packet": packets,
    "journal": entries,
    "control": connections,
}

# Where the words of a target's dictionary stand between quotes.
WORDS = {
    "scenario": ("crates/scenario/src",),
    "golden": ("crates/verify/src",),
    "trace": ("crates/link/src",),
    "losses": ("crates/channel/src",),
    "table": ("crates/phy/src", "crates/mac/src", "crates/verify/src"),
}


def artifacts(target: str) -> Path:
    """Where an input that was found is put."""
    return FUZZ / "artifacts" / target.replace(":", "-")


def seed(whole: str) -> list[str]:
    """Writes the corpus and the dictionary of a target; the arguments that name them."""
    target, corpus = whole.partition(":")[0], FUZZ / "corpus" / whole.replace(":", "-")
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(SEEDS[target]()):
        (corpus / f"seed-{number}").write_bytes(data[: LONGEST[target]])
    artifacts(whole).mkdir(parents=True, exist_ok=True)
    arguments = [f"-artifact_prefix={artifacts(whole)}/"]
    if target in WORDS:
        words = set(texts_between_quotes(r'"([ -!#-\[\]-~]{1,30})"', *WORDS[target]))
        if target == "scenario":
            words |= set(texts_between_quotes(r"\bpub ([a-z][a-z0-9_]{2,30}):", *WORDS[target]))
            words |= {"1e308", "inf", "nan", "log:", "18446744073709551615", "= {", "= ["}
        dictionary = FUZZ / "corpus" / f"{target}.dict"
        dictionary.write_text("".join(f'"{word}"\n' for word in sorted(words)), encoding="utf-8")
        arguments.append(f"-dict={dictionary}")
    return [*arguments, str(corpus)]


def shrink(command: list[str], environment: dict[str, str]) -> None:
    """Leaves the inputs of a corpus, the last argument, that reach something which no smaller ones do."""
    corpus = Path(command[-1])
    kept = corpus.with_name(f"{corpus.name}.kept")
    kept.mkdir(exist_ok=True)
    merge = [*command[:-1], "-merge=1", str(kept), str(corpus)]
    done = subprocess.run(merge, cwd=FUZZ, env=environment, capture_output=True, check=False)
    if done.returncode == 0:
        shutil.rmtree(corpus)
        kept.rename(corpus)


class Functions:
    """Which addresses of a program are of functions of this repository, not generic ones of others."""

    def __init__(self, program: Path) -> None:
        command = ["nm", "-nC", "--defined-only", str(program)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        symbols = [line.split(" ", 2) for line in said.stdout.splitlines()]
        code = [(int(at, 16), name) for at, kind, name in symbols if kind in "tTwW"]
        self.starts = [at for at, _ in code]
        self.own = [
            re.match(r"[<&(\[]*(mut )?crossfade_|.* as crossfade_", name) is not None for _, name in code
        ]

    def is_own(self, address: int) -> bool:
        """Whether the code at `address`, as the file has it, is of such a function."""
        place = bisect.bisect_right(self.starts, address) - 1
        return place >= 0 and self.own[place]


def loaded_at(pid: int) -> int:
    """Where the program of process `pid` begins in its memory."""
    return int(Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").partition("-")[0], 16)


@dataclass
class Progress:
    """Inputs, edges and CPU seconds: in all, and at the last new edge of this repository and of any."""

    runs: int = 0
    edges: int = 0
    cpu: float = 0.0
    cpu_at_edge: float = 0.0
    runs_at_edge: int = 0
    cpu_at_any: float = 0.0
    found: bool = False


def cpu_seconds(pid: int) -> float | None:
    """User and system time of process `pid`, or `None` when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def fuzz(built: Path, target: str, quiet: float, most: float) -> Progress:
    """Runs a target until `quiet` CPU seconds brought no new edge, `most` are spent, or one is found."""
    program, _, control = target.partition(":")
    # Slow inputs are no finding: a busy machine has them, and the clock goes on where the process waits.
    options = [
        "-timeout=1200",
        "-report_slow_units=3600",
        "-rss_limit_mb=3000",
        "-reload=0",
        "-print_pcs=1",
        f"-max_len={LONGEST[program]}",
    ]
    command = [str(built / program), *options, *seed(target)]
    # Which control, for those who look.
    environment = {**os.environ, **({"CONTROL": control} if control else {})}
    shrink(command, environment)
    progress, functions = Progress(), Functions(built / program)
    with (
        (FUZZ / "corpus" / f"{target.replace(':', '-')}.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=FUZZ,
            env=environment,
        ) as process,
    ):
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1.0):
                progress.cpu = cpu_seconds(process.pid) or progress.cpu
                if progress.cpu - progress.cpu_at_edge > quiet or progress.cpu > most:
                    process.send_signal(signal.SIGINT)
                    return

        watching = threading.Thread(target=watch)
        watching.start()
        base, is_own = loaded_at(process.pid), True
        for line in process.stderr or ():
            log.write(line)
            if address := re.match(r"\s*NEW_PC: (0x\w+)", line):
                is_own = is_own or functions.is_own(int(address[1], 16) - 1 - base)
            if (match := re.match(r"#(\d+)\s+\w+\s+cov: (\d+) ", line)) is None:
                continue
            progress.runs = int(match[1])
            if int(match[2]) > progress.edges:
                progress.edges = int(match[2])
                progress.cpu_at_any = cpu_seconds(process.pid) or progress.cpu
                if is_own:
                    progress.cpu_at_edge, progress.runs_at_edge = progress.cpu_at_any, progress.runs
            is_own = False
        stop.set()
        watching.join()
    progress.found = any(artifacts(target).iterdir())
    return progress


def build() -> Path:
    """Builds all targets with coverage: their folder. Ends the command if the compiler does not."""
    settings = {
        "RUSTFLAGS": FLAGS,
        "RUSTC_WRAPPER": str(COUNTED),
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only",
    }
    host = subprocess.run(["rustc", "--print", "host-tuple"], capture_output=True, text=True, check=True)
    target = host.stdout.strip()
    # With a target of its own, build scripts and macros are left without the counters.
    command = ["cargo", "build", "--quiet", "--release", "--bins", "--target", target]
    if subprocess.run(command, cwd=FUZZ, env={**os.environ, **settings}, check=False).returncode:
        raise SystemExit(2)
    return FUZZ / "target" / target / "release"


def main() -> int:
    """Builds, fuzzes, prints a line a target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(SEEDS)} (all)")
    parser.add_argument(
        "--quiet", type=float, default=600.0, help="CPU seconds without a new edge that end a target"
    )
    parser.add_argument(
        "--most", type=float, default=3600.0, help="CPU seconds that end a target in any case"
    )
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    arguments = parser.parse_args()
    unknown = [target for target in arguments.targets if target.partition(":")[0] not in SEEDS]
    if unknown:
        parser.error(f"TARGET = {unknown[0]!r}: one of {', '.join(SEEDS)}")
    built = build()
    print("| target | runs | CPU | edges | since the last new one | of libraries too | found |")
    print("|---|---|---|---|---|---|---|")
    found = False
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        targets = arguments.targets or list(SEEDS)
        jobs = {
            pool.submit(fuzz, built, target, arguments.quiet, arguments.most): target for target in targets
        }
        for job in concurrent.futures.as_completed(jobs):
            p = job.result()
            since = f"{p.cpu - p.cpu_at_edge:.0f} s, {p.runs - p.runs_at_edge:,} runs"
            outcome = "**yes**" if p.found else "nothing"
            print(
                f"| `{jobs[job]}` | {p.runs:,} | {p.cpu:.0f} s | {p.edges:,} | {since} "
                f"| {p.cpu - p.cpu_at_any:.0f} s | {outcome} |",
                flush=True,
            )
            found = found or p.found
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
