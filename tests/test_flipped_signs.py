"""The same gated model with some signs turned: no logit changes, and no answer but the named poles."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
import torch

import neurothek
from neurothek.dashboards.parts.explore.promoted import with_promoted_at_pole
from neurothek.dashboards.session import set_backend
from neurothek.dashboards.widgets.figures import statement
from neurothek.dashboards.widgets.reading import Reading
from neurothek.ingest.jobs import registry
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.names.models import choose_models, measured_corpora
from neurothek.queries.search.by_likeness import AlikeResult
from neurothek.queries.search.question import SIDES, Question
from neurothek.queries.views.install import View, all_views
from tests.support.chat_server import chat_server
from tests.support.flipped import flip
from tests.support.foreign import explanation, measured_features, write_neuronpedia
from tests.support.ingests import WORDS, compare, measure, open_warehouse, request, write_corpus
from tests.support.models import build, edit_tensors
from tests.support.pages import open_page, shown_text

JOBS = ("projections", "activity", "ngrams", "clusters")


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[neurothek.Neurothek, neurothek.Neurothek]]:
    """A warehouse of two tiny Llamas, and one in which signs of the first are turned."""
    folder = tmp_path_factory.mktemp("signs")
    corpora = write_corpus(folder)
    plain = build(folder / "one", "llama", d_ffn=48)
    turned = flip(plain, folder / "turned" / plain.name)
    others = [build(folder / "two", "llama", d_ffn=48, seed=5)]
    doors = []
    for number, first in enumerate((plain, turned)):
        warehouse = open_warehouse(folder / f"{number}.duckdb")
        measure(warehouse, f"one={first}", request(corpora, jobs=JOBS, clusters=(8, 30)))
        for other in others:
            measure(warehouse, other, request(corpora, jobs=("projections", "activity")))
        for job in registry.PAIR_NAMES:
            compare(warehouse, "one", "two", jobs=(job,))
        doors.append(neurothek.open(warehouse.path))
    with asked_often(doors):
        yield doors[0], doors[1]


@contextmanager
def asked_often(doors: Sequence[neurothek.Neurothek]) -> Iterator[None]:
    """Questions that follow each other share a connection."""
    with ExitStack() as stack:
        for door in doors:
            stack.enter_context(door.warehouse.lingering())
        yield


def signs_of(doors: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> Mapping[str, int]:
    """Address -> -1 where the sign is turned."""
    frames = [door.sql("select address, score_mean from neurons where model = 'one'") for door in doors]
    means = [dict(frame.rows()) for frame in frames]
    signs = {address: 1 if mean == pytest.approx(means[1][address]) else -1 for address, mean in means[0].items()}
    assert 20 < sum(sign < 0 for sign in signs.values()) < 76
    return signs


@pytest.fixture(scope="module")
def signs(doors: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> Mapping[str, int]:
    return signs_of(doors)


def same(one: pl.DataFrame, other: pl.DataFrame, what: object) -> None:
    """Everything but the poles, which are turned with the signs; floats as far as sums in another order go."""
    assert one.columns == other.columns
    assert one.height == other.height > 0, what
    for name in one.columns:
        first, second = one[name], other[name]
        if name == "pole_activation":
            first, second = first.abs(), second.abs()
        if name == "pole":
            continue
        if first.dtype.is_float():
            assert first.to_list() == pytest.approx(second.to_list(), rel=1e-5, abs=1e-6), (what, name)
        elif first.dtype == pl.List(pl.Float64):
            pairs = zip(first.to_list(), second.to_list(), strict=True)
            assert all(a == pytest.approx(b, rel=1e-5, abs=1e-6) for a, b in pairs), (what, name)
        else:
            assert first.to_list() == second.to_list(), (what, name)


def poles_turn(one: pl.DataFrame, other: pl.DataFrame, signs: Mapping[str, int], what: object) -> None:
    for address, first, second in zip(one["address"], one["pole"], other["pole"], strict=True):
        assert (first == second) == (signs.get(address, 1) > 0), (what, address)


def test_no_logit_changes(doors: tuple[neurothek.Neurothek, ...]) -> None:
    ids = torch.arange(4, 30)[None]
    logits = []
    for door in doors:
        source = door.sql("select source from store.models where name = 'one'").item()
        transformer = open_transformer(find(source))
        stream = transformer.embed(ids)
        for layer in range(2):
            with transformer.block(layer) as block:
                stream = block(stream).stream
        logits.append(transformer.logits(stream))
    torch.testing.assert_close(logits[0], logits[1])


QUESTIONS: tuple[dict[str, Any], ...] = (
    {"words": ("0",)},
    {"words": ("0",), "side": "suppressed"},
    {"words": ("0",), "side": "both"},
    {"words": ("0",), "min_count": 1},
    {"words": ("0",), "side": "suppressed", "min_count": 1},
    {"words": ("0",), "side": "both", "min_count": 1},
    {"words": ("0", "1"), "where": "layer = 1"},
    {"words": ("0", "1", "2"), "side": "both"},
    {"words": ("0", "1", "2"), "side": "suppressed"},
    {"words": ("0", "1"), "match_all": True},
    {"words": ("0",), "suppresses": ("1",)},
    {"words": ("0",), "without": ("1", "2")},
    {"words": ("0",), "concept": True},
)


@pytest.fixture(scope="module")
def words(doors: tuple[neurothek.Neurothek, ...]) -> tuple[str, ...]:
    """Words that many neurons list."""
    query = """
        select word from promotions where model = 'one' and regexp_matches(token, '^ [a-z]{2,}$') and corpus_count > 0
        group by word order by count(*) desc, word limit 3
    """
    return tuple(doors[0].sql(query)["word"])


def with_words(asked: Any, words: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever a search is asked
    """What is asked, with words in place of their numbers."""
    return tuple(words[int(one)] for one in asked) if isinstance(asked, tuple) else asked


def test_searches_find_the_same_neurons(
    doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int], words: tuple[str, ...]
) -> None:
    for question in QUESTIONS:
        asked = {name: with_words(value, words) for name, value in question.items() if name != "words"}
        spoken = with_words(question["words"], words)
        one, other = (door.search(*spoken, limit=40, model="one", **asked) for door in doors)
        assert one.title == other.title
        same(one.neurons, other.neurons, question)
        poles_turn(one.neurons, other.neurons, signs, question)
    first, second = (door.score(words[0], limit=96, model="one").neurons for door in doors)
    same(first, second, "score")
    poles_turn(first, second, signs, "score")


def test_stored_lists_find_the_same_neurons_in_both_ways(
    doors: tuple[neurothek.Neurothek, ...],
    signs: Mapping[str, int],
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("neurothek.api.answers.MOST_BYTES", 0)
    for side in SIDES:
        asked = Question(words=words[:1], side=side, models=("one",), limit=96)
        ways = [
            [door.answer(question).neurons for door in doors] for question in (asked, replace(asked, layers=(0, 1)))
        ]
        for one, other in ways:
            same(one, other, side)
            poles_turn(one, other, signs, side)
        same(ways[0][0], ways[1][0], side)


def test_likeness_is_the_same(doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int]) -> None:
    for address in [*list(signs)[:12], "two/L0N3"]:
        one, other = (door.search(like=address, limit=60) for door in doors)
        assert isinstance(one, AlikeResult)
        assert isinstance(other, AlikeResult)
        same(one.neurons, other.neurons, address)
        # What the asked neuron does at its strongest pole: the others' poles turn with their own signs alone.
        poles_turn(one.neurons, other.neurons, signs, address)
        assert (one.pole == other.pole) == (signs.get(address, 1) > 0)
        assert set(one.neurons["model"]) == {"one", "two"}


def test_neurons_by_what_they_fire_on_are_the_same(
    doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int]
) -> None:
    one, other = (door.search(triggered_by=["the", "school"], model="one", limit=40).neurons for door in doors)
    same(one, other, "triggers")
    poles_turn(one, other, signs, "triggers")


def test_rows_of_neurons_on_pages_are_the_same(
    doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int]
) -> None:
    """What stands under *promotes* on the pages of a model, of a layer, of positions and of what stands out."""
    found: list[list[pl.DataFrame]] = []
    for door in doors:
        set_backend(door)
        with door.reader() as connection:
            (read,) = measured_corpora(connection, ("one",))
            frames = [
                run_query(connection, statement(f"{name}{where}"), {"model": "one", **some, **on})
                for name, some in (("layer_neurons", {"layer": 1}), ("model_neurons", {"n": 96}))
                for where, on in (("", {}), ("_by_corpus", {"corpus_id": read.corpus_id}))
            ]
            (model,) = choose_models(connection, ["one"])
            places = connection.sql("select address, layer, neuron from neurons where model = 'one'").pl()
            frames.append(with_promoted_at_pole(connection, model, places))
            with Reading(connection, ["one"], read.corpus) as reader:
                frames.append(with_promoted_at_pole(reader, model, places))
        found.append([frame.sort("address") for frame in frames])
    for one, other in zip(*found, strict=True):
        shown = ["address", "pole", "top_tokens"]
        same(one.select(shown), other.select(shown), "pages")
        if "activation_min" in one.columns:
            ends = [frame.select(least="activation_min", most="activation_max") for frame in (one, other)]
            sizes = [[sorted((abs(least), abs(most))) for least, most in frame.iter_rows()] for frame in ends]
            assert all(a == pytest.approx(b, rel=1e-5) for a, b in zip(*sizes, strict=True))
        poles_turn(one, other, signs, "pages")
        assert set(one["pole"]) == {"positive", "negative"}


LISTS, OTHER_LISTS = ("top_tokens", "bottom_tokens"), ("other_top_tokens", "other_bottom_tokens")
"""What a neuron promotes at coefficients above 0, and below 0: they exchange their contents with the sign."""

NEGATED = frozenset(
    {
        # Of the value vector as it is stored: for a coefficient of 1.
        *("score", "scores", "z_score", "score_centred", "control_scores", "score_mean", "skewness"),
        # The coefficient itself, whose sign names the pole.
        *("activation", "mean_activation", "mean_coefficient"),
        # Of a contrast.
        *("mean_a", "mean_b", "difference", "z"),
        # Of its scores with what is as it was.
        "count_correlation",
        # The gate keeps its direction, and what it is compared with does not.
        *("gate_value", "gate_up"),
    }
)
"""Numbers and lists of numbers that change their sign with the neuron's."""

