"""Controls in Python with pacing, delivery-rate samples, or batches of acknowledgements."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import events_text
from tests.test_rules import FADING, run

LOSSY = FADING.replace('"markov", p_e = 0.02, fd_t = 0.05, clock = "slot"', '"iid", p_e = 0.02').replace(
    '"sack"', '"sack", w_max = 500'
)

LISTENER = """
from crossfade.teaching import Reno

heard = {}


class Mine(Reno):
    def _hear(self, name, *what):
        heard.setdefault(name, []).append(what)

    def seed(self, number):
        assert not heard
        self._hear("seed", number)

    def on_send(self, send):
        assert send.in_flight >= 0 and (send.srtt is None or send.srtt > 0.04)
        self._hear("send", send)

    def on_segment_lost(self, lost):
        assert lost.tx_in_flight >= 1 and lost.lost_since_sent >= 1
        self._hear("lost", lost)

    def on_phase(self, now, phase, in_flight):
        assert phase in ("open", "recovery", "loss")
        self._hear("phase", phase)

    def on_delivery(self, sample):
        # Losses and phases of an acknowledgement are told before its sample.
        assert sample.lost == len(heard.get("lost", ()))
        assert sample.phase == heard.get("phase", [("open",)])[-1][0]
        assert sample.rate is None or 0.0 < sample.rate < 1000.0
        assert sample.delivered >= (sample.prior_delivered or 0)
        assert sample.departure >= sample.now
        self._hear("delivery", sample)

    def on_ack(self, ack):
        assert heard["delivery"][-1][0].now == ack.now
        super().on_ack(ack)
"""


def test_a_class_hears_what_it_has_methods_for(tmp_path: Path) -> None:
    """Optional methods are called, and a control with passive ones gives the same rows as without them."""
    end = """
    def limits_itself(self):
        if len(heard["delivery"]) == 200:
            counts = {name: len(what) for name, what in heard.items()}
            __import__("pathlib").Path("MARK").write_text(repr(counts))
        return False
"""
    (tmp_path / "mine.py").write_text(LISTENER + end.replace("MARK", str(tmp_path / "mark")))
    heard = run(tmp_path, text=LOSSY, runs=1)
    (tmp_path / "mine.py").write_text("from crossfade.teaching import Reno\nclass Mine(Reno): pass\n")
    silent = run(tmp_path, text=LOSSY, runs=1)
    assert heard.points[0].rows[0].values == silent.points[0].rows[0].values
    counts = eval((tmp_path / "mark").read_text())
    assert counts["seed"] == 1
    assert counts["delivery"] == 200
    assert counts["send"] > 200
    assert counts["lost"] > 3
    assert counts["phase"] >= 1


PACED = """
from crossfade.teaching import CongestionControl


class Mine(CongestionControl):
    own_window = True
    pacing_rate = {rate}
    send_quantum = {quantum}

    def start(self, cwnd, ssthresh):
        self.cwnd, self.ssthresh = 1000.0, 1000.0

    def set_cwnd(self, cwnd):
        raise AssertionError("the window is its own")
"""


@pytest.mark.parametrize("rate", [50.0, 100.0])
def test_a_rate_of_its_own_is_kept_whatever_is_lost(tmp_path: Path, rate: float) -> None:
    (tmp_path / "mine.py").write_text(PACED.format(rate=rate, quantum=1))
    found = run(tmp_path, text=LOSSY).points[0]
    # Segments sent in 5 s at the pacing rate, retransmissions included.
    sent = (found.value("segments_delivered") or 0.0) + (found.value("retransmissions") or 0.0)
    assert sent == pytest.approx(5.0 * rate, rel=0.02)


BATCHED = """
import numpy as np
from crossfade.teaching import BatchedCongestionControl


class Mine(BatchedCongestionControl):
    period = {period}
    ends_batch = {ends}
    calls = []

    def start(self, cwnd, ssthresh):
        super().start(cwnd, ssthresh)
        self.pacing_rate = 50.0
        self.delivered = self.lost = 0
        self.last = 0.0

    def on_acks(self, batch):
        calls = Mine.calls
        calls.append((self.ended_by, len(batch)))
        if len(batch):
            # Nothing is told twice, and nothing is left out.
            self.delivered += int(batch["newly_acked"].sum())
            self.lost += int(batch["newly_lost"].sum())
            assert self.delivered == batch["delivered"][-1]
            assert self.lost <= batch["lost"][-1]
            assert (np.diff(batch["now"]) >= 0).all() and batch["now"][0] >= self.last
            assert (batch["cwnd"] == self.cwnd).all()
            assert not batch.flags.writeable
            self.last = batch["now"][-1]
            rates = batch["rate"][~np.isnan(batch["rate"])]
            assert ((rates > 0) & (rates < 1000)).all()
            self.pacing_rate = min(1.25 * rates.max(), 160.0) if len(rates) else self.pacing_rate
            self.cwnd = max(4.0, 2 * self.pacing_rate * 0.06)
        __import__("pathlib").Path("MARK").write_text(repr(calls))
