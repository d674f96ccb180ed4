"""Fuzz parsers and senders by coverage, each until no new edge of the compiled code is reached.

Usage: python bench/fuzz.py [TARGET ...] [--quiet SECONDS] [--most SECONDS] [--jobs N]

A TARGET is a program of fuzz/, or ``control:NAME`` for senders under a single congestion control. The script
builds the targets with overflow checks, debug assertions and, for the crates of this repository, coverage. It
seeds them with examples from the repository (bench/fuzz_seeds.py; fuzz/corpus keeps inputs and logs between
runs). A target ends after --quiet CPU seconds (600) without a new edge in a function of this repository, or
after --most (3600); CPU time, so that other work on the cores does not shorten the search. A line per target
has the runs, the CPU time, the edges, and the time since the last new edge, also counting the generic
functions of libraries compiled here. The exit code is 1 if a target failed (fuzz/artifacts holds the input),
and 2 if the build did.
"""

from __future__ import annotations

import argparse
import bisect
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

from fuzz_seeds import LONGEST, ROOT, SEEDS, texts_between_quotes

FUZZ = ROOT / "fuzz"

# The compiler wrapper that adds coverage. Its checksum is among the flags: cargo rebuilds if it changes.
COUNTED = FUZZ / "counted.sh"
FLAGS = (
    "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=4 "
    f"--cfg counted_{zlib.crc32(COUNTED.read_bytes())}"
)


# Folders whose quoted strings are the dictionary of a target.
WORDS = {
    "scenario": ("crates/scenario/src",),
    "golden": ("crates/verify/src",),
    "trace": ("crates/link/src",),
    "losses": ("crates/channel/src",),
    "table": ("crates/phy/src", "crates/mac/src", "crates/verify/src"),
}


def artifacts(target: str) -> Path:
    """The folder for inputs that made a target fail."""
    return FUZZ / "artifacts" / target.replace(":", "-")


def seed(whole: str) -> list[str]:
    """Write the corpus and the dictionary of a target; returns the arguments that name them."""
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
    """Keep only the inputs of a corpus (the last argument) that reach an edge which no smaller ones reach."""
    corpus = Path(command[-1])
    kept = corpus.with_name(f"{corpus.name}.kept")
    kept.mkdir(exist_ok=True)
    merge = [*command[:-1], "-merge=1", str(kept), str(corpus)]
    done = subprocess.run(merge, cwd=FUZZ, env=environment, capture_output=True, check=False)
    if done.returncode == 0:
        shutil.rmtree(corpus)
        kept.rename(corpus)


class Functions:
    """Addresses of a program that belong to functions of this repository, not to generic ones of libraries.

    Inlined hash tables do not count: their keys are random, so the path of a search in them depends on chance
    and not on the input.
    """

    def __init__(self, program: Path) -> None:
        self.program = program
        command = ["nm", "-nC", "--defined-only", str(program)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        symbols = [line.split(" ", 2) for line in said.stdout.splitlines()]
        code = [(int(at, 16), name) for at, kind, name in symbols if kind in "tTwW"]
        self.starts = [at for at, _ in code]
        self.own = [
            re.match(r"[<&(\[]*(mut )?crossfade_|.* as crossfade_", name) is not None for _, name in code
        ]

    def is_own(self, address: int) -> bool:
        """True if the code at an address of the program file belongs to a function of this repository."""
        place = bisect.bisect_right(self.starts, address) - 1
        return place >= 0 and self.own[place] and "hashbrown" not in self._source_of(address)

    def _source_of(self, address: int) -> str:
        """Source file and line of an address, from the debugging information."""
        command = ["addr2line", "-e", str(self.program), hex(address)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loaded_at(pid: int) -> int:
    """Address at which the program of process `pid` is loaded."""
    return int(Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").partition("-")[0], 16)


@dataclass
class Progress:
    """Inputs, edges and CPU seconds of a target: in total, and at the last new edges."""

    runs: int = 0
    edges: int = 0
    cpu: float = 0.0
    # CPU seconds at the last new edge in a function of this repository.
    cpu_at_edge: float = 0.0
    runs_at_edge: int = 0
    # CPU seconds at the last new edge in any function.
    cpu_at_any: float = 0.0
    found: bool = False


def cpu_seconds(pid: int) -> float | None:
    """User and system time of process `pid` in s, or `None` if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def fuzz(built: Path, target: str, quiet: float, most: float) -> Progress:
    """Run a target until `quiet` CPU seconds bring no new edge, `most` are spent, or an input fails."""
    program, _, control = target.partition(":")
    # A slow input is no finding: the timeout is in wall-clock time, which passes while the process waits.
    options = [
        "-timeout=1200",
        "-report_slow_units=3600",
        "-rss_limit_mb=3000",
        "-reload=0",
        "-print_pcs=1",
        f"-max_len={LONGEST[program]}",
    ]
    command = [str(built / program), *options, *seed(target)]
    # The target `control` reads the name of the congestion control from the environment.
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
    """Build all targets with coverage, and return their folder; exit with 2 if the build fails."""
    settings = {
        "RUSTFLAGS": FLAGS,
        "RUSTC_WRAPPER": str(COUNTED),
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only",
    }
    host = subprocess.run(["rustc", "--print", "host-tuple"], capture_output=True, text=True, check=True)
    target = host.stdout.strip()
    # With --target, build scripts and macros are compiled without coverage.
    command = ["cargo", "build", "--quiet", "--release", "--bins", "--target", target]
    if subprocess.run(command, cwd=FUZZ, env={**os.environ, **settings}, check=False).returncode:
        raise SystemExit(2)
    return FUZZ / "target" / target / "release"


def main() -> int:
    """Build and fuzz the targets, and print a table line per target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help=f"one of {', '.join(SEEDS)}, or control:NAME (default: all)",
    )
    parser.add_argument(
        "--quiet", type=float, default=600.0, help="CPU seconds without a new edge after which a target ends"
    )
    parser.add_argument(
        "--most", type=float, default=3600.0, help="CPU seconds after which a target ends in any case"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of targets at a time")
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
