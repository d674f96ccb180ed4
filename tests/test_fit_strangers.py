"""Records of paths that the model lacks: the interval of an "identified" rate contains the true rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import crossfade as cf

LINK = """
schema = 2
[link]
rate = "{rate}"
packet_size = "1500 B"
delay = "20 ms"
queue.limit = "60 packets"
{more}
[reverse]
delay = "20 ms"
{reverse}
[channel]
model = "none"
[tcp]
variant = "sack"
congestion = "cubic"
w_max = "64 MB"
[run]
duration = "20 s"
runs = 1
seed = 7
"""
POLICER = 'policer = { rate = "12 Mbit/s", burst = "60000 B" }'
SLOW = 'rate = "150 kbit/s"\nqueue.limit = "50 packets"'


def fitted(folder: Path, text: str, keys: dict[str, Any]) -> cf.fit.LinkFit:
    if "tcp" in keys:
        file = folder / "record.csv"
        cf.runs.write_events(file, text, set=keys)
    else:
        file = folder / "record.pcap"
        cf.runs.write_pcap(file, text, set=keys, snaplen=100)
    return cf.fit.link(file)


def holds(fit: cf.fit.LinkFit, rate: float) -> bool:
    """True if the verdict on the rate is right for a link of ``rate`` (bit/s).

    The interval of an identified rate must contain it, and a lower bound must not exceed it, both to 2 %.
    """
    if fit.rate.verdict == "identified":
        return fit.rate.low * 0.98 <= rate <= fit.rate.high * 1.02
    return fit.rate.value <= 1.02 * rate


@pytest.mark.parametrize("control", ["cubic", "bbr-v1"])
def test_a_policer_is_fitted_and_predicted(control: str, tmp_path: Path) -> None:
    """A policer of 12 Mbit/s in front of a link of 100 Mbit/s is identified, and limits predicted flows."""
    text = LINK.format(rate="100 Mbit/s", more=POLICER, reverse="")
    fit = fitted(tmp_path, text, {"tcp.congestion": control})
    assert (fit.rate.verdict, fit.loss.verdict) == ("identified", "bounded")
    assert fit.rate.value == pytest.approx(12e6, rel=2e-3)
    assert fit.found["policer"]["burst_bytes"] == pytest.approx(60e3, abs=3e3)
    assert fit.found["link_rate"]["value"] > 12e6
    assert any("a policer drops" in warning for warning in fit.warnings)
    link = fit.write(tmp_path / "link.toml")[0]
    assert "policer = {" in link.read_text()
    truth = cf.run(text, set={"tcp.congestion": "reno"}, cache=False).points[0].value("goodput_bps")
    row = fit.predict(["reno"], runs=4, cache=False)[0]
    assert row.value == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("control", ["cubic", "bbr-v1", "quic"])
def test_a_slow_reverse_path_is_no_slow_link(control: str, tmp_path: Path) -> None:
    """Acknowledgements need 1.4 times the rate of the reverse path, yet the fitted rate is right.

    With TCP it is identified, since TCP timestamps show the times of the receiver's clock.
    """
    keys = {"tcp.flavour": "quic", "tcp.variant": None} if control == "quic" else {"tcp.congestion": control}
    fit = fitted(tmp_path, LINK.format(rate="12 Mbit/s", more="", reverse=SLOW), keys)
    assert holds(fit, 12e6), fit.rate
    if control != "quic":
        assert fit.rate.verdict == "identified"
        assert any("on the reverse path" in warning for warning in fit.warnings)
        assert fit.delay.value == pytest.approx(40e-3, rel=0.07)


@pytest.mark.parametrize("rate", ["4.8 Mbit/s", "9 Mbit/s"])
@pytest.mark.parametrize("jitter", ['std = "3 ms"', 'std = "1 ms", rate = "12 Mbit/s"'])
def test_udp_below_the_rate_of_a_link_with_jitter_bounds_it(rate: str, jitter: str, tmp_path: Path) -> None:
    text = LINK.format(rate="12 Mbit/s", more=f"jitter = {{ {jitter} }}", reverse="")
    flow = {"traffic": "udp", "rate": rate, "on": "0.5 s", "off": "1 s"}
    fit = fitted(tmp_path, text, {"tcp": None, "flows": {"udp": flow}})
    assert fit.rate.verdict == "bounded"
    assert fit.rate.value <= 12e6 * 1.02


def test_short_downloads_are_read_together_or_bound_the_rate(tmp_path: Path) -> None:
    """Short downloads that fill the queue are fitted together, and identify the rate.

    Half as many are fitted together too, or give only a bound of the rate.
    """
    text = LINK.format(rate="12 Mbit/s", more="", reverse="")
    web = {"traffic": "arrivals", "arrivals_per_s": 24, "size": "80 kB", "sizes": "pareto"}
    fit = fitted(tmp_path, text, {"flows": {"web": web}})
    assert fit.found["share"] > 0.9
    assert fit.rate.verdict == "identified"
    assert fit.rate.value == pytest.approx(12e6, rel=0.01)
    fit = fitted(tmp_path, text, {"flows": {"web": {**web, "arrivals_per_s": 12}}})
    assert fit.found["share"] > 0.9 or fit.rate.verdict == "bounded"
    assert holds(fit, 12e6), fit.rate