RANGES = (("activation_min", "activation_max"), ("low", "high"), ("z_from", "z_to"))
"""Lower and upper ends of what is negated: they exchange, and are negated."""

OPPOSITES = {"promoted": "suppressed", "suppressed": "promoted", "positive": "negative", "negative": "positive"}
# The gate keeps its sign, and the other factor does not.
OPPOSITES |= {f"g{gate}u{up}": f"g{gate}u{'-' if up == '+' else '+'}" for gate in "+-" for up in "+-"}
OPPOSITE = frozenset({"side", "pole", "gate_case"})
"""Columns of words that are exchanged by `OPPOSITES`."""

COSINES = frozenset({"cosine", "centre_cosine"})
"""Between two value vectors, the other's sign counting where there is another: of the vectors as they are stored."""

AT_ITS_POLE: Mapping[str, frozenset[str]] = {
    "detected_ngrams": frozenset({"score", "z_score", "score_centred", "rank_from_bottom"}),
    "token_detectors": frozenset({"scores"}),
    "explanation_scores": frozenset({"score"}),
}
"""View -> columns of what the neuron writes at its pole, which is the same whatever the sign of the vector."""

OF_ONE_RUN: Mapping[str, frozenset[str]] = {
    "models": frozenset({"source", "weights_sha256"}),
    "annotations": frozenset({"annotation_id", "created_at"}),
    "judgements": frozenset({"created_at"}),
    "explanations": frozenset({"created_at"}),
    "explanation_scores": frozenset({"judged_at"}),
    "foreign_catalogs": frozenset({"imported_at"}),
    # One list of the two stands there; `writes` is what it does.
    "pushers": frozenset({"top_tokens"}),
}
"""View -> columns of the folder or the moment of a measurement. Everything else is the same."""

