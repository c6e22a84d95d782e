"""The files of a sequence classifier: what its labels are, what tells it from others, and how it is loaded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Invalid
from neurothek.catalog.progress import Silent
from neurothek.ingest.interventions.scorers.attributes import valid_attributes
from neurothek.ingest.interventions.scorers.errors import excerpt, unusable_scorer
from neurothek.ingest.models.errors import unreadable_weights, weights_not_finite
from neurothek.ingest.models.finding import config_of
from neurothek.ingest.models.hub import TOKENIZER_FILES
from neurothek.ingest.models.tokenizer import FILES as TOKENIZERS
from neurothek.ingest.models.weight_files import weight_files
from neurothek.ingest.models.weights_hash import weights_fingerprint

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
            spec, f"it is made for {excerpt(str(problem))}, whose numbers are no probabilities", "give a classifier"
        )
    by_id: Mapping[Any, object] = config.id2label or {}
    names = valid_attributes(spec, [by_id.get(number) for number in range(len(by_id))])
    if names == _UNNAMED and problem is None:
        raise unusable_scorer(
            spec, "it gives one number without a label, which is no probability", "give a classifier with labels"
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
        with _quiet():
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
        with _quiet():
            found: PreTrainedConfig = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except _REFUSALS as error:
        raise _unloadable(spec, error) from error
    return found


def is_librarys(error: Exception) -> bool:
    """Whether it is one of those that the library raises over files or texts that it cannot read.

    The one behind it, which tokenizes, raises a bare Exception.
    """
    return type(error) is Exception or isinstance(error, _REFUSALS)


def _unloadable(spec: str, error: Exception) -> Invalid:
    said = excerpt(" ".join(str(error).split()) or type(error).__name__)
    return unusable_scorer(spec, f"it cannot be loaded ({said})", "give a classifier as save_pretrained writes it")


@contextmanager
def _quiet() -> Iterator[None]:
    """The library neither draws bars nor reports what is told in a sentence."""
    had_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()


def _require_finite(file: Path) -> None:
    try:
        with safe_open(file, framework="pt", device="cpu") as opened:
            for name in list(opened.keys()):
                tensor = opened.get_tensor(name)
                if tensor.is_floating_point() and not bool(torch.isfinite(tensor.float()).all()):
                    raise weights_not_finite(file, name)
    except (SafetensorError, OSError) as error:
        raise unreadable_weights(file, excerpt(str(error))) from error
