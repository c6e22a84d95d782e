"""What lies in place of a file is told by its kind; files, folders and nothing are no obstacle."""

import os
import socket
from pathlib import Path

import pytest

from catalog.regular_files import why_no_file


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
