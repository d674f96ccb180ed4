"""Sphinx: the pages of docs/, with every figure, table and help text made by the build that they describe."""

from __future__ import annotations

import io
import math
import random
import re
import sqlite3
import sys
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.application import Sphinx

import crossfade as cf
from crossfade._crossfade import student_quantile
from crossfade.cli import terminal
from crossfade.cli.app import main
from crossfade.comparison.paired import Sample
from crossfade.papers import PAPERS, verdict_table

sys.path.insert(0, str(Path(__file__).parent))

from classics_gallery import make_classics
from five_minutes import make_five_minutes
from kept_claims import kept, show
from kept_figures import draw, made
from page_commands import run_commands
from page_examples import run_examples
from persistence_gallery import make_persistence
from plain_pages import for_sphinx

project = "Crossfade"
author = "The Crossfade developers"
project_copyright = "The Crossfade developers"
release = cf.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "gallery/*.md"]
# Links name headings as they do in the plain files.
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "show_nav_level": 2,
    "navigation_with_keys": False,
}
# The front page has its list of sections; every other page has the pages of its section beside it.
html_sidebars: dict[str, list[str]] = {"index": [], "**": ["sidebar-nav-bs"]}
html_show_sourcelink = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"

# docs/notebook.md is run by every build, in an empty folder; what fails there fails the build.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

GALLERY = Path(__file__).parent / "gallery"
# Pages that stand beside those of the documentation; Sphinx wants the folder before anything is built.
# Of a paper whose figures take long, those that its page shows.
DRAWN = {"mimo-arq": ["fig1", "fig4", "fig6", "fig10", "table1", "codes"], "transports": []}
# Papers whose figures are drawn with short runs, as their pages say.
SHORT = ["mimo-arq", "mimo-mac", "wipemu"]
PAGES = GALLERY / "pages"
PAGES.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(PAGES)]


def printed(*arguments: str) -> str:
    """What a command prints; the build fails where the command does."""
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(arguments)
    if code != 0:
        raise RuntimeError(f"crossfade {' '.join(arguments)} ended with {code}")
    return text.getvalue()


def make_gallery(_: Sphinx) -> None:
    """Compute what the pages show. Where runs are short (--quick), the pages say so."""
    GALLERY.mkdir(exist_ok=True)
    (GALLERY / "explain-fd_t.txt").write_text(printed("explain", "channel.fd_t"))
    plot = ["--plot", str(GALLERY / "quickstart.png")]
    (GALLERY / "quickstart.txt").write_text(printed("run", "quickstart", *plot))
    energy_plot = ["--x", "channel.fading_margin_db", "--plot", str(GALLERY / "tcp-energy.png")]
    printed("run", "tcp-energy", "--quiet", *energy_plot)
    (GALLERY / "energy.csv").write_text(energy().to_csv())
    make_sweep()
    printed("run", "formulas-against-memory", "--quiet", "--plot", str(GALLERY / "formulas.png"))
    (GALLERY / "wiring-iid.diff").write_text(wiring("iid"))
    make_comparisons()
    make_fits()
    make_links()
    make_classics(GALLERY)
    make_five_minutes(GALLERY)
    run_examples(Path(__file__).parent / "results.md", GALLERY)
    for page in ("figures", "which-transport"):
        run_commands(Path(__file__).parent / f"{page}.md", GALLERY)
    make_persistence(GALLERY)
    marks = ["--over", "sender=paper,ns2", "--plot", str(GALLERY / "tcp-markov-fig2-ns2.png")]
    printed("paper", "tcp-markov", "fig2", "--quiet", *marks)
    kept_figures = made()
    for key, paper in PAPERS.items():
        for name in DRAWN.get(key, paper.FIGURES):
            if (key, name) in kept_figures:
                draw(key, name, GALLERY)
                continue
            outputs = ["--csv", str(GALLERY / f"{key}-{name}.csv")]
            if name.startswith("fig"):
                outputs += ["--plot", str(GALLERY / f"{key}-{name}.png")]
            printed("paper", key, name, *(["--quick"] if key in SHORT else []), "--quiet", *outputs)
        for path in GALLERY.glob(f"{key}-table*.csv"):
            path.write_text(rounded(cf.Table.from_csv(path.read_text())))
        if not kept(key):
            claims = verdict_table(cf.claims(key, quick=True))
            (GALLERY / f"{key}-claims.csv").write_text(shown_claims(claims))
            continue
        show(key, GALLERY)


# Where a channel model has a name: its crate, schema, meaning and object, and what the analysis takes it for.
WIRING = [
    "channel/src/lib.rs",
    "channel/src/config.rs",
    "scenario/src/tables/channel.rs",
]


def wiring(model: str) -> str:
    """The lines of the code that name a channel model, as a diff that would add them."""
    crates = Path(__file__).parents[1] / "crates"
    named = re.compile(rf"\b({model}|{model.capitalize()})\b")
    lines = []
    for name in WIRING:
        code, _, _ = (crates / name).read_text().partition("#[cfg(test)]")
        lines += [f"--- crates/{name}", *(f"+{line}" for line in code.splitlines() if named.search(line))]
    return "\n".join(lines) + "\n"


def make_sweep() -> None:
    """What a sweep in two shards prints, and what any SQLite program reads from its file."""
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


