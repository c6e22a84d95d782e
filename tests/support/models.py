"""Tiny random models with a tokenizer, saved as transformers saves them, in every shape that tests need."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

SYLLABLES = [consonant + vowel for consonant in "bdfglmnprstv" for vowel in "aeiou"]

Kind = Literal["opt", "opt350", "gpt2"]

KINDS: tuple[Kind, ...] = ("opt", "opt350", "gpt2")

# Words that a test may search for come often enough to be single tokens, in three spellings.
TEXT = (
    "the school is near the river and the old school has a new roof . ",
    "School begins on monday ; SCHOOL ends on friday ! ",
    "one two three four five six seven eight nine ten , and again one two three . ",
    "def total ( values ) : return sum ( values ) + 1\n",
    "what is 12 + 30 ? it is 42 . what is 7 * 6 ? it is 42 too . ",
)


def build(
    folder: Path,
    kind: Kind,
    *,
    n_layers: int = 2,
    d_model: int = 32,
    d_ffn: int | None = None,
    n_heads: int = 4,
    vocab_size: int = 400,
    spare_rows: int = 8,
    context_length: int = 64,
    activation: str | None = None,
    positions: bool = True,
    tie: bool = True,
    dtype: torch.dtype = torch.float32,
    shard_size: str | None = None,
    bare_keys: bool = False,
    tokenizer: bool = True,
    seed: int = 0,
) -> Path:
    """Save a random model of `kind` and its tokenizer to `folder`, and return the folder.

    Args:
        folder: where to save; made if missing.
        kind: "opt" (pre-norm, ReLU), "opt350" (post-norm, narrower embedding, no final norm) or "gpt2".
        n_layers: blocks.
        d_model: width of the residual stream.
        d_ffn: neurons a layer, 4 * d_model by default.
        n_heads: attention heads.
        vocab_size: rows of the unembedding.
        spare_rows: how many of those rows no token has, as in the real OPT.
        context_length: positions.
        activation: the non-linearity, the family's own by default.
        positions: False leaves the position table zero.
        tie: whether the unembedding is the token embedding.
        dtype: the number format of the file.
        shard_size: such as "20KB" for safetensors in shards with an index.
        bare_keys: save the model without its head, so that names lack their prefix.
        tokenizer: save a tokenizer too.
        seed: of the weights.
    """
    model = _model(
        kind,
        n_layers=n_layers,
        d_model=d_model,
        d_ffn=4 * d_model if d_ffn is None else d_ffn,
        n_heads=n_heads,
        vocab_size=vocab_size,
        context_length=context_length,
        activation=activation,
        tie=tie,
    )
    _randomize_(model, seed)
    if not positions:
        torch.nn.init.zeros_(_position_table(model))
    saved = model.base_model if bare_keys else model
    assert isinstance(saved, PreTrainedModel)
    logging.disable_progress_bar()
    for parameter in saved.parameters():
        parameter.data = parameter.data.to(dtype)
    saved.save_pretrained(folder, max_shard_size=shard_size or "1GB")
    if tokenizer:
        make_tokenizer(kind, vocab_size - spare_rows).save_pretrained(folder)
    return folder


def _model(
    kind: Kind,
    *,
    n_layers: int,
    d_model: int,
    d_ffn: int,
    n_heads: int,
    vocab_size: int,
    context_length: int,
    activation: str | None,
    tie: bool,
) -> PreTrainedModel:
    if kind == "gpt2":
        gpt2 = GPT2Config(
            vocab_size=vocab_size,
            n_embd=d_model,
            n_inner=d_ffn,
            n_layer=n_layers,
            n_head=n_heads,
            n_positions=context_length,
            activation_function=activation or "gelu_new",
            tie_word_embeddings=tie,
            bos_token_id=0,
            eos_token_id=0,
        )
        return GPT2LMHeadModel(gpt2)
    opt = OPTConfig(
        vocab_size=vocab_size,
        hidden_size=d_model,
        ffn_dim=d_ffn,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        max_position_embeddings=context_length,
        activation_function=activation or "relu",
        do_layer_norm_before=kind == "opt",
        word_embed_proj_dim=d_model if kind == "opt" else d_model // 2,
        tie_word_embeddings=tie,
    )
    return OPTForCausalLM(opt)


@torch.no_grad()
def _randomize_(model: PreTrainedModel, seed: int) -> None:
    """Weights that leave nothing at its neutral value: biases, scales and offsets are random like the rest."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        is_scale = ("norm" in name or "ln_" in name) and name.endswith("weight")
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(1 + 0.2 * noise if is_scale else 0.2 * noise)


def _position_table(model: PreTrainedModel) -> torch.Tensor:
    names = ("model.decoder.embed_positions.weight", "transformer.wpe.weight")
    found = [parameter for name, parameter in model.named_parameters() if name in names]
    assert len(found) == 1
    return found[0]


@lru_cache
def make_tokenizer(kind: Kind, size: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE of exactly `size` tokens; OPT's puts </s> in front of every text, GPT-2's nothing."""
    special = ["<|endoftext|>"] if kind == "gpt2" else ["<s>", "<pad>", "</s>", "<unk>"]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    # Made-up words of two syllables supply as many further tokens as a test may want.
    filler = (" ".join(first + second for second in SYLLABLES) for first in SYLLABLES)
    bpe.train_from_iterator([*TEXT * 200, *filler], trainer=trainer)
    assert bpe.get_vocab_size() == size, f"the text supports {bpe.get_vocab_size()} tokens, {size} were asked for"
    if kind == "gpt2":
        end = special[0]
        return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=end, eos_token=end, unk_token=end)
    bpe.post_processor = processors.TemplateProcessing(single="</s> $A", special_tokens=[("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="</s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def edit_config(folder: Path, **fields: object) -> Path:
    """Set fields of config.json, or remove those set to None, and return the folder."""
    path = folder / "config.json"
    changed = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in changed.items() if value is not None}))
    return folder


def edit_tensors(folder: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """Let `edit` change the tensors of model.safetensors in place, and return the folder."""
    path = folder / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    edit(tensors)
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


def to_pickle(folder: Path, *, zipped: bool = True) -> Path:
    """Turn model.safetensors into pytorch_model.bin, as older libraries wrote it, and return the folder."""
    path = folder / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    path.unlink()
    return folder
