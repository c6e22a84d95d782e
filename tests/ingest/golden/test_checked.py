"""Which numbers agree, which do not, and which are skipped with what reason."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from neurothek.catalog.problems import NotFound, Unavailable, Unreadable
from neurothek.ingest.golden.checked import Checked, Reach, Remeasured, check_published, checked_frame
from neurothek.ingest.golden.entries import Published, TextLoss, ValueToken, WeightNorm, WindowPerplexity, read_entries
from tests.support.hub import serve
from tests.support.models import to_pickle


def entry(model: str, *, published: float = 1.0, tolerance: float = 0.01) -> Published:
    return Published(f"of {model}", model, (), WeightNorm(1, 3, "out"), published, tolerance, "a test", "")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(("off", "outcome"), [(0.0, "agrees"), (0.009, "agrees"), (0.011, "disagrees")])
def test_a_number_agrees_within_its_tolerance(tiny_models: dict[str, Path], off: float, outcome: str) -> None:
    asked = entry(str(tiny_models["gpt2"]))
    (first,) = check_published([asked])
    assert first.measured is not None
    for published in (first.measured.value + off, first.measured.value - off):
        (checked,) = check_published([replace(asked, published=published)])
        assert (checked.outcome, checked.reason) == (outcome, "")


def test_another_token_disagrees_whatever_its_probability() -> None:
    asked = replace(entry("m"), measurement=ValueToken(0, 0, " thanks"))
    assert Checked(asked, Remeasured(1.0, " thanks")).outcome == "agrees"
    assert Checked(asked, Remeasured(1.0, "thanks")).outcome == "disagrees"
    assert Checked(asked, Remeasured(0.5, " thanks")).outcome == "disagrees"


def test_the_tokens_after_the_first_have_their_places_and_probabilities() -> None:
    then = ((" thank", 4.6997047e-06), (" Thanks", 4.6380815e-06))
    asked = replace(entry("m"), measurement=ValueToken(0, 0, " thanks", then))
    cases = [
        (then, "agrees", None),
        # Within a twentieth of themselves, however small they are.
        (((" thank", 4.9e-06), (" Thanks", 4.5e-06)), "agrees", None),
        (
            ((" thank", 4.0e-06), (" Thanks", 4.6e-06)),
            "disagrees",
            "token 2 is ' thank' at 4e-06, published ' thank' at 4.7e-06",
        ),
        (
            ((" thank", 4.7e-06), ("Thanks", 4.6e-06)),
            "disagrees",
            "token 3 is 'Thanks' at 4.6e-06, published ' Thanks' at 4.64e-06",
        ),
        (((" thank", 4.7e-06),), "disagrees", "token 3 is '' at 0, published ' Thanks' at 4.64e-06"),
    ]
    for found, outcome, reason in cases:
        checked = Checked(asked, Remeasured(1.0, " thanks", found))
        row = checked_frame([checked]).to_dicts()[0]
        assert (row["outcome"], row["reason"]) == (outcome, reason), found


def test_what_is_not_in_the_cache_is_skipped_and_nothing_is_asked(
    tiny_models: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("org/tiny", tiny_models["gpt2"]) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        (skipped,) = check_published([entry("org/tiny")])
        assert hub.downloaded == []
        assert hub.tokens == set()
    assert (skipped.outcome, skipped.measured) == ("skipped", None)
    assert skipped.reason == "org/tiny is not in the hub's cache on this machine; add --download to fetch it"


def test_a_model_is_fetched_once_it_may_be_and_then_found_under_any_of_its_names(
    tiny_models: dict[str, Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("org/tiny", tiny_models["gpt2"]) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        (fetched,) = check_published([entry("org/tiny")], Reach(download=True))
        assert "model.safetensors" in hub.downloaded
    (cached,) = check_published([replace(entry("org/other"), aliases=("org/tiny",))])
    assert fetched.measured is not None
    assert cached.measured == fetched.measured


def test_a_text_of_the_hub_is_skipped_where_nothing_may_be_downloaded(tiny_models: dict[str, Path]) -> None:
    asked = entry(str(tiny_models["gpt2"]))
    online = replace(asked, measurement=WindowPerplexity("hub:org/text"))
    skipped, found = check_published([online, asked])
    assert skipped.reason == "the text hub:org/text is read from the hub; add --download to read it"
    assert found.measured is not None


def test_a_model_that_is_there_and_wrong_is_not_skipped(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    asked = entry(str(tiny_models["gpt2"]))
    with pytest.raises(NotFound, match="has no token '<begin>'"):
        check_published([replace(asked, measurement=TextLoss("a", "<begin>"))])
    with pytest.raises(Unavailable, match="'nowhere'"):
        check_published([asked], Reach(device="nowhere"))
    damaged = Path(shutil.copytree(tiny_models["gpt2"], tmp_path / "damaged"))
    (damaged / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(Unreadable, match=r"^the weights in .*model\.safetensors cannot be read"):
        check_published([entry(str(damaged))])
    (damaged / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="lacks weights") as caught:
        check_published([entry(str(damaged))])
    assert caught.value.what == "weights"


def test_pickled_weights_are_skipped_until_they_are_allowed(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_models["opt"], tmp_path / "opt"))
    to_pickle(folder)
    (skipped,) = check_published([entry(str(folder))])
    assert "--allow-pickle" in skipped.reason
    (found,) = check_published([entry(str(folder))], Reach(allow_pickle=True))
    assert found.measured is not None


def test_the_table_says_what_was_published_where_and_how_it_is_measured(tiny_models: dict[str, Path]) -> None:
    value = replace(entry(str(tiny_models["gpt2"])), measurement=ValueToken(0, 0, "x"), note="Read this.")
    rows = checked_frame(check_published([value, entry("org/nowhere-at-all")])).to_dicts()
    assert [row["outcome"] for row in rows] == ["disagrees", "skipped"]
    assert (rows[0]["token"], rows[0]["kind"], rows[0]["note"]) == ("x", "value token", "Read this.")
    assert rows[0]["token_found"] not in (None, "x")
    assert rows[1]["command"] == "neurothek golden 'of org/nowhere-at-all' --download"
    assert {row["source"] for row in rows} == {"a test"}
    assert (rows[1]["found"], rows[1]["token_found"], rows[1]["note"]) == (None, None, None)


def test_weights_that_are_pickled_are_asked_for_so() -> None:
    rows = checked_frame([Checked(one, None, "skipped") for one in read_entries()]).to_dicts()
    commands = {row["model"]: row["command"] for row in rows}
    assert {model for model, command in commands.items() if "--allow-pickle" in command} == {"facebook/opt-125m"}
