"""Scores texts by a sequence classifier of Hugging Face's library, from a folder or the hub."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Failed, Invalid, NeurothekError, Refused
from neurothek.catalog.progress import Silent
from neurothek.ingest.interventions.scorers.text_scorer import excerpt, failed_scorer, unusable_scorer, valid_attributes
from neurothek.ingest.models import hub
from neurothek.ingest.models.errors import PICKLED, unreadable_weights, weights_not_finite
from neurothek.ingest.models.finding import config_of, folder_of, located, split_revision
from neurothek.ingest.models.hub import TOKENIZER_FILES
from neurothek.ingest.models.quiet import quiet_library
from neurothek.ingest.models.weight_files import TOKENIZERS, weight_files
from neurothek.ingest.models.weights_hash import weights_fingerprint

TRIAL = "The quick brown fox"

BATCH_TOKENS = 1 << 13
"""Tokens that are read at once."""


@dataclass(frozen=True, eq=False)
class SequenceClassifierScorer:
    """Probabilities of a classifier's labels: each for itself if labels may hold together, else adding up to 1.

    It runs in float32 on the CPU; texts are cut at its own length. Texts of one length are read together, so that
    nothing is padded.
    """

    is_foreign: ClassVar[bool] = False
    spec: str  # as it was asked for
    identity: Mapping[str, Any]  # what its numbers depend on, and where it lies
    attributes: tuple[str, ...]  # its labels
    is_independent: bool  # whether each label has a probability for itself
    _model: PreTrainedModel = field(repr=False)
    _tokenizer: PreTrainedTokenizerBase = field(repr=False)

    @classmethod
    def opened(cls, spec: str, argument: str) -> "SequenceClassifierScorer":
        """Find a classifier, downloading it if need be, and load it; no code beside its weights is run."""
        if not argument:
            raise unusable_scorer(spec, "it names no classifier", "give hf:REPO_OR_FOLDER")
        try:
            source, revision = split_revision(argument)
            folder, commit = located(
                source, revision=revision, allow_pickle=False, accept=lambda place: require_labels(spec, place)
            )
            identity = _identity(spec, folder, source, commit)
        except (NeurothekError, OSError, ValueError) as error:
            if isinstance(error, Invalid) and error.option == "--score":
                raise
            if isinstance(error, Refused) and error.why == PICKLED:
                raise unusable_scorer(spec, "its weights are pickled", "give a classifier with safetensors") from error
            raise unusable_scorer(spec, str(error)) from error
        return cls._loaded(spec, folder, identity)

    @classmethod
    def reopened(cls, identity: Mapping[str, Any]) -> "SequenceClassifierScorer | None":
        """The classifier of an identity, if it lies where it lay with the same files; nothing is downloaded."""
        source, revision = identity.get("source"), identity.get("revision")
        if not isinstance(source, str) or not isinstance(revision, str | None):
            return None
        spec = f"hf:{source}"
        try:
            folder = folder_of(source, revision=revision) or hub.cached(source, revision=revision)
            if folder is None:
                return None
            current = _identity(spec, folder, source, revision)
            is_same = all(identity.get(name) == value for name, value in current.items())
            return cls._loaded(spec, folder, current) if is_same else None
        except (NeurothekError, OSError, ValueError):
            return None

    @classmethod
    def _loaded(cls, spec: str, folder: Path, identity: Mapping[str, Any]) -> "SequenceClassifierScorer":
        model, tokenizer = load_classifier(spec, folder)
        names, is_independent = labels(spec, model.config)
        scorer = cls(spec, identity, names, is_independent, model, tokenizer)
        try:
            scorer.scores([TRIAL])
        except Failed as error:
            raise unusable_scorer(spec, f"on a trial text {error.why}", error.hint) from error
        return scorer

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts attributes] probabilities of the labels."""
        result = np.zeros((len(texts), len(self.attributes)))
        try:
            read = self._encoded(texts) if texts else {"input_ids": []}
            for places in self._batches([len(ids) for ids in read["input_ids"]]):
                batch = {name: torch.tensor([of[place] for place in places]) for name, of in read.items()}
                result[places] = self._probabilities(batch)
        except Exception as error:
            if not is_librarys(error):
                raise
            raise self._failed(f"it cannot read the texts ({excerpt(str(error))})") from error
        is_number = np.isfinite(result).all(axis=1)
        if not is_number.all():
            raise self._failed(f"it gives text {int(is_number.argmin()) + 1} a score that is not a number")
        return result

    def words(self, attribute: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def _encoded(self, texts: Sequence[str]) -> dict[str, list[list[int]]]:
        """What the classifier reads of each text, by the names of its arguments."""
        longest = _longest(self._model, self._tokenizer)
        encoded = self._tokenizer(list(texts), truncation=longest is not None, max_length=longest)
        parameters = inspect.signature(self._model.forward).parameters
        empty = next((number for number, ids in enumerate(encoded["input_ids"], start=1) if not ids), None)
        if empty is not None:
            raise ValueError(f"text {empty} has no token")
        return {name: of for name, of in encoded.items() if name in parameters}

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Places of texts of one length, in tokens; one at a time where the library could not tell what is padding."""
        by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
        for length, places in groupby(by_length, key=lengths.__getitem__):
            alike = list(places)
            at_once = 1 if self._model.config.pad_token_id is None else max(1, BATCH_TOKENS // length)
            yield from (alike[start : start + at_once] for start in range(0, len(alike), at_once))

    @torch.inference_mode()
    def _probabilities(self, batch: Mapping[str, Tensor]) -> Float[np.ndarray, "batch attributes"]:
        logits = self._model(**batch).logits.double()
        probabilities: np.ndarray = (logits.sigmoid() if self.is_independent else logits.softmax(-1)).numpy()
        return probabilities

    def _failed(self, problem: str) -> Failed:
        return failed_scorer(self.spec, problem, "give another classifier")


def _identity(spec: str, folder: Path, source: str, revision: str | None) -> dict[str, Any]:
    return {"kind": "hf", "source": source, "revision": revision, **fingerprints(spec, folder)}


def _longest(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Tokens that a classifier reads; None: any number."""
    positions = getattr(model.config, "max_position_embeddings", None)
    # Tables of RoBERTa's kind begin behind the row of the padding.
    rows = [
        module.num_embeddings - module.padding_idx - 1
        for name, module in model.named_modules()
        if name.endswith("position_embeddings")
        and isinstance(module, torch.nn.Embedding)
        and module.padding_idx is not None
    ]
    limits = [limit for limit in (positions, *rows, tokenizer.model_max_length) if isinstance(limit, int) and limit > 0]
    # A tokenizer that knows no limit says 1e30.
    return min((limit for limit in limits if limit < 1 << 30), default=None)


_MULTI_LABEL = "multi_label_classification"
_PROBLEMS = (None, "single_label_classification", _MULTI_LABEL)

_UNNAMED = ("LABEL_0",)
"""What the library calls the one output of a head that nobody named."""

_REFUSALS = (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, ImportError, SafetensorError)


def require_labels(spec: str, folder: Path) -> None:
    """Check from config.json alone that a model gives probabilities of labels."""
    labels(spec, _config(spec, folder))


def labels(spec: str, config: PreTrainedConfig) -> tuple[tuple[str, ...], bool]:
    """The labels of a classifier, and whether each has a probability for itself."""
    problem = getattr(config, "problem_type", None)
    if problem not in _PROBLEMS:
        raise unusable_scorer(
            spec, f"it is made for {excerpt(str(problem))}, whose numbers are not probabilities", "give a classifier"
        )
    by_id: Mapping[Any, object] = config.id2label or {}
    names = valid_attributes(spec, [by_id.get(number) for number in range(len(by_id))])
    if names == _UNNAMED and problem is None:
        raise unusable_scorer(
            spec, "it gives one number without a label, which is not a probability", "give a classifier with labels"
        )
    return names, problem == _MULTI_LABEL or len(names) == 1


def fingerprints(spec: str, folder: Path) -> dict[str, str]:
    """What tells a classifier from others: hashes of its weights, and of its configuration and tokenizer."""
    require_labels(spec, folder)
    files, _ = weight_files(folder)
    others = [folder / name for name in sorted({"config.json", *TOKENIZER_FILES}) if (folder / name).is_file()]
    listed = "".join(f"{path.name}\0{sha256_of(path)}\n" for path in others)
    return {
        "weights_sha256": weights_fingerprint(files, inspect=_require_finite, progress=Silent()),
        "files_sha256": sha256(listed.encode()).hexdigest(),
    }


def load_classifier(spec: str, folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The classifier in a folder, in float32 on the CPU, and its tokenizer; no code that lies there is run."""
    here: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise unusable_scorer(spec, "it has no tokenizer", "put its tokenizer.json beside the weights")
    try:
        with quiet_library():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **here
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, **here)
    except Exception as error:
        if not is_librarys(error):
            raise
        raise _unloadable(spec, error) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise unusable_scorer(
            spec,
            f"its weights lack {len(missing)} tensors, such as {excerpt(missing[0])}, in whose place numbers would be"
            " random",
            "give a model that was trained to classify",
        )
    return model.eval(), tokenizer


def _config(spec: str, folder: Path) -> PreTrainedConfig:
    config_of(folder)
    try:
        with quiet_library():
            config: PreTrainedConfig = AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except _REFUSALS as error:
        raise _unloadable(spec, error) from error
    return config


def is_librarys(error: Exception) -> bool:
    """Whether it is one of those that the library raises over files or texts that it cannot read.

    The one behind it, which tokenizes, raises a bare Exception.
    """
    return type(error) is Exception or isinstance(error, _REFUSALS)


def _unloadable(spec: str, error: Exception) -> Invalid:
    message = excerpt(" ".join(str(error).split()) or type(error).__name__)
    return unusable_scorer(spec, f"it cannot be loaded ({message})", "give a classifier as save_pretrained writes it")


def _require_finite(file: Path) -> None:
    try:
        with safe_open(file, framework="pt", device="cpu") as opened:
            for name in list(opened.keys()):
                tensor = opened.get_tensor(name)
                if tensor.is_floating_point() and not bool(torch.isfinite(tensor.float()).all()):
                    raise weights_not_finite(file, name)
    except (SafetensorError, OSError) as error:
        raise unreadable_weights(file, excerpt(str(error))) from error
