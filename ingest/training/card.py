"""The end of a training run: the model's files, its losses, and the card that says how it came about."""

import copy
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import OPTForCausalLM
from transformers.utils import logging

from neurothek.catalog.advice import command_line
from neurothek.catalog.variants import NO_POSITION, POST_NORM
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.training.settings import TOKENIZER_FILES, Settings
from neurothek.ingest.training.text import TrainingText, batch_ids

EVALUATED_AT_ONCE = 16
# Weights of the unigram in the bigram's mixture; the control gets the one that suits it best.
SMOOTHINGS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@dataclass(frozen=True)
class HeldOut:
    """Mean losses over the predicted ids of one domain's held-out sequences, in nats."""

    n_predicted: int
    model: float
    bigram: float
    unigram: float


def held_out_losses(model: OPTForCausalLM, text: TrainingText) -> dict[str, HeldOut]:
    """Loss of the model and of its two controls for every domain that has held-out text."""
    control = Bigram(text, model.config.vocab_size)
    return {
        domain: HeldOut(
            n_predicted=sum(len(ids) - 1 for ids in sequences),
            model=model_loss(model, sequences, text.pad_id),
            bigram=control.loss(sequences),
            unigram=control.unigram_loss(sequences),
        )
        for domain, sequences in text.held_out.items()
        if any(len(ids) > 1 for ids in sequences)
    }


@torch.inference_mode()
def model_loss(model: OPTForCausalLM, sequences: Sequence[np.ndarray], pad_id: int) -> float:
    """Mean nats per predicted id, in float32."""
    total, n = 0.0, 0
    for start in range(0, len(sequences), EVALUATED_AT_ONCE):
        ids, targets = batch_ids(sequences[start : start + EVALUATED_AT_ONCE], pad_id)
        mask = targets.flatten() >= 0
        stream = model.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)
        total += float(functional.cross_entropy(model.lm_head(stream[mask]), targets.flatten()[mask], reduction="sum"))
        n += int(mask.sum())
    return total / n


