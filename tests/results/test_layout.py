"""Layout of datasets: few variables with short names, and flows, links and other parts along dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crossfade as cf
from tests.conftest import SWEEP
from tests.later import xarray as xr
from tests.results.results_files import Made, add_plan, add_rows, wide
from tests.results.test_datasets import FLOWS

SHORT: dict[str, Any] = {"runs": 2, "set": {"run.duration": "1 s", "run.warmup": "0.2 s"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        (SWEEP, {"methods": ["simulation", "analysis"], "runs": 4}),
        (FLOWS, {}),
        ("mesh-chain", SHORT | {"over": {"mesh.mac": ["plain", "nulling"]}}),
        ("lte-like-cell", SHORT),
    ],
)
def test_every_estimate_is_at_its_place(scenario: str, options: dict[str, Any], path: Path) -> None:
    results = cf.sweep(scenario, out=path, **options)
    data, in_memory = cf.open_results(path), results.to_xarray()
    in_memory.attrs, data.attrs = {}, {}
    # Metrics of a mesh's link in a run are those of the whole network.
    assert {str(name) for name in {*in_memory} - {*data}} <= {f"{name}_by_link" for name in results.metrics}
    shared = [name for name in in_memory if name in data]
    if "link" not in in_memory.dims or "mesh" not in in_memory["link"]:
        xr.testing.assert_identical(in_memory, data[shared])
    seen = 0
    for point in results.points:
        here = data
        for name, value in point.axes.items():
            short = next(str(n) for n, of in data.coords.items() if of.attrs.get("key") == name)
            number = (
                float(value.split()[0]) if data[short].dtype.kind == "f" and isinstance(value, str) else value
            )
            here = here.sel({short: number})
        if "methods" in here.dims:
            here = here.sel(methods=point.method)
        numbered = [("node", of) for of in point.nodes] + [("user", of) for of in point.users]
        numbered += [("station", of) for of in point.stations]
        every = [("", "", name, vars(of)) for name, of in point.metrics.items()]
        for name, of in point.parts.items():
            part, _, metric = name.rpartition(".")
            kind = "link" if part in {"wired", "forward", "reverse", "wired_reverse"} else "flow"
            if part == "mesh":
                continue
            every.append((kind, part, metric, vars(of)))
        for kind, of_part in numbered:
            every += [
                (kind, of_part[kind], name, {**of, "n": of["runs"]})
                for name, of in of_part.items()
                if isinstance(of, dict) and "unit" in of
            ]
        for kind, part, metric, estimate in every:
            by = f"_by_{kind}" if kind else ""
            at: dict[str, Any] = {kind: part} if kind else {}
            assert repr(here[f"{metric}{by}"].sel(at).item()) == repr(
                np.nan if estimate["value"] is None else float(estimate["value"])
            )
            interval = here[f"interval{by}"].sel({"metric": metric, **at})
            for end in ("low", "high", "ci95"):
                cell = np.nan if estimate[end] is None else estimate[end]
                assert repr(interval.sel(bound=end).item()) == repr(cell)
            assert here[f"defined{by}"].sel({"metric": metric, **at}) == estimate["n"]
            assert here[f"{metric}{by}"].attrs["units"] == estimate["unit"]
            assert interval["unit"] == estimate["unit"]
            seen += 1
    assert seen > 50


def test_a_first_look_is_short(path: Path) -> None:
    results = cf.sweep("quickstart", runs=2, set={"run.duration": "2000 slots"}, out=path)
    data = cf.open_results(path)
    assert len(data.data_vars) < 50 < len(wide(path).data_vars) / 4
    assert len(data._repr_html_()) < 100_000 < len(wide(path)._repr_html_()) / 2.5
    assert data["goodput_bps"].sel(variant="reno", p_e=0.001).item() == next(
        point.value("goodput_bps")
        for point in results.points
        if point.axes == {"tcp.variant": "reno", "channel.p_e": 0.001}
    )


def test_names_are_short_where_they_tell_keys_apart(path: Path) -> None:
    add_plan(path, {"link.rate": ["1 Mbit/s", "2 Mbit/s"], "reverse.rate": ["1 kbit/s"], "tcp.w_max": [6]})
    data = cf.open_results(path)
    assert [*data.sizes][:3] == ["link_rate", "reverse_rate", "w_max"]
    assert data["link_rate"].attrs == {"units": "Mbit/s", "long_name": "Rate of the link", "key": "link.rate"}
    add_plan(path, {"a.method": [1], "b.goodput_bps": [1, 2], "run": [{"duration": "1 s"}]}, added=9.0)
    add_rows(path, [Made(0, 0, {"goodput_bps": 1.0})])
    assert [*cf.open_results(path).sizes][:3] == ["a_method", "b_goodput_bps", "run"]


def test_runs_are_a_dimension_of_flows_too(path: Path) -> None:
    results = cf.sweep(FLOWS, out=path)
    runs = cf.open_results(path, per_run=True)
    assert runs["goodput_bps_by_flow"].dims == ("limit", "flow", "run")
    assert "interval" not in runs
    expected = [
        [point.samples(f"{flow}.goodput_bps") for flow in ("cubic", "near")] for point in results.points
    ]
    assert runs["goodput_bps_by_flow"].sel(flow=["cubic", "near"]).to_numpy().tolist() == expected


def test_the_layout_of_tables_is_there_for_one_release(path: Path) -> None:
    cf.sweep(FLOWS, out=path)
    with pytest.warns(DeprecationWarning, match="goes with the next release"):
        found = cf.open_results(path, layout="wide")
    xr.testing.assert_identical(found, wide(path))
    with pytest.raises(cf.errors.ResultsError, match=r"^layout = 'long': must be metrics or wide$"):
        cf.open_results(path, layout="long")


def test_lower_bounds_are_marked(path: Path) -> None:
    short = """
schema = 2
run = { duration = "2 s", runs = 3 }
link = { rate = "1 Mbit/s", packet_size = "1500 B" }
channel = { model = "iid", p_e = 0.05 }
tcp = { variant = "sack" }
flows = { file = { traffic = "transfer", size = "1 MB" } }
"""
    data = cf.run(short, cache=False).to_xarray()
    assert data["at_least"].sel(metric="completion_time_s")
    assert not data["at_least"].sel(metric="goodput_bps")
