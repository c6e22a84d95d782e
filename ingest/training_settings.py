"""What a trained model is made of: its size, its seed, its steps, and the fresh weights that these give."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from transformers import OPTConfig, OPTForCausalLM

from ingest.tokenization import Tokenizer
from ingest.training_errors import SizeUnknown, StepsInvalid, VocabularyTooSmall
from ingest.training_text import SMALLEST_VOCABULARY, pad_id

VOCAB_SIZE = 8_192
CONTEXT = 256
BATCH_SIZE = 16


@dataclass(frozen=True)
class Dimensions:
    """The shape of one size."""

    n_layers: int
    d_model: int
    d_ffn: int
    n_heads: int


SIZES: Mapping[str, Dimensions] = {
    "0.7m": Dimensions(3, 64, 256, 2),
    "2m": Dimensions(4, 128, 512, 4),
    "5m": Dimensions(6, 192, 768, 6),
}


@dataclass(frozen=True)
class Settings:
    """What makes a trained model what it is; with the text, the device and the library versions it fixes every bit.

    Attributes:
        size: a key of `SIZES`.
        steps: optimizer steps.
        seed: of the fresh weights and of the order of the text.
        no_positions: the position table is zero and stays so.
        checkpoint_at: steps after which the model is written too.
        vocab_size: tokens of the tokenizer, special ones included.
        context: ids a sequence holds, BOS included.
        batch_size: sequences a step.
        device: as PyTorch names it.
        save_every: steps between two saved states, which change no number.
    """

    size: str
    steps: int
    seed: int = 0
    no_positions: bool = False
    checkpoint_at: tuple[int, ...] = ()
    vocab_size: int = VOCAB_SIZE
    context: int = CONTEXT
    batch_size: int = BATCH_SIZE
    device: str = "cpu"
    save_every: int = 200


def check(settings: Settings) -> None:
    """Refuse settings that no run can have.

    Raises:
        SizeUnknown: the size is not in the table.
        StepsInvalid: no step, or a checkpoint outside the run.
        VocabularyTooSmall: fewer tokens than bytes and special tokens.
    """
    if settings.size not in SIZES:
        raise SizeUnknown(settings.size, list(SIZES))
    if settings.steps < 1:
        raise StepsInvalid(f"a run of {settings.steps} steps")
    for step in settings.checkpoint_at:
        if not 1 <= step < settings.steps:
            raise StepsInvalid(f"a checkpoint at step {step} of {settings.steps}")
    if settings.vocab_size < SMALLEST_VOCABULARY:
        raise VocabularyTooSmall(settings.vocab_size, SMALLEST_VOCABULARY)


def build(settings: Settings, tokenizer: Tokenizer) -> OPTForCausalLM:
    """A model with fresh weights: pre-norm, ReLU, learned positions, tied embeddings, no dropout."""
    shape = SIZES[settings.size]
    config = OPTConfig(
        vocab_size=settings.vocab_size,
        hidden_size=shape.d_model,
        word_embed_proj_dim=shape.d_model,
        ffn_dim=shape.d_ffn,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        max_position_embeddings=settings.context,
        do_layer_norm_before=True,
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
    if settings.no_positions:
        table = model.model.decoder.embed_positions.weight
        table.requires_grad_(False)
        table.zero_()
    return model
