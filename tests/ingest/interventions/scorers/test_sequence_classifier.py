"""Classifiers of Hugging Face's library: tiny random ones, compared with a plain forward pass of one text."""

import json
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedModel,
    RobertaConfig,
    RobertaForSequenceClassification,
)
from transformers.utils import logging

from neurothek.catalog.problems import Failed, Invalid
from neurothek.ingest.interventions.scorers.sequence_classifier import SequenceClassifierScorer
from neurothek.ingest.interventions.scorers.text_scorer import open_scorer, reopen_scorer
from tests.support.hub import serve
from tests.support.models import edit_config, edit_tensors, to_pickle
from tests.support.tokenizers import make_tokenizer

Kind = Literal["bert", "gpt2", "roberta"]

VOCAB, CONTEXT = 400, 24
TEXTS = ["the school is near", "one two three", "", "the river " * 40, "the roof is old", "one two four !"]


def build(folder: Path, kind: Kind = "bert", **config: Any) -> Path:
    torch.manual_seed(1)
    model = _model(kind, {"id2label": {0: "kind", 1: "rude", 2: "other"}, **config})
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=1.0)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    make_tokenizer("bert" if kind == "bert" else "gpt2", VOCAB).save_pretrained(folder)
    return folder


def _model(kind: Kind, config: dict[str, Any]) -> PreTrainedModel:
    if kind == "gpt2":
        sizes: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT}
        return GPT2ForSequenceClassification(GPT2Config(vocab_size=VOCAB, pad_token_id=None, **sizes, **config))
    own: dict[str, Any] = {"vocab_size": VOCAB, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    own |= {"intermediate_size": 32, "max_position_embeddings": CONTEXT}
    if kind == "roberta":
        return RobertaForSequenceClassification(RobertaConfig(**own, **config))
    return BertForSequenceClassification(BertConfig(**own, **config))


def plain_logits(folder: Path, kind: Kind, text: str, longest: int) -> np.ndarray:
    """What a model that is loaded by its own class says of one text alone."""
    classes: dict[Kind, type[PreTrainedModel]] = {
        "bert": BertForSequenceClassification,
        "gpt2": GPT2ForSequenceClassification,
        "roberta": RobertaForSequenceClassification,
    }
    model = classes[kind].from_pretrained(folder).eval()
    tokenizer = make_tokenizer("bert" if kind == "bert" else "gpt2", VOCAB)
    ids = tokenizer(text)["input_ids"]
    if len(ids) > longest:
        ids = [*ids[: longest - 1], ids[-1]] if kind == "bert" else ids[:longest]
    with torch.no_grad():
        logits: np.ndarray = model(input_ids=torch.tensor([ids])).logits[0].double().numpy()
    return logits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("classifiers") / "tiny")


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(folder, tmp_path / "own"))


def test_labels_that_exclude_each_other_add_up(folder: Path) -> None:
    scorer = open_scorer(f"hf:{folder}")
    assert scorer.attributes == ("kind", "rude", "other")
    assert not scorer.is_foreign
    assert scorer.words("rude") == ()
    logits = np.array([plain_logits(folder, "bert", text, CONTEXT) for text in TEXTS])
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    # float32, and texts of one length together: sums are taken in another order.
    np.testing.assert_allclose(scorer.scores(TEXTS), expected, atol=1e-5)
    assert np.ptp(expected[:, 0]) > 0.01, "texts must differ for a mix-up to show"
    assert scorer.scores([]).shape == (0, 3)


@pytest.mark.parametrize(
    "config",
    [{"problem_type": "multi_label_classification"}, {"id2label": {0: "toxic"}}],
    ids=["many", "one"],
)
def test_labels_that_may_hold_together_are_each_a_probability(tmp_path: Path, config: dict[str, Any]) -> None:
    place = build(tmp_path / "model", **config)
    scorer = open_scorer(f"hf:{place}")
    logits = np.array([plain_logits(place, "bert", text, CONTEXT) for text in TEXTS])
    np.testing.assert_allclose(scorer.scores(TEXTS), 1 / (1 + np.exp(-logits)), atol=1e-5)


# Without a token that pads, and with positions that begin behind the padding's.
@pytest.mark.parametrize(("kind", "longest"), [("gpt2", CONTEXT), ("roberta", CONTEXT - 2)])
def test_other_families_are_read_at_their_own_length(tmp_path: Path, kind: Kind, longest: int) -> None:
    place = build(tmp_path / "model", kind)
    scorer = open_scorer(f"hf:{place}")
    texts = [text for text in TEXTS if text]
    logits = np.array([plain_logits(place, kind, text, longest) for text in texts])
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scorer.scores(texts), expected, atol=1e-5)
    with pytest.raises(Failed, match="text 2 has no token"):
        scorer.scores(["one", ""])


