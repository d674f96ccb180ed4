"""Outputs whose path contains another user's link, pipe or device are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crossfade.errors import OutputError
from crossfade.files import check_output, write_text
from tests.conftest import Cli, expect_one_line

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay another user's files")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that all users may write, like the system's temporary folder."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.mkdir()
    (path / "keys").write_text("secret")
    return path / "keys"


def lay_link(link: Path, target: Path, owner: int = NOBODY) -> None:
    link.symlink_to(target)
    os.lchown(link, owner, owner)


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o775])
def test_another_users_link_is_not_followed(shared: Path, precious: Path, cli: Cli, mode: int) -> None:
    shared.chmod(mode)
    lay_link(shared / "out.csv", precious)
    for write in (lambda path: write_text(path, "rows"), check_output):
        with pytest.raises(OutputError, match=r"out.csv is another user's link in a folder"):
            write(shared / "out.csv")
    for option in ("--csv", "--events"):
        outcome = cli("run", "quickstart", "--runs", "1", option, str(shared / "out.csv"))
        expect_one_line(outcome, "not written", "another user's link")
    lay_link(shared / "x.sqlite", precious)
    expect_one_line(cli("sweep", "quickstart", "--out", str(shared / "x.sqlite")), "another user's link")
    assert precious.read_text() == "secret"


def test_nor_one_that_is_a_folder_on_the_way(shared: Path, precious: Path) -> None:
    lay_link(shared / "results", precious.parent)
    with pytest.raises(OutputError, match="results is another user's link"):
        write_text(shared / "results" / "keys", "rows")
    # A foreign link behind a link of the user is refused, too.
    (precious.parent / "mine").symlink_to(shared / "results")
    with pytest.raises(OutputError, match="results is another user's link"):
        write_text(precious.parent / "mine" / "keys", "rows")
    assert precious.read_text() == "secret"


def test_own_links_and_those_in_own_folders_are(shared: Path, precious: Path, tmp_path: Path) -> None:
    lay_link(shared / "mine.csv", precious, owner=0)
    write_text(shared / "mine.csv", "rows")
    lay_link(tmp_path / "given.csv", precious)  # root's own link, in a folder that no one else can write
    write_text(tmp_path / "given.csv", "more rows")
    assert precious.read_text() == "more rows"


def test_another_users_pipe_gets_nothing(shared: Path) -> None:
    os.mkfifo(shared / "out.csv")
    os.chown(shared / "out.csv", NOBODY, NOBODY)
    with pytest.raises(OutputError, match="another user's pipe or device"):
        write_text(shared / "out.csv", "rows")
    write_text(Path("/dev/null"), "rows")