"""


@pytest.mark.parametrize(
    ("period", "ends"),
    [(None, ()), (0.2, ()), (None, ("loss", "timeout")), (100.0, ("loss",)), (1e-9, ())],
)
def test_a_batched_class_hears_of_each_acknowledgement_once(
    tmp_path: Path, period: float | None, ends: tuple[str, ...]
) -> None:
    text = BATCHED.format(period=period, ends=ends).replace("MARK", str(tmp_path / "mark"))
    (tmp_path / "mine.py").write_text(text)
    found = run(tmp_path, text=LOSSY, runs=1).points[0]
    calls = eval((tmp_path / "mark").read_text())
    words = {word for word, _ in calls}
    assert words <= {*ends, "round" if period is None else "period"}
    if period is None:
        assert "round" in words
        # A round trip takes at least 46 ms of the 5 s.
        assert 20 < sum(word == "round" for word, _ in calls) < 5.0 / 0.046
    elif period == 0.2:
        assert 20 <= len(calls) <= 25
    elif period == 1e-9:
        assert all(rows == 1 for _, rows in calls)
    else:
        assert words == {"loss"}
    if "loss" in ends:
        assert "loss" in words
    # Once it has seen the rate, the control paces at up to 160 of 167 segments per second, despite losses.
    assert period == 100.0 or (found.value("goodput_bps") or 0.0) > 1e6


ROWS_AND_SAMPLES = """
import math
from pathlib import Path

from crossfade.teaching import BatchedCongestionControl, CongestionControl

NAMES = ({names})


def write(rows):
    with Path("MARK").open("a") as file:
        file.writelines(repr(row) + "\\n" for row in rows)


class {event}(CongestionControl):
    own_window = True

    def set_cwnd(self, cwnd):
        raise AssertionError("the window is its own")

    def on_delivery(self, sample):
        phases = ("open", "recovery", "loss")
        values = [getattr(sample, name) for name in NAMES[:-1]] + [phases.index(sample.phase)]
        absent = {{"prior_delivered": -1}}
        write([[absent.get(name, math.nan) if v is None else v for name, v in zip(NAMES, values)]])


class {batch}(BatchedCongestionControl):
    period = 1.0

    def on_acks(self, batch):
        assert set(batch.dtype.names) == {{*NAMES, "cwnd"}}
        assert batch.dtype["answers_probe"] == bool
        write([row[name].item() for name in NAMES] for row in batch)
"""


@pytest.mark.parametrize("w_max", [500, 1])
def test_rows_have_what_a_sample_has(tmp_path: Path, w_max: int) -> None:
    """Rows of a batch have the fields of samples, for two controls that never change their windows."""
    from crossfade._crossfade import RateSample

    fields = [name for name in vars(RateSample) if not name.startswith("_") and name != "phase"]
    names = [*sorted(fields), "phase"]
    lossy = LOSSY.replace("p_e = 0.02", "p_e = 0.1").replace(
        "w_max = 500", f'w_max = {w_max}, rfc = {{ profile = "linux" }}'
    )
    lossy = lossy.replace('"5 s"', '"20 s"')
    told = {}
    for event, batch in (("Mine", "_Other"), ("_Other", "Mine")):
        text = ROWS_AND_SAMPLES.format(names=repr(names)[1:-1], event=event, batch=batch)
        (tmp_path / "mine.py").write_text(text.replace("MARK", str(tmp_path / event)))
        run(tmp_path, text=lossy, runs=1)
        told[event] = (tmp_path / event).read_text().splitlines()
    samples, rows = told["Mine"], told["_Other"]
    # The last period does not end, so its samples have no rows.
    assert len(samples) >= len(rows) > 50
    assert rows == samples[: len(rows)]
    # With a window of one segment, an ACK of a probe's retransmission covers nothing beyond it.
    probes = {eval(row, {"nan": 0.0})[names.index("answers_probe")] for row in rows}
    assert probes == ({True, False} if w_max == 1 else {False})


def test_a_timeout_ends_a_batch_at_once(tmp_path: Path) -> None:
    text = BATCHED.format(period=100.0, ends='("timeout",)').replace("MARK", str(tmp_path / "mark"))
    (tmp_path / "mine.py").write_text(text)
    outage = LOSSY.replace('"iid", p_e = 0.02', '"iid", p_e = 0.97')
    run(tmp_path, text=outage, runs=1)
    calls = eval((tmp_path / "mark").read_text())
    assert {word for word, _ in calls} == {"timeout"}
    assert any(rows == 0 for _, rows in calls)


def test_marks_end_a_batch_and_are_counted(tmp_path: Path) -> None:
    text = """