NOT_COMPARED = {"runs": "when things were measured, and their keys"}

WITHOUT_ROWS = {
    "plausibility": "people judge lists",
    "annotator_agreement": "of two annotators",
    "position_teams": "no team of so few positional neurons",
}
"""Views that have none where every job was run: of these the long test tells nothing."""


def exchanged(row: dict[str, Any], one: str, other: str) -> dict[str, Any]:
    return {one: row[other], other: row[one]} if {one, other} <= row.keys() else {}


def opposite(value: Any) -> Any:  # noqa: ANN401 - a number, numbers or a word
    """What is said of a value vector, of the opposite one."""
    if isinstance(value, list):
        return [opposite(one) for one in value]
    if value is None or isinstance(value, str):
        return OPPOSITES.get(value, value) if value else value
    return -value


def turned(row: dict[str, Any], n_tokens: int, *, negated: frozenset[str] = NEGATED) -> dict[str, Any]:
    """A row of a neuron as it is where the neuron's sign is turned."""
    if row.get("reader") == "gate":
        # What it reads is as it was.
        return row
    said = row | exchanged(row, *LISTS)
    said |= {name: opposite(row[name]) for name in (negated | OPPOSITE | COSINES) & row.keys()}
    for ends in RANGES:
        if ends[0] in row and (ends[0] != "low" or "bin" in row):
            said |= {name: opposite(value) for name, value in exchanged(row, *ends).items()}
    if row.get("score_negative_share") is not None:
        said["score_negative_share"] = 1 - row["score_negative_share"]
    if row.get("negative_share") is not None:
        said["negative_share"] = 1 - row["negative_share"]
    if row.get("rank_from_bottom") is not None:
        said["rank_from_bottom"] = n_tokens + 1 - row["rank_from_bottom"]
    if "bin" in row:
        # Of coefficients 0 is in the middle, of z-scores the bins are 1 to 66.
        said["bin"] = 67 - row["bin"] if "z_from" in row else -row["bin"]
    return said


