"""Public examples of each recording format, from the tools' repositories: read, written, and read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import crossfade as cf
from tests.later import pandas as pd

DATA = Path(__file__).parent / "data"
EXAMPLES = sorted(path for path in (DATA / "recordings").iterdir() if path.name != "README.md")
# Facts from the tools' own pages: format, direction, mean rate in bit/s, delay in s, loss.
FACTS = {
    "ibox-china-1.json": ("ibox", "up", 2.904e6, 0.231, None),
    "picoquic-cubic-low-and-up.txt": ("picoquic-ns", "up", None, 0.04, None),
    "picoquic-cubic-vary-link.txt": ("picoquic-ns", "up", None, 0.005, None),
    "picoquic-cubic-wifi-fade.txt": ("picoquic-ns", "up", None, 0.04, None),
    "quic-interop-blackhole.txt": ("quic-interop", "up", 10e6, 0.015, None),
    "quic-interop-corrupt-rate.txt": ("quic-interop", "up", 10e6, 0.015, None),
    "quic-interop-drop-rate.txt": ("quic-interop", "up", 10e6, 0.015, 0.2),
    "quic-interop-rebind.txt": ("quic-interop", "up", 10e6, 0.015, None),
    "quic-interop-simple-p2p.txt": ("quic-interop", "up", 10e6, 0.015, None),
    "quic-interop-tcp-cross-traffic.txt": ("quic-interop", "up", 10e6, 0.015, None),
    "rattan-1-to-2-gbps.toml": ("netem-trace-toml", None, 14_918e6 / 9, None, None),
    "rattan-24mbps.trace": ("mahimahi", None, 24e6, None, None),
    "rattan-60mbps.json": ("netem-trace", None, 60e6, None, None),
    "rattan-dynamic-delay.json": ("netem-trace", None, None, 0.03, None),
    "rattan-dynamic-loss.toml": ("netem-trace-toml", None, None, None, 0.25),
    "rattan-rectangular.toml": ("netem-trace-toml", None, 32e6, None, None),
}


def numbers(text: str) -> Iterator[int]:
    """Numbers encoded as one character each."""
    return (ord(sign) - ord("!") for sign in text if sign != "\n")


@pytest.fixture(scope="module")
def leo_replayer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The two files of LeoReplayer's example, identical to those in its repository (3.0 MB and 33 kB)."""
    text = (DATA / "leo-replayer-example.txt").read_text()
    capacity, delays = text.partition("\ncapacity\n")[2].split("\ndelay\n")
    folder = tmp_path_factory.mktemp("leo")
    bw, delay = folder / "bw_example.txt", folder / "delay_example.txt"
    bw.write_text("".join(f"{ms}\n" * count for ms, count in enumerate(numbers(capacity))))
    delay.write_text("".join(f"{ms}\n" for ms in numbers(delays)))
    return bw, delay


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_a_public_example_says_what_its_tool_says(path: Path) -> None:
    format, way, rate, delay, loss = FACTS[path.name]
    found = cf.fit.trace(path)
    assert found.files[0].format == format
    row = next(row for row in found.summary() if row["direction"] in (way, "both"))
    for name, expected in (("rate_bps", rate), ("delay_s", delay), ("loss", loss)):
        if expected is not None:
            assert row[name]["mean"] == pytest.approx(expected), name


def facts(path: Path, direction: str | None = None) -> pd.DataFrame:
    frame = cf.fit.trace(path).frame().drop(columns="file")
    if direction is not None:
        frame = frame[frame["direction"].isin([direction, "both"])].reset_index(drop=True)
    return frame


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_a_public_example_comes_back_as_it_was(tmp_path: Path, path: Path) -> None:
    found = cf.fit.trace(path)
    format = FACTS[path.name][0]
    if format not in ("ibox", "picoquic-ns", "quic-interop"):
        (again,) = found.convert(format, tmp_path / "again")
        assert facts(again).equals(facts(path))
        return
    # Formats that are read but not written are converted to a table of rates, which has all that a link
    # needs.
    for way in found.ways:
        (table,) = found.convert("rates", tmp_path / way, None if way == "both" else way, lossy=True)
        before = facts(path, way)
        before = before[[name for name in ("time_s", "rate_bps", "delay_s", "loss") if name in before]]
        after = facts(table)[before.columns]
        # A row of the table has all values; a later step of a profile may only change some.
        before, after = before.dropna(subset="rate_bps"), after.dropna(subset="rate_bps")
        assert after.fillna(0.0).reset_index(drop=True).equals(before.fillna(0.0).reset_index(drop=True))


def test_the_example_of_leo_replayer_comes_back_byte_by_byte(
    tmp_path: Path, leo_replayer: tuple[Path, Path]
) -> None:
    found = cf.fit.trace(*leo_replayer)
    assert {way: [file.format for file in files] for way, files in found.ways.items()} == {
        "both": ["mahimahi", "leoreplayer"]
    }
    written = found.convert("leoreplayer", tmp_path / "again.txt")
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in leo_replayer]
    # In a table of rates and delays each opportunity becomes a rate in its ms, and is recovered from it.
    found.convert("theaterq", tmp_path / "table.csv", lossy=True)
    back = cf.fit.trace(tmp_path / "table.csv").convert("leoreplayer", tmp_path / "back.txt", lossy=True)
    assert back[0].read_bytes() == leo_replayer[0].read_bytes()
    # In one table the last delay holds until the end of the capacity, 62 ms later.
    assert back[1].read_bytes() == leo_replayer[1].read_bytes() + b"9\n" * 7