from crossfade.teaching import BatchedCongestionControl


class Mine(BatchedCongestionControl):
    ends_batch = ("mark",)
    ect_1 = True
    marks = 0

    def on_acks(self, batch):
        assert (self.ended_by == "mark") == bool(batch["ce"].sum())
        self.cwnd = self.cwnd / 2 + 1 if self.ended_by == "mark" else self.cwnd + 1
        Mine.marks += int(batch["ce"].sum())
        __import__("pathlib").Path("MARK").write_text(str(Mine.marks))
"""
    (tmp_path / "mine.py").write_text(text.replace("MARK", str(tmp_path / "mark")))
    with pytest.raises(
        cf.errors.ScenarioError, match=r"^mine.py:5: .*needs tcp.rfc.ecn = true and tcp.rfc.accurate"
    ):
        run(tmp_path, runs=1)
    queue = 'queue = { discipline = "dualpi2", limit = "100 ms" }'
    text = FADING.replace('queue = { limit = "30 packets" }', queue)
    text = text.replace('"sack"', '"sack", rfc = { ecn = true, accurate_ecn = true }')
    run(tmp_path, text=text, runs=1)
    assert int((tmp_path / "mark").read_text()) > 5


def infos(line: Mapping[str, str]) -> dict[str, str]:
    """Names and values in the column ``info`` of an event."""
    return dict(pair.split("=") for pair in line["info"].split())


SAYS = """
from crossfade.teaching import BatchedCongestionControl, Reno


class Mine(Reno):
    def info(self):
        return {"state": "slow-start" if self.cwnd < self.ssthresh else "open", "half": self.cwnd / 2, "n": 1}


class Batched(BatchedCongestionControl):
    calls = 0

    def on_acks(self, batch):
        self.calls += 1

    def info(self):
        return {"calls": self.calls}
