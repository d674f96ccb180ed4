"""Shared controls in Python, for many flows of a run: results equal those with an object per flow."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import crossfade as cf

# The same rule twice: shared by all flows of a run, and event by event for one flow.
RULES = """
import numpy as np
from crossfade.teaching import CongestionControl, SharedCongestionControl, placed

PERIOD = {period}


class Together(SharedCongestionControl):
    period = PERIOD
    paced = {paced}

    def start(self, flow, cwnd, ssthresh):
        super().start(flow, cwnd, ssthresh)
        self.delays = placed(getattr(self, "delays", ()), flow, 0.0)
        if self.paced:
            self.pacing_rate = placed(() if self.pacing_rate is None else self.pacing_rate, flow, np.inf)

    def on_acks(self, batch):
        flows, of = np.unique(batch["flow"], return_inverse=True)
        assert (np.diff(batch["now"]) >= 0).all() and not batch.flags.writeable
        assert batch["now"][-1] // PERIOD - batch["now"][0] // PERIOD < 1.5
        assert (batch["cwnd"] == self.cwnd[batch["flow"]]).all()
        acked, lost = (np.bincount(of, batch[name]) for name in ("newly_acked", "newly_lost"))
        self.delays[flows] += np.bincount(of, np.nan_to_num(batch["srtt"]))
        rate = np.zeros(len(flows))
        np.fmax.at(rate, of, batch["rate"])
        cwnd = self.cwnd[flows]
        self.cwnd[flows] = np.where(
            lost > 0, np.maximum(0.7 * cwnd, 2.0), cwnd + acked / cwnd + np.fmod(self.delays[flows], 0.1)
        )
        self.ssthresh[flows] = np.maximum(cwnd, 1.0)
        if self.paced:
            self.pacing_rate[flows] = np.where(rate > 0, 1.3 * rate, self.pacing_rate[flows])


class Alone(CongestionControl):
    own_window = True
    pacing_rate = None

    def start(self, cwnd, ssthresh):
        super().start(cwnd, ssthresh)
        self.at, self.rows, self.delays = 0, [], 0.0

    def on_delivery(self, sample):
        at = round(sample.now * 1e9) // round(PERIOD * 1e9)
        if at > self.at:
            self.at = at
            if self.rows:
                self.end()
        self.rows.append(sample)

    def end(self):
        acked = lost = delays = rate = 0.0
        for row in self.rows:
            acked, lost = acked + row.newly_acked, lost + row.newly_lost
            delays += row.srtt or 0.0
            rate = max(rate, row.rate or 0.0)
        self.delays += delays
        cwnd = self.cwnd
        self.cwnd = max(0.7 * cwnd, 2.0) if lost else cwnd + acked / cwnd + self.delays % 0.1
        self.ssthresh = max(cwnd, 1.0)
        if {paced} and rate > 0:
            self.pacing_rate = 1.3 * rate
        self.rows = []
"""

DUMBBELL = """
schema = 2
run = {{ duration = "{duration} s", runs = 2, seed = {seed} }}
channel = {{ model = "iid", p_e = {p_e} }}
reverse = {{ rate = "{rate} Mbit/s", delay = "{delay} ms" }}
tcp = {{ variant = "sack", flavour = "{flavour}", w_max = 500, congestion = "mine.py:CLASS" }}

[link]
rate = "{rate} Mbit/s"
packet_size = "1500 B"
delay = "{delay} ms"
queue = {{ limit = "{queue} packets" }}