def test_it_is_reopened_where_the_same_files_lie(own: Path) -> None:
    scorer = open_scorer(f"hf:{own}")
    stored = json.loads(json.dumps(scorer.identity))
    again = reopen_scorer(stored)
    assert again is not None
    assert again.identity == scorer.identity
    assert np.array_equal(again.scores(TEXTS), scorer.scores(TEXTS))
    assert reopen_scorer({**stored, "weights_sha256": "0" * 64}) is None
    edit_config(own, id2label={"0": "kind", "1": "rude", "2": "odd"})
    assert reopen_scorer(stored) is None
    shutil.rmtree(own)
    assert reopen_scorer(stored) is None


def test_other_weights_are_another_scorer(own: Path) -> None:
    stored = open_scorer(f"hf:{own}").identity
    edit_tensors(own, lambda tensors: tensors["classifier.bias"].add_(1))
    assert reopen_scorer(stored) is None
    assert open_scorer(f"hf:{own}").identity != stored


def test_a_classifier_comes_from_the_hub_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve("someone/judge", folder) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        scorer = open_scorer("hf:someone/judge")
        assert scorer.identity["source"] == "someone/judge"
        assert "model.safetensors" in hub.downloaded
        hub.downloaded.clear()
        again = reopen_scorer(scorer.identity)
        assert again is not None
        assert np.array_equal(again.scores(TEXTS), scorer.scores(TEXTS))
        # What was never downloaded is not fetched for a stored identity.
        assert reopen_scorer({**scorer.identity, "revision": "0" * 40}) is None
        assert not hub.downloaded


def spoilt(place: Path, what: str) -> Path:  # noqa: C901, PLR0912 - one spoiling each
    match what:
        case "no folder":
            shutil.rmtree(place)
        case "file":
            shutil.rmtree(place)
            place.write_text("x")
        case "no config":
            (place / "config.json").unlink()
        case "config":
            (place / "config.json").write_text("[1")
        case "code":
            edit_config(place, model_type="own", auto_map={"AutoConfig": "own.C"})
            (place / "own.py").write_text("raise SystemExit")
        case "pickled":
            to_pickle(place)
        case "no weights":
            (place / "model.safetensors").unlink()
        case "cut":
            data = (place / "model.safetensors").read_bytes()
            (place / "model.safetensors").write_bytes(data[: len(data) // 2])
        case "nan":
            edit_tensors(place, lambda tensors: tensors["classifier.bias"].fill_(float("nan")))
        case "no head":
            edit_tensors(place, lambda tensors: tensors.pop("classifier.weight"))
        case "shape":
            edit_config(place, id2label={"0": "a", "1": "b"}, label2id=None)
        case "regression":
            edit_config(place, problem_type="regression")
        case "unnamed":
            edit_config(place, id2label={"0": "LABEL_0"}, label2id=None)
        case "twice":
            edit_config(place, id2label={"0": "a", "1": "a", "2": "b"})
        case "blank":
            edit_config(place, id2label={"0": "a", "1": " ", "2": "b"})
        case "gap":
            edit_config(place, id2label={"0": "a", "1": "b", "7": "c"})
        case "no tokenizer":
            for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
                (place / name).unlink(missing_ok=True)
        case "broken tokenizer":
            (place / "tokenizer.json").write_text('{"model": 1}')
        case "tokenizer":
            make_tokenizer("bert", VOCAB + 50).save_pretrained(place)
    return place


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no folder", "there is no model at"),
        ("file", "is a file"),
        ("no config", "no config.json"),
        ("config", "does not describe a model"),
        ("code", "cannot be loaded"),
        ("pickled", "weights are pickled; give a classifier with safetensors"),
        ("no weights", "lacks weights"),
        ("cut", "cannot be read"),
        ("nan", "NaN or infinity"),
        ("no head", "lack 1 tensors, such as classifier.weight"),
        ("shape", "cannot be loaded"),
        ("regression", "made for regression"),
        ("unnamed", "one number without a label"),
        ("twice", "two of its attributes are called 'a'"),
        ("blank", "not an attribute name"),
        ("gap", "not an attribute name|cannot be loaded"),
        ("no tokenizer", "has no tokenizer"),
        ("broken tokenizer", "cannot be loaded"),
    ],
)
def test_what_is_no_classifier_is_refused(own: Path, what: str, said: str) -> None:
    place = spoilt(own, what)
    with pytest.raises(Invalid, match=said) as caught:
        open_scorer(f"hf:{place}")
    assert "--allow-pickle" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_words_that_the_classifier_does_not_know_are_a_failure(own: Path) -> None:
    """A tokenizer with more words than there are rows: some texts cannot be read."""
    spoilt(own, "tokenizer")
    scorer = open_scorer(f"hf:{own}")
    assert isinstance(scorer, SequenceClassifierScorer)
    vocabulary = scorer._tokenizer.get_vocab()
    word = next(piece for piece, number in vocabulary.items() if number >= VOCAB and piece.isalpha())
    with pytest.raises(Failed, match="cannot read the texts"):
        scorer.scores(["one", word])
