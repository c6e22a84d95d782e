"""Trains small models of the OPT architecture: a function of text, settings and seed that a kill only delays."""

import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional
from transformers import OPTConfig, OPTForCausalLM

from neurothek.catalog.files import written
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Recipe
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import require_device
from neurothek.ingest.numerics.gpu_memory import gpu_memory_told
from neurothek.ingest.training.card import TrainingOutcome, finish_model
from neurothek.ingest.training.settings import (
    SIZES,
    TOKENIZER_FILES,
    UNFINISHED,
    Settings,
    check_settings,
    checkpoint_folders,
    output_taken,
    require_new,
)
from neurothek.ingest.training.text import (
    TrainingText,
    batch_ids,
    batch_numbers,
    divide,
    pad_id,
    reuse_tokenizer,
    train_tokenizer,
)

LEARNING_RATE = 1.5e-3
LAST_LEARNING_RATE = 0.1
WARM_UP_STEPS = 200
BETAS = (0.9, 0.95)
WEIGHT_DECAY = 0.1
CLIP = 1.0

STATE = "training_state.pt"


class Run:
    """One training run: the model, its optimizer and the step it has reached.

    A state that lies in `folder` is taken up.

    Attributes:
        step: steps done.
        loss: running mean of the training loss over about fifty steps, nats.
        tokens_seen: ids of the sequences trained on so far, BOS included.
    """

    def __init__(self, model: OPTForCausalLM, text: TrainingText, settings: Settings, folder: Path) -> None:
        self.model, self.text, self.settings, self.folder = model.train(), text, settings, folder
        self.step, self.loss, self.tokens_seen = 0, math.nan, 0
        self._state_file = folder / STATE
        self._optimizer = _optimizer(model)
        if self._state_file.exists():
            self._load()

    def advance(self, until: int, progress: Progress) -> None:
        """Train up to step `until`, saving the state every now and then."""
        while self.step < until:
            self._one_step()
            progress.advance(1, f"loss {self.loss:.3f}")
            if self.step % self.settings.save_every == 0:
                self.save()

    def _one_step(self) -> None:
        numbers = batch_numbers(self.text, seed=self.settings.seed, step=self.step, batch_size=self.settings.batch_size)
        sequences = [self.text.corpus.sequence(int(i)) for i in numbers]
        ids, targets = (tensor.to(self.model.device) for tensor in batch_ids(sequences, self.text.pad_id))
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.settings.steps)
        loss = batch_loss(self.model, ids, targets)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self._optimizer.step()
        # A running mean over about fifty steps: one batch says little.
        value = float(loss.detach())
        self.loss = value if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * value
        self.tokens_seen += sum(map(len, sequences))
        self.step += 1

    def save(self) -> None:
        """Write everything that the rest of the run depends on, to a temporary name first."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "step": self.step,
            "loss": self.loss,
            "tokens_seen": self.tokens_seen,
        }
        with written(self._state_file) as temporary:
            torch.save(state, temporary)

    def _load(self) -> None:
        state = torch.load(self._state_file, map_location=self.model.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.loss, self.tokens_seen = state["step"], state["loss"], state["tokens_seen"]


def batch_loss(
    model: OPTForCausalLM, ids: Int[Tensor, "batch time"], targets: Int[Tensor, "batch time"]
) -> Float[Tensor, ""]:
    """Scalar, nats: mean cross-entropy of the next id, taken on the bfloat16 logits.

    A float32 copy of the logits would cost more than all the rest of a step.
    """
    mask = targets.flatten() >= 0
    with torch.autocast(ids.device.type, dtype=torch.bfloat16):
        stream = model.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)
        logits = model.lm_head(stream[mask])
    return functional.cross_entropy(logits, targets.flatten()[mask])


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up over a twentieth of the steps (at most 200), then a cosine down to a tenth."""
    warm_up = max(1, min(WARM_UP_STEPS, steps // 20))
    if step < warm_up:
        return LEARNING_RATE * (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    wave = (1 + math.cos(math.pi * done)) / 2
    return LEARNING_RATE * (LAST_LEARNING_RATE + (1 - LAST_LEARNING_RATE) * wave)


def _optimizer(model: OPTForCausalLM) -> torch.optim.AdamW:
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [weight for weight in trained if weight.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=BETAS)


WEIGHTS = "model.safetensors"

# Ids of each built-in domain that the losses in the card are measured on.
MEASURED_TOKENS = 60_000


def train(
    sources: Sequence[Source],
    output: Path,
    settings: Settings,
    *,
    tokenizer: Path | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Train one model and write it, and its early checkpoints, as folders that transformers opens.

    A second call with the same arguments after a kill goes on from the last saved state and ends with the same bits.

    Args:
        sources: the domains of the text; of built-in text only what is not kept for measuring is trained on.
        output: the model's folder; early checkpoints go to folders beside it, named with -stepN.
        settings: size, steps, seed and the like.
        tokenizer: folder of an earlier model whose tokenizer is reused; None: one is trained on the text.
        progress: who watches.

    Returns:
        The early checkpoints in order, the finished model last.
    """
    watcher = progress if progress is not None else Silent()
    check_settings(settings)
    device = require_device(settings.device)
    recipe = corpora.recipe(sources, sequence_length=settings.context, tokens_per_domain=None, split="train")
    _claim(output, settings, recipe)
    if not (output / WEIGHTS).exists():
        used = _tokenizer(output, sources, settings, tokenizer)
        text = _text(recipe, used, settings, watcher)
        with _reproducible(settings.seed, device), gpu_memory_told(f"training {settings.size}"):
            model = build(settings, used)
            torch.nn.Module.to(model, device)  # the model's own `to` is untyped
            _run_through(Run(model, text, settings, output), recipe, watcher)
    # A kill may have left a state half written.
    for state in (output / STATE, *output.glob(f".{STATE}.*")):
        state.unlink(missing_ok=True)
    (output / UNFINISHED).unlink()
    return [*checkpoint_folders(output, settings).values(), output]


def _run_through(run: Run, recipe: Recipe, progress: Progress) -> None:
    """Train from stop to stop and write a model at each."""
    stops = {**checkpoint_folders(run.folder, run.settings), run.settings.steps: run.folder}
    progress.start(f"training {run.settings.size}", run.settings.steps)
    progress.advance(run.step)
    for step, folder in stops.items():
        if run.step < step:
            run.advance(step, progress)
            run.save()
        if not (folder / WEIGHTS).exists():
            outcome = TrainingOutcome(run.settings, run.step, run.tokens_seen, run.loss, recipe.sources)
            finish_model(run.model, run.text, outcome, folder, tokenizer_folder=run.folder)
    progress.finish()


def _claim(output: Path, settings: Settings, recipe: Recipe) -> None:
    """Make the folder, or find in it the same run unfinished."""
    unfinished = output / UNFINISHED
    settings_text = json.dumps({**asdict(settings), "recipe": json.loads(recipe.json())}, sort_keys=True, indent=1)
    if unfinished.exists():
        if unfinished.read_text() != settings_text:
            raise output_taken(output, "holds an unfinished run with other settings or other text")
        return
    require_new(output, settings)
    output.mkdir(parents=True, exist_ok=True)
    with written(unfinished) as temporary:
        temporary.write_text(settings_text)


def _tokenizer(output: Path, sources: Sequence[Source], settings: Settings, reused: Path | None) -> Tokenizer:
    """The run's tokenizer, in its folder from the start, so that a resumed run finds the same one."""
    if not all((output / name).exists() for name in TOKENIZER_FILES):
        unfinished = output / "tokenizer.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        if reused is None:
            train_tokenizer(sources, vocab_size=settings.vocab_size).save_pretrained(unfinished)
        else:
            reuse_tokenizer(reused, vocab_size=settings.vocab_size)
            unfinished.mkdir()
            for name in TOKENIZER_FILES:
                shutil.copyfile(reused / name, unfinished / name)
        for name in TOKENIZER_FILES:
            (unfinished / name).replace(output / name)
        shutil.rmtree(unfinished)
    return reuse_tokenizer(output, vocab_size=settings.vocab_size)


def _text(recipe: Recipe, tokenizer: Tokenizer, settings: Settings, progress: Progress) -> TrainingText:
    corpus = corpora.prepare(recipe, tokenizer, progress=progress)
    built_in = [source for source in recipe.sources if source.builtin_domain is not None]
    measured = None
    if built_in:
        recipe_here = corpora.recipe(built_in, sequence_length=settings.context, tokens_per_domain=MEASURED_TOKENS)
        measured = corpora.prepare(recipe_here, tokenizer, progress=progress)
    return divide(corpus, measured, batch_size=settings.batch_size, pad_id=pad_id(tokenizer))


@contextmanager
def _reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Deterministic kernels for the duration of a run; on a CPU the number of threads belongs to the device."""
    before = torch.are_deterministic_algorithms_enabled()
    if device.type == "cuda":
        # cuBLAS is deterministic only with a fixed workspace.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def build(settings: Settings, tokenizer: Tokenizer) -> OPTForCausalLM:
    """A model with fresh weights: ReLU, learned positions, tied embeddings, no dropout; norms as settings say."""
    shape = SIZES[settings.size]
    width = 2 * shape.d_model if settings.post_norm else shape.d_model
    config = OPTConfig(
        vocab_size=settings.vocab_size,
        hidden_size=width,
        word_embed_proj_dim=shape.d_model,
        ffn_dim=shape.d_ffn,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        max_position_embeddings=settings.context,
        do_layer_norm_before=not settings.post_norm,
        activation_function="relu",
        dropout=0.0,
        attention_dropout=0.0,
        layerdrop=0.0,
        pad_token_id=pad_id(tokenizer),
        bos_token_id=tokenizer.bos_id,
        eos_token_id=tokenizer.eos_id,
    )
    torch.manual_seed(settings.seed)
    model = OPTForCausalLM(config)
    for projection in (model.model.decoder.project_in, model.model.decoder.project_out):
        # Drawn at 0.02 as all else, it would shrink what passes to a sixth: training starts far later.
        if projection is not None:
            torch.nn.init.normal_(projection.weight, std=projection.in_features**-0.5)
    if settings.no_positions:
        table = model.model.decoder.embed_positions.weight
        table.requires_grad_(False)
        table.zero_()
    return model
