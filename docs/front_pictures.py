"""Picture of the front page that no scenario draws: speed beside ns-2, and verdicts on claims of papers."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from matplotlib.figure import Figure

from crossfade.figures.style import PALETTE

ROOT = Path(__file__).parents[1]
# Output of `python bench/against_ns2.py 1000000 3`: CPU seconds per million delivered segments.
SPEED = ROOT / "bench" / "results" / "against-ns2.csv"
VERDICTS = {
    "holds": PALETTE[2],
    "holds partly": PALETTE[5],
    "undecided": PALETTE[4],
    "does not hold": PALETTE[1],
    "not judged": "#bbbbbb",
}


def verdicts() -> dict[str, Counter[str]]:
    """Number of claims of each paper with each verdict, under the reading of its figures."""
    found: dict[str, Counter[str]] = {}
    for path in sorted((ROOT / "docs" / "papers").glob("*-claims.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        first = rows[0].get("reading")
        kept = [row["verdict"] for row in rows if row.get("reading") == first]
        found[path.stem.removesuffix("-claims")] = Counter(kept)
    return found


def draw_front(path: Path) -> None:
    """Draw both panels of the picture."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1))
    with SPEED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for at, row in enumerate(rows):
        ours, other = float(row["crossfade_s"]), float(row["ns2_s"])
        left.barh(at - 0.2, ours, 0.38, color=PALETTE[0], label="Crossfade" if at == 0 else None)
        left.barh(at + 0.2, other, 0.38, color="#aaaaaa", label="ns-2" if at == 0 else None)
        left.text(ours + 0.02, at - 0.2, f"{float(row['ratio']):.0f} times as fast", va="center", fontsize=8)
    left.set_yticks(range(len(rows)), [row["case"] for row in rows])
    left.invert_yaxis()
    left.set_xlabel("CPU time (s) per million segments")
    left.legend(loc="center right", fontsize=8)
    left.set_title("Speed beside ns-2", loc="left", fontsize=10)
    counts = verdicts()
    for at, (_, count) in enumerate(counts.items()):
        start = 0
        for verdict, color in VERDICTS.items():
            label = verdict if at == 0 else None
            right.barh(at, count[verdict], 0.6, left=start, color=color, label=label, edgecolor="white")
            start += count[verdict]
    right.set_yticks(range(len(counts)), list(counts))
    right.invert_yaxis()
    right.set_xlabel("sentences with a computed verdict")
    right.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3, frameon=False)
    right.set_title("Sentences of papers, judged", loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
