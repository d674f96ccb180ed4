"""Figures, tables and outputs that the pages show, each made again only if its inputs changed.

A step is identified by a digest of the program, of the modules of this folder, and of its own inputs (code
blocks of a page, kept tables). ``gallery/made.json`` holds the digests of finished steps, so after an edit of
text nothing is computed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import random
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from bearers_gallery import make_bearers
from classics_gallery import make_classics
from five_minutes import make_five_minutes
from front_pictures import SPEED, draw_front
from kept_claims import kept_file, show
from kept_figures import FOLDER, draw, made
from page_commands import COMMANDS, run_commands
from page_examples import EXAMPLE, run_examples
from persistence_gallery import make_persistence

import crossfade as cf
from crossfade._crossfade import student_quantile
from crossfade.cli import terminal
from crossfade.cli.app import main
from crossfade.comparison.paired import Sample
from crossfade.papers import PAPERS

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
# Output of the command in live.md, run with real-time priority.
THREE_METHODS = DOCS / "three-methods.csv"
# Output of the command in nr.md, run with real-time priority.
ACROSS_RADIOS = DOCS / "across-radios.csv"
# HTML pages published beside the documentation; Sphinx needs the folder before the build.
PAGES = GALLERY / "pages"
MADE = GALLERY / "made.json"
# Modules that the digest leaves out: they affect no step, or only the picture of the front page.
OTHERS = ("conf.py", "plain_pages.py", "reference_pages.py", "front_pictures.py")
# Figures that the page of a paper shows, of those that take long to compute.
OF_MIMO = [name for name in PAPERS["mimo-arq"].FIGURES if name not in ("fer", "combining")]
DRAWN = {"mimo-arq": OF_MIMO, "transports": [], "nr": []}
# Papers whose figures are drawn from short runs, as their pages state.
SHORT = ["mimo-arq", "mimo-mac", "wipemu"]


@dataclass(frozen=True)
class Step:
    """A part of the gallery: the function that makes it, and its inputs besides the program."""

    name: str
    make: Callable[[], None]
    inputs: tuple[str, ...] = ()

    def digest(self, program: str) -> str:
        """Digest of everything that determines the step."""
        return hashlib.sha256("\n".join([program, self.name, *self.inputs]).encode()).hexdigest()


def program_digest() -> str:
    """Digest of the package with its extension and scenarios, and of the modules that make the gallery."""
    found = hashlib.sha256()
    package = Path(cf.__file__).parent
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".so", ".toml", ".csv")]
    for path in sorted([*files, *DOCS.glob("*.py")]):
        if path.name not in OTHERS:
            found.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def make_gallery() -> list[str]:
    """Make the steps that are missing or stale; returns their names."""
    PAGES.mkdir(parents=True, exist_ok=True)
    there: dict[str, str] = json.loads(MADE.read_text()) if MADE.exists() else {}
    program = program_digest()
    stale = [step for step in steps() if there.get(step.name) != step.digest(program)]
    for step in stale:
        step.make()
        there[step.name] = step.digest(program)
        MADE.write_text(json.dumps(there, indent=1))
    return [step.name for step in stale]


def steps() -> list[Step]:
    """All steps of the gallery, in order."""
    parts = [
        Step("quickstart", make_quickstart),
        Step("energy", make_energy),
        Step("sweep", make_sweep),
        Step("formulas", make_formulas),
        Step("three-methods", make_three_methods, (THREE_METHODS.read_text(encoding="utf-8"),)),
        Step("across-radios", make_across_radios, (ACROSS_RADIOS.read_text(encoding="utf-8"),)),
        Step("nr-delays", make_nr_delays),
        Step("nr-bearers", lambda: make_bearers(GALLERY)),
        Step("wiring", make_wiring),
        Step("comparisons", make_comparisons),
        Step("fits", make_fits),
        Step("links", make_links),
        Step("classics", lambda: make_classics(GALLERY)),
        Step("five-minutes", lambda: make_five_minutes(GALLERY)),
        Step("results", lambda: run_examples(DOCS / "results.md", GALLERY), _blocks("results", EXAMPLE)),
        Step("figures", lambda: run_commands(DOCS / "figures.md", GALLERY), _blocks("figures", COMMANDS)),
        Step(
            "which-transport",
            lambda: run_commands(DOCS / "which-transport.md", GALLERY),
            _blocks("which-transport", COMMANDS),
        ),
        Step("persistence", lambda: make_persistence(GALLERY)),
    ]
    front = tuple(
        path.read_text(encoding="utf-8") for path in (SPEED, *sorted(DOCS.glob("papers/*-claims.csv")))
    )
    parts.append(Step("front", lambda: draw_front(GALLERY / "front.png"), front))
    return [*parts, *(Step(f"paper {key}", _paper(key), tuple(_kept_of(key))) for key in PAPERS)]


def _blocks(page: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Code blocks of a page, of which the page shows the output."""
    return tuple(pattern.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")))


def _kept_of(key: str) -> Iterable[str]:
    """Contents of the kept tables of a paper, as inputs of its step."""
    for path in (*sorted(FOLDER.glob(f"{key}-*.csv")), FOLDER / "made.csv", kept_file(key)):
        if path.exists():
            yield path.read_text(encoding="utf-8")


def make_quickstart() -> None:
    """Make the outputs of the quick start page."""
    (GALLERY / "explain-fd_t.txt").write_text(printed("explain", "channel.fd_t"))
    plot = ["--plot", str(GALLERY / "quickstart.png")]
    (GALLERY / "quickstart.txt").write_text(printed("run", "quickstart", *plot))


def make_energy() -> None:
    """Make the figure and table of the page on energy."""
    plot = ["--x", "channel.fading_margin_db", "--plot", str(GALLERY / "tcp-energy.png")]
    printed("run", "tcp-energy", "--quiet", *plot)
    (GALLERY / "energy.csv").write_text(energy().to_csv())


def make_formulas() -> None:
    """Make the figure of formulas, exact analysis and simulation."""
    printed("run", "formulas-against-memory", "--quiet", "--plot", str(GALLERY / "formulas.png"))


def make_three_methods() -> None:
    """Draw analysis, simulation and kernel for one scenario, from a kept output of ``crossfade run --csv``.

    The table is kept because live runs take real time, and no two are equal.
    """
    title = "NewReno over a fading link: exact, simulated, and Linux"
    out = ["--title", title, "--out", str(GALLERY / "three-methods.png")]
    printed("plot", str(THREE_METHODS), "--y", "throughput_per_slot", *out)


def make_across_radios() -> None:
    """Draw CUBIC and BBR over three radios, simulated and live, from a kept output of ``crossfade run``."""
    cf.plot(
        str(ACROSS_RADIOS),
        GALLERY / "across-radios.png",
        x="alternative",
        by="tcp.congestion",
        y=["goodput_bps", "rtt_mean_s"],
        labels={"wifi": "Wi-Fi", "nr": "5G NR"},
        title="",
    )


def make_nr_delays() -> None:
    """Draw the parts of the packet delay in a 5G NR cell, in both directions."""
    with TemporaryDirectory() as folder:
        events = f"{folder}/links.csv"
        short = ["--quiet", "--runs", "1", "--set", "run.duration=3 s"]
        printed("run", "nr-both-ways", *short, "--link-events", events)
        part = ["--where", "time_s>=2.2", "--where", "time_s<2.6"]
        out = ["--width", "double", "--title", "", "--out", str(GALLERY / "nr-delays.png")]
        printed("plot", events, "--y", "delay", *part, *out)


def make_wiring() -> None:
    """Write the places where the code names a channel model."""
    (GALLERY / "wiring-iid.diff").write_text(wiring("iid"))


def _paper(key: str) -> Callable[[], None]:
    return lambda: make_paper(key)


def make_paper(key: str) -> None:
    """Make the figures, tables and verdicts of a paper: kept tables are drawn, other figures are computed."""
    kept_figures = [name for paper, name in made() if paper == key]
    for name in kept_figures:
        draw(key, name, GALLERY)
    for name in DRAWN.get(key, PAPERS[key].FIGURES):
        if name in kept_figures:
            continue
        outputs = ["--csv", str(GALLERY / f"{key}-{name}.csv")]
        if name.startswith("fig"):
            outputs += ["--plot", str(GALLERY / f"{key}-{name}.png")]
        printed("paper", key, name, *(["--quick"] if key in SHORT else []), "--quiet", *outputs)
    for path in GALLERY.glob(f"{key}-table*.csv"):
        path.write_text(rounded(cf.store.Table.from_csv(path.read_text())))
    show(key, GALLERY)


def printed(*arguments: str) -> str:
    """Output of a command; the build fails if the command fails."""
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(arguments)
    if code != 0:
        raise RuntimeError(f"crossfade {' '.join(arguments)} ended with {code}")
    return text.getvalue()


# Files in which a channel model is named: its crate, schema, meaning and object, and its treatment by the
# analysis.
WIRING = [
    "channel/src/lib.rs",
    "channel/src/config.rs",
    "scenario/src/tables/channel.rs",
]


def wiring(model: str) -> str:
    """Lines of code that name a channel model, as a diff that adds them."""
    crates = Path(__file__).parents[1] / "crates"
    named = re.compile(rf"\b({model}|{model.capitalize()})\b")
    lines = []
    for name in WIRING:
        code, _, _ = (crates / name).read_text().partition("#[cfg(test)]")
        lines += [f"--- crates/{name}", *(f"+{line}" for line in code.splitlines() if named.search(line))]
    return "\n".join(lines) + "\n"


def make_sweep() -> None:
    """Write the output of a sweep in two shards, and a query of its file by another SQLite program."""
    text = io.StringIO()
    with TemporaryDirectory() as folder, chdir(folder), redirect_stderr(text):
        for arguments in (
            ["sweep", "quickstart", "--shard", "1/2"],
            ["sweep", "quickstart", "--shard", "2/2"],
            ["merge", "quickstart-1-of-2.sqlite", "quickstart-2-of-2.sqlite", "--out", "quickstart.sqlite"],
            ["sweep", "quickstart"],
        ):
            text.write(f"$ crossfade {' '.join(arguments)}\n")
            text.write(printed(*arguments))
        (GALLERY / "sweep-session.txt").write_text(text.getvalue())
        with closing(sqlite3.connect("quickstart.sqlite")) as database:
            tables = database.execute(
                "SELECT sql FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%' ORDER BY name"
            )
            (GALLERY / "sweep-tables.sql").write_text("".join(f"{sql};\n" for (sql,) in tables))


ENERGY = """
schema = 2
channel = { model = "markov", fading_margin_db = 20, fd_t = 0.01 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { flavour = "paper", variant = "tahoe", w_max = 24, rto = { fixed = "100 slots" } }
"""


def energy() -> cf.store.Table:
    """Table of the fading margin (dB) for a throughput of 0.9 packets per slot, by window, channel and TCP
    variant.
    """
    records: list[dict[str, float | str]] = []
    for w_max, fd_t in product((6, 24), (0.01, 0.08, 0.64)):
        group: list[dict[str, float | str]] = []
        costs = []
        for variant in ("old-tahoe", "tahoe", "reno", "newreno"):
            margin, point = cf.curves.threshold(
                ENERGY,
                metric="throughput_per_slot",
                level=0.9,
                key="channel.fading_margin_db",
                between=(0.0, 45.0),
                set={"tcp.variant": variant, "tcp.w_max": w_max, "channel.fd_t": fd_t},
            )
            costs.append(margin + 10.0 * math.log10(point.value("energy_per_packet")))
            p_e = cf.fit.markov_from_rayleigh(fd_t, fading_margin_db=margin)["p_e"]
            shown = {"margin (dB)": f"{margin:.2f}", "P_E": f"{p_e:.3g}"}
            per_packet = {"transmissions a packet": f"{point.value('energy_per_packet'):.4f}"}
            group.append({"W_max": w_max, "fd_t": fd_t, "TCP": variant} | shown | per_packet)
        for record, cost in zip(group, costs, strict=True):
            records.append(record | {"energy over the thriftiest (dB)": f"{cost - min(costs):.2f}"})
    return cf.store.Table.of(list(records[0]), records)


def make_comparisons() -> None:
    """Make outputs on pairs, choices and switching points, and on the gain by pairing."""
    tcps = ["--over", "tcp.variant=tahoe,newreno"]
    pairs = printed("compare", "quickstart", "--by", "tcp.variant", *tcps)
    (GALLERY / "compare-quickstart.txt").write_text(pairs)
    choices = [*tcps, "--over", "tcp.dupthresh=1,3", "--choose", "tcp.variant,tcp.dupthresh", "--runs", "30"]
    choices += ["--plot", str(GALLERY / "switching.png")]
    chosen = printed("best", "quickstart", "--set", "channel.fd_t=0.08", *choices)
    (GALLERY / "best-quickstart.txt").write_text(chosen)
    limited = ["--metric", "download.goodput_bps", "--subject-to", "rtt_p95_s<0.1", "--runs", "4"]
    chosen = printed("best", "classics/bufferbloat", "--choose", "link.queue.discipline", *limited)
    (GALLERY / "best-bufferbloat.txt").write_text(chosen)
    records: dict[float, dict[str, float | str]] = {}
    for other, name in (("newreno", "NewReno"), ("reno", "Reno")):
        points = cf.run("quickstart", over={"tcp.variant": ["tahoe", other]}).points
        for one, two in zip(points[: len(points) // 2], points[len(points) // 2 :], strict=True):
            tahoe, second = (Sample.of(point, "goodput_bps") for point in (one, two))
            paired = (tahoe - second).half_width()
            spread = math.sqrt(tahoe.variance_of_mean + second.variance_of_mean)
            unpaired = student_quantile(2 * len(tahoe.values) - 2) * spread
            record = records.setdefault(one.axes["channel.p_e"], {"P_E": f"{one.axes['channel.p_e']:.3g}"})
            record[f"Tahoe less {name}, paired (bit/s)"] = f"± {paired:,.0f}"
            record[f"Tahoe less {name}, unpaired (bit/s)"] = f"± {unpaired:,.0f}"
    table = cf.store.Table.of(list(next(iter(records.values()))), records.values())
    (GALLERY / "paired-widths.csv").write_text(table.to_csv())


def make_fits() -> None:
    """Make fits of a chain to the trace of a chain, and to fading, which is not a chain."""
    rng = random.Random(2)
    lost, trace = 0, []
    for _ in range(20_000):
        trace.append(lost)
        lost = lost if rng.random() < (0.75 if lost else 0.99) else 1 - lost
    text = io.StringIO()
    with redirect_stdout(text):
        terminal.print_fit(replace(cf.fit.losses(trace), source="trace.txt"), terminal.console())
    (GALLERY / "fit-trace.txt").write_text(text.getvalue())
    records = []
    for fd_t in (0.01, 0.08, 0.64):
        for p_e in (0.01, 0.1, 0.3):
            found = cf.fit.rayleigh(p_e, fd_t)
            worst = found.fit.bad_runs.distance
            records.append(
                {
                    "fd_t": fd_t,
                    "P_E": p_e,
                    "p_bb fitted": f"{found.fit.p_bb.value:.4f}",
                    "closed form": f"{found.p_bb:.4f}",
                    "precision": f"{found.precision:.1%}",
                    "verdict": found.fit.verdict,
                    "k": worst.length,
                    "P[burst ≥ k], sampled": f"{worst.observed:.3f}",
                    "chain": f"{worst.fitted:.3f}",
                }
            )
    (GALLERY / "fit-rayleigh.csv").write_text(cf.store.Table.of(list(records[0]), records).to_csv())
    cf.fit.rayleigh(0.1, 0.01).fit.plot(GALLERY / "fit-rayleigh.png")


def make_links() -> None:
    """Make the outputs of the shipped scenarios of links."""
    (GALLERY / "explain-arq.txt").write_text(printed("explain", "link.arq"))
    for name in ("cdma-rlp", "wifi-like-arq", "satellite-modcod"):
        printed("run", name, "--quiet", "--y", "goodput_bps", "--plot", str(GALLERY / f"{name}.png"))


def rounded(table: cf.store.Table) -> str:
    """A table with numbers of six significant digits, as in the papers."""
    records = [
        {name: f"{cell:.6g}" if isinstance(cell, float) else cell for name, cell in record.items()}
        for record in table.records()
    ]
    return cf.store.Table.of(table.columns, records).to_csv()
