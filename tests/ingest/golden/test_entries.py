"""The file of published numbers is read whole, and names in it say what is asked for."""

import math
from pathlib import Path

import pytest

from neurothek.catalog.problems import NotFound
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.golden.entries import (
    Published,
    TextLoss,
    TokenCount,
    ValueToken,
    WeightNorm,
    WindowPerplexity,
    asked_entries,
    read_entries,
)
from neurothek.ingest.models.finding import is_hub_id

WRITTEN = """
[[source]]
source = "A paper"
kind = "value token"
model = "org/two"
aliases = ["two"]
tolerance = 0.5
note = \"\"\"In two
lines.\"\"\"

[[source.entry]]
name = "two-a"
layer = 1
neuron = 2
token = " a"
then = [[" b", 0.125], ["c", 0.0625]]
published = 0.25

[[source.entry]]
name = "two-b"
layer = 1
neuron = 3
token = "b"
published = 0.75
tolerance = 0.1

[[source]]
source = "A program"
kind = "text loss"
tolerance = 0.1
text = "x"

[[source.entry]]
name = "one"
model = "org/one"
bos = "</s>"
published = 3.0
"""


@pytest.fixture
def written(tmp_path: Path) -> list[Published]:
    path = tmp_path / "entries.toml"
    path.write_text(WRITTEN)
    return read_entries(path)


def test_an_entry_has_what_its_source_says_unless_it_says_otherwise(written: list[Published]) -> None:
    first, second, third = written
    assert first == Published(
        "two-a",
        "org/two",
        ("two",),
        ValueToken(1, 2, " a", ((" b", 0.125), ("c", 0.0625))),
        0.25,
        0.5,
        "A paper",
        "In two lines.",
    )
    assert (second.tolerance, second.measurement) == (0.1, ValueToken(1, 3, "b"))
    assert third == Published("one", "org/one", (), TextLoss("x", "</s>"), 3.0, 0.1, "A program", "")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ["two-a", "two-b", "one"]),
        (("one", "two-b"), ["two-b", "one"]),
        (("org/two",), ["two-a", "two-b"]),
        (("two", "two-a"), ["two-a", "two-b"]),
    ],
)
def test_names_and_models_say_what_is_asked_for(
    written: list[Published], names: tuple[str, ...], expected: list[str]
) -> None:
    assert [entry.name for entry in asked_entries(names, written)] == expected


def test_an_unknown_name_is_refused_with_the_nearest(written: list[Published]) -> None:
    with pytest.raises(NotFound, match=r"no published number named 'two-aa'; nearest: two-a"):
        asked_entries(("one", "two-aa"), written)


def test_what_ships_can_be_measured() -> None:
    entries = read_entries()
    assert len({entry.name for entry in entries}) == len(entries) == 31
    # A person who names a model means it, and no entry.
    assert not {entry.name for entry in entries} & {name for entry in entries for name in (entry.model, *entry.aliases)}
    for entry in entries:
        assert all(map(is_hub_id, (entry.model, *entry.aliases)))
        assert math.isfinite(entry.published)
        assert 0 < entry.tolerance < abs(entry.published)
        assert entry.source
        asked = entry.measurement
        if isinstance(asked, WindowPerplexity | TokenCount):
            assert HubDataset.parse("text", asked.text) == HubDataset(
                "Salesforce/wikitext", None, "wikitext-2-raw-v1", "test", "text"
            )
        if isinstance(asked, WeightNorm):
            assert asked.side in ("in", "out")
        if isinstance(asked, ValueToken):
            assert entry.name == f"gpt2-medium-L{asked.layer}N{asked.neuron}"
            # The ten that the notebook prints, which are the largest and no more than all there is.
            shares = [entry.published, *(share for _, share in asked.then)]
            assert len({asked.token, *(token for token, _ in asked.then)}) == len(shares) == 10
            assert shares == sorted(shares, reverse=True)
            # They were printed in float32.
            assert sum(shares) <= 1 + 1e-6


def test_the_neurons_that_are_set_are_those_of_the_recipe() -> None:
    (steered,) = (
        entry.measurement
        for entry in read_entries()
        if isinstance(entry.measurement, WindowPerplexity) and entry.measurement.neurons
    )
    named = (Path(__file__).parents[3] / "docs/recipes/geva_neurons.txt").read_text().split()
    assert [f"gpt2-medium/{neuron}" for neuron in steered.neurons] == named
    assert steered.value == 3
    assert steered.places[16] == [461, 3208, 4060]


def test_one_model_is_opened_once_for_its_numbers() -> None:
    models = [entry.model for entry in read_entries()]
    changes = [model for place, model in enumerate(models) if not place or models[place - 1] != model]
    assert len(changes) == len(set(changes))
