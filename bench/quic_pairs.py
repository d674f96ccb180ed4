"""A user-space QUIC (aioquic) over a live link, beside simulated flavour quic over the same link.

Usage: python bench/quic_pairs.py [--runs N] [--seconds S] [--out FILE] [CASE ...]

The link has 5 Mbit/s, a base RTT of 40 ms and packets of 1228 bytes; both senders are NewReno. Each case has
N runs (3) of S seconds (20) of aioquic, of flavour quic, and of flavour quic with the acknowledgements,
probes and pacing of aioquic ("like it"). Cases loss-P lose a share P of the packets, and compare goodput
without the first two seconds. Cases held-T and lost-T have an outage of T seconds in the middle, in which
packets wait or are lost, and compare the longest time without data and the goodput of the second after it.

Prints means over the runs, in Mbit/s and s. Rows go to --out (quic_pairs.csv) after each run, and runs
already there are not repeated. A CASE is the beginning of a name. Run i of a case has seed i on both sides,
but not the same losses, since handshakes and other frames also advance the channel. Needs what crossfade live
needs, and aioquic.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import crossfade as cf

PORT = 4433
PROTOCOL = ["crossfade-bench"]
# IP 20, UDP 8; short header 1, connection id 8, number 2, tag 16; STREAM frame 8.
PACKET, HEADERS = 1228, 63
BASE = """\
schema = 2
run = { runs = 1 }
link = { rate = "5 Mbit/s", delay = "20 ms", packet_size = "1228 B", queue = { limit = "64 packets" } }
reverse = { delay = "20 ms" }
channel = { model = "iid", p_e = 0 }
[tcp]
flavour = "quic"
congestion = "reno"
w_max = 1000
"""
# Behaviour of aioquic: acknowledgements delayed by at most 1 ms, one probe, pacing of one window per round
# trip.
LIKE_AIOQUIC = {
    "tcp.quic.probes": 1,
    "tcp.quic.ack_eliciting_threshold": 1000,
    "tcp.quic.max_ack_delay": "1 ms",
    "tcp.pacing_ss_ratio": 1.0,
    "tcp.pacing_ca_ratio": 1.0,
}
LOSSES = [0.0, 0.001, 0.01, 0.03]
OUTAGES = [0.4, 2.0]
COLUMNS = ["case", "run", "seconds", "what", "goodput_bps", "silence_s", "after_bps"]
# Time in s at the beginning that goodput leaves out.
WARMUP_S = 2.0

Arrivals = list[tuple[float, int]]


def cases(seconds: float, folder: Path) -> dict[str, Path]:
    """Write a scenario file for each case into ``folder``; return the files by case."""
    texts = {f"loss-{loss:g}": BASE.replace("p_e = 0", f"p_e = {loss}") for loss in LOSSES}
    for outage in OUTAGES:
        for kind, rate, loss in (("held", 0, 0), ("lost", 5e6, 1)):
            file = folder / f"{kind}-{outage:g}.csv"
            middle = seconds / 2
            rows = [(0, 5e6, 0, 0), (middle, rate, 0, loss), (middle + outage, 5e6, 0, 0)]
            lines = ["time_s,rate_bps,delay_s,loss", *("{},{},{},{}".format(*row) for row in rows)]
            file.write_text("\n".join(lines))
            trace = f'trace = {{ rates = "{file.name}" }}'
            text = BASE.replace('rate = "5 Mbit/s"', trace)
            texts[f"{kind}-{outage:g}"] = text.replace('channel = { model = "iid", p_e = 0 }\n', "")
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return {name: folder / f"{name}.toml" for name in texts}


def measured(arrivals: Arrivals, seconds: float) -> dict[str, float]:
    """Goodput in bit/s, longest time without data in s, and goodput in bit/s of the second after it."""
    start = arrivals[0][0]
    kept = sum(size for at, size in arrivals if WARMUP_S <= at - start < seconds)
    gaps = [(after[0] - before[0], after[0]) for before, after in itertools.pairwise(arrivals)]
    silence, end = max(gap for gap in gaps if gap[1] - start >= WARMUP_S)
    after = sum(size for at, size in arrivals if end <= at < end + 1.0)
    return {
        "goodput_bps": kept * 8 / (seconds - WARMUP_S),
        "silence_s": silence,
        "after_bps": after * 8.0,
    }


def simulated(scenario: Path, keys: dict[str, Any], run: int, seconds: float) -> dict[str, float]:
    """Goodput and outage values, as `measured` returns them, of a simulated run of flavour quic with these
    keys.
    """
    keys = {"run.duration": f"{seconds:g} s", **keys}
    text = cf.events(scenario, set=keys, seed=run).to_csv(index=False)
    arrivals = [
        (float(row["time_s"]), PACKET - HEADERS)
        for row in csv.DictReader(text.splitlines())
        if row["event"] == "receive"
    ]
    return measured(arrivals, seconds)


def live(scenario: Path, run: int, seconds: float, folder: Path) -> dict[str, float]:
    """Goodput and outage values, as `measured` returns them, of a live run with aioquic at both hosts."""
    program = f"{sys.executable} {Path(__file__).resolve()}"
    log = folder / "arrivals.json"
    command = [sys.executable, "-m", "crossfade", "live", str(scenario), f"--seed={run}", "--quiet"]
    command += [f"--far={program} serve {folder}", "--", "sh", "-c", f"{program} fetch {seconds + 1:g} {log}"]
    subprocess.run(command, check=True)
    return measured([(at, size) for at, size in json.loads(log.read_text())], seconds)


def make_certificate(folder: Path) -> None:
    """Write a self-signed certificate and its key into ``folder``."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "far")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2120, 1, 1))
    )
    certificate = builder.sign(key, hashes.SHA256())
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))


