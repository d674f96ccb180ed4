"""Typical mistakes of new users, and the message that helps: the key, the error, the likely intention."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, expect_one_line

RUN = ["run", "quickstart"]
WRONG: list[tuple[list[str], list[str]]] = [
    (["quickstart"], ["No such command 'quickstart'", "crossfade run quickstart"]),
    (["run", "quikstart"], ["quikstart: no such file", "did you mean quickstart?"]),
    (["check", "mine.toml"], ["mine.toml: no such file", "names all: quickstart, across-radios"]),
    (["sweep"], ["Missing argument 'SCENARIO'"]),
    (["copy", "quickstrat"], ["quickstrat", "did you mean quickstart?"]),
    ([*RUN, "--set", "tcp.varient=reno"], ["tcp.varient: unknown key", "did you mean tcp.variant?"]),
    ([*RUN, "--set", "tcp.variant=vegas"], ['tcp.variant = "vegas"', "newreno", "cubic"]),
    ([*RUN, "--set", "tcp.w_max=ten"], ['tcp.w_max = "ten"', "a whole number"]),
    ([*RUN, "--set", "tcp.rto=100ms"], ['tcp.rto = "100ms"', "must be a table", "tcp.rto.fixed"]),
    ([*RUN, "--set", "link.rate=1.5"], ["link.rate = 1.5", '"1.5 Mbit/s"']),
    ([*RUN, "--set", "link.rate=1.5 Mb"], ['link.rate = "1.5 Mb"', '"1.5 Mbit/s"']),
    ([*RUN, "--set", "run.duration=10"], ["run.duration = 10", '"2 s"', '"100 slots"']),
    ([*RUN, "--set", "channel.p_e=150 %"], ['channel.p_e = "150 %"', "between 0 and 1"]),
    ([*RUN, "--set", "channel.fd_t=0.01 Hz"], ['channel.fd_t = "0.01 Hz"', "a number"]),
    (
        ["run", "classics/bufferbloat", "--set", "link.queue.discipline=fqcodel"],
        ["fqcodel", 'did you mean "fq-codel"?'],
    ),
    ([*RUN, "--over", "channel.p_e=0.1:0.01:0.01"], ["0.1:0.01:0.01", "start:stop:step"]),
    ([*RUN, "--method", "simulate"], ["simulate", 'did you mean "simulation"?']),
    ([*RUN, "--precision", "1"], ["run.precision = 1", '"1 %"']),
    ([*RUN, "--runs", "ten"], ["--runs", "ten", "a whole number"]),
    ([*RUN, "--y", "goodput"], ["--y goodput: no metric", "goodput_bps"]),
    ([*RUN, "--plot", "out.jpg"], ["out.jpg", ".png, .pdf or .svg"]),
    ([*RUN, "--csv", "nowhere/x.csv"], ["nowhere/x.csv", "there is no folder nowhere"]),
    (["plot", "quickstart"], ["quickstart: a scenario", "crossfade run quickstart --plot"]),
    (["plot", "results.sqlite"], ["results.sqlite", "No such file"]),
    (["compare", "quickstart", "--by", "variant"], ["by variant: not an axis", "tcp.variant"]),
    (
        ["best", "quickstart", "--choose", "tcp.variant", "--subject-to", "rtt<0.8"],
        ["metric rtt", "did you mean rtt_mean_s"],
    ),
    (["explain", "goodput"], ["goodput: no key and no metric", "did you mean goodput_bps"]),
    (["paper", "tcp-markov", "fig9"], ["fig9", "fig6"]),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[" ".join(line) for line, _ in WRONG])
def test_the_answer_is_one_line_that_helps(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    expect_one_line(cli(*arguments), *words)
    assert not list(tmp_path.iterdir())