"""


def test_what_a_class_says_of_itself_stands_in_the_events(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SAYS)
    (tmp_path / "a.toml").write_text(LOSSY)
    over = {"tcp.congestion": ["mine.py:Mine", "mine.py:Batched", "reno", "bbr-v1"]}
    lines = list(csv.DictReader(io.StringIO(events_text(tmp_path / "a.toml", over=over))))
    of = {word: [line for line in lines if line["tcp.congestion"] == word] for word in over["tcp.congestion"]}
    for line in of["mine.py:Mine"]:
        cwnd, ssthresh = float(line["cwnd"]), float(line["ssthresh"])
        assert infos(line) == {
            "state": "slow-start" if cwnd < ssthresh else "open",
            "half": infos(line)["half"],
            "n": "1",
        }
        assert float(infos(line)["half"]) == cwnd / 2
    calls = [int(infos(line)["calls"]) for line in of["mine.py:Batched"]]
    assert calls == sorted(calls)
    assert (calls[0], calls[-1] > 20) == (0, True)
    assert {line["info"] for line in of["reno"]} == {""}
    bbr = [infos(line) for line in of["bbr-v1"]]
    assert {"startup", "probe-bw"} <= {found["state"] for found in bbr}
    names = ["state", "bandwidth", "min_rtt_s", "pacing_rate", "pacing_gain", "cwnd_gain"]
    assert list(bbr[-1]) == names
    assert 0.04 <= float(bbr[-1]["min_rtt_s"]) < 0.06
    # Without info() there is no column ``info``, and info() does not change a run.
    plain = events_text(tmp_path / "a.toml").splitlines()
    assert plain[0] == "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size"
    mine = events_text(tmp_path / "a.toml", set={"tcp.congestion": "mine.py:Mine"}).splitlines()
    assert [line.rsplit(",", 1)[0] for line in mine] == plain


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("[1]", r"Mine.info\(\) gives <class 'list'>: must be a dict of numbers by name$"),
        ("{'a b': 1}", r"Mine.info\(\) gives \"a b\" = 1: names and values must be numbers or words"),
        ("{'a': 'b,c'}", r"Mine.info\(\) gives \"a\" = b,c: names and values"),
        ("{'a': None}", r"Mine.info\(\) gives \"a\" = None: names and values"),
        ("1 / 0", r"^mine.py:5, in info: ZeroDivisionError"),
    ],
)
def test_what_is_no_info_is_one_line(tmp_path: Path, given: str, line: str) -> None:
    text = f"class Mine(Reno):\n    def info(self):\n        return {given}\n"
    (tmp_path / "mine.py").write_text("from crossfade.teaching import Reno\n\n" + text)
    (tmp_path / "a.toml").write_text(LOSSY)
    with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
        events_text(tmp_path / "a.toml", set={"tcp.congestion": "mine.py"})
    assert "\n" not in str(caught.value)
    assert run(tmp_path, text=LOSSY, runs=1).points, "nobody asks in a run for results"


BASE = "from crossfade.teaching import BatchedCongestionControl\nclass Mine(BatchedCongestionControl):\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            PACED.format(rate="0.0", quantum=1),
            r"pacing_rate = 0.0 after start: must be finite and above 0, or none$",
        ),
        (PACED.format(rate="-5.0", quantum=1), r"pacing_rate = -5.0 after start: must be finite"),
        (PACED.format(rate="float('nan')", quantum=1), r"pacing_rate = NaN after start"),
        (PACED.format(rate="float('inf')", quantum=1), r"pacing_rate = inf after start"),
        (
            PACED.format(rate="'fast'", quantum=1),
            r"^mine.py:\d+, in start: Mine.pacing_rate = 'fast' after start: must be a number, or None$",
        ),
        (PACED.format(rate=50.0, quantum=0), r"send_quantum = 0 after start: must be at least 1, or none$"),
        (PACED.format(rate=50.0, quantum=-1), r"send_quantum = -1 after start"),
        (
            PACED.format(rate=50.0, quantum=1.5),
            r"Mine.send_quantum = 1.5 after start: must be a whole number",
        ),
        (
            BASE + "    def on_acks(self, batch): self.cwnd = 0.5",
            r"^mine.py:3, in on_acks: Mine.cwnd = 0.5 after on_acks",
        ),
        (
            BASE + "    def on_acks(self, batch): self.pacing_rate = 0",
            r"Mine.pacing_rate = 0.0 after on_acks: must be",
        ),
        (
            BASE + "    def on_acks(self, batch): self.cwnd = batch['rat'].max()",
            r"^mine.py:3, in on_acks: .*rat",
        ),
        (
            BASE + "    def on_acks(self, batch): batch['now'] = 0",
            r"^mine.py:3, in on_acks: ValueError: .*read-only",
        ),
        (BASE + "    period = 0", r"period = 0.0: must be a number of seconds, at least 1e-9"),
        (BASE + "    period = 'long'", r"TypeError"),
        (BASE + "    period = '1 s'", r"period = '1 s': must be a number of seconds, at least 1e-9"),
        (BASE + "    ends_batch = 'loss'", r"ends_batch = 'loss': must be a tuple of loss, timeout, mark"),
        (BASE + "    ends_batch = ('losses',)", r"ends_batch has \"losses\": must be of loss, timeout, mark"),
        (
            "class Mine:\n    def on_acks(self, batch): pass\n",
            r"class Mine has no start; derive it from crossfade.teaching",
        ),
    ],
)
def test_what_no_sender_can_use_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
        run(tmp_path, text=LOSSY)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("mine.py:")


@pytest.mark.parametrize("flavour", ["paper", "ns2"])
def test_flavours_without_samples_refuse_who_needs_them(tmp_path: Path, flavour: str) -> None:
    tcp = f'"newreno", flavour = "{flavour}", w_max = 20, rto = {{ fixed = "2 s" }}'
    text = LOSSY.replace('"sack", w_max = 500', tcp)
    for source in (LISTENER, PACED.format(rate=50.0, quantum=1), BASE + "    pass\n"):
        (tmp_path / "mine.py").write_text(source)
        with pytest.raises(cf.errors.ScenarioError, match=r"^mine.py:.*needs tcp.flavour = \"rfc\"$"):
            run(tmp_path, text=text)


def of_the_page(marker: str) -> str:
    page = (Path(__file__).parents[1] / "docs" / "own-control.md").read_text()
    [block] = [block for block in re.findall(r"```\w+\n(.*?)```", page, re.DOTALL) if marker in block]
    return str(block)


@pytest.mark.parametrize(
    ("marker", "least"), [("class Fastest", 1.6e6), ("class Halves", 1.5e6), ("class Mine(Policy)", 1.0e6)]
)
def test_the_examples_of_the_page_run(tmp_path: Path, marker: str, least: float) -> None:
    (tmp_path / "mine.py").write_text(of_the_page(marker))
    found = run(tmp_path, text=LOSSY.replace("30 packets", "100 packets"))
    assert (found.points[0].value("goodput_bps") or 0.0) > least
