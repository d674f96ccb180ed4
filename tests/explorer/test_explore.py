"""The explorer: its numbers equal those of a run, its server requires the token, and a browser redraws
curves.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

import pytest

import crossfade as cf
from crossfade.explorer.loopback import ADDRESS
from crossfade.explorer.server import ANSWERS, Server, page, serving
from crossfade.explorer.states import State, connection, curves
from tests.browser import visit
from tests.conftest import Cli, expect_one_line

SHORT = State(w_max=4, slots=300)


def ask(server: Server, path: str, host: str | None = None) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of the answer for a path."""
    link = http.client.HTTPConnection(ADDRESS, server.server_port, timeout=60)
    try:
        link.request("GET", path, headers={} if host is None else {"Host": host})
        answer = link.getresponse()
        return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
    finally:
        link.close()


def test_curves_are_those_of_the_analysis() -> None:
    found = curves(SHORT, 3, ["reno"])
    expected = cf.run(
        SHORT.scenario(),
        methods=["analysis"],
        over={"tcp.variant": ["reno"], "channel.p_e": "log:0.001:0.3:3"},
        cache=False,
    )
    assert found["reno"][0] == [point.axes["channel.p_e"] for point in expected.points]
    assert found["reno"][1] == [point.value("throughput_per_slot") for point in expected.points]


def test_a_connection_is_what_its_events_say() -> None:
    found = connection(SHORT)
    [times, windows, _] = found["window"]
    assert (times[0], times[-1], windows[0]) == (0.0, 300.0, 1.0)
    assert max(windows) == 4.0
    sent, again = (found["segments"][name][1] for name in ("sent", "again"))
    assert sent == [
        float(number) for number in range(len(sent))
    ]  # each segment is sent for the first time, in order
    assert set(again) <= set(sent)
    assert found["throughput"] == max(found["segments"]["acknowledged"][1]) / 300
    assert connection(State(w_max=4, slots=300, seed=2)) != found


LINK = State(model="link", channel="iid", p_e=0.001, variant="cubic", queue=400, seconds=20)


def test_over_a_link_curves_and_the_run_are_simulated() -> None:
    """Model ``link``: goodput, RTT and queue of a download over 5 Mbit/s and 40 ms with a queue of 400
    packets equal those of runs.
    """
    found = curves(LINK, 3, ["cubic", "bbr-v1"])
    over = {"tcp.congestion": ["cubic", "bbr-v1"], "channel.p_e": "log:0.001:0.3:3"}
    expected = cf.run(LINK.scenario(), over=over, runs=1, cache=False)
    assert found["bbr-v1"][1] == [point.value("goodput_bps") * 1e-6 for point in expected.points[3:]]
    run = connection(LINK)
    # The marked point lies on the curve, since it is the same run.
    assert run["throughput"] == pytest.approx(found["cubic"][1][0], rel=0.01)
    # Each 1500-byte packet in the full queue adds 2.4 ms, and so does each of up to three retransmissions of
    # a frame.
    highest, queued = max(run["rtt"][1]), max(run["queue"][1])
    assert queued == 400
    assert 40 + 0.95 * 400 * 2.4 < highest < 40 + 405 * 2.4
    assert len(run["queue"][0]) == 200
    # BBRv1 keeps the queue short.
    short = connection(replace(LINK, variant="bbr-v1"))
    assert sorted(short["rtt"][1])[100] < 80


def test_retransmissions_of_the_link_spare_cubic_its_losses() -> None:
    at = replace(LINK, p_e=0.05)
    without, with_three = (connection(replace(at, retransmissions=n))["throughput"] for n in (0, 3))
    assert without < 1.5 < 4 < with_three


