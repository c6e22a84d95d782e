"""Models and texts of well-known shapes with random weights: what is timed does not depend on what was learned."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tokenizers
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    OPTConfig,
    OPTForCausalLM,
    PretrainedConfig,
    PreTrainedTokenizerFast,
)
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


def _opt(n_layers: int, *, width: int, heads: int) -> PretrainedConfig:
    return OPTConfig(
        num_hidden_layers=n_layers,
        hidden_size=width,
        word_embed_proj_dim=width,
        ffn_dim=4 * width,
        num_attention_heads=heads,
    )


def _smollm2(n_layers: int) -> PretrainedConfig:
    return LlamaConfig(
        num_hidden_layers=n_layers,
        hidden_size=576,
        intermediate_size=1_536,
        num_attention_heads=9,
        num_key_value_heads=3,
        vocab_size=49_152,
        max_position_embeddings=CONTEXT_LENGTH,
        tie_word_embeddings=True,
    )


def _gemma3(n_layers: int) -> PretrainedConfig:
    return Gemma3TextConfig(
        num_hidden_layers=n_layers,
        hidden_size=640,
        intermediate_size=2_048,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=256,
        vocab_size=262_144,
        max_position_embeddings=CONTEXT_LENGTH,
        sliding_window=512,
        layer_types=["full_attention" if layer % 6 == 5 else "sliding_attention" for layer in range(n_layers)],
    )


@dataclass(frozen=True)
class KnownShape:
    """The architecture of a published model."""

    name: str  # of the model
    n_layers: int  # of all of it
    config: Callable[[int], PretrainedConfig]  # for so many layers


SHAPES: Mapping[str, KnownShape] = {
    "smollm2": KnownShape("SmolLM2-135M", 30, _smollm2),
    "gemma3-270m": KnownShape("Gemma 3 270M", 18, _gemma3),
    "opt-125m": KnownShape("OPT-125m", 12, lambda n_layers: _opt(n_layers, width=768, heads=12)),
    "opt-1.3b": KnownShape("OPT-1.3b", 24, lambda n_layers: _opt(n_layers, width=2_048, heads=32)),
}
"""What `--shape` names."""

_SENTENCE, _END = 12, "."


@contextmanager
def written(shape: KnownShape, *, n_layers: int) -> Iterator[Path]:
    """A folder with a random model of a shape, cut to some layers, whose tokenizer knows the words w5, w6, ..."""
    torch.manual_seed(0)
    logging.disable_progress_bar()
    with TemporaryDirectory() as name:
        folder, config = Path(name), shape.config(n_layers)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        pieces = ["<pad>", "<s>", "</s>", "<unk>", _END, *_words(config.vocab_size)]
        vocabulary = {piece: number for number, piece in enumerate(pieces)}
        backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
        backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        PreTrainedTokenizerFast(
            tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
        ).save_pretrained(folder)
        yield folder


def written_text(n_words: int, vocabulary: int) -> str:
    """Sentences of a dozen words of such a tokenizer, the one of rank r as often as 1 / r."""
    words = _words(vocabulary)
    drawn = [words[number] for number in _zipfian(n_words, len(words))]
    return " ".join(" ".join([*drawn[start : start + _SENTENCE], _END]) for start in range(0, n_words, _SENTENCE))


def _words(vocabulary: int) -> list[str]:
    return [f"w{number}" for number in range(5, vocabulary)]


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
    return _text(4 + _zipfian(n_sequences * CONTEXT_LENGTH, TOKENS - 4), n_sequences)


def _zipfian(n: int, n_kinds: int) -> np.ndarray:
    """int64 [n], numbers below `n_kinds`, number r - 1 as often as 1 / r."""
    weights = 1 / np.arange(1, n_kinds + 1)
    bounds = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(bounds, np.random.default_rng(0).random(n)), n_kinds - 1)


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
