"""The end of a training run: the model's files and the card that says how it came about and how good it is."""

import copy
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import OPTForCausalLM
from transformers.utils import logging

from neurothek.catalog.advice import command_line
from neurothek.catalog.variants import NO_POSITION, POST_NORM
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.training.losses import HeldOut, held_out_losses
from neurothek.ingest.training.settings import TOKENIZER_FILES, Settings
from neurothek.ingest.training.text import TrainingText


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
        said = BUILTIN_TITLES[built_in] if built_in is not None else ", ".join(titles)
        lines.append(f"- `{source.domain}`: {said}")
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