def test_a_state_is_a_link_and_a_scenario() -> None:
    state = State(channel="iid", p_e=0.05, variant="tahoe", w_max=8, seed=7)
    assert State.of(state.query) == state
    read = cf.check(state.scenario())
    assert (read.methods, read.seed) == (["analysis:exact", "simulation"], 7)
    assert state.query in state.scenario()
    assert State.of(LINK.query) == LINK
    link = cf.check(LINK.scenario())
    assert (link.methods, link.seed) == (["simulation"], 1)
    assert LINK.query in LINK.scenario()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("p_e=2", ["p_e = 2", "from 0.001 to 0.3"]),
        ("w_max=x", ["w_max = x", "from 2 to 40"]),
        ("w_max=40&rto=81", ["rto = 81", "2 w_max + 2 = 82"]),
        ("seed=nan", ["seed = nan"]),
        ("variant=bbr", ["variant = bbr", "newreno"]),
        ("model=link&variant=tahoe", ["variant = tahoe", "cubic", "where model = link"]),
        ("variant=cubic", ["variant = cubic", "newreno", "where model = paper"]),
        ("model=wifi", ["model = wifi", "paper, link"]),
        ("queue=2", ["queue = 2", "from 5 to 1000"]),
        ("retransmissions=21", ["retransmissions = 21", "from 0 to 20"]),
        ("colour=red", ["colour", "w_max"]),
    ],
)
def test_what_is_no_state_is_said(cli: Cli, query: str, words: list[str]) -> None:
    expect_one_line(cli("explore", "--no-browser", "--at", query), *words)


def test_who_does_not_know_the_token_learns_nothing() -> None:
    with serving(text="<title>the page</title>") as server:
        token = f"/{server.token}/"
        status, text, headers = ask(server, token)
        assert (status, text) == (200, "<title>the page</title>")
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert "Python" not in headers["server"]
        for path in ("/", "/curves", "/x/", f"{token}../", f"{token}states.py", "//", token[:-2] + "/"):
            assert ask(server, path)[:2] == (404, "not found\n"), path
        # An invalid address, which no HTTP client of Python sends.
        assert server.reply("http://[/", f"{ADDRESS}:{server.server_port}")[0] == 404
        # A foreign host name that resolves to this machine is refused.
        assert ask(server, token, host=f"attacker.example:{server.server_port}")[0] == 404
        assert ask(server, f"{token}scenario.toml?{'p_e=0.1&' * 200}")[0] == 404
        assert server.server_address[0] == "127.0.0.1"


def test_answers_and_errors() -> None:
    with serving(text="") as server:
        status, text, _ = ask(server, f"/{server.token}/curves?{SHORT.query}&variants=tahoe&detail=coarse")
        assert (status, list(json.loads(text))) == (200, ["tahoe"])
        status, text, _ = ask(server, f"/{server.token}/connection?w_max=99")
        assert (status, json.loads(text)["error"]) == (400, "w_max = 99: must be from 2 to 40")
        assert ask(server, f"/{server.token}/scenario.toml?w_max=6")[1] == State(w_max=6).scenario()


def test_a_port_that_is_taken_is_said(cli: Cli) -> None:
    with serving(text="") as server:
        port = str(server.server_port)
        expect_one_line(cli("explore", "--no-browser", "--port", port), f"port = {port}")


# Script of a user's actions on the page: drag a slider over three places, and release it.
STEPS = """<script>
(async () => {
const pause = () => new Promise((done) => setTimeout(done, 100));
const until = async (test) => { while (!test()) await pause(); };
const drawn = (id) => document.querySelector(`#${id} .drawing`);
const line = () => JSON.stringify(drawn("curves").data?.find((trace) => trace.name === "Tahoe")?.y);
const seen = { during: [] };
await until(() => line() && drawn("segments").data);
seen.first = JSON.parse(line());
seen.window = drawn("window").data[0].y.length;
const slider = document.querySelector("[name=fd_t]");
for (const place of [300, 350, 400]) {
  const before = line();
  slider.value = place;
  slider.dispatchEvent(new Event("input"));
  await until(() => line() !== before);
  seen.during.push(JSON.parse(line()));
}
slider.dispatchEvent(new Event("change"));
await until(() => JSON.parse(line()).length === 15);
seen.last = JSON.parse(line());
seen.hash = location.hash;
seen.problem = document.getElementById("problem").hidden;
await fetch(`seen?${encodeURIComponent(JSON.stringify(seen))}`);
})();
</script></body>"""


