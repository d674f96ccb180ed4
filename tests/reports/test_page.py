"""The HTML report: its content, its harmlessness, its reproducibility, and its behaviour in a browser."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.reports.page import POLICY
from crossfade.results.file import ResultsFile
from crossfade.tables import format_estimate
from tests.browser import browse
from tests.comparison.synthetic import results as by_hand
from tests.conftest import SMALL, SWEEP, Cli

METHODS = ["simulation", "analysis"]


def data_of(page: Path) -> dict[str, Any]:
    """JSON data of the figures on a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


class Elements(HTMLParser):
    """Parser that collects the elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture
def results_file(cli: Cli, tmp_path: Path) -> Path:
    """Results file of a sweep by two methods: four points with ten runs each."""
    scenario = tmp_path / "sweep.toml"
    scenario.write_text(SWEEP)
    file = tmp_path / "sweep.sqlite"
    assert cli("sweep", scenario, "--method", ",".join(METHODS), "--out", file, "--quiet").code == 0
    return file


def test_the_page_holds_the_numbers_of_the_results(results_file: Path, tmp_path: Path) -> None:
    cf.pages.report(results_file, tmp_path / "page.html")
    data, results = data_of(tmp_path / "page.html"), cf.store.load(results_file)
    assert len(results.points) == 8
    assert {"throughput_per_slot", "goodput_bps", "timeouts"} <= set(data["metrics"])
    for name, metric in data["metrics"].items():
        for row, point in enumerate(results.points):
            estimate = point.metrics.get(name, point.parts.get(name))
            if estimate is None or estimate.value is None:
                assert (metric["values"][row], metric["texts"][row]) == (None, "–")
                continue
            assert metric["values"][row] == estimate.value
            assert metric["halves"][row] == estimate.ci95
            half = None if estimate.ci95 is None else estimate.ci95 / metric["factor"]
            ends = [end and end / metric["factor"] for end in (estimate.low, estimate.high)]
            assert metric["texts"][row] == format_estimate(estimate.value / metric["factor"], half, *ends)
    assert data["runs"] == [point.runs for point in results.points]
    assert data["x"]["values"] == [point.axes["channel.p_e"] for point in results.points]
    # Each row belongs to one line, by its variant and method, and lines are ordered along x.
    assert [curve["name"] for curve in data["curves"]] == ["Tahoe", "Reno"]
    for line in data["lines"]:
        points = [results.points[row] for row in line["rows"]]
        assert {point.method for point in points} == {line["method"]}
        assert {point.axes["tcp.variant"] for point in points} == {["tahoe", "reno"][line["curve"]]}
        assert [point.axes["channel.p_e"] for point in points] == [0.01, 0.1]
    assert sorted(row for line in data["lines"] for row in line["rows"]) == list(range(8))


def test_the_table_is_there_without_a_script(results_file: Path, tmp_path: Path) -> None:
    cf.pages.report(results_file, tmp_path / "page.html", metrics=["goodput_bps"])
    text = (tmp_path / "page.html").read_text()
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]
    results = cf.store.load(results_file)
    assert [row[:2] for row in rows] == [
        [point.axes["tcp.variant"], str(point.axes["channel.p_e"])] for point in results.points
    ]
    assert [row[3] for row in rows] == [str(point.runs or "–") for point in results.points]
    assert rows[0][-1].endswith(format_estimate(*mbit(results.points[0])))
    assert "Goodput (Mbit/s)" in text


def mbit(point: cf.store.Point) -> tuple[float, float | None]:
    half = point.metrics["goodput_bps"].ci95
    return point.value("goodput_bps") / 1e6, None if half is None else half / 1e6


def test_the_page_says_where_its_numbers_come_from(cli: Cli, results_file: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "sweep.toml"
    options = ["--set", "tcp.w_max=6", "--over", "channel.p_e=0.02,0.2", "--runs", "3", "--seed", "7"]
    assert cli("sweep", scenario, *options, "--out", results_file, "--quiet").code == 0
    outcome = cli("report", results_file)
    page = results_file.with_suffix(".html")
    assert (outcome.code, outcome.err) == (0, f"wrote {page}\n")
    text = unescape(re.sub(r"<[^>]*>", "\n", page.read_text().partition("<body>")[2].partition("<script")[0]))
    assert SWEEP in text
    for words in ("tcp.w_max = 6", "channel.p_e = 0.02,0.2", "3 runs a point", cf.__version__, "sweep.toml"):
        assert words in text
    lines = [line for line in text.splitlines() if line]
    for name, value in {
        "Seed": "7",
        "Results version": str(cf.reference.RESULTS_VERSION),
        "Runs": "12",
    }.items():
        assert lines[lines.index(name, lines.index("Where this comes from")) + 1] == value
    # The earlier plan of the file can be chosen.
    assert cli("report", results_file, "--plan", "1", "--out", page).code == 0
    assert "10 runs a point" in page.read_text()


def test_warnings_stand_in_front(tmp_path: Path) -> None:
    text = SMALL.replace('variant = "reno", w_max = 24', 'variant = "reno", w_max = 4')
    over = {"channel.p_e": [0.01, 0.1], "run.duration": ["300 slots"]}
    results = cf.run(text, over=over, runs=2)
    given = results.__class__(**{**vars(results), "file_warnings": ["mind <this>"]})
    cf.pages.report(given, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<li>mind &lt;this&gt;</li>" in page
    assert page.index("mind &lt;this&gt;") < page.index("<figure")
    cf.pages.report(results, tmp_path / "page.html")
    assert ('class="warnings" role' in (tmp_path / "page.html").read_text()) is bool(results.warnings)


def test_the_same_results_give_the_same_page(results_file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    shutil.copy(results_file, elsewhere)
    cf.pages.report(results_file, tmp_path / "one.html")
    cf.pages.report(elsewhere, tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


HOSTILE = "<script>owned = 1</script></title></pre> $5 & <img src=x onerror='owned = 1'> ]]> <!--"


def test_text_of_a_scenario_is_text(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "<b>.toml"
    short = ["--quiet", "--runs", "2", "--set", "run.duration=200 slots"]
    scenario.write_text(SWEEP.replace('"A small scenario"', json.dumps(HOSTILE)) + f"# {HOSTILE}\n")
    assert cli("sweep", scenario, *short, "--out", tmp_path / "x.sqlite").code == 0
    cf.pages.report(tmp_path / "x.sqlite", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    elements = Elements(text)
    assert not elements.named("img")
    assert not elements.named("b")
    assert len(elements.named("script")) == 3
    assert "<title>&lt;script&gt;owned = 1" in text
    # Visible text, without elements.
    title = re.search(r"<h1>(.*?)</h1>", text)
    assert title is not None
    assert unescape(title[1]) == HOSTILE
    cf.plot(tmp_path / "x.sqlite", tmp_path / "x.png")


def test_a_page_needs_nothing_else(results_file: Path, tmp_path: Path) -> None:
    cf.pages.report(results_file, tmp_path / "page.html")
    elements = Elements((tmp_path / "page.html").read_text())
    assert elements.named("html") == [{"lang": "en"}]
    assert {"http-equiv": "Content-Security-Policy", "content": POLICY} in elements.named("meta")
    assert POLICY.startswith("default-src 'none'")
    for tag, attributes in elements.found:
        assert tag not in ("link", "iframe", "img", "object", "form")
        assert not {"src", "href", "action"} & attributes.keys()
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_axes_beside_the_curves_can_be_chosen(tmp_path: Path) -> None:
    over: dict[str, list[float]] = {"tcp.w_max": [4, 6, 8, 10, 12, 14, 16], "channel.p_e": [0.01, 0.05, 0.1]}
    results = cf.run(SWEEP, over=over, methods=["formula"])
    cf.pages.report(results, tmp_path / "page.html")
    data = data_of(tmp_path / "page.html")
    assert [held["key"] for held in data["held"]] == ["tcp.w_max"]
    assert data["held"][0]["values"] == [f"Wmax = {w_max}" for w_max in over["tcp.w_max"]]
    assert sorted({tuple(line["at"]) for line in data["lines"]}) == [(at,) for at in range(7)]
    assert sorted(row for line in data["lines"] for row in line["rows"]) == list(range(2 * 7 * 3))


def test_bounds_are_both_there(tmp_path: Path) -> None:
    results = cf.run(SWEEP, methods=["analysis:bounds"])
    cf.pages.report(results, tmp_path / "page.html")
    data = data_of(tmp_path / "page.html")
    assert data["shown"][0] == "throughput_per_slot"
    metric = data["metrics"]["throughput_per_slot"]
    assert metric["values"] == [point.value("throughput_upper") for point in results.points]
    assert metric["lowers"] == [point.value("throughput_lower") for point in results.points]
    cf.plot(results, tmp_path / "bounds.svg")
    assert (tmp_path / "bounds.svg").read_text().count('id="FillBetween') == 2


def test_curves_are_compared(results_file: Path, tmp_path: Path) -> None:
    cf.pages.report(results_file, tmp_path / "page.html", metrics=["goodput_bps"])
    text = (tmp_path / "page.html").read_text()
    found = cf.compare(cf.store.load(results_file), "tcp.variant", metric="goodput_bps")
    assert f"All {len(found.pairs)} differences" in text
    for pair in found.pairs:
        half = None if pair.ci95 is None else pair.ci95 / 1e6
        cells = [format_estimate(pair.difference / 1e6, half), pair.verdict]
        assert f'<td class="number">{cells[0]}</td><td>{cells[1]}</td>' in text
    assert ("Where curves cross" in text) is bool(found.crossings)
    # A single curve has no comparison.
    cf.pages.report(results_file, tmp_path / "page.html", x="tcp.variant", by=[])
    assert '<h2 id="comparisons">' not in (tmp_path / "page.html").read_text()


FIGURE = """
[figure]
x = "channel.p_e"
y = ["timeouts_per_slot", "goodput_bps"]
by = ["tcp.variant"]
panels = "tcp.w_max"
where = ["tcp.w_max=6"]
labels = { tahoe = "Tahoe of 1988" }
"""


def test_the_page_opens_with_the_figure_of_the_scenario(tmp_path: Path) -> None:
    results = cf.run(SWEEP + FIGURE, over={"tcp.w_max": [4, 6]}, methods=["formula", "analysis"])
    cf.pages.report(results, tmp_path / "page.html")
    data = data_of(tmp_path / "page.html")
    assert data["shown"] == ["timeouts_per_slot", "goodput_bps"]
    assert [curve["name"] for curve in data["curves"]] == ["Tahoe of 1988", "Reno"]
    # An axis of panels becomes a choice on the page, first at the value of the figure's condition.
    assert [(held["key"], held["first"]) for held in data["held"]] == [("tcp.w_max", 1)]
    assert '<figure data-metric="timeouts_per_slot">' in (tmp_path / "page.html").read_text()
    # Arguments override the scenario's figure.
    cf.pages.report(results, tmp_path / "page.html", metrics=["goodput_bps"], by="tcp.w_max")
    data = data_of(tmp_path / "page.html")
    assert (data["shown"], [held["key"] for held in data["held"]]) == (["goodput_bps"], ["tcp.variant"])


def test_curves_are_compared_within_a_group(tmp_path: Path) -> None:
    """In one group, lines from 3 to 0 and at 1 cross at 3 - 3 (x - 1) = 1; in the other group nowhere."""
    goodput = {
        ("tahoe", "short", 1): [3.0, 3.0, 3.0],
        ("tahoe", "short", 2): [0.0, 0.0, 0.0],
        ("reno", "short", 1): [1.0, 1.1, 0.9],
        ("reno", "short", 2): [1.0, 1.1, 0.9],
        ("tahoe", "long", 1): [5.0, 5.0, 5.0],
        ("tahoe", "long", 2): [5.0, 5.0, 5.0],
        ("reno", "long", 1): [1.0, 1.1, 0.9],
        ("reno", "long", 2): [1.0, 1.1, 0.9],
    }
    made = by_hand(
        "tcp.variant queue channel.snr_db", {at: {"goodput_bps": runs} for at, runs in goodput.items()}
    )
    made = replace(made, provenance={"version": "1", "results_version": 1})
    cf.pages.report(made, tmp_path / "page.html", metrics=["goodput_bps"], by=["tcp.variant", "queue"])
    text = (tmp_path / "page.html").read_text()
    # Colours distinguish the compared values, marks the groups.
    curves = data_of(tmp_path / "page.html")["curves"]
    assert len({curve["color"] for curve in curves}) == 2
    sentences = re.findall(r"<li>(.*?)</li>", text[text.index('class="crossings"') :])
    (sentence,) = sentences
    assert sentence.startswith("short: Tahoe is higher than Reno up to 1.667 dB (")
    assert sentence.endswith("), lower beyond.")
    assert "those that differ in TCP alone, at one value of Queue" in text
    assert "All 4 differences" in text


def test_a_single_point_has_a_table(small: Path, tmp_path: Path) -> None:
    cf.pages.report(cf.run(small), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<figure" not in text
    assert "<script" not in text
    assert re.search(
        r"Goodput</th><td[^>]*>[0-9,]+ (± [0-9,]+|\([0-9,]+ to [0-9,]+\))</td><td>bit/s</td>", text
    )


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["nowhere.sqlite"], ["nowhere.sqlite", "no such file"]),
        (["sweep.toml"], ["sweep.toml", "is a scenario"]),
        (["sweep.sqlite", "--out", "."], ["cannot be written", "folder"]),
        (["sweep.sqlite", "--out", "page.pdf"], ["page.pdf", "ends in .html"]),
        (["sweep.sqlite", "--y", "godput_bps"], ["godput_bps", "did you mean goodput_bps"]),
        (["sweep.sqlite", "--y", "goodput_bps/speed"], ["speed"]),
        (["sweep.sqlite", "--x", "p_e"], ["p_e", "did you mean channel.p_e?"]),
        (["sweep.sqlite", "--by", "variant"], ["variant", "did you mean tcp.variant?"]),
        (["sweep.sqlite", "--plan", "7"], ["plan 7", "1: "]),
        (["sweep.sqlite", "--out", "nowhere/page.html"], ["nowhere/page.html", "no folder nowhere"]),
        (["empty.sqlite"], ["empty.sqlite", "no plan"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input_is_one_line(
    cli: Cli,
    results_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    parts: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    ResultsFile.create("empty.sqlite").close()
    before = sorted(tmp_path.iterdir())
    outcome = cli("report", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert all(part in outcome.err for part in parts), outcome.err
    assert sorted(tmp_path.iterdir()) == before


# Script of a reader's actions, which records the visible result after each step.
STEPS = """<script>
const seen = {};
const drawing = document.querySelector(".drawing");
const marks = () => drawing.querySelectorAll(".point").length;
seen.marks = marks();
const curveNumber = drawing.data.findIndex((trace) => trace.mode === "markers");
Plotly.Fx.hover(drawing, [{ curveNumber, pointNumber: 1 }]);
seen.hover = [...drawing.querySelectorAll(".hovertext text")].map((text) => text.textContent).join("|");
document.querySelectorAll(".curve")[0].click();
seen.marks_of_one = marks();
document.querySelector(".all-curves").click();
seen.marks_again = marks();
document.querySelectorAll(".intervals")[1].click();
seen.bands = drawing.data.filter((trace) => trace.fill === "tonexty").length;
const select = document.querySelector(".metric");
select.value = "timeouts";
select.dispatchEvent(new Event("change"));
seen.title = drawing.layout.yaxis.title.text;
const heads = [...document.querySelectorAll("#rows thead th")];
const head = heads.findIndex((th) => th.textContent === "Timeouts");
const rows = () => [...document.querySelectorAll("#rows tbody tr")];
const column = (at) => rows().map((row) => row.cells[at].textContent);
seen.column = column(head);
heads[1].querySelector("button").click();
heads[1].querySelector("button").click();
seen.sorted = column(1);
seen.loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
seen.owned = typeof owned;
document.body.innerHTML = "";
document.body.dataset.seen = JSON.stringify(seen);
</script></body>"""


def test_a_browser_shows_it_and_asks_the_network_for_nothing(results_file: Path, tmp_path: Path) -> None:
    cf.pages.report(results_file, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    (tmp_path / "steps.html").write_text(text.replace("</body>", STEPS))
    dom, asked = browse((tmp_path / "steps.html").as_uri(), tmp_path)
    found = re.search(r'data-seen="([^"]*)"', dom)
    assert found is not None, dom[-2000:]
    seen = json.loads(unescape(found[1]))
    results = cf.store.load(results_file)
    simulated = {
        (p.axes["tcp.variant"], p.axes["channel.p_e"]): p for p in results.by_method("simulation").points
    }
    point = simulated["tahoe", 0.1]
    throughput = point.metrics["throughput_per_slot"]
    # Two curves with marks of the simulation at two points each, and lines of the exact analysis.
    assert seen["marks"] == seen["marks_again"] == 4
    assert seen["marks_of_one"] == 2
    for words in ("Tahoe", "0.1", str(throughput), "10 runs", "simulation"):
        assert words in seen["hover"]
    assert seen["bands"] == 2
    assert seen["title"] == "Timeouts"
    shown = [point.metrics.get("timeouts") for point in results.points]
    assert seen["column"] == ["–" if estimate is None else str(estimate) for estimate in shown]
    assert seen["sorted"] == ["0.1"] * 4 + ["0.01"] * 4
    assert (seen["loaded"], seen["owned"], asked) == ([], "undefined", set())


def test_a_request_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!DOCTYPE html><title>x</title><img src="http://example.invalid/x.png">')
    assert browse(page.as_uri(), tmp_path)[1] == {"null"}
