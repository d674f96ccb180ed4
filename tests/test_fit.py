"""Fits of Markov chains to traces of losses, compared with scipy; errors for files that are no trace."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crossfade as cf
from crossfade.cli import terminal
from crossfade.fitting import ChiSquareTest
from tests.later import stats


def chain(p_gg: float, p_bb: float, packets: int, seed: int = 1) -> list[int]:
    rng = random.Random(seed)
    lost, trace = 0, []
    for _ in range(packets):
        trace.append(lost)
        stays = rng.random() < (p_bb if lost else p_gg)
        lost = lost if stays else 1 - lost
    return trace


TRACE = chain(0.98, 0.7, 20_000)


def likelihood_ratio(table: np.ndarray[Any, Any]) -> tuple[float, int]:
    found = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    return found.statistic, found.dof


def agrees(test: ChiSquareTest | None, statistic: float, freedom: int) -> bool:
    assert test is not None
    assert test.p_value == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9)
    return bool(test.statistic == pytest.approx(statistic, rel=1e-9)) and test.freedom == freedom


def test_a_fit_is_what_counting_says() -> None:
    trace = np.array(TRACE)
    first, second = trace[:-1], trace[1:]
    fit = cf.fit.losses(TRACE)
    assert (fit.packets, fit.losses, fit.format) == (20_000, sum(TRACE), "bits")
    assert fit.p_gg.value == np.mean(second[first == 0] == 0)
    assert fit.p_bb.value == np.mean(second[first == 1] == 1)
    assert fit.mean_burst.value == pytest.approx(1 / (1 - fit.p_bb.value))
    p_gb, p_bg = 1 - fit.p_gg.value, 1 - fit.p_bb.value
    assert fit.p_e.value == pytest.approx(p_gb / (p_gb + p_bg))
    probabilities = np.where(
        first == second, np.where(first, 1 - p_bg, 1 - p_gb), np.where(first, p_bg, p_gb)
    )
    assert fit.log_likelihood == pytest.approx(np.log(probabilities).sum())
    for interval, truth in [(fit.p_gg, 0.98), (fit.p_bb, 0.7), (fit.p_e, 0.0625), (fit.mean_burst, 1 / 0.3)]:
        assert interval.low < truth < interval.high
    assert fit.verdict == "first-order"


def test_the_likelihood_ratio_tests_are_scipys() -> None:
    trace = np.array(TRACE)
    fit = cf.fit.losses(TRACE)
    pairs = np.histogram2d(trace[:-1], trace[1:], bins=2)[0]
    assert agrees(fit.independence, *likelihood_ratio(pairs))
    before, middle, after = trace[:-2], trace[1:-1], trace[2:]
    given = [
        likelihood_ratio(np.histogram2d(before[middle == state], after[middle == state], bins=2)[0])
        for state in (0, 1)
    ]
    assert agrees(fit.first_order, given[0][0] + given[1][0], given[0][1] + given[1][1])


def test_run_lengths_are_those_of_the_trace() -> None:
    text = "".join(map(str, TRACE))
    fit = cf.fit.losses(TRACE)
    for runs, digit, other, stay in [
        (fit.good_runs, "0", "1", fit.p_gg.value),
        (fit.bad_runs, "1", "0", fit.p_bb.value),
    ]:
        # Runs between two changes of state; the incomplete runs at both ends are left out.
        inner = text.strip(text[0]).strip(text[-1])
        found = np.array([len(run) for run in inner.split(other) if run])
        lengths, counts = np.unique(found, return_counts=True)
        assert runs.lengths.tolist() == lengths.tolist(), digit
        assert runs.counts.tolist() == counts.tolist()
        assert runs.survival == pytest.approx([np.mean(found >= length) for length in lengths])
        assert runs.fitted == pytest.approx(stay ** (lengths - 1.0))
        every = np.arange(1, found.max() + 2)
        differences = [abs(np.mean(found >= k) - stay ** (k - 1)) for k in every]
        assert runs.distance.value == pytest.approx(max(differences))
        assert runs.test is not None
        assert runs.test.p_value > 0.01


def test_the_ways_to_give_a_trace_agree(tmp_path: Path) -> None:
    expected = cf.fit.losses(TRACE).to_dict()
    bits = tmp_path / "trace.txt"
    bits.write_text("# a trace\n" + "\n".join(map(str, TRACE)))
    lost = tmp_path / "lost.txt.gz"
    numbers = [number for number, lost in enumerate(TRACE) if lost]
    with gzip.open(lost, "wt") as file:
        file.write("# packets 20000\n" + "\n".join(map(str, numbers)))
    for found in (
        cf.fit.losses(bits),
        cf.fit.losses(str(bits), "bits", 20_000),
        cf.fit.losses(np.array(TRACE)),
        cf.fit.losses(np.array(TRACE, dtype=bool)),
        cf.fit.losses(lost),
        cf.fit.losses(np.array(numbers), "lost", 20_000),
    ):
        assert {**found.to_dict(), "source": "trace", "format": "bits"} == expected
    assumed = cf.fit.losses(numbers, "lost")
    assert (assumed.packets, assumed.packets_assumed) == (numbers[-1] + 1, True)


def test_json_reads_back() -> None:
    fit = cf.fit.losses(TRACE)
    assert json.loads(fit.to_json()) == fit.to_dict()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0 1 0 2", {}, 'trace.txt: line 1: "2": must be 0 (delivered) or 1 (lost)'),
        ("5\n9\n7\n", {}, "trace.txt: line 3: 7: must be above the lost number before it, 9"),
        (
            "1\n10\n",
            {},
            'trace.txt: format = "auto": the text can be bits and lost numbers: say bits or lost',
        ),
        ("", {}, "trace.txt: no packets: the trace is empty"),
        ("0101", {"format": "csv"}, 'trace.txt: format = "csv": must be auto, bits or lost'),
        ("0101", {"packets": 5}, "trace.txt: packets = 5: must be the number of digits, 4"),
        ("0101", {"packets": -1}, "packets = -1: must be from 1 to 2^53"),
        ("0101", {"packets": 10**30}, f"packets = {10**30}: must be from 1 to 2^53"),
        (
            "0000000",
            {"format": "bits"},
            "trace.txt: 7 packets, 0 lost, 0 changes between delivered and lost: "
            "a fit needs at least 10 changes",
        ),
    ],
)
def test_what_is_no_trace_gets_one_line(
    text: str, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.txt").write_text(text)
    with pytest.raises(cf.errors.TraceError) as caught:
        cf.fit.losses("trace.txt", **options)
    assert str(caught.value) == message


def test_arrays_that_are_no_trace_get_one_line() -> None:
    for array in ([[0, 1]], ["a"], [0.5], [None], [float("nan")]):
        with pytest.raises(cf.errors.TraceError, match="one-dimensional array of whole numbers"):
            cf.fit.losses(np.array(array))
    with pytest.raises(cf.errors.TraceError, match=r"trace\[2\] = 7: must be 0 .* format = \"lost\""):
        cf.fit.losses([0, 1, 7])
    with pytest.raises(cf.errors.TraceError, match=r"nowhere\.txt: cannot be read"):
        cf.fit.losses("nowhere.txt")


def test_slow_fading_is_no_chain() -> None:
    slow = cf.fit.rayleigh(0.1, 0.01)
    assert slow.fit.verdict == "not-first-order"
    assert slow.fit.p_bb.value == pytest.approx(slow.p_bb, abs=0.002)
    assert 0.17 < slow.fit.bad_runs.distance.value < 0.23
    closed_form = cf.fit.markov_from_rayleigh(0.01, p_e=0.1)
    assert (slow.p_gg, slow.p_bb) == (closed_form["p_gg"], closed_form["p_bb"])
    with pytest.raises(cf.errors.ScenarioError, match="fd_t"):
        cf.fit.rayleigh(0.1, -1.0)


def test_a_fit_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = cf.fit.losses(TRACE)
    terminal.print_fit(fit, terminal.console())
    printed = capsys.readouterr().out
    for word in ("20000 packets", "p_gg", "mean_burst", "packet before last", "first-order chain describes"):
        assert word in printed
    files = [tmp_path / name for name in ("one.svg", "two.svg")]
    for file in files:
        fit.plot(file, title="Runs")
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(cf.errors.CrossfadeError, match="png"):
        fit.plot(tmp_path / "x.bmp")
