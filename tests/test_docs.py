"""Pages: each has its place, the notebook agrees with its page, and all read well without a build."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import crossfade as cf
from crossfade.figures.style import ALGORITHMS, PALETTE

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

plain_pages = import_module("plain_pages")


@cache
def shown_pages() -> dict[str, Path]:
    """Pages of the documentation by their names in trees of pages."""
    made = {"gallery", "_build"}
    found = (page for page in DOCS.rglob("*.md") if not made & {*page.relative_to(DOCS).parts})
    return {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in found}


def below(name: str) -> list[str]:
    """Pages that the tree of a page names, in order."""
    text = shown_pages()[name].read_text(encoding="utf-8")
    trees = [directive.text for directive, _ in plain_pages.parts(text) if directive.kind == "toctree"]
    folder = Path(name).parent
    return [
        Path(os.path.normpath(folder / line)).as_posix()
        for tree in trees
        for line in tree.splitlines()
        if line
    ]


@cache
def links(name: str) -> set[str]:
    """Pages to which a page links."""
    page = shown_pages()[name]
    targets = re.findall(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)", plain(page))
    found = {(page.parent / target).resolve() for target in targets if "://" not in target}
    return {path.relative_to(DOCS).with_suffix("").as_posix() for path in found if path.is_relative_to(DOCS)}


def test_every_page_has_one_place_in_the_tree_and_its_section_links_it() -> None:
    """The tree of pages sets the order of sidebars; each page has one place, and its section also links it in
    plain text.
    """
    placed: list[str] = []
    waiting = ["index"]
    while waiting:
        section = waiting.pop()
        inside = below(section)
        assert [page for page in inside if page not in links(section)] == [], section
        placed += inside
        waiting += inside
    assert sorted(placed) == sorted({*shown_pages()} - {"index"})


def test_every_page_is_three_clicks_from_the_front_page() -> None:
    reached = {"index"}
    for _ in range(3):
        reached |= {target for page in reached for target in links(page) if target in shown_pages()}
    assert reached == {*shown_pages()}


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("which-transport", "modern/loss-and-arq"),  # BBR over Wi-Fi-like loss
        ("persistence", "3 to 5"),  # number of link retransmissions
        ("trace-and-browser", "crossfade live lte.toml --internet"),  # an LTE trace under a real browser
        ("classics/bufferbloat", "crossfade run classics/bufferbloat"),  # a figure for a lecture
        ("own-queue", "QueueDiscipline"),  # a queue discipline of one's own
    ],
)
def test_questions_of_strangers_are_answered_from_the_front_page(page: str, said: str) -> None:
    """Answers are one click away in the list of questions, and at most three via the sections or the
    README.
    """
    assert page in links("index")
    assert said in plain(shown_pages()[page])
    questions = shown_pages()["index"].read_text(encoding="utf-8").partition("Five questions")[2]
    assert f"]({page}.md)" in questions
    reached = {"how-to", "explanation", "scenario-gallery", "models"}
    for _ in range(2):
        reached |= {target for place in reached for target in links(place) if target in shown_pages()}
    assert page in reached
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = {
        Path(name).relative_to("docs").with_suffix("").as_posix()
        for name in re.findall(r"\((docs/\S+?\.md)", readme)
    }
    assert any(page in links(name) or page == name for name in first)


def test_the_notebook_is_the_page_and_runs() -> None:
    """The stored notebook has the cells of the page and outputs of equal kinds; a shortened one runs here."""
    made = runpy.run_path(str(ROOT / "scripts" / "make_notebook.py"))
    page = made["PAGE"].read_text(encoding="utf-8")
    stored, fresh = (
        json.loads(made["NOTEBOOK"].read_text(encoding="utf-8")),
        json.loads(made["notebook"](page)),
    )
    assert [cell["source"] for cell in stored["cells"]] == [cell["source"] for cell in fresh["cells"]]
    short = page.replace('"120 s", warmup = "30 s", runs = 20', '"12 s", warmup = "3 s", runs = 2')
    short = short.replace('"50000 slots", warmup = "1000 slots", runs = 20', '"2000 slots", runs = 2')
    assert short.count("runs = 2 }") == 2
    short = short.replace("runs=40", "runs=2")
    run = json.loads(made["with_outputs"](made["notebook"](short)))
    shown = [
        [
            [kind for output in cell.get("outputs", []) for kind in output.get("data", [])]
            for cell in of["cells"]
        ]
        for of in (stored, run)
    ]
    assert shown[0] == shown[1]
    assert sum("image/png" in kinds for kinds in shown[0]) == 2
    assert sum("text/html" in kinds for kinds in shown[0]) >= 6


def pages() -> list[Path]:
    """Files that a reader of a clone opens: pages, and Markdown files beside the code."""
    beside = sorted(ROOT.glob("*.md"))
    return [*beside, *(page for page in DOCS.rglob("*.md") if not {"gallery", "_build"} & {*page.parts})]


@cache
def plain(page: Path) -> str:
    """Visible text of a page without a build, without comments."""
    return re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub names them in links."""
    text = re.sub(r"^```.*?^```$", "", plain(page), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_are_there(page: Path) -> None:
    if page.name == "CHANGES.md":  # names former places of files
        return
    named = re.findall(r"`((?:bench|crates|docs|examples|python|scripts|tests)/[^`\s]+)`", plain(page))
    missing = [name for name in named if not any(ROOT.glob(name.partition("::")[0].rstrip("/")))]
    assert [name for name in missing if "NAME" not in name] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_is_dead_in_a_clone(page: Path) -> None:
    text = re.sub(r"^(```+).*?^\1$", "", plain(page), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        # Files made by a build are not in a clone.
        assert found.exists(), target
        assert not {"gallery", "_build"} & {*found.relative_to(ROOT).parts}, target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_readable_text_where_it_has_directives(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Apart from code cells, directives, roles and reStructuredText work only in Sphinx.
    assert not re.search(r"^[`:]{3,}\{(?!code-cell)|^\.\. \w+::|\{[\w:]+\}`\w", plain(page), re.MULTILINE)
    # Only trees of pages and docstrings need a directive; all else is plain Markdown.
    for directive, shown in plain_pages.parts(text):
        assert directive.kind in ("toctree", "eval-rst"), "a block with <!-- from FILE --> stands once"
        assert directive.kind == "toctree" or len(shown.split()) >= 2, directive
    # Blocks from files of the repository are up to date.
    for block in plain_pages.BLOCK.finditer(text):
        if "gallery" not in block["source"]:
            assert (page.parent / block["source"]).exists(), block["source"]
            assert plain_pages.filled(block[0], page) == block[0], "python scripts/refresh_pages.py"
    assert text.count("<!-- from ") == len([*plain_pages.BLOCK.finditer(text)]), "a block follows its source"


def test_each_figure_and_output_stands_once_in_a_page() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        shown = [block["source"] + str(block["start"]) for block in plain_pages.BLOCK.finditer(text)]
        shown += [picture["name"] for picture in plain_pages.PICTURE.finditer(text)]
        assert len(shown) == len({*shown}), page.name


def test_a_build_shows_what_it_has_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build fills blocks from its files, and its pictures replace the stored ones."""
    (tmp_path / "a.txt").write_text("new\n")
    (tmp_path / "a.csv").write_text("x,y\n1,a|b\n")
    gallery = tmp_path / "gallery"
    gallery.mkdir()
    (gallery / "there.png").write_bytes(b"")
    monkeypatch.setattr(plain_pages, "GALLERY", gallery)
    page = "\n".join(
        (
            "<!-- from a.txt -->",
            "```text",
            "old",
            "```",
            "<!-- from a.csv -->",
            "| z |",
            "<!-- from missing.txt -->",
            "```text",
            "kept",
            "```",
            "![A](pictures/there.png) ![B](../pictures/missing.png)",
            "",
        )
    )
    made = plain_pages.for_sphinx(page, tmp_path / "page.md")
    assert "```text\nnew\n```" in made
    assert "| x | y |\n| --- | --- |\n| 1 | a\\|b |\n" in made
    assert "```text\nkept\n```" in made
    assert "![A](gallery/there.png) ![B](../pictures/missing.png)" in made


@pytest.mark.parametrize("marker", ["start", "end"])
def test_an_excerpt_whose_marker_is_gone_names_it(tmp_path: Path, marker: str) -> None:
    (tmp_path / "a.rs").write_text("first\nsecond\n")
    block = f'<!-- from a.rs {marker}="third" -->\n```rust\nfirst\n```\n'
    with pytest.raises(ValueError, match=rf'a\.rs holds the marker {marker}="third"'):
        plain_pages.filled(block, tmp_path / "page.md")


# The sections of a page of a model, in order.
FORM = ["Scope", "Equations", "Keys", "Limits", "Validated against"]


@pytest.mark.parametrize("name", below("models"))
def test_models_have_one_form(name: str) -> None:
    text = re.sub(r"^(```+).*?^\1$", "", plain(shown_pages()[name]), flags=re.DOTALL | re.MULTILINE)
    title, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert [section.partition("\n")[0] for section in sections] == FORM
    assert len(title.split()) > 15, "what it models, and an example"
    _, equations, keys, _, validated = sections
    assert re.search(r"\(reference/\w+\.md\)", keys), "keys link the reference"
    assert re.search(
        r"RFC|\(\d{4}\)|JSAC|Trans\.|IC\w+ \d{4}|draft-|equation|pseudo-code|Walker", equations
    ), "a source"
    rows = [line for line in validated.splitlines() if line.startswith("| ")]
    assert len(rows) >= 3


@cache
def where_tests_are() -> dict[str, list[str]]:
    """Paths of all tests of the Rust crates and of this package, by name of the test."""
    found: dict[str, list[str]] = {}
    for folder, pattern, test in (
        ("crates", "*.rs", r"#\[test\]\s+(?:#\[.*\]\s+)*fn (\w+)"),
        ("tests", "test_*.py", r"^def (test_\w+)"),
    ):
        for path in (ROOT / folder).rglob(pattern):
            for name in re.findall(test, path.read_text(encoding="utf-8"), re.MULTILINE):
                found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return found


def test_the_cases_of_the_transports_have_their_tests() -> None:
    tests = where_tests_are()
    named = re.findall(r"`([\w/]+\.(?:rs|py))::(\w+)`", (DOCS / "transport-cases.md").read_text())
    assert len(named) > 100
    for file, name in named:
        assert sum(path.endswith(f"/{file}") for path in tests.get(name, [])) == 1, f"{file}::{name}"


def test_the_packetdrill_scripts_have_their_tests() -> None:
    covered = (DOCS / "packetdrill.md").read_text().partition("## Covered")[2].partition("\n## ")[0]
    cells = [line.split("|")[4] for line in covered.splitlines() if line.startswith("| ")][1:]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert len(named) >= 30
    assert named <= where_tests_are().keys()


def test_the_packetdrill_page_denies_nothing_that_can_be_asked_for() -> None:
    """A mechanism with a key is modelled, so the page may only say that it is not compared, and names its
    tests.
    """
    page = (DOCS / "packetdrill.md").read_text(encoding="utf-8")
    schema = json.loads(cf.reference.schema())["properties"]["tcp"]["properties"]
    rfc = schema["rfc"]["properties"]
    for key, there, script, test in (
        ("tcp.pacing", schema, "slow-start-fq-ack-per-2pkt", "linux_does_not_pace_the_first_ten"),
        ("tcp.rfc.accurate_ecn", rfc, "accecn/*", "accurate_feedback_counts_marks"),
        ("tcp.rfc.ecn", rfc, "ecn/ecn-uses-ect0", "new_data_is_ecn_capable_and_repetitions_are_not"),
    ):
        assert key.rpartition(".")[2] in there
        (line,) = (line for line in page.splitlines() if f"| {script} |" in line or f"/{script} |" in line)
        assert f"`{test}`" in line
        assert test in where_tests_are()
        assert not re.search(r"not modelled|do(es)? not (pace|tell)", line), line


def test_the_page_of_persistence_quotes_no_document_that_was_not_read() -> None:
    for page in pages():
        assert "from memory" not in page.read_text(encoding="utf-8"), page.name


def test_a_caption_names_what_the_figure_of_its_scenario_has() -> None:
    """The caption in docs/energy.md names the panels by fd_t, and both metrics."""
    with open(ROOT / "python/crossfade/scenarios/tcp-energy.toml", "rb") as file:
        scenario = tomllib.load(file)
    page = (DOCS / "energy.md").read_text(encoding="utf-8")
    (caption,) = re.findall(r"^!\[([^]]*)\]\(", page, re.MULTILINE)
    assert scenario["figure"]["panels"] == "channel.fd_t"
    assert "on the left" in caption
    assert "colours" not in caption
    for metric in scenario["figure"]["y"]:
        assert metric.partition("_")[0] in caption.lower()
    for fd_t in scenario["sweep"]["channel.fd_t"]:
        assert str(fd_t) in caption


def test_student_is_said_of_what_is_students() -> None:
    """Reports and figures do not call their intervals Student's, since their ends often differ
    (docs/intervals.md).
    """
    for folder in ("python/crossfade/reports", "python/crossfade/figures"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name == "distributions.py":  # bands of distributions are Student's
                continue
            assert not re.search(r"95 % Student", path.read_text(encoding="utf-8")), path.name
    assert "Student" not in (DOCS / "engine.md").read_text(encoding="utf-8")


def test_the_scenario_of_the_page_on_a_trace_is_one(tmp_path: Path) -> None:
    page = (DOCS / "trace-and-browser.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^ *```toml\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    for name in ("lte.up", "lte.down"):
        (tmp_path / name).write_text("1\n5\n5\n9\n")
    (tmp_path / "lte.toml").write_text(block.replace("\n   ", "\n"))
    assert cf.check(tmp_path / "lte.toml").points == 1
    assert cf.run(tmp_path / "lte.toml", set={"run.duration": "2 s"}).points[0].value("goodput_bps") > 1e6


def test_alternative_texts_are_whole() -> None:
    """Alternative texts describe the picture in whole phrases, not cut at the point of a number or a name."""
    for page in pages():
        for text, target in re.findall(r"!\[([^]]*)\]\((\S+\.(?:png|svg))\)", plain(page)):
            assert not re.search(r"\b0$|\bet al$|[`(]$", text), f"{page.name}: {target}: {text}"
            assert len(text.split()) >= 3, f"{page.name}: {target}: {text}"


def test_a_picture_is_kept_with_all_its_colours(tmp_path: Path) -> None:
    """Stored pictures keep all colours (refresh_pages.py), so that curves of a legend stay
    distinguishable.
    """
    sys.path.insert(0, str(ROOT / "scripts"))
    refresh = import_module("refresh_pages")
    drawn, kept = tmp_path / "drawn.png", tmp_path / "kept.png"
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    for at, color in enumerate(PALETTE):
        axes.plot([0, 1], [at, at + 1], color=color, label=color)
    axes.legend()
    figure.savefig(drawn, dpi=150)
    refresh.keep(drawn, kept)
    with Image.open(drawn) as one, Image.open(kept) as other:
        assert one.convert("RGB").tobytes() == other.convert("RGB").tobytes()


# Pictures by the colours of their curves: indices of PALETTE, without black, which axes have too. Curves
# without a legend count as well.
LEGENDS = {
    "0": "classics-slow-start formulas three-methods",
    "01": "classics-ack-path fit-rayleigh inside-a-link mimo-arq-fig4 mimo-mac-fig5 mimo-mac-fig6 "
    "mimo-mac-fig7 mimo-mac-fig8 rlp-persistence tcp-markov-fig3 tcp-markov-fig5 tcp-markov-fig6 "
    "tcp-rlp-fig5 voice-beside wifi-persistence wipemu-fig2 wipemu-fig3 wipemu-fig4 wipemu-fig5-14.6-db "
    "wipemu-fig5 wipemu-fig6-14.6-db wipemu-fig6 wipemu-timer",
    "012": "classics-bufferbloat classics-fairness distribution mimo-arq-fig1 tcp-rlp-fig3 tcp-rlp-fig4 "
    "words",
    "0123": "classics-one-two-three-losses tcp-rlp-fig2",
    "01234": "mimo-arq-fig10 mimo-arq-fig11 mimo-arq-fig12 mimo-arq-fig13 mimo-arq-fig14 mimo-arq-fig15 "
    "mimo-arq-fig6 mimo-arq-fig7 mimo-arq-fig8 mimo-arq-fig9",
    "012345": "mimo-mac-fig4 mimo-mac-k-wider mimo-mac-k",
    "01235": "nr-delays",
    "01245": "front",
    "023": "panels quickstart tcp-energy throughput timeouts",
    "03": "tcp-markov-fig1 tcp-markov-fig2-ns2 tcp-markov-fig2",
    "045": "ack-gaps loss-and-arq outages",
    "125": "five-minutes-fading",
    "15": "classics-cubic-against-reno classics-rtt-unfairness satellite-modcod",
    "23": "switching tcp-markov-fig4",
    "45": "across-radios",
}
# Screenshots, and a figure drawn by xarray.
OTHER_PICTURES = {"explorer", "explorer-link", "results-figure"}


def test_every_picture_has_its_legend_in_the_table() -> None:
    """The table covers every picture, so that the next test checks all of them."""
    named = [name for names in LEGENDS.values() for name in names.split()]
    assert len(named) == len({*named})
    there = {path.stem for path in (DOCS / "pictures").glob("*.png")}
    assert {*named} == there - OTHER_PICTURES


@pytest.mark.parametrize("name", [name for names in LEGENDS.values() for name in names.split()])
def test_a_picture_holds_the_colours_of_its_legend(name: str) -> None:
    (colours,) = (colours for colours, names in LEGENDS.items() if name in names.split())
    with Image.open(DOCS / "pictures" / f"{name}.png") as picture:
        assert picture.mode != "P", f"{name}: reduced to {len(picture.getcolors() or [])} colours"
        # Colours as single numbers of 32 bits, since sorting rows of three values takes seconds.
        numbers, pixels = np.unique(np.asarray(picture.convert("RGBX")).view(np.uint32), return_counts=True)
    there = numbers.view(np.uint8).reshape(-1, 4)[:, :3].astype(int)
    for index, colour in enumerate(PALETTE[:6]):
        wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        near = pixels[np.abs(there - wanted).sum(axis=1) <= 6].sum()
        assert (near > 100) == (str(index) in colours), f"{name}: {colour}: {near} pixels"


def test_pictures_of_controls_have_the_colours_of_controls() -> None:
    """Each congestion control has one colour in all figures."""
    drawn = {PALETTE[ALGORITHMS[control][0]] for control in ("reno", "cubic", "bbr-v1", "bbr-v3")}
    (colours,) = (colours for colours, names in LEGENDS.items() if "loss-and-arq" in names.split())
    assert {PALETTE[int(index)] for index in colours} == drawn - {PALETTE[6]}


def test_pages_are_no_diary() -> None:
    """Pages name no days, machines or earlier results; those belong to bench/results/ and the page of results
    versions.
    """
    for page in pages():
        if page.name in ("CHANGES.md", "results-versions.md") or not page.is_relative_to(DOCS):
            continue
        text = re.sub(
            r"20\d\d-\d\d-\d\d \|$", "|", plain(page), flags=re.MULTILINE
        )  # dates in tables of evidence
        text = re.sub(r"^(```+).*?^\1$|`[^`\n]*`|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
        said = re.findall(
            r"\b20\d\d-\d\d-\d\d\b|another day\b.*\bon a third|\bin the (?:night|morning|evening) of\b"
            r"|\b(?:quiet|busy) machine\b|\b(?:since|until|of|in) results version \d",
            text,
            re.IGNORECASE,
        )
        assert said == [], page.name


def test_the_gallery_has_every_scenario_with_its_title() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    gallery = import_module("draw_gallery")
    page = gallery.PAGE.read_text(encoding="utf-8")
    assert gallery.filled(page) == page, "python scripts/draw_gallery.py"
    named = [found["name"] for found in gallery.ROW.finditer(page)]
    there = (
        path.relative_to(gallery.SCENARIOS).with_suffix("").as_posix()
        for path in gallery.SCENARIOS.rglob("*.toml")
    )
    # Not in the gallery: suites and profiles, which have their own lists, and papers' claims and readings.
    others = ("suites/", "profiles/")
    scenarios = {
        name for name in there if not name.startswith(others) and not name.endswith(("/claims", "/readings"))
    }
    assert sorted(named) == sorted(scenarios)
    missing = [name for name in named if not gallery.thumb(name).exists()]
    assert sorted(missing) == sorted(gallery.WITHOUT_FIGURE)  # python scripts/draw_gallery.py NAME


def test_learning_and_how_to_are_a_third_of_the_words() -> None:
    """Tutorials and how-to pages have at least 35 % of the words written by hand outside the reference
    (scripts/word_shares.py).
    """
    sys.path.insert(0, str(ROOT / "scripts"))
    shares = import_module("word_shares").shares()
    assert shares["learn"] + shares["how-to"] >= 0.35, shares