def listening(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Event]:
    """Queries of the requests for ``seen``, and an event that is set with the first one."""
    told: list[str] = []
    done = Event()

    def note(query: str) -> tuple[str, str]:
        told.append(unquote(query))
        done.set()
        return "text/plain", ""

    monkeypatch.setitem(ANSWERS, "seen", note)
    return told, done


SAME = """<script>
(async () => {
const same = document.getElementById("same");
while (!same.textContent) await new Promise((done) => setTimeout(done, 100));
await fetch(`seen?${encodeURIComponent(same.textContent)}`);
})();
</script></body>"""


def test_lines_that_coincide_are_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page mentions coinciding curves: with a window of two, no duplicate ACK returns, so all variants
    wait for timeouts.
    """
    told, done = listening(monkeypatch)
    state = State(w_max=2, rto=50, slots=200)
    found = curves(state, 3, ["tahoe", "reno", "newreno"])
    assert found["tahoe"] == found["reno"] == found["newreno"]
    with serving(text=page().replace("</body>", SAME)) as server:
        visit(f"{server.url}#{state.query}", tmp_path, done)
    assert told == ["Tahoe and Reno and NewReno coincide (within 0.005 everywhere)."]


# Script that chooses the other model, and one of its senders.
OTHER_MODEL = """<script>
(async () => {
const until = async (test) => { while (!test()) await new Promise((done) => setTimeout(done, 100)); };
const drawn = (id) => document.querySelector(`#${id} .drawing`);
const has = (id, name) => drawn(id).data?.some((trace) => trace.name === name);
await until(() => has("curves", "Tahoe"));
document.querySelector("[name=model][value=link]").click();
await until(() => has("curves", "BBRv1") && has("segments", "RTT"));
const seen = { names: drawn("curves").data.map((trace) => trace.name) };
document.querySelector("[name=variant][value=cubic]").click();
await until(() => drawn("curves").data.some((trace) => trace.name === "CUBIC" && trace.line.width === 3));
seen.hash = location.hash;
seen.sliders = [...document.querySelectorAll("[type=range]")].map((input) => input.name);
seen.problem = document.getElementById("problem").hidden;
await fetch(`seen?${encodeURIComponent(JSON.stringify(seen))}`);
})();
</script></body>"""


def test_the_other_model_has_controls_and_senders_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, done = listening(monkeypatch)
    short = replace(SHORT, seconds=5)
    with serving(text=page().replace("</body>", OTHER_MODEL)) as server:
        visit(f"{server.url}#{replace(short, variant='tahoe').query}", tmp_path, done)
    seen: dict[str, Any] = json.loads(told[0])
    # The other model has no Tahoe, so Reno replaces it.
    assert seen["names"] == ["Reno", "CUBIC", "BBRv1", "this run"]
    assert State.of(seen["hash"].removeprefix("#")) == replace(short, model="link", variant="cubic")
    assert seen["sliders"] == ["p_e", "fd_t", "retransmissions", "queue", "rtt", "seconds"]
    assert seen["problem"] is True


def test_a_drag_redraws_and_no_request_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, done = listening(monkeypatch)
    monkeypatch.setattr("crossfade.explorer.server.LONGEST_QUERY", 10_000)
    with serving(text=page().replace("</body>", STEPS)) as server:
        asked_by, asked = visit(f"{server.url}#{SHORT.query}", tmp_path, done)
    seen: dict[str, Any] = json.loads(told[0])
    assert seen["window"] > 4
    assert seen["problem"] is True
    # Curves have 7 points while the slider moves, different at each place, and 15 once it is released.
    assert [len(ys) for ys in (seen["first"], *seen["during"], seen["last"])] == [15, 7, 7, 7, 15]
    end = State.of(seen["hash"].removeprefix("#"))
    assert end.fd_t == pytest.approx(0.5)
    assert seen["during"][-1] == pytest.approx(curves(end, 7, ["tahoe"])["tahoe"][1], rel=1e-12)
    assert seen["last"] == pytest.approx(curves(end, 15, ["tahoe"])["tahoe"][1], rel=1e-12)
    origin = server.url.removesuffix(f"/{server.token}/")
    assert asked_by == {origin}
    paths = {address.split("?")[0].removeprefix(server.url) for address in asked}
    assert paths == {"curves", "connection", "seen"}