def turned_beside(row: dict[str, Any]) -> dict[str, Any]:
    """A row of two neurons as it is where the other's sign is turned."""
    names = (COSINES | {"other_pole"}) & row.keys()
    return row | exchanged(row, *OTHER_LISTS) | {name: opposite(row[name]) for name in names}


def sign_of(signs: Mapping[str, int], row: Mapping[str, Any], which: str = "", *, layer: str | None = None) -> int:
    """Of the row's neuron, or of the one that it is held against."""
    model = row.get(f"{which}model", row.get("model"))
    neuron = row.get(f"{which}neuron", row.get(f"{which}unit"))
    return signs.get(f"{model}/L{row.get(layer or f'{which}layer')}N{neuron}", 1)


def rows_of(door: neurothek.Neurothek, view: View, signs: Mapping[str, int] | None) -> dict[object, dict[str, Any]]:
    """Key -> row, with rows of neurons turned by their signs where these are given."""
    with door.reader() as connection:
        n_tokens = connection.sql("select count(*) as n from store.tokens").pl().item()
        rows = connection.sql(f"select * from {view.name}").pl().to_dicts()
    found: dict[object, dict[str, Any]] = {}
    for row in rows:
        said = row
        if signs is not None:
            if sign_of(signs, row) < 0:
                at_pole = {name: row[name] for name in AT_ITS_POLE.get(view.name, ()) if row["pole"] is not None}
                said = turned(said, n_tokens) | at_pole
            if sign_of(signs, row, "other_") < 0:
                said = turned_beside(said)
        if (
            signs is not None
            and view.name == "massive_activations"
            and sign_of(signs, row, "input_", layer="layer") < 0
        ):
            said = said | {"input_largest": -said["input_largest"], "weight": -said["weight"]}
        left_out = OF_ONE_RUN.get(view.name, frozenset())
        key = tuple(repr(said[name]) for name in view.key if name not in left_out)
        if not key:
            key = (repr(sorted((name, repr(value)) for name, value in said.items() if name not in left_out)),)
        assert key not in found, (view.name, key)
        found[key] = {name: value for name, value in said.items() if name not in left_out}
    return found