async def serve(folder: str) -> None:
    """Serve each stream with endless data, until the program is killed."""
    from aioquic.asyncio.server import serve as listen
    from aioquic.quic.configuration import QuicConfiguration

    async def answer(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(bytes(20_000))
            # The stream's buffer is unbounded, so the program writes at about four times the rate of the
            # link.
            await asyncio.sleep(0.008)

    configuration = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL, idle_timeout=60.0)
    configuration.load_cert_chain(f"{folder}/certificate.pem", f"{folder}/key.pem")
    running = set()

    def on_stream(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.ensure_future(answer(writer)))

    await listen("0.0.0.0", PORT, configuration=configuration, stream_handler=on_stream)
    await asyncio.Event().wait()


async def fetch(seconds: float, log: str) -> None:
    """Read a stream for ``seconds``, and write times and bytes of arrivals to ``log`` as JSON."""
    from aioquic.asyncio.client import connect
    from aioquic.quic.configuration import QuicConfiguration

    configuration = QuicConfiguration(is_client=True, alpn_protocols=PROTOCOL, idle_timeout=60.0)
    configuration.verify_mode = ssl.CERT_NONE
    arrivals: Arrivals = []
    async with connect("10.77.0.1", PORT, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"go")
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            try:
                data = await asyncio.wait_for(reader.read(65536), end - now)
            except TimeoutError:
                break
            arrivals.append((time.monotonic(), len(data)))
        Path(log).write_text(json.dumps(arrivals))


def summarise(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Print the table of means over the runs."""
    print(
        f"{'case':<12}{'':<12}{'runs':>5}{'goodput':>10}{'silence':>10}{'after it':>10}   Mbit/s, s, Mbit/s"
    )
    for name in names:
        for what in ("aioquic", "quic", "like it"):
            chosen = [row for row in rows if (row["case"], row["what"]) == (name, what)]
            if not chosen:
                continue
            mean = {key: statistics.fmean(float(row[key]) for row in chosen) for key in COLUMNS[4:]}
            has_outage = not name.startswith("loss")
            figures = [mean["goodput_bps"] / 1e6]
            figures += [mean["silence_s"], mean["after_bps"] / 1e6] if has_outage else []
            text = "".join(f"{figure:>10.3f}" for figure in figures)
            print(f"{name:<12}{what:<12}{len(chosen):>5}{text}", flush=True)


def main(arguments: list[str]) -> int:
    """Run the cases without stored rows, and print the table."""
    if arguments[:1] == ["serve"]:
        asyncio.run(serve(arguments[1]))
    if arguments[:1] == ["fetch"]:
        asyncio.run(fetch(float(arguments[1]), arguments[2]))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (default: 3)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a run (default: 20)")
    parser.add_argument("--out", type=Path, default=Path("quic_pairs.csv"), help="CSV file of the rows")
    asked = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = list(csv.DictReader(asked.out.open())) if asked.out.exists() else []
    with tempfile.TemporaryDirectory() as folder, asked.out.open("a", newline="") as file:
        here = Path(folder)
        make_certificate(here)
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        chosen = {
            name: scenario
            for name, scenario in cases(asked.seconds, here).items()
            if not asked.cases or any(name.startswith(case) for case in asked.cases)
        }
        for run in range(1, asked.runs + 1):
            for name, scenario in chosen.items():
                for what in ("aioquic", "quic", "like it"):
                    mark = {"case": name, "run": str(run), "seconds": str(asked.seconds), "what": what}
                    if any(mark.items() <= row.items() for row in rows):
                        continue
                    if what == "aioquic":
                        found = live(scenario, run, asked.seconds, here)
                    else:
                        likeness = LIKE_AIOQUIC if what == "like it" else {}
                        found = simulated(scenario, likeness, run, asked.seconds)
                    rows.append({**mark, **found})
                    writer.writerow(rows[-1])
                    file.flush()
        summarise([row for row in rows if row["seconds"] == str(asked.seconds)], list(chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
