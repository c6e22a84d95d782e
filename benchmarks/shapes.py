"""Models and texts of the OPT-125m shape with random weights: what is timed does not depend on what was learned."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tokenizers
import torch
from transformers import GPT2Config, GPT2LMHeadModel, OPTConfig, OPTForCausalLM
from transformers.utils import logging

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.cutting import Cuts
from neurothek.ingest.models.tokenizer import Tokenizer

D_MODEL, D_FFN, N_LAYERS, ROWS, TOKENS, CONTEXT_LENGTH = 768, 3072, 12, 50_272, 50_265, 2048


@contextmanager
def opt_125m(
    *, n_layers: int = N_LAYERS, d_ffn: int = D_FFN, activation: str = "relu", active_share: float = 0.5
) -> Iterator[Path]:
    """A folder with such a model, of which about `active_share` of the coefficients are above 0."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    model = OPTForCausalLM(OPTConfig(num_hidden_layers=n_layers, ffn_dim=d_ffn, activation_function=activation))
    # Keys are N(0, 0.02), normalized inputs have length sqrt(768).
    spread = 0.02 * D_MODEL**0.5
    with torch.no_grad():
        for layer in range(n_layers):
            bias = model.get_submodule(f"model.decoder.layers.{layer}.fc1").bias
            assert isinstance(bias, torch.Tensor)
            bias.fill_(-spread * float(torch.special.ndtri(torch.tensor(1 - active_share))))
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        del model
        yield Path(folder)


@contextmanager
def gpt2_small(*, n_layers: int) -> Iterator[Path]:
    """A folder with a random model of the shape of GPT-2 small."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    model = GPT2LMHeadModel(GPT2Config(n_layer=n_layers))
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        del model
        yield Path(folder)


def tokenizer(size: int = TOKENS) -> Tokenizer:
    """The ids of a tokenizer, OPT's unless asked, and nothing else of it."""
    return Tokenizer(
        name="ids",
        sha256="",
        identity="{}",
        ids=np.arange(size, dtype=np.int32),
        bos_id=2,
        eos_id=2,
        closing_id=None,
        mask_id=None,
        special_ids=frozenset({0, 1, 2, 3}),
        pieces=(),
        _backend=tokenizers.Tokenizer(tokenizers.models.BPE()),
        _cuts=Cuts(None, ()),
        _byte_level=True,
        _byte_fallback=False,
        _part_mark="",
    )


def random_text(n_sequences: int) -> Corpus:
    """Full-length sequences of random ids in two domains."""
    return _text(np.random.default_rng(0).integers(4, TOKENS, size=n_sequences * CONTEXT_LENGTH), n_sequences)


def zipfian_text(n_sequences: int) -> Corpus:
    """The same with the id of rank r as often as 1 / r, so that n-grams come again as they do in language."""
    weights = 1 / np.arange(1, TOKENS - 3)
    bounds = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(bounds, np.random.default_rng(0).random(n_sequences * CONTEXT_LENGTH))
    return _text(4 + np.minimum(drawn, TOKENS - 5), n_sequences)


def _text(ids: np.ndarray, n_sequences: int) -> Corpus:
    tokens = ids.astype(np.int32)
    return Corpus(
        name="random",
        sha256="",
        text_sha256="",
        tokenizer_sha256="",
        sequence_length=CONTEXT_LENGTH,
        has_bos=True,
        domains=("first", "second"),
        tokens=tokens,
        offsets=np.arange(n_sequences + 1, dtype=np.int64) * CONTEXT_LENGTH,
        domain_of=(np.arange(n_sequences) * 2 // n_sequences).astype(np.int16),
        starts_document=np.ones(n_sequences, dtype=np.bool_),
        recipe="{}",
    )
