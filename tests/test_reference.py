"""The reference is complete: every key, command, metric, file format and exit code has an entry."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import crossfade as cf
from crossfade.cli.app import app
from crossfade.results.opening import FORMAT_VERSION

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
sys.path.insert(0, str(DOCS))

reference_pages = import_module("reference_pages")


def read(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """Text below each heading of the generated pages, by the table that the heading names."""
    found: dict[str, str] = {}
    for page in REFERENCE.glob("*.md"):
        for part in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            heading, _, text = part.partition("\n")
            found[heading.strip("`")] = text
    return found


def keys(part: Any, table: str = "") -> Iterator[tuple[str, str]]:
    """Every key of the schema: the table that contains it, and its name."""
    for name, inner in part.get("properties", {}).items():
        yield table, name
        for one in (inner, *inner.get("anyOf", ())):
            yield from keys(one, f"{table}.{name}".removeprefix("."))
    entry = part.get("additionalProperties")
    if isinstance(entry, dict):
        yield from keys(entry, f"{table}.NAME")


def test_generated_pages_are_those_of_the_program() -> None:
    for name, text in reference_pages.pages().items():
        assert read(name) == text, f"docs/reference/{name} is stale: python scripts/refresh_pages.py"


def test_every_key_has_an_entry() -> None:
    found = sections()
    # A table with the keys of another refers to it, and tables inside it are described there.
    same = {
        table: twin[1]
        for table, text in found.items()
        if (twin := re.search(r"Takes the keys of \[`([\w.]+)`\]", text))
    }

    def home(table: str) -> str:
        for outer, twin in same.items():
            if table.startswith(f"{outer}."):
                return home(twin + table.removeprefix(outer))
        return table

    all_keys = list(keys(json.loads(cf.reference.schema())))
    assert len(all_keys) > 550
    missing = [
        f"{table}.{name}"
        for table, name in all_keys
        if f"`{name}`" not in found.get(home(table) or "Outside tables", "")
    ]
    assert missing == []


def test_a_key_says_its_values_and_default() -> None:
    line = next(line for line in read("tcp.md").splitlines() if line.startswith("| `w_max` |"))
    _, _, values, default, since, meaning, _ = (cell.strip() for cell in line.split("|"))
    assert "between 1 and 1000000" in values
    assert default
    assert since == "0.1.0"
    assert len(meaning.split()) > 3
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for page in reference_pages.PAGES
        for line in read(f"{page.name}.md").splitlines()
        if line.startswith("| `")
    ]
    assert len(rows) > 350
    for row in rows:
        _, values, default, since, meaning = row
        assert values, row
        assert re.fullmatch(r"\d+\.\d+\.\d+", since), row
        assert meaning, row
        assert default or values == "a table" or "tables" in values, row


def test_every_key_says_since_which_release() -> None:
    """Every key has its release: 0.1.0 for keys of results version 11, the next release for new keys."""
    there = set(reference_pages.keys_of(dict(reference_pages.tables_of(json.loads(cf.reference.schema())))))
    since = reference_pages.releases()
    assert set(since) == there, "python scripts/refresh_pages.py"
    assert since["tcp.w_max"] == since["link.queue.discipline"] == since["mesh.mac"] == "0.1.0"
    assert since["link.satellite.profile"] == since["run.draws"] == since["cell.uplink.pattern"] == "0.2.0"
    newest = tuple(map(int, reference_pages.release_to_come().split(".")))
    assert all(tuple(map(int, release.split("."))) <= newest for release in since.values())


def test_every_word_of_a_choice_is_listed() -> None:
    page = read("tcp.md")
    for word in ("old-tahoe", "newreno", "bbr-v1", "bbr-v3", "prague", "dctcp"):
        assert f"\n- `{word}`: " in page


def test_every_command_and_option_has_an_entry() -> None:
    page = read("commands.md")
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        _, _, text = page.partition(f"\n## `crossfade {name}`\n")
        text = text.partition("\n## ")[0]
        # The page has the help text of the command, not its output.
        assert f"Usage: crossfade {name} " in text
        options = [option for one in command.params for option in one.opts if option.startswith("--")]
        assert [option for option in options if option not in text] == []


def test_every_metric_has_an_entry() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    assert [metric.name for metric in cf.reference.metrics() if f"| `{metric.name}` |" not in page] == []


def columns(heading: str) -> set[str]:
    """Columns that the page of formats lists below a heading."""
    text = read("formats.md").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


SCENARIO = """
schema = 2
run = { duration = "2 s", runs = 1, sample = "1 s" }
channel = { model = "iid", p_e = 0.01 }
link = { rate = "5 Mbit/s", packet_size = "1500 B" }
wired = { rate = "100 Mbit/s", one_way_delay = "5 ms" }
tcp = { flavour = "rfc", variant = "sack", w_max = 50 }
[flows.page]
traffic = "transfer"
size = "50 kB"
"""


def test_every_column_of_a_table_has_an_entry() -> None:
    events = list(cf.events(SCENARIO.replace('sample = "1 s"', "seed = 1")).columns)
    assert {*events, "info"} == columns("Events")
    samples = list(cf.runs.samples(SCENARIO).columns)
    assert set(samples) - set(events) == columns("Samples")
    assert set(cf.runs.link_events(SCENARIO).columns) == columns("Link events")
    assert set(cf.runs.transfers(SCENARIO).columns) == columns("Transfers")
    assert set(cf.runs.delays(SCENARIO).columns) == columns("Delays")


def test_every_event_has_an_entry() -> None:
    source = (ROOT / "crates/core/src/observer.rs").read_text(encoding="utf-8")
    names = re.findall(r'Self::\w+ => "(\w+)"', source)
    assert len(names) > 10
    page = read("formats.md").partition("\n## Events\n")[2].partition("\n## ")[0]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_columns_of_results_have_their_entries() -> None:
    table = next(csv.reader(io.StringIO(cf.run(SCENARIO).table().to_csv())))
    metrics = {metric.name for metric in cf.reference.metrics()}
    ends = ("_ci95_low", "_ci95_high", "_ci95", "_runs", "_at_least", "")
    for column in table:
        last = column.rpartition(".")[2]
        known = last in {"method", "runs"} or any(
            last.endswith(end) and last.removesuffix(end) in metrics for end in ends
        )
        assert known, column
    page = read("formats.md")
    assert [end for end in ends if f"`NAME{end}`" not in page] == []


def test_versions_of_formats_are_those_of_the_code() -> None:
    page = read("formats.md")
    assert f"| format {FORMAT_VERSION};" in page
    events = (ROOT / "crates/link/src/event.rs").read_text(encoding="utf-8")
    (version,) = re.findall(r"const VERSION: u32 = (\d+);", events)
    assert f"| link events | `--link-events` | {version} |" in page
    journal = (ROOT / "crates/live/src/recording/writer.rs").read_text(encoding="utf-8")
    (number,) = re.findall(r'b"crossfade journal (\d+)\\n"', journal)
    assert f"`crossfade journal {number}`" in page
    for name in re.findall(r"pub\(super\) const \w+: u8 = b'(\w)';", journal):
        assert f"| `{name}` |" in page
    schema = json.loads(cf.reference.schema())["properties"]["schema"]["maximum"]
    assert f"`schema = {schema}`" in page


def test_limits_are_those_of_the_code() -> None:
    page = read("limits.md")
    for path, pattern in {
        "crates/scenario/src/range.rs": r"MOST_POINTS: usize = ([\d_]+)",
        "crates/scenario/src/plan.rs": r"MOST_ROWS: u64 = ([\d_]+)",
        "crates/scenario/src/flows.rs": r"MOST_FLOWS: u32 = ([\d_]+)",
        "crates/mac/src/topology.rs": r"MAX_NODES: usize = ([\d_]+)",
        "crates/mac/src/vector.rs": r"MAX_ANTENNAS: usize = ([\d_]+)",
        "crates/experiment/src/execute.rs": r"MOST_JOBS: usize = ([\d_]+)",
        "crates/experiment/src/views/mod.rs": r"MOST_POINTS_WITH_EVENTS: usize = ([\d_]+)",
        "crates/experiment/src/views/distributions.rs": r"MOST_RUNS: u64 = ([\d_]+)",
        "crates/experiment/src/methods/analysis.rs": r"MAX_STATES: usize = ([\d_]+)",
        "python/crossfade/cli/run.py": r"MOST_POINTS = ([\d_]+)",
        "python/crossfade/figures/choice.py": r"MOST_CURVES = ([\d_]+)",
        "python/crossfade/files/__init__.py": r"LARGEST_SCENARIO = (\d+) \* 1024 \* 1024",
    }.items():
        (found,) = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))
        number = f"{int(found.replace('_', '')):,}"
        assert re.search(rf"\| (half of [^|]*)?{number}\b", page), f"{path}: {number}"


@pytest.mark.parametrize("code", [0, 1, 2, 125, 130])
def test_exit_codes_have_their_entries(code: int) -> None:
    assert f"| {code} |" in read("limits.md")


# Capital letters that need no entry in the glossary: names of standards and programs.
NAMES = """
ASCII BPSK CDMA CPU CSV DATA DCTCP DIN DRR DVB FILE FQ GRO GSO HTML ICMP IEEE IP IPG IS ITU JSON KEY
LDPC LTE MTU NAME NS NUMBER PDF PFTK PIE PNG PSK QAM QPSK QUIC README RFC SQLITE SVG TCP TETRA TOML TR TSO
UDP UTF VALUE XOR
""".split()  # noqa: SIM905  # a list of so many words is longer


def test_abbreviations_of_keys_and_metrics_are_in_the_glossary() -> None:
    pages = (page for page in REFERENCE.glob("*.md") if page.name != "commands.md")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    texts += [f"{metric.words} {metric.meaning}" for metric in cf.reference.metrics()]
    words = read("glossary.md")
    used: dict[str, int] = {}
    for text in texts:
        for word in re.findall(r"\b[A-Z]{3,}\b", re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", "", text)):
            used[word] = used.get(word, 0) + 1
    unknown = {word: n for word, n in used.items() if n > 2 and word not in words and word not in NAMES}
    assert unknown == {}