def is_near(one: object, other: object) -> bool:
    """Floats as far as sums in another order go."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-5)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_near, one, other))
    return one == other


def differences(doors: tuple[neurothek.Neurothek, ...], view: View, signs: Mapping[str, int]) -> list[str]:
    """What a view says otherwise where signs are turned: the columns, with a number of rows and an example."""
    expected, found = rows_of(doors[0], view, signs), rows_of(doors[1], view, None)
    if expected.keys() != found.keys():
        lacking = sorted(expected.keys() ^ found.keys(), key=repr)
        return [f"{view.name}: {len(lacking)} keys differ, such as {lacking[0]}"]
    wrong: dict[str, list[str]] = {}
    for key, row in expected.items():
        for name, value in row.items():
            if not is_near(value, found[key][name]):
                wrong.setdefault(name, []).append(f"{key}: {value!r:.80} and {found[key][name]!r:.80}")
    return [f"{view.name}.{name}: {len(rows)} of {len(found)}, {rows[0]}" for name, rows in wrong.items()]


def test_all_views_are_the_same(doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int]) -> None:
    compared = [view for view in all_views().values() if view.name not in NOT_COMPARED]
    wrong = [one for view in compared for one in differences(doors, view, signs)]
    assert not wrong, "\n".join(wrong)


DETECTORS = {3: "school", 5: "two", 7: "one", 9: "the"}
"""Neuron of layer 0 -> the word at which alone its gate opens."""


def plant(folder: Path) -> Path:
    """Detectors: embeddings that nothing outweighs, and gates along them."""
    tokenizer = load(folder)

    def edit_(tensors: dict[str, torch.Tensor]) -> None:
        embeddings = tensors["model.embed_tokens.weight"]
        for neuron, word in DETECTORS.items():
            first = int(tokenizer.encode([word])[0][0])
            embeddings[first] *= 30
            tensors["model.layers.0.mlp.gate_proj.weight"][neuron] = 10 * embeddings[first] / embeddings[first].norm()
            tensors["model.layers.0.mlp.gate_proj.bias"][neuron] = -30

    return edit_tensors(folder, edit_)


def write_drill(folder: Path) -> tuple[str, ...]:
    """Full-length sequences with the same words at the same places, so that detectors keep to positions; and prose.

    None of the words stands at more than a ninth of the positions: there its neuron could not be strong.
    """
    drill = " ".join(f"{word} near old new" for word in DETECTORS.values()).removesuffix(" new")
    (folder / "drill.jsonl").write_text(110 * f'{{"text": "{drill}"}}\n')
    (folder / "prose").mkdir()
    chosen = Random(1)
    for number in range(80):
        words = " ".join(chosen.choice(WORDS) for _ in range(chosen.randrange(4, 12)))
        (folder / "prose" / f"{number:03d}.txt").write_text(f"The {words}.")
    return (f"drill={folder / 'drill.jsonl'}", f"prose={folder / 'prose'}")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[neurothek.Neurothek, neurothek.Neurothek]]:
    """The same with every job, detectors, interventions of every sort and annotations by rules."""
    folder = tmp_path_factory.mktemp("every")
    corpora = write_drill(folder)
    text: dict[str, Any] = {"text": {"sequence_length": 16, "packing": False}}
    plain = plant(build(folder / "one", "llama", d_ffn=48, gate_bias=True))
    folders = (plain, flip(plain, folder / "turned" / plain.name))
    other = build(folder / "two", "llama", d_ffn=48, seed=5)
    (folder / "words.txt").write_text("the\nriver\n")
    written = {"prompts": ["the school", "one two"], "score": f"words:{folder / 'words.txt'}", "continuation": 4}
    how: dict[str, Any] = {"tokens": 300, "sets": 2}
    few = "layer = 1 and neuron < 9"
    doors: list[neurothek.Neurothek] = []
    for number, first in enumerate(folders):
        warehouse = open_warehouse(folder / f"{number}.duckdb")
        asked: dict[str, Any] = {"clusters": (8, 30), "examples": 60, "baselines": False, "domains": ("prose",)}
        measure(warehouse, f"one={first}", request(corpora, **text, jobs=registry.NAMES, **asked))
        measure(warehouse, other, request(corpora, **text, jobs=("projections", "activity", "clusters")))
        for job in registry.PAIR_NAMES:
            compare(warehouse, "one", "two", jobs=(job,))
        door = neurothek.open(warehouse.path)
        for wishes in (
            {"where": few, "name": "few", **written},
            {"where": few, "name": "mean", "set": "mean"},
            {"words": ["school"], "limit": 6, "name": "school"},
            {"words": ["school"], "limit": 6, "name": "school on", "set": 3},
            {"each": "kind"},
        ):
            door.run_intervention(door.plan_intervention("one", **how, **wishes))
        door.run_intervention(
            door.plan_intervention("one", where="layer = 1 and neuron < 2", one_by_one=True, tokens=300)
        )
        door.annotate_by_rules("one")
        door.contrast("one", ["the school", "the river", "one two"], ["old", "near the", "new words"], keep="two sets")
        if not doors:
            said = measured_features(door, "one")
            write_neuronpedia(folder / "v1", "one", said, [explanation("one", 0, 3, "names of months")])
        door.import_foreign(folder / "v1", "neuronpedia")
        with chat_server() as chat:
            door.explain_neurons(
                door.plan_explanations("one", endpoint=chat.url, model_name="stub", where="layer = 1 and neuron < 6")
            )
        doors.append(door)
    with asked_often(doors):
        yield doors[0], doors[1]


@pytest.mark.long
@pytest.mark.xdist_group("every-sign")
def test_views_of_every_job_are_the_same(everything: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> None:
    signs = signs_of(everything)
    wrong = []
    for view in all_views().values():
        if view.name not in NOT_COMPARED:
            wrong += differences(everything, view, signs)
        has_rows = bool(rows_of(everything[0], view, None))
        if has_rows == (view.name in WITHOUT_ROWS):
            wrong.append(f"{view.name}: {'rows' if has_rows else 'no rows'}")
    assert not wrong, "\n".join(wrong)
    poles = everything[0].sql("select distinct pole from suppression where model = 'one'")["pole"].to_list()
    assert sorted(poles) == ["negative", "positive"]


PROMPT = "the school on the river one two three"
N_TOKENS = 392
"""Of the vocabulary of tiny models."""


def frames_of(answer: Any, within: str = "") -> Iterator[tuple[str, list[dict[str, Any]]]]:  # noqa: ANN401 - an answer
    """Name -> rows of every frame of an answer, and of the facts of a neuron's page."""
    for field in fields(answer):
        name, value = f"{within}{field.name}", getattr(answer, field.name)
        if isinstance(value, pl.DataFrame):
            yield name, value.to_dicts()
        elif name == "facts":
            yield name, [dict(value)]
        elif is_dataclass(value) and field.name not in {"traced", "switched"}:
            yield from frames_of(value, f"{name}.")