[flows]
group = {{ count = {count}, stagger = "{stagger} ms", access_delay = "3 ms" }}
late = {{ start = "{start} s" }}
whole = {{ traffic = "transfer", size = "{size} kB", count = 3 }}
come = {{ traffic = "arrivals", arrivals_per_s = 4.0, size = "40 kB" }}
theirs = {{ tcp = {{ congestion = "reno" }} }}
"""


def dumbbell(seed: int) -> tuple[str, str]:
    """Text of a random scenario, and source of its control."""
    draw = random.Random(seed)
    text = DUMBBELL.format(
        duration=4,
        seed=seed,
        p_e=draw.choice([0.0, 0.003, 0.03]),
        rate=draw.choice([2, 8]),
        delay=draw.randint(1, 40),
        queue=draw.choice([5, 50]),
        flavour=draw.choice(["rfc", "quic"]),
        count=draw.randint(1, 6),
        stagger=draw.randint(0, 400),
        start=round(draw.uniform(0.0, 3.0), 3),
        size=draw.randint(5, 300),
    )
    return text, RULES.format(period=draw.choice([0.003, 0.02, 0.11]), paced=bool(draw.randrange(2)))


@pytest.mark.parametrize("seed", range(8))
def test_flows_that_share_an_object_fare_as_with_one_each(tmp_path: Path, seed: int) -> None:
    text, rules = dumbbell(seed)
    (tmp_path / "mine.py").write_text(rules)
    found = []
    for name in ("Together", "Alone"):
        (tmp_path / "a.toml").write_text(text.replace("CLASS", name))
        point = cf.run(tmp_path / "a.toml", cache=False, jobs=2).points[0]
        found.append([row.values for row in point.rows])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1], "runs differ"


SMALL = """
schema = 2
run = { duration = "3 s", runs = 1, seed = 3 }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "4 Mbit/s", packet_size = "1500 B", delay = "10 ms", queue = { limit = "30 packets" } }
reverse = { rate = "4 Mbit/s", delay = "10 ms" }
tcp = { variant = "sack", congestion = "mine.py" }
flows = { all = { count = 3 } }
"""


def run(folder: Path, body: str, text: str = SMALL, kind: str = "Shared") -> cf.store.Results:
    """Results of a scenario with a control whose class has this body."""
    head = f"import numpy as np\nfrom crossfade.teaching import {kind}CongestionControl\n\n\n"
    (folder / "mine.py").write_text(f"{head}class Mine({kind}CongestionControl):\n{body}")
    (folder / "a.toml").write_text(text)
    return cf.run(folder / "a.toml", cache=False)


def test_numbers_of_flows_that_are_gone_are_used_again(tmp_path: Path) -> None:
    come = '{ come = { traffic = "arrivals", arrivals_per_s = 50.0, size = "2 kB" } }'
    body = """    period = 0.01
    begun = 0

    def start(self, flow, cwnd, ssthresh):
        super().start(flow, cwnd, ssthresh)
        assert (self.cwnd[flow], self.ssthresh[flow]) == (cwnd, ssthresh)
        self.begun += 1

    def on_acks(self, batch):
        __import__("pathlib").Path("MARK").write_text(f"{self.begun} {len(self.cwnd)}")
