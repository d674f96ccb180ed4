"""Messages quote only a short part of a file, even if a cell is very long."""

from __future__ import annotations

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line

LONG = "A" * 300_000
MOST = 450
"""200 characters of a file, and what we say of them."""

SCENARIO = """\
schema = 2
run = { duration = "2000 slots", runs = 2 }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"""
LINK = """\
channel = { model = "iid", p_e = 0.01 }
link = { packet_size = "1400 B", trace = { KEY = "file.csv" } }
"""
RADIO = """\
channel = { model = "block-rayleigh" }
[link]
rate = "1 Mbit/s"
packet_size = "1400 B"
frame_size = "100 B"
arq = { protocol = "selective-repeat" }
[phy]
scheme = "alamouti"
n_t = 2
n_r = 2
modulation = "qpsk"
snr_db = 10
fidelity = "table"
table = "file.csv"
"""
CELLS = {
    "rates": ["0,AAAA", "AAAA,1e6", "AAAA", "0,1e6,0,AAAA", f"{','.join('1' * 1000)}AAAA"],
    "opportunities": ["AAAA", "1\nAAAA"],
    "attenuation": ["0,AAAA", "AAAA,1", "AAAA"],
}


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in CELLS.items() for text in texts])
def test_of_traces(key: str, text: str, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("long")
    header = "" if key == "opportunities" else "time_s,x\n"
    (folder / "file.csv").write_text(header + text.replace("AAAA", LONG) + "\n")
    (folder / "s.toml").write_text(SCENARIO + LINK.replace("KEY", key))
    outcome = cli("check", str(folder / "s.toml"))
    expect_one_line(outcome, f"link.trace.{key}")
    assert len(outcome.err) < MOST


@pytest.mark.parametrize("text", ["AAAA", "snr_db,AAAA\n", "snr_db,transmissions,residual\nAAAA,1,1\n"])
def test_of_error_tables(text: str, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("long")
    (folder / "file.csv").write_text(text.replace("AAAA", LONG))
    (folder / "s.toml").write_text(SCENARIO + RADIO)
    outcome = cli("check", str(folder / "s.toml"))
    expect_one_line(outcome)
    assert len(outcome.err) < MOST


def test_of_titles(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("long") / "s.toml"
    link = 'channel = { model = "iid", p_e = 0.01 }\nlink = { rate = "1 Mbit/s", packet_size = "1400 B" }\n'
    path.write_text(f'title = "{LONG}"\n{SCENARIO}{link}')
    assert len(cli("check", str(path)).out) < 3000
    assert len(cf.run(path, cache=False).title) <= 200
