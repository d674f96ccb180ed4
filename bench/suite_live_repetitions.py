"""Detections and false alarms of `crossfade suite` with a real program: quinn over live links.

Usage: python bench/suite_live_repetitions.py run FOLDER FIRST LAST
       python bench/suite_live_repetitions.py count FOLDER

``run`` carries out trials FIRST to LAST - 1, each with a seed of its own. In each trial, quinn with NewReno
makes the baseline, and ``crossfade suite --stack quinn --baseline`` compares three builds with it: the
unchanged one, one whose client sleeps before each packet that it sends (nearly all are acknowledgements), and
one whose server reduces its window by nine tenths on a loss. Results go to FOLDER, and what is there is not
run again. It needs ``quinn-peer`` (examples/stacks) on PATH and rights for ``chrt -f 1``.

``count`` prints for each build in how many trials a case was worse, with a 95 % Clopper-Pearson interval, and
in how many a target was missed; how often which verdicts of the baseline and the unchanged build met; the
detections with fewer runs; and the load averages.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from crossfade.suite.baseline import compare_with
from crossfade.suite.cases import load_suite
from crossfade.suite.running import Row, SuiteResult

CASES = {"interop": ["transferloss", "droplist"], "c4": ["alone", "alone-200"]}
BUILDS = {
    "baseline": {},
    "unchanged": {},
    "slowed": {"PEER_SEND_SLEEP": "5"},
    "wrong response": {"PEER_LOSS_REDUCTION": "0.1"},
}
RUNS = 4
RENO = {"PEER_LOSS_REDUCTION": "0.5"}


def run(folder: Path, first: int, last: int) -> None:
    """Carry out trials, and write rows, messages and exit codes; results already in the folder are
    skipped.
    """
    for trial in range(first, last):
        here = folder / f"{trial:02d}"
        here.mkdir(parents=True, exist_ok=True)
        # The order differs in each trial, so that a drift of the machine does not favour one build.
        others = list(BUILDS)[1:]
        order = ["baseline", *others[trial % 3 :], *others[: trial % 3]]
        for suite, cases in CASES.items():
            for build in order:
                _one(here, suite, cases, build, 2000 + trial)


def _one(here: Path, suite: str, cases: list[str], build: str, seed: int) -> None:
    """Run a suite with one build, and write its rows, messages, exit code, load and seconds."""
    name = f"{suite}-{build.split()[0]}"
    if (here / f"{name}.state").exists():
        return
    kept = here / f"{name}-out"
    shutil.rmtree(kept, ignore_errors=True)
    words = ["chrt", "-f", "1", "crossfade", "suite", suite, "--stack", "quinn", "--runs", str(RUNS)]
    words += ["--seed", str(seed), "--out", str(kept), "--json"]
    words += [word for case in cases for word in ("--case", case)]
    if build != "baseline":
        words += ["--baseline", str(here / f"{suite}-baseline.json")]
    began = time.monotonic()
    done = subprocess.run(
        words, env=os.environ | RENO | BUILDS[build], capture_output=True, text=True, check=False
    )
    (here / f"{name}.json").write_text(done.stdout)
    (here / f"{name}.err").write_text(done.stderr)
    state = {"code": done.returncode, "load": os.getloadavg()[0], "took_s": time.monotonic() - began}
    (here / f"{name}.state").write_text(json.dumps(state))
    shutil.rmtree(kept, ignore_errors=True)


def count(folder: Path) -> None:
    """Print in how many trials a build was worse than the baseline, and in how many it missed a target."""
    from scipy.stats import beta  # type: ignore[import-untyped]

    trials = sorted(path for path in folder.iterdir() if path.is_dir())
    for build in list(BUILDS)[1:]:
        worse, failed, by_case = 0, 0, dict.fromkeys((c for found in CASES.values() for c in found), 0)
        whole = [here for here in trials if all(_file(here, suite, build).exists() for suite in CASES)]
        for here in whole:
            texts = [_file(here, suite, build).with_suffix(".err").read_text() for suite in CASES]
            lines = [line for text in texts for line in text.splitlines()]
            alarms = [line for line in lines if line.startswith("baseline (worse)")]
            worse += bool(alarms)
            failed += any(line.startswith("failed:") for line in lines)
            for case in by_case:
                by_case[case] += any(re.search(rf" on {case}(;|$)", line) for line in alarms)
        n = len(whole)
        low = float(beta.ppf(0.025, worse, n - worse + 1)) if worse else 0.0
        high = float(beta.ppf(0.975, worse + 1, n - worse)) if worse < n else 1.0
        print(f"{build}: worse in {worse} of {n} ({low:.3f} to {high:.3f}), failed in {failed}; {by_case}")
    _print_pairs_of_verdicts(trials)
    for runs in range(2, RUNS):
        _print_with_fewer_runs(trials, runs)
    states = [json.loads(path.read_text()) for path in folder.rglob("*.state")]
    loads = sorted(state["load"] for state in states)
    print(f"load {loads[0]:.1f} to {loads[-1]:.1f}, median {loads[len(loads) // 2]:.1f}")


def _print_pairs_of_verdicts(trials: list[Path]) -> None:
    """Print, for each case, the numbers of pairs of verdicts: of the baseline and of the unchanged build."""
    pairs: dict[str, Counter[tuple[str, str]]] = {}
    for here in trials:
        for suite in CASES:
            files = [_file(here, suite, build) for build in ("baseline", "unchanged")]
            if all(file.exists() for file in files):
                first, second = (json.loads(file.with_suffix(".json").read_text()) for file in files)
                for one, other in zip(first, second, strict=True):
                    pairs.setdefault(one["case"], Counter())[one["verdict"], other["verdict"]] += 1
    for case, found in pairs.items():
        print(f"{case}: " + ", ".join(f"{one} then {other}: {n}" for (one, other), n in found.items()))


def _print_with_fewer_runs(trials: list[Path], runs: int) -> None:
    """Print in how many trials a build is worse by its first ``runs`` runs alone."""
    found = dict.fromkeys(list(BUILDS)[1:], 0)
    for here, build in itertools.product(trials, found):
        alarms = 0
        for suite in CASES:
            files = [_file(here, suite, name) for name in ("baseline", build)]
            if all(file.exists() for file in files):
                old, new = (json.loads(file.with_suffix(".json").read_text()) for file in files)
                for row in (*old, *new):
                    row["values"] = [pair for pair in row["values"] if pair[0] < runs]
                rows = [Row(**{**row, "values": dict(row["values"])}) for row in new]
                result = SuiteResult(load_suite(suite), [rows[0].tested], runs, 0, 0.95, rows)
                alarms += sum(pair.verdict == "worse" for pair in compare_with(result, old))
        found[build] += bool(alarms)
    print(f"of the first {runs} runs alone, worse: {found}")


def _file(here: Path, suite: str, build: str) -> Path:
    """The file with the state of a suite and build, which is there once it has run."""
    return here / f"{suite}-{build.split()[0]}.state"


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        count(Path(sys.argv[2]))
