"""Hostile files of each kind through every command that takes a file: ``python -m tests.trials strangers``.

A command changes only its output, starts no process, opens no address and uses bounded memory; each file
gives a result or a one-line error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossfade as cf
from crossfade.cli.live import command as live_command
from tests.trials.attacks import command, is_one_line
from tests.trials.strange_files import SMALL, Makers
from tests.trials.watched import (
    MOST_SECONDS,
    Watch,
    canaries,
    difference,
    enclosed,
    limit,
    patience,
    snapshot,
)

ROOT = Path(__file__).parents[2]
BATCH = 50
PATIENCE_S = 3.0

Arguments = tuple[str | Path, ...]
# Arguments of every command that takes a file, from the file and a folder for its output.
COMMANDS: dict[str, Callable[[Path, Path], Arguments]] = {
    "check": lambda file, out: ("check", file),
    "run": lambda file, out: ("run", file, "--runs", "1", "--quiet", "--csv", out / "rows.csv"),
    "run --events": lambda file, out: ("run", file, "--runs", "1", "--quiet", "--events", out / "events.csv"),
    "run --replay": lambda file, out: ("run", "--replay", file, "--events", out / "events.csv"),
    "sweep": lambda file, out: ("sweep", file, "--runs", "1", "--quiet", "--out", out / "rows.sqlite"),
    "plot": lambda file, out: ("plot", file, "--out", out / "drawn.svg"),
    "report": lambda file, out: ("report", file, "--out", out / "report.html"),
    "export csv": lambda file, out: ("export", file, "--to", "csv", "--runs", "--out", out / "rows.csv"),
    "export parquet": lambda file, out: ("export", file, "--to", "parquet", "--out", out / "rows.parquet"),
    "export netcdf": lambda file, out: ("export", file, "--to", "netcdf", "--out", out / "rows.nc"),
    "export matlab": lambda file, out: ("export", file, "--to", "mat", "--out", out / "rows.mat"),
    "compare": lambda file, out: ("compare", file, "--by", "tcp.variant", "--csv", out / "rows.csv"),
    "best": lambda file, out: ("best", file, "--choose", "tcp.variant"),
    "merge": lambda file, out: ("merge", file, "--out", out / "merged.sqlite"),
    "fit": lambda file, out: ("fit", file),
    "reuse": lambda file, out: ("reuse", file, "--plot", out / "map.svg"),
    "phy": lambda file, out: ("phy", file, "--quiet"),
    "verify": lambda file, out: ("verify", file.parent),
    "live": lambda file, out: ("live", file, "--json", out / "live.json", "--", "true"),
}
# Commands for scenarios with a control of their own: these only read the scenario and must not execute the
# control's code, which a run rightly executes.
ONLY_LOOKED_AT = {
    "control": ("check", "plot", "report", "export csv", "merge", "fit", "verify", "live", "reuse")
}
LIKELY = {
    "results": (
        "check",
        "plot",
        "report",
        "export csv",
        "export parquet",
        "export matlab",
        "compare",
        "best",
        "merge",
    ),
    "database": ("check", "report", "export csv", "compare", "best", "merge", "sweep", "plot"),
    "journal": ("run --replay", "plot"),
    "trace": ("run", "check", "fit", "run --events", "sweep"),
    "table": ("run", "check", "phy", "reuse", "sweep"),
    "scenario": ("run", "check", "sweep", "compare", "phy", "live"),
}


def strangers(files: int, seed: int) -> Counter[str]:
    """Try a number of hostile files, in separate namespaces if the machine allows; gives the count of each
    outcome.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = canaries(Path(name).resolve())
        for part in ("work", "out", "good"):
            (folder / part).mkdir()
        make_good(folder / "good")
        inside = [sys.executable, "-P", "-B", "-m", "tests.trials.strangers", str(files), str(seed)]
        environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("XDG_", "PYTEST", "CROSSFADE"))
        }
        whole = enclosed(folder, inside)
        place = Path("/mnt") if whole[0] == "unshare" else folder
        environment |= {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "PYTHONPATH": str(ROOT)}
        environment |= {"XDG_CACHE_HOME": str(place / "out" / "cache"), "STRANGERS": str(place)}
        before = snapshot(folder)
        done = subprocess.run(
            whole, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        after = {
            name: what for name, what in snapshot(folder).items() if not name.startswith(("out", "work"))
        }
        kept = {name: what for name, what in before.items() if not name.startswith(("out", "work"))}
        assert not (changed := difference(kept, after)), f"others' files: {changed}"
        assert done.returncode == 0, done.stdout[-3000:]
        found = Counter(json.loads(done.stdout.splitlines()[-1]))
    where = (
        "in namespaces of their own"
        if whole[0] == "unshare"
        else "without namespaces, which are not allowed here"
    )
    found[f"files {where}"] = files
    return found


def make_good(folder: Path) -> None:
    """Write the originals of the hostile files: results and, if live runs are possible, the journal of
    one.
    """
    (folder / "good.toml").write_text(SMALL.replace('"a link"', '"<script>stranger()</script> $x_{$ =1+1"'))
    cf.sweep(folder / "good.toml", runs=3, out=folder / "good.sqlite")
    live = ["live", "--rate", "1 Mbit/s", "--quiet", "--record", str(folder / "good.cfj"), "--", "true"]
    subprocess.run([sys.executable, "-m", "crossfade", *live], capture_output=True, check=False)


def try_all(place: Path, files: int, seed: int) -> Counter[str]:
    """Try the files in batches, each in a process of its own, because a watch cannot be removed from a
    process.
    """
    warm_up(place)
    found: Counter[str] = Counter()
    for first in range(0, files, BATCH):
        before = snapshot(place)
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(reading)
            code = 1
            try:
                counts = try_batch(place, range(first, min(first + BATCH, files)), seed)
                with open(writing, "w") as told:
                    json.dump(counts, told)
                code = 0
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", flush=True)
            finally:
                os._exit(code)
        os.close(writing)
        with open(reading) as told:
            text = told.read()
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"files from {first}: the process ended with {os.waitstatus_to_exitcode(status)}"
        changed = [name for name in difference(before, snapshot(place)) if " out/cache" not in name]
        assert not changed, f"files from {first}: {changed}"
        found.update(json.loads(text))
    return found


def warm_up(place: Path) -> None:
    """Run each command once before the watch begins, so that modules are loaded and libraries have filled
    their caches.
    """
    good, out = place / "good", place / "out"
    for name in ("check", "run", "sweep", "compare"):
        command(*COMMANDS[name](good / "good.toml", out))
    for name in ("plot", "report", "export parquet", "export matlab", "best", "merge"):
        code, _, err = command(*COMMANDS[name](good / "good.sqlite", out))
        assert code == 0, err
    page = (out / "report.html").read_text()
    assert "<script>stranger" not in page
    empty(out)


def empty(out: Path) -> None:
    for path in out.iterdir():
        if path.name != "cache":
            path.unlink()


def try_batch(place: Path, numbers: range, seed: int) -> Counter[str]:
    """Try the files of these numbers under a watch; gives the count of each outcome."""
    found: Counter[str] = Counter()
    good, out, work = place / "good", place / "out", place / "work"
    journal = good / "good.cfj"
    makers = Makers(good / "good.sqlite", journal if journal.exists() else None)
    # The step of a live run that replaces this process by its helper does nothing here.
    live_command.__dict__["_become_helper"] = lambda config: 0
    limit()
    watch = Watch([out, place / "tmp"])
    os.chdir(work)
    has_netcdf = False
    watch.begin()
    for number in numbers:
        with watch.paused():
            draw = random.Random(f"{seed} {number}")
            kind = draw.choice(list(makers.all))
            folder = work / str(number)
            folder.mkdir()
            file = makers.all[kind](folder, draw, place / "victim.txt")
            likely = LIKELY.get(kind, tuple(COMMANDS))
            allowed = ONLY_LOOKED_AT.get(kind, tuple(COMMANDS))
            name = draw.choice(likely if draw.random() < 0.85 else tuple(COMMANDS))
            name = name if name in allowed else draw.choice(allowed)
            # Its libraries take a second to load, and few files are drawn for it.
            if name == "export netcdf" and not has_netcdf:
                code, _, err = command(*COMMANDS[name](good / "good.sqlite", out))
                assert code == 0, err
                empty(out)
                has_netcdf = True
            before = snapshot(folder)
        about = f"file {number} of seed {seed} ({kind} {file.name}), {name}"
        outcome = tried(COMMANDS[name](file, out), about)
        with watch.paused():
            assert not watch.found, f"{about}: {watch.found}"
            assert not (changed := difference(before, snapshot(folder))), f"{about}: {changed}"
            found[outcome] += 1
            found[f"kind {kind}"] += 1
            shutil.rmtree(folder)
            empty(out)
    return found


def tried(arguments: Arguments, about: str) -> str:
    """Outcome of a command as a phrase: a result, a refusal in one line, or a stop after the time limit."""
    began = time.process_time()
    try:
        with patience(PATIENCE_S):
            code, _, err = command(*arguments)
    except KeyboardInterrupt:
        return "stopped after 3 s"
    except BaseException as error:
        raise AssertionError(f"{about}: {error!r}") from error
    assert time.process_time() - began < MOST_SECONDS, f"{about}: too slow"
    assert "Traceback" not in err, f"{about}: {err:.500}"
    assert "\x1b" not in err, f"{about}: {err!r:.500}"
    if code == 130:
        return "stopped after 3 s"
    if code in (0, 1):
        return "a result"
    assert code in (2, 125), f"{about}: exit code {code}"
    assert is_one_line(err), f"{about}: {err:.500}"
    return "refused in one line"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=int)
    parser.add_argument("seed", type=int)
    asked: Any = parser.parse_args()
    print(json.dumps(try_all(Path(os.environ["STRANGERS"]), asked.files, asked.seed)))
