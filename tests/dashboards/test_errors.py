"""Why a figure is not there: the file or the neuron by its name, and what to do."""

from pathlib import Path

import pytest

from neurothek.dashboards.errors import NoProfile, NothingToCompare, PictureNotWritten, UnknownPicture
from tests.support.sentences import commands, sentence


@pytest.mark.parametrize(
    ("name", "ending"), [("a.gif", ".gif"), ("a.tar.gz", ".gz"), ("a b.PNG2", ".PNG2"), (".hidden", "")]
)
def test_the_ending_that_is_none_is_named(name: str, ending: str) -> None:
    said = sentence(UnknownPicture(Path(name)))
    assert name in said
    assert f"ends in {ending}" in said if ending else "ends in" not in said
    assert ".png" in said
    assert ".svg" in said


def test_where_nothing_can_be_written_is_told_with_the_reason() -> None:
    said = sentence(PictureNotWritten(Path("/a folder/x.png"), "Permission denied"))
    assert "/a folder/x.png" in said
    assert "Permission denied" in said


@pytest.mark.parametrize(("corpus", "on"), [(None, []), ("a text", ["--corpus", "a text"])])
def test_a_neuron_without_a_profile_is_told_with_the_command_of_its_model(corpus: str | None, on: list[str]) -> None:
    error = NoProfile("my-model/L3N7", corpus, on)
    assert "my-model/L3N7" in sentence(error)
    assert commands(error) == [["ingest", "my-model", "--job", "positions", *on]]
    assert corpus is None or corpus in sentence(error).partition(";")[0]


def test_models_without_text_can_be_measured() -> None:
    assert commands(NothingToCompare()) == [["ingest", "MODEL"]]
