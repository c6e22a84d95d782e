"""A file that is written is whole or not there, and nothing of what fails stays beside it."""

from pathlib import Path

import pytest

from catalog.files import temporary, written


def test_a_file_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "rows"
    target.write_text("old")
    with written(target) as hidden:
        hidden.write_text("new")
        assert target.read_text() == "old"
        assert hidden.name.startswith(".rows.")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_of_what_fails_nothing_stays(tmp_path: Path) -> None:
    target = tmp_path / "rows"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), written(target) as hidden:
        hidden.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_temporary_file_is_gone_at_the_end(tmp_path: Path) -> None:
    with temporary(tmp_path / "streams") as hidden:
        hidden.write_text("much")
        assert hidden.parent == tmp_path
    assert list(tmp_path.iterdir()) == []
