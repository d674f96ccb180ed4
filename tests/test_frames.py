"""Tables as DataFrames: types, missing values, and equal values after conversion in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest

import crossfade as cf
from crossfade.tables import Table
from tests.conftest import events_text, samples_text
from tests.later import pandas as pd

LINK = {
    "schema": 2,
    "channel": {"model": "iid", "p_e": 0.05},
    "link": {"rate": "4 Mbit/s", "packet_size": "1000 B", "delay": "10 ms"},
    "tcp": {"flavour": "rfc", "variant": "sack", "w_max": 50},
    "run": {"duration": "1 s", "runs": 2},
}


def test_a_table_and_its_frame_hold_the_same() -> None:
    """Integers stay integers beside empty cells, and missing values stay missing in both directions."""
    table = Table(
        ["flow", "seq", "cwnd", "word", "none"],
        [[0, 1, 1.5, "a", None], [None, 2, None, None, None], [2, 3, 2, "b", None]],
    )
    frame = table.to_pandas()
    assert [str(kind) for kind in frame.dtypes][:3] == ["Int64", "int64", "float64"]
    assert frame.isna().sum().to_dict() == {"flow": 1, "seq": 0, "cwnd": 1, "word": 1, "none": 3}
    assert Table.of_frame(frame) == table
    assert Table.of_frame(frame.set_index("seq")).columns == ["seq", "flow", "cwnd", "word", "none"]
    assert Table(["a"]).to_pandas().empty
    with pytest.raises(cf.errors.ResultsError, match="must be results, a DataFrame"):
        Table.of_frame(3)


def test_a_table_shows_itself_in_a_notebook() -> None:
    shown = Table(["a<b"], [["<script>"], [0.25]])._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "0.25" in shown


def test_events_and_samples_are_frames_of_what_is_written() -> None:
    """A DataFrame has the values of the CSV file, and an integer column has an integer type."""
    for frame, text in (
        (cf.events(LINK), events_text(LINK)),
        (cf.runs.samples(LINK, "250 ms"), samples_text(LINK, "250 ms")),
    ):
        assert isinstance(frame, pd.DataFrame)
        assert Table.of_frame(frame).columns == Table.from_csv(text).columns
        assert [list(map(str, row)) for row in _numbers(Table.of_frame(frame))] == [
            list(map(str, row)) for row in _numbers(Table.from_csv(text))
        ]
        assert str(frame["flow"].dtype).lower() == "int64"


def _numbers(table: Table) -> list[list[object]]:
    return [[float(cell) if isinstance(cell, int | float) else cell for cell in row] for row in table.rows]


def test_opportunities_are_a_frame_of_the_trace(tmp_path: Path) -> None:
    trace = tmp_path / "cell.down"
    cf.runs.write_opportunities(trace, LINK)
    frame = cf.runs.opportunities(LINK)
    assert frame["time_ms"].to_list() == [int(line) for line in trace.read_text().split()]
    # At 4 Mbit/s, 1500 bytes take 3 ms.
    assert 0 < len(frame) <= 334
