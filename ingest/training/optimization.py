"""The optimization of one model: a step depends on seed, step and state alone, and the state survives a kill."""

import math
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional
from transformers import OPTForCausalLM

from neurothek.catalog.files import written
from neurothek.catalog.progress import Progress
from neurothek.ingest.training.settings import Settings
from neurothek.ingest.training.text import TrainingText, batch_ids, batch_numbers

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
    wanted = targets.flatten() >= 0
    with torch.autocast(ids.device.type, dtype=torch.bfloat16):
        stream = model.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)
        logits = model.lm_head(stream[wanted])
    return functional.cross_entropy(logits, targets.flatten()[wanted])


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
