"""CPU time of simulating ten minutes of a satellite link, against a plain link, in turns.

Usage: python bench/satellite_link.py [--rounds N]

UDP datagrams of 100 kbit/s, 10 and 40 Mbit/s go through a link of profile starlink-leocc-2025, and through a
link with its mean rate and delay in both directions. Prints for each rate of the datagrams the medians over N
rounds (9), in CPU seconds, of both links and of their difference, its least and largest value, and the median
ratio.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import crossfade as cf

SCENARIO = """\
schema = 2
run = {{ duration = "600 s", runs = 1 }}
link = {{ packet_size = "1500 B", {link} }}
{reverse}
tcp = {{ variant = "sack", w_max = 4000 }}
flows.load = {{ traffic = "udp", rate = "{rate}" }}
"""
SATELLITE = 'satellite = { profile = "starlink-leocc-2025", offset = "0 s" }'
PLAIN = 'rate = "48.2 Mbit/s", delay = "11 ms", queue = { limit = "200 ms" }'
REVERSE = 'channel.model = "none"\nreverse = { rate = "15.8 Mbit/s", delay = "11 ms" }'


def cpu_s(link: str, reverse: str, rate: str) -> float:
    """CPU time in seconds of a run over a link with these keys and this rate of datagrams."""
    scenario = SCENARIO.format(link=link, reverse=reverse, rate=rate)
    before = time.process_time()
    cf.run(scenario, cache=False, jobs=1)
    return time.process_time() - before


def main() -> None:
    """Measure both links in each round and print a row for each rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each rate (default: 9)")
    rounds = parser.parse_args().rounds
    print("| datagrams | plain, s | satellite, s | difference, s | least to largest | ratio |")
    print("|---|---|---|---|---|---|")
    for rate in ("100 kbit/s", "10 Mbit/s", "40 Mbit/s"):
        cpu_s(PLAIN, REVERSE, rate), cpu_s(SATELLITE, "", rate)
        pairs = [(cpu_s(PLAIN, REVERSE, rate), cpu_s(SATELLITE, "", rate)) for _ in range(rounds)]
        more = [satellite - plain for plain, satellite in pairs]
        cells = [
            median(plain for plain, _ in pairs),
            median(satellite for _, satellite in pairs),
            median(more),
        ]
        ratio = median(satellite / plain for plain, satellite in pairs)
        row = " | ".join(f"{cell:.3f}" for cell in cells)
        print(f"| {rate} | {row} | {min(more):.3f} to {max(more):.3f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
