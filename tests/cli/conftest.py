"""Shared fixtures of tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.live_runs import SCENARIO


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """File with a scenario for live runs."""
    path = tmp_path / "link.toml"
    path.write_text(SCENARIO)
    return path