"""
    text = SMALL.replace("{ all = { count = 3 } }", come).replace('"3 s"', '"20 s"')
    run(tmp_path, body.replace("MARK", str(tmp_path / "mark")), text)
    begun, places = (int(number) for number in (tmp_path / "mark").read_text().split())
    assert begun > 800
    assert places < 40


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    pass\n", r"period = None: must be a number"),
        (
            "    period = None\n",
            r"^mine.py:5: period = None: must be a number of seconds, the same for all flows",
        ),
        ("    period = 0.0\n", r"period = 0.0: must be a number of seconds, at least 1e-9"),
        ("    period = 0.1\n    ends_batch = ('loss',)\n", r"ends_batch: must not be there"),
    ],
)
def test_a_period_is_asked_for(tmp_path: Path, body: str, line: str) -> None:
    with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
        run(tmp_path, body)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("does", "line"),
    [
        ("self.cwnd[1] = np.nan", r"Mine.cwnd\[1\] = NaN after on_acks: must be finite and at least 1$"),
        ("self.cwnd[2] = 0.0", r"Mine.cwnd\[2\] = 0.0 after on_acks: must be finite and at least 1$"),
        ("self.cwnd[0] = -3.0", r"Mine.cwnd\[0\] = -3.0 after on_acks: must be finite"),
        (
            "self.cwnd = self.cwnd[:2]",
            r"Mine.cwnd of shape \(2,\) after on_acks: must be .* \(3,\), one for each",
        ),
        ("self.cwnd = 5.0", r"Mine.cwnd of type float after on_acks: must be numbers of shape \(3,\)"),
        ("self.cwnd = np.ones((3, 1))", r"Mine.cwnd of shape \(3, 1\) after on_acks"),
        ("self.cwnd = ['a', 'b', 'c']", r"Mine.cwnd of type list after on_acks: must be numbers"),
        ("self.cwnd = [[1.0], [1.0, 2.0]]", r"Mine.cwnd of type list after on_acks: must be numbers"),
        ("self.cwnd = None", r"Mine.cwnd of type NoneType after on_acks: must be numbers"),
        ("self.ssthresh[0] = 0.5", r"Mine.ssthresh\[0\] = 0.5 after on_acks: must be at least 1$"),
        ("self.pacing_rate = np.zeros(3)", r"Mine.pacing_rate\[0\] = 0.0 after on_acks: must be finite and"),
        ("self.pacing_rate = 100.0", r"Mine.pacing_rate of type float after on_acks: must be numbers"),
        ("self.send_quantum = 0", r"Mine.send_quantum = 0 after on_acks: must be at least 1, or none$"),
        ("batch['now'] = 0", r"ValueError: .*read-only"),
        ("batch['rat']", r"rat"),
    ],
)
def test_what_no_sender_can_use_is_one_line(tmp_path: Path, does: str, line: str) -> None:
    with pytest.raises(cf.errors.ScenarioError, match=line) as caught:
        run(tmp_path, f"    period = 0.1\n\n    def on_acks(self, batch):\n        {does}\n")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("mine.py:")


@pytest.mark.parametrize("kind", ["Shared", "Batched"])
def test_rows_are_bounded(tmp_path: Path, kind: str) -> None:
    body = """    period = 1000.0

    def start(self, *told):
        super().start(*told[:-2], 3000.0, told[-1])
"""
    text = (
        SMALL.replace('"4 Mbit/s"', '"1 Gbit/s"')
        .replace('"3 s"', '"30 s"')
        .replace("30 packets", "9000 packets")
        .replace("count = 3", f"count = {3 if kind == 'Shared' else 1}")
        .replace('"sack",', '"sack", w_max = 3000,')
        .replace("p_e = 0.01", "p_e = 0.0")
    )
    with pytest.raises(
        cf.errors.ScenarioError, match=r"period = 1000.0: must be shorter, it has more than 1048576"
    ):
        run(tmp_path, body, text, kind)


def test_what_can_be_used_is(tmp_path: Path) -> None:
    """Windows may be lists of integers, and an infinite pacing rate means none."""
    body = "    period = 0.1\n\n    def on_acks(self, batch):\n        self.cwnd, self.pacing_rate = {}, {}\n"
    plain = run(tmp_path, body.format("np.full(3, 7.0)", None))
    other = run(tmp_path, body.format("[7, 7, 7]", "[float('inf')] * 3"))
    assert plain.points[0].rows[0].values == other.points[0].rows[0].values


@pytest.mark.parametrize("flavour", ["paper", "ns2"])
def test_flavours_without_samples_refuse_it(tmp_path: Path, flavour: str) -> None:
    tcp = f'"newreno", flavour = "{flavour}", w_max = 20, rto = {{ fixed = "2 s" }}'
    with pytest.raises(cf.errors.ScenarioError, match=r"^mine.py:.*needs tcp.flavour = \"rfc\"$"):
        run(tmp_path, "    period = 0.1\n", SMALL.replace('"sack"', tcp))