def energy() -> cf.Table:
    """The fading margin that a throughput of 0.9 takes, by window, channel and TCP."""
    records: list[dict[str, float | str]] = []
    for w_max, fd_t in product((6, 24), (0.01, 0.08, 0.64)):
        group: list[dict[str, float | str]] = []
        costs = []
        for variant in ("old-tahoe", "tahoe", "reno", "newreno"):
            margin, point = cf.threshold(
                ENERGY,
                metric="throughput_per_slot",
                level=0.9,
                key="channel.fading_margin_db",
                between=(0.0, 45.0),
                set={"tcp.variant": variant, "tcp.w_max": w_max, "channel.fd_t": fd_t},
            )
            costs.append(margin + 10.0 * math.log10(point.value("energy_per_packet")))
            p_e = cf.markov_from_rayleigh(fd_t, fading_margin_db=margin)["p_e"]
            shown = {"margin (dB)": f"{margin:.2f}", "P_E": f"{p_e:.3g}"}
            per_packet = {"transmissions a packet": f"{point.value('energy_per_packet'):.4f}"}
            group.append({"W_max": w_max, "fd_t": fd_t, "TCP": variant} | shown | per_packet)
        for record, cost in zip(group, costs, strict=True):
            records.append(record | {"energy over the thriftiest (dB)": f"{cost - min(costs):.2f}"})
    return cf.Table.of(list(records[0]), records)


def make_comparisons() -> None:
    """Pairs, choices and switching points, and what pairs gain."""
    tcps = ["--over", "tcp.variant=tahoe,newreno"]
    pairs = printed("compare", "quickstart", "--by", "tcp.variant", *tcps)
    (GALLERY / "compare-quickstart.txt").write_text(pairs)
    choices = [*tcps, "--over", "tcp.dupthresh=1,3", "--choose", "tcp.variant,tcp.dupthresh", "--runs", "30"]
    chosen = printed("best", "quickstart", "--set", "channel.fd_t=0.08", *choices)
    (GALLERY / "best-quickstart.txt").write_text(chosen)
    limited = ["--metric", "download.goodput_bps", "--subject-to", "rtt_p95_s<0.1", "--runs", "4"]
    chosen = printed("best", "classics/bufferbloat", "--choose", "link.queue.discipline", *limited)
    (GALLERY / "best-bufferbloat.txt").write_text(chosen)
    records: dict[float, dict[str, float | str]] = {}
    for other in ("newreno", "reno"):
        points = cf.run("quickstart", over={"tcp.variant": ["tahoe", other]}).points
        for one, two in zip(points[: len(points) // 2], points[len(points) // 2 :], strict=True):
            tahoe, second = (Sample.of(point, "goodput_bps") for point in (one, two))
            paired = (tahoe - second).half_width()
            spread = math.sqrt(tahoe.variance_of_mean + second.variance_of_mean)
            unpaired = student_quantile(2 * len(tahoe.values) - 2) * spread
            record = records.setdefault(one.axes["channel.p_e"], {"P_E": f"{one.axes['channel.p_e']:.3g}"})
            record[f"Tahoe, {other}: paired (bit/s)"] = f"± {paired:,.0f}"
            record["unpaired" if other == "newreno" else "unpaired "] = f"± {unpaired:,.0f}"
    table = cf.Table.of(list(next(iter(records.values()))), records.values())
    (GALLERY / "paired-widths.csv").write_text(table.to_csv())


def make_fits() -> None:
    """A chain fitted to a trace of a chain, and to fading, which is none."""
    rng = random.Random(2)
    lost, trace = 0, []
    for _ in range(20_000):
        trace.append(lost)
        lost = lost if rng.random() < (0.75 if lost else 0.99) else 1 - lost
    text = io.StringIO()
    with redirect_stdout(text):
        terminal.print_fit(replace(cf.fit(trace), source="trace.txt"), terminal.console())
    (GALLERY / "fit-trace.txt").write_text(text.getvalue())
    records = []
    for fd_t in (0.01, 0.08, 0.64):
        for p_e in (0.01, 0.1, 0.3):
            found = cf.fit_rayleigh(p_e, fd_t)
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
    (GALLERY / "fit-rayleigh.csv").write_text(cf.Table.of(list(records[0]), records).to_csv())
    cf.fit_rayleigh(0.1, 0.01).fit.plot(GALLERY / "fit-rayleigh.png")


def make_links() -> None:
    """What the shipped scenarios of links show."""
    (GALLERY / "explain-arq.txt").write_text(printed("explain", "link.arq"))
    for name in ("cdma-rlp", "wifi-like-arq", "satellite-modcod"):
        printed("run", name, "--quiet", "--y", "goodput_bps", "--plot", str(GALLERY / f"{name}.png"))


def rounded(table: cf.Table) -> str:
    """A table for people: numbers with six significant digits, as the papers print them."""
    records = [
        {name: f"{cell:.6g}" if isinstance(cell, float) else cell for name, cell in record.items()}
        for record in table.records()
    ]
    return cf.Table.of(table.columns, records).to_csv()


def shown_claims(claims: cf.Table) -> str:
    """The claims with the columns that a page has room for."""
    records = [
        {
            "quote": record["quote"],
            "figure": record["figure"],
            "verdict": record["verdict"],
            "points": f"{record['holding']} of {record['points']}" if record["points"] else "",
            "because": "" if record["verdict"] == "holds" else record["because"] or record["why"],
        }
        for record in claims.records()
    ]
    return cf.Table.of(["quote", "figure", "verdict", "points", "because"], records).to_csv()


def with_directives(_: Sphinx, __: str, source: list[str]) -> None:
    """What is for readers of the plain pages is not for Sphinx."""
    source[0] = for_sphinx(source[0])


def setup(app: Sphinx) -> None:
    """Make the gallery before the pages are read, and read what is for Sphinx."""
    app.connect("builder-inited", make_gallery)
    app.connect("source-read", with_directives)
