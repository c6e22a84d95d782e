"""A file that is written is whole or not there, nothing of what fails stays, and what lies in its place has a name."""

import os
import socket
from pathlib import Path

import pytest

from neurothek.catalog.files import temporary, why_no_file, written


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


def test_files_folders_and_nothing_are_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for path in (file, tmp_path, tmp_path / "link", tmp_path / "broken", tmp_path / "none", file / "below a file"):
        assert why_no_file(path) is None


def test_pipes_sockets_and_devices_are_named_also_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may have 107 bytes
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for target, words in (("pipe", "a named pipe"), ("socket", "a socket"), ("/dev/null", "a device")):
            link = Path(f"to-{words.replace(' ', '-')}")
            link.symlink_to(target)
            assert why_no_file(Path(target)) == why_no_file(link) == words


def test_a_circle_of_links_is_the_systems_to_tell(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(OSError, match="symbolic links"):
        why_no_file(tmp_path / "one")
