"""Scores of a few tokens for every neuron, from the weights: what lies beyond the lists that are stored."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from catalog.progress import Progress, Silent
from catalog.tables.traces import TOKEN_SCORES
from ingest.lens.logit_lens import ranks
from ingest.lens.vocabulary import Vocabulary
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer

# Scores of so many neurons by tokens of the vocabulary are held at once: 50 MB for the 50,265 tokens of OPT.
_BLOCK = 256


def token_scores(
    transformer: Transformer,
    tokenizer: Tokenizer,
    token_ids: Sequence[int],
    *,
    layers: tuple[int, int],
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Raw score e_w . v, z-score and place of each token in the whole vocabulary, for every neuron of some layers.

    Ranks count from 1 over the unmasked vocabulary; tokens of one score share a rank ([G] 3; z is ours).

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        token_ids: the tokens.
        layers: first and last layer.
        progress: hears of each layer.

    Returns:
        Rows of `TOKEN_SCORES`, sorted by layer, neuron and token.
    """
    progress = progress or Silent()
    vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
    ids = np.unique(np.asarray(token_ids, dtype=np.int64))
    rows = torch.from_numpy(np.searchsorted(vocabulary.ids, ids)).to(vocabulary.rows.device)
    first, last = layers
    progress.start("scores", last - first + 1)
    frames = []
    for layer in range(first, last + 1):
        values = transformer.value_vectors(layer)
        blocks = [_scored(vocabulary, block, rows) for block in torch.split(values, _BLOCK)]
        frames.append(_frame(layer, ids, [torch.cat(parts).cpu().numpy() for parts in zip(*blocks, strict=True)]))
        progress.advance()
    progress.finish()
    return TOKEN_SCORES.check(pl.concat(frames))


@torch.inference_mode()
def _scored(
    vocabulary: Vocabulary, values: Float[Tensor, "n_neurons d_model"], rows: Int[Tensor, " n_tokens"]
) -> tuple[
    Float[Tensor, "n_neurons n_tokens"],
    Float[Tensor, "n_neurons n_tokens"],
    Int[Tensor, "n_neurons n_tokens"],
    Int[Tensor, "n_neurons n_tokens"],
]:
    """Score, z-score, rank and rank from the bottom of the tokens in `rows`."""
    scores = values.float() @ vocabulary.rows.T
    asked = rows.expand(len(scores), -1)
    own = scores.gather(1, asked)
    # float64: the mean of 50,000 float32 scores of either sign would lose digits.
    sd, mean = torch.std_mean(scores.double(), dim=1, correction=0, keepdim=True)
    z = torch.where(sd > 0, (own - mean) / sd, torch.zeros_like(sd))
    return own, z, ranks(scores, asked), ranks(scores.neg_(), asked)


def _frame(layer: int, ids: np.ndarray, found: Sequence[np.ndarray]) -> pl.DataFrame:
    score, z, rank, from_bottom = (part.reshape(-1) for part in found)
    n_neurons = len(score) // len(ids)
    columns = {
        "layer": np.full(len(score), layer),
        "neuron": np.repeat(np.arange(n_neurons), len(ids)),
        "token_id": np.tile(ids, n_neurons),
        "score": score,
        "z_score": z,
        "rank": rank,
        "rank_from_bottom": from_bottom,
    }
    return pl.DataFrame(
        {name: pl.Series(values, strict=False).cast(TOKEN_SCORES.columns[name]) for name, values in columns.items()}
    )