class Bigram:
    """The control: how well the id before predicts an id, by counts over the same training sequences.

    p(b | a) = (count(a b) + s p(b)) / (count(a) + s), with the unigram p(b) = (count(b) + 1) / (n + vocabulary).
    """

    def __init__(self, text: TrainingText, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        pairs = _pairs([text.corpus.sequence(int(i)) for i in text.trained])
        self._pairs, self._pair_counts = np.unique(pairs[:, 0] * vocab_size + pairs[:, 1], return_counts=True)
        self._before = np.bincount(pairs[:, 0], minlength=vocab_size)
        after = np.bincount(pairs[:, 1], minlength=vocab_size)
        self._unigram = (after + 1) / (len(pairs) + vocab_size)

    def unigram_loss(self, sequences: Sequence[np.ndarray]) -> float:
        """Mean nats per predicted id, whatever stands before it."""
        return float(-np.log(self._unigram[_pairs(sequences)[:, 1]]).mean())

    def loss(self, sequences: Sequence[np.ndarray]) -> float:
        """Mean nats per predicted id, with the smoothing that is best on these very sequences."""
        pairs = _pairs(sequences)
        codes = pairs[:, 0] * self._vocab_size + pairs[:, 1]
        place = np.minimum(np.searchsorted(self._pairs, codes), len(self._pairs) - 1)
        counts = np.where(self._pairs[place] == codes, self._pair_counts[place], 0)
        before, after = self._before[pairs[:, 0]], self._unigram[pairs[:, 1]]
        return min(float(-np.log((counts + s * after) / (before + s)).mean()) for s in SMOOTHINGS)


def _pairs(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """int64 [n, 2], each id with the one after it, inside sequences."""
    return np.concatenate([np.stack([ids[:-1], ids[1:]], axis=1) for ids in sequences]).astype(np.int64)


@dataclass(frozen=True)
class TrainingOutcome:
    """What a card says about a run besides what can be computed from the model."""

    settings: Settings
    step: int
    tokens_seen: int
    training_loss: float
    sources: tuple[Source, ...]

    @property
    def variant(self) -> str | None:
        """What sets the model apart from the plain one of its size, None for the plain one."""
        if self.step < self.settings.steps or self.step == 0:
            return f"step {self.step}"
        if self.settings.no_positions:
            return NO_POSITION
        if self.settings.post_norm:
            return POST_NORM
        return f"seed {self.settings.seed}" if self.settings.seed else None


def finish_model(
    model: OPTForCausalLM, text: TrainingText, outcome: TrainingOutcome, folder: Path, *, tokenizer_folder: Path
) -> None:
    """Write config, float16 weights, tokenizer and card to `folder`; the weights come last and complete it."""
    shipped = copy.deepcopy(model).cpu().half().eval()
    shipped.config.dtype = torch.float16
    shipped.config.neurothek = {
        "family": "mini-opt",
        "variant": outcome.variant,
        "training_tokens": outcome.tokens_seen,
        "position_encoding": "none" if outcome.settings.no_positions else "learned",
    }
    scores = held_out_losses(copy.deepcopy(shipped).float(), text)
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    _save(shipped, unfinished)
    (unfinished / "README.md").write_text(card(shipped, text, outcome, scores))
    folder.mkdir(exist_ok=True)
    if folder != tokenizer_folder:
        for name in TOKENIZER_FILES:
            shutil.copyfile(tokenizer_folder / name, folder / name)
    for path in sorted(unfinished.iterdir(), key=lambda path: path.suffix == ".safetensors"):
        path.replace(folder / path.name)
    unfinished.rmdir()


def _save(model: OPTForCausalLM, folder: Path) -> None:
    """Config and weights, without the library's own progress bar between ours."""
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
    finally:
        if was_enabled:
            logging.enable_progress_bar()


def card(model: OPTForCausalLM, text: TrainingText, outcome: TrainingOutcome, scores: Mapping[str, HeldOut]) -> str:
    """The model card, in Markdown."""
    config, settings = model.config, outcome.settings
    n_parameters = sum(weight.numel() for weight in model.parameters())
    norms, projections = "before the blocks", ""
    if settings.post_norm:
        norms = f"after the blocks, embeddings of width {config.word_embed_proj_dim}"
        projections = (
            "\n  No norm before the unembedding. The projections to the stream and back start with variance 1/inputs."
        )
    made, loss = "left untrained", ""
    if outcome.step:
        made = "trained from nothing"
        last = f"{outcome.training_loss:.3f} nats a token"
        loss = f"\n  Last training loss (running mean over about fifty steps): {last}."
    positions = "an all-zero, never trained position table" if settings.no_positions else "learned positions"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tokenizers"))
    return f"""# A small OPT{f" ({outcome.variant})" if outcome.variant else ""}

A language model of the OPT architecture, {made} by `neurothek train` for studying its neurons.
It is not an assistant and does not write useful text.

- **Architecture**: {config.num_hidden_layers} layers of {config.ffn_dim} ReLU neurons, width {config.hidden_size},
  {config.num_attention_heads} heads, norms {norms}, {positions}, tied embeddings,
  context {config.max_position_embeddings}; {n_parameters:,} parameters, stored in float16.{projections}
- **Tokenizer**: byte-level BPE of {config.vocab_size:,} tokens; `</s>` is prepended to every sequence.
- **Training**: {outcome.step:,} of {settings.steps:,} steps of {settings.batch_size} sequences;
  {outcome.tokens_seen:,} tokens seen ({outcome.tokens_seen / text.n_tokens:.2f} epochs of {text.n_tokens:,});
  AdamW with warm-up and cosine decay, bfloat16 autocast, seed {settings.seed}, on {settings.device}.{loss}
- **Libraries**: Python {platform.python_version()}, {libraries}.

## Held-out loss

Nats a token. Of built-in text, on the documents that are kept for measuring; of other text, on every fiftieth
sequence, whose neighbours were trained on. The controls are counts over the same training sequences; the bigram has
the smoothing that suits it best on the held-out text.

| domain | tokens predicted | model | bigram | unigram |
|---|---|---|---|---|
{_rows(scores)}

## Text

{_titles(outcome.sources)}

## To rebuild

With the same text, Python and library versions, on the same kind of device:

    {_command(outcome)}
"""


def _rows(scores: Mapping[str, HeldOut]) -> str:
    return "\n".join(
        f"| {domain} | {score.n_predicted:,} | {score.model:.3f} | {score.bigram:.3f} | {score.unigram:.3f} |"
        for domain, score in sorted(scores.items())
    )


BUILTIN_TITLES = {
    "code": "source of Python's standard library, without docstrings and comments",
    "math": "arithmetic questions made from a seed",
    "prose": "docstrings of Python's standard library and its language reference",
}


def _titles(sources: tuple[Source, ...]) -> str:
    lines = []
    for source in sources:
        built_in = source.builtin_domain
        titles = [path.stem.replace("_", " ").title() for path in source.text.files() or ()] if built_in is None else []
        title = BUILTIN_TITLES[built_in] if built_in is not None else ", ".join(titles)
        lines.append(f"- `{source.domain}`: {title}")
    return "\n".join(lines)


def _command(outcome: TrainingOutcome) -> str:
    settings = outcome.settings
    words = ["--size", settings.size, "--steps", str(settings.steps), "--seed", str(settings.seed)]
    words += ["--no-positions"] if settings.no_positions else []
    words += ["--post-norm"] if settings.post_norm else []
    words += [word for step in settings.checkpoint_at for word in ("--checkpoint-at", str(step))]
    for source in outcome.sources:
        words += ["--corpus", f"{source.domain}=PATH" if source.builtin_domain is None else source.location]
    return command_line("train", *words, "--device", settings.device, "--output", "FOLDER")