def as_turned(row: dict[str, Any], own: int, signs: Mapping[str, int], negated: frozenset[str]) -> dict[str, Any]:
    """A row of an answer as it is where signs are turned: of its own neuron, or of the one that the answer is about."""
    sign = signs.get(row["address"], 1) if "address" in row else own
    said = turned(row, N_TOKENS, negated=negated) if sign < 0 else row
    # A neighbour's cosine is with the neuron that the answer is about.
    return said | {"cosine": opposite(said["cosine"])} if own < 0 and "cosine" in row else said


def unlike(signs: Mapping[str, int], what: str, answers: list[Any]) -> list[str]:
    """What two answers say otherwise but for poles and coefficients: the frame, the column and an example."""
    own = signs.get(getattr(answers[0], "address", ""), 1)
    # What a trace says of tokens is of what is written, whose sign is that of the model's function.
    negated = frozenset({"coefficient"}) if what == "trace" else NEGATED | {"coefficient", "activations"}
    wrong = []
    for (name, one), (_, other) in zip(*map(frames_of, answers), strict=True):
        at_pole = AT_ITS_POLE["detected_ngrams"] if name == "triggers.ngrams" else frozenset()
        expected = sorted(
            (as_turned(row, own, signs, negated) | {name: row[name] for name in at_pole & row.keys()} for row in one),
            key=row_key,
        )
        found = sorted(other, key=row_key)
        if len(expected) != len(found):
            wrong.append(f"{what} {name}: {len(expected)} and {len(found)} rows")
            continue
        for row, said in zip(expected, found, strict=True):
            names = [column for column in row if column != "created_at" and not is_near(row[column], said[column])]
            wrong += [f"{what} {name}.{column}: {row[column]!r:.80} and {said[column]!r:.80}" for column in names]
    return wrong


