"""Hostile or careless input files of every kind that a command reads.

Each maker writes into an empty folder of its own a random strange file, with the good files that it needs,
and gives the path of the strange one. ``victim`` is a file of the reader that no command may touch.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.trials.attacks import tamper

# Characters of a line or cell, too many for an error message to quote whole.
LONG = 5000

NASTY_WORDS = [
    *(
        '""',
        '"\\u0000"',
        '"/etc/passwd"',
        '"/dev/zero"',
        '"/proc/self/mem"',
        '"."',
        '"no such file"',
        '"a.py"',
    ),
    *(
        "inf",
        "nan",
        "-1",
        "0",
        "1e400",
        "9223372036854775808",
        "-0.0",
        "true",
        "[]",
        "{}",
        "[[[[[]]]]]",
        "''",
    ),
    *(
        '"0 packets"',
        '"1e9 Gbit/s"',
        '"-1 B"',
        '"1 h"',
        "\"=cmd|' /C calc'!A0\"",
        '"<script>alert(1)</script>"',
    ),
    *(
        '"$\\\\input{/etc/passwd}$"',
        '"\\u001b]0;x\\u0007"',
        '"\\u202e"',
        "1979-05-27T07:32:00Z",
        "0x7fffffffffffffff",
    ),
]
NASTY_LINES = [
    "",
    "[",
    "[[a]]",
    "a.b.c = 1",
    "include = '/etc/passwd'",
    "\ufeff",
    "x" * LONG,
    "[" * LONG,
    "\0",
]
NASTY_CELLS = [
    "",
    "x",
    "-1",
    "nan",
    "inf",
    "1e400",
    "-0.0",
    "1e-320",
    "\0",
    '"',
    "0,0",
    "9" * LONG,
    "=1+1",
    "\u202e",
]
NASTY_BYTES = [
    b"\0",
    b"\xff\xfe",
    b"\r",
    b"\n" * 200,
    b"SQLite format 3\0",
    b"\x1f\x8b\x08",
    b"PK\3\4",
    b"%PDF-1.7",
]
# Python code that must not run when a command only reads a scenario.
MARKER = 'open("VICTIM", "w").write("run")\n'

SMALL = """\
schema = 2
title = "a link"
run = { duration = "200 slots", runs = 1 }
channel = { model = "markov", p_e = 0.05, fd_t = 0.02 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B", queue = { limit = "20 packets" } }
tcp = { flavour = "rfc", variant = "sack", w_max = 24 }
figure = { y = ["goodput_bps"], x = "channel.p_e", by = "tcp.variant" }
[sweep]
"tcp.variant" = ["sack", "newreno"]
"channel.p_e" = [0.01, 0.1]
"""
FOLLOWING = {
    "cell.up": 'channel = { model = "none" }\n'
    'link = { packet_size = "1500 B", trace = { opportunities = "NAME" } }\n',
    "path.csv": 'link = { packet_size = "1500 B", trace = { rates = "NAME", period = "2 s" } }\n',
    "rain.csv": 'link = { packet_size = "1500 B", '
    'trace = { attenuation = "NAME", budget = { transmit_power_dbm = 82, '
    "path_loss_db = 174, noise_figure_db = 2, bandwidth_hz = 5e6 } } }\n",
    "losses.txt": 'channel = { model = "trace", file = "NAME" }\n'
    'link = { rate = "1 Mbit/s", packet_size = "1500 B" }\n',
    "sinr.csv": 'cell = { bins = 1, radio = { trace = "NAME" } }\nlink = { packet_size = "1500 B" }\n'
    'reverse = { rate = "1 Mbit/s" }\n',
    "nodes.csv": 'mesh = { file = "NAME" }\nlink = { packet_size = "1000 B" }\n',
    "fer.csv": 'channel = { model = "block-rayleigh", snr_db = 6 }\n'
    'phy = { scheme = "siso", symbol_rate = "8 kBd", '
    'fidelity = "table", table = "NAME" }\nlink = { frame_size = "30 B", packet_size = "100 B" }\n',
    "switching.csv": 'channel = { model = "block-rayleigh", snr_db = 9 }\n'
    'phy = { symbol_rate = "8 kBd", policy = "NAME" }\n'
    'link = { frame_size = "30 B", packet_size = "100 B" }\n',
}
GOOD = {
    "cell.up": "3\n5\n5\n9\n17\n40\n41\n41\n41\n100\n",
    "path.csv": "time_s,rate_bps,delay_s,loss\n0,8e6,0.005,0\n0.5,0,0.005,0\n0.75,4e6,0.1,0.25\n",
    "rain.csv": "time_s attenuation_db\n0 0\n1 5\n2 11\n4 0.5\n",
    "losses.txt": "0\n0\n1\n0\n1\n1\n0\n0\n0\n0\n" * 20,
    "sinr.csv": "time_s,sinr_db\n0,12\n0.1,18\n0.3,-4\n",
    "nodes.csv": "node,x_m,y_m\n0,0,0\n1,150,10\n2,300,0\n3,420,-60\n",
    "fer.csv": "snr_db,transmissions,residual\n0,1,0.9\n6,1,0.5\n12,1,0.1\n",
    "switching.csv": "axis,from,to,phy.scheme,phy.detector\nchannel.snr_db,-20,40,siso,linear\n",
}
TRACES = ("cell.up", "path.csv", "rain.csv", "losses.txt", "sinr.csv")
TABLES = ("nodes.csv", "fer.csv", "switching.csv")
RULE = """\
class Mine:
    def start(self, state): self.window = 2.0
    def on_ack(self, ack): self.window += 1 / self.window
    def on_loss(self, loss): self.window = max(1.0, self.window / 2)
    def on_timeout(self, timeout): self.window = 1.0
    def cwnd(self): return self.window
"""

Maker = Callable[[Path, random.Random, Path], Path]


class Makers:
    """Makers of strange files by kind, from a good results file and, if there is one, a good journal."""

    def __init__(self, results: Path, journal: Path | None) -> None:
        self._results, self._journal = results, journal
        self.all: dict[str, Maker] = {
            "scenario": self.scenario,
            "trace": lambda folder, draw, victim: self.named(folder, draw, victim, TRACES),
            "table": lambda folder, draw, victim: self.named(folder, draw, victim, TABLES),
            "results": self.results,
            "journal": self.journal,
            "capture": self.capture,
            "control": self.control,
            "page": self.page,
        }
        # Hostile SQLite files (sidecars, schema entries, sizes) come from a module of their own.
        if importlib.util.find_spec("tests.trials.strange_databases"):
            self.all["database"] = importlib.import_module("tests.trials.strange_databases").strange_database

    def scenario(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """A scenario with changed words, lines or bytes; sometimes a link or a folder in place of the
        file.
        """
        path = folder / "strange.toml"
        if draw.random() < 0.05:
            return no_file(path, draw, victim)
        return spoilt(path, SMALL, draw)

    def named(self, folder: Path, draw: random.Random, victim: Path, names: tuple[str, ...]) -> Path:
        """A good scenario that names a strange file, or in a quarter of the cases the path of the strange
        file.
        """
        name = draw.choice(names)
        strange = folder / (f"{name}.gz" if draw.random() < 0.05 else name)
        if draw.random() < 0.08:
            no_file(strange, draw, victim)
        else:
            spoilt(strange, GOOD[name], draw, cells=True)
        asked = draw.choice([strange.name] * 8 + ["../home/.ssh/id_ed25519", "/dev/zero", "/proc/self/maps"])
        text = (
            'schema = 2\nrun = { duration = "1 s", runs = 1 }\ntcp = { flavour = "rfc", variant = "sack" }\n'
        )
        path = folder / "naming.toml"
        path.write_text(text + FOLLOWING[name].replace("NAME", asked))
        # Some commands take a trace or table as their argument.
        return strange if draw.random() < 0.25 else path

    def results(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """A results file with changed cells, tables or bytes."""
        path = folder / "strange.sqlite"
        if draw.random() < 0.03:
            return no_file(path, draw, victim)
        shutil.copy(self._results, path)
        if draw.random() < 0.7:
            tamper(path, draw)
        else:
            data = bytearray(path.read_bytes())
            for _ in range(draw.randrange(1, 40)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            path.write_bytes(bytes(data[: draw.choice([len(data), draw.randrange(len(data))])]))
        return path

    def journal(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """The journal of a live run with changed bytes."""
        path = folder / "strange.cfj"
        good = self._journal.read_bytes() if self._journal else b"crossfade journal" + bytes(2000)
        data = bytearray(good)
        for _ in range(draw.choice([1, 1, 2, 20])):
            place = draw.randrange(len(data)) if draw.random() < 0.5 else draw.randrange(min(len(data), 400))
            data[place] = draw.randrange(256)
        path.write_bytes(bytes(data[: draw.choice([len(data)] * 3 + [draw.randrange(len(data))])]))
        return path

    def capture(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """A packet capture: no command reads captures, so that each must refuse it."""
        path = folder / draw.choice(["strange.pcap", "strange.pcapng", "strange.toml", "strange.sqlite"])
        head = draw.choice([b"\xd4\xc3\xb2\xa1\x02\0\x04\0", b"\x0a\x0d\x0d\x0a\x1c\0\0\0"])
        path.write_bytes(head + draw.randbytes(draw.randrange(4000)))
        return path

    def control(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """A scenario with its own congestion control, whose program does harm when run or is not valid."""
        marker = MARKER.replace("VICTIM", str(victim))
        name = draw.choice(["mine.py", "mine.rs"])
        text = draw.choice(
            [marker + RULE, marker, RULE.replace("2.0", "(" * 200), "\0", "class Mine:\n" * 3, ""]
        )
        if name == "mine.rs":
            text = draw.choice(["fn main() {}", 'include!("/etc/passwd");', "\0", "export!", ""])
        (folder / name).write_text(text)
        path = folder / "strange.toml"
        path.write_text(SMALL.replace("w_max", f'congestion = "{name}", w_max'))
        return path

    def page(self, folder: Path, draw: random.Random, victim: Path) -> Path:
        """A notebook, web page, picture or table: no command reads these, so that each must refuse it."""
        path = folder / draw.choice(["strange.ipynb", "strange.html", "strange.svg", "strange.csv"])
        text = '{"cells": [{"cell_type": "code", "source": ["!touch VICTIM"]}], "nbformat": 4}'
        text = draw.choice(
            [text, "<script>alert(1)</script>", "<?xml version='1.0'?><!DOCTYPE a SYSTEM 'VICTIM'>"]
        )
        path.write_text(text.replace("VICTIM", str(victim)))
        return path


def spoilt(path: Path, text: str, draw: random.Random, *, cells: bool = False) -> Path:
    """Write a text with some lines, words, cells or bytes replaced at random; gives the path."""
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        match draw.randrange(5):
            case 0:
                lines[at] = draw.choice(NASTY_LINES)
            case 1:
                lines.insert(at, lines[draw.randrange(len(lines))])
            case 2:
                del lines[at:][: draw.randrange(1, 3)]
            case _ if cells:
                parts = lines[at].split(",")
                parts[draw.randrange(len(parts))] = draw.choice(NASTY_CELLS)
                lines[at] = ",".join(parts)
            case _:
                head, sign, tail = lines[at].partition("= ")
                pieces = tail.split(" ")
                pieces[draw.randrange(len(pieces))] = draw.choice(NASTY_WORDS)
                lines[at] = head + sign + " ".join(pieces)
        text = "\n".join(lines)
    data = text.encode("utf-8", "surrogateescape")
    if draw.random() < 0.15:
        place = draw.randrange(len(data) + 1)
        data = data[:place] + draw.choice(NASTY_BYTES) + data[place:]
    if path.suffix == ".gz":
        data = gzip.compress(data * draw.choice([1, 1, 3]))[: draw.choice([None, 30])]
    path.write_bytes(data)
    return path


def no_file(path: Path, draw: random.Random, victim: Path) -> Path:
    """Put a symbolic link or a folder at a path in place of a regular file; gives the path."""
    match draw.randrange(5):
        case 0:
            path.symlink_to(victim)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.symlink_to(path.name)
        case 3:
            path.mkdir()
        case _:
            path.symlink_to("/proc/self/environ")
    return path