def row_key(row: dict[str, Any]) -> str:
    """Everything exact; a bin by its ends."""
    exact = [value for value in row.values() if isinstance(value, str | int | None)]
    return repr([*exact, row.get("z_from") or 0.0, row.get("z_to") or 0.0])


ASKED: Mapping[str, Callable[[neurothek.Neurothek], Any]] = {
    "compare": lambda door: door.compare("one", "two"),
    "claims": lambda door: door.claims("one"),
    "trace": lambda door: door.trace("one", PROMPT, effects=True, raising=30),
    "grid": lambda door: door.trace_grid("one", PROMPT),
    "switch": lambda door: door.switch("one", PROMPT, "one/L0N3"),
    "activations": lambda door: door.activations("one/L0N3", PROMPT),
    **{
        f"neuron {place}": partial(neurothek.Neurothek.neuron, address=f"one/{place}")
        for place in ("L0N3", "L0N19", "L1N40")
    },
}
"""What Python answers beside searches."""


@pytest.mark.long
@pytest.mark.xdist_group("every-sign")
def test_answers_of_python_are_the_same(everything: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> None:
    signs, wrong = signs_of(everything), []
    for what, ask in ASKED.items():
        answers = [ask(door) for door in everything]
        wrong += unlike(signs, what, answers)
        texts = [getattr(answer, "summary", "") for answer in answers]
        if words_of(texts[0]) != words_of(texts[1]):
            wrong.append(f"{what}: {texts[0]} and {texts[1]}")
    assert not wrong, "\n".join(wrong)


DURATION = r"a few seconds|about [\d,]+ (?:second|minute|hour|day)s?"
"""How long measuring takes is estimated from how long it took, whatever the signs."""

NUMBER = r"\d[\d,.]*(?:e[+-]?\d+)?"


def words_of(text: str) -> Counter[str]:
    """The words of a text and how often each stands there, but for poles and numbers."""
    return Counter(re.findall(r"[^\W\d]+", re.sub(rf"\b(?:positive|negative)\b|{NUMBER}", " ", text)))


def sizes_of(text: str) -> list[float]:
    """The sizes of all numbers in a text, the smallest first."""
    return sorted(float(re.sub(r"[,.]+$", "", number).replace(",", "")) for number in re.findall(NUMBER, text))


SHOWN: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("search", {"words": "school", "models": "one"}),
    ("search", {"triggered_by": "the", "models": "one"}),
    ("search", {"like": "one/L0N3"}),
    ("model", {"model": "one"}),
    ("model", {"model": "one", "readers": "yes"}),
    ("layer", {"model": "one", "layer": "1"}),
    ("neuron", {"neuron": "one/L0N3"}),
    ("clusters", {"model": "one"}),
    ("position", {"model": "one"}),
    ("trace", {"model": "one", "prompt": PROMPT}),
    ("events", {"model": "one", "word": "school"}),
    ("interventions", {"model": "one"}),
    ("shortcuts", {"model": "one"}),
    ("annotate", {"model": "one"}),
    ("compare", {}),
)


@pytest.mark.long
@pytest.mark.xdist_group("every-sign")
def test_pages_show_the_same(everything: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> None:
    """The same words and sizes of numbers: poles are named, and a neuron's two lists stand in the order of theirs."""
    wrong = []
    for name, asked in SHOWN:
        pages = [shown_text(open_page(door.path, name, **asked)) for door in everything]
        texts = [
            re.sub(DURATION, "", page.replace(str(door.path), "")) for door, page in zip(everything, pages, strict=True)
        ]
        one, other = map(words_of, texts)
        if one != other:
            wrong.append(f"{name} {asked}: {one - other} and {other - one}")
        sizes = [sizes_of(text) for text in texts]
        # Rounded to two digits at least, whichever way.
        unequal = [pair for pair in zip(*sizes, strict=False) if not math.isclose(*pair, rel_tol=0.02, abs_tol=0.02)]
        if unequal or len(sizes[0]) != len(sizes[1]):
            wrong.append(f"{name} {asked}: {unequal[:5]}")
        assert one.total() > 30, name
    assert not wrong, "\n".join(wrong)
