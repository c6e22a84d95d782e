"""The logit lens: a residual stream read through the model's own end, wherever it is taken ([G] 5)."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Norm, Transform, Transformer


@dataclass(frozen=True, eq=False)
class Lens:
    """The end of a model."""

    vocabulary: Vocabulary  # the unmasked rows of the unembedding; a row here is a place in them, not a token id
    norm: Norm | None  # the final norm; None where the model has none
    # what the head of a masked model does before the unembedding; None in other models
    transform: Transform | None = None
    bias: Float[Tensor, " vocab"] | None = None  # [vocab] what such a head adds to each token's logit
    cap: float | None = None  # the c of c * tanh(logit / c), where the head bounds its logits so

    @classmethod
    def of(cls, transformer: Transformer, tokenizer: Tokenizer) -> "Lens":
        """The lens of a model, in float32 whatever the model computes in."""
        bias = transformer.token_bias()
        if bias is not None:
            bias = bias[torch.from_numpy(tokenizer.ids.astype(np.int64)).to(bias.device)]
        vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
        return cls(vocabulary, transformer.final_norm(), transformer.transform(), bias, transformer.logit_cap)

    def logits(self, streams: Float[Tensor, "streams d_model"]) -> Float[Tensor, "streams vocab"]:
        """[streams vocab] logits of the unmasked tokens."""
        streams = streams.float()
        if self.norm is not None:
            streams = self.norm(streams)
        if self.transform is not None:
            streams = self.transform(streams)
        logits = streams @ self.vocabulary.rows.T
        if self.bias is not None:
            logits = logits + self.bias
        return logits if self.cap is None else torch.tanh(logits / self.cap) * self.cap

    def readers(
        self, rows: Float[Tensor, "n d_model"], streams: Float[Tensor, "n d_model"]
    ) -> Float[Tensor, "n d_model"]:
        """[n d_model] what, times a part of a stream, says what it adds to row . norm(stream): divisors are held."""
        if self.norm is None:
            return rows
        return self.norm.readers_(rows.clone()) / self.divisors(streams)[:, None]

    def divisors(self, streams: Float[Tensor, "streams d_model"]) -> Float[Tensor, " streams"]:
        """[streams] what the final norm divides a stream by; 1 where there is no final norm."""
        if self.norm is None:
            return torch.ones(len(streams), device=streams.device)
        return self.norm.divisors(streams)


def tops(logits: Float[Tensor, "streams vocab"]) -> tuple[Float[Tensor, " streams"], Int[Tensor, " streams"]]:
    """([streams], [streams]) the largest logit of each stream and its row, ties to the first."""
    largest, rows = logits.max(1)
    return largest, rows


def top_rows(logits: Float[Tensor, "streams vocab"], k: int) -> Int[Tensor, "streams k"]:
    """[streams k] the rows of the `k` largest logits of each stream, or of all there are, ties to the first."""
    if len(logits) == 1 and k < logits.shape[1]:
        # Of one stream those that are not below the k-th are few, and put into order faster than the whole vocabulary.
        # What is no number goes before all, and is below none.
        candidates = (~(logits[0] < logits[0].topk(k).values[-1])).nonzero()[:, 0]
        return candidates[logits[0, candidates].sort(descending=True, stable=True).indices[:k]][None]
    return logits.sort(dim=1, descending=True, stable=True).indices[:, :k]


def ranks(
    logits: Float[Tensor, "streams vocab"], rows: Int[Tensor, "streams columns"]
) -> Int[Tensor, "streams columns"]:
    """[streams columns] 1 + how many rows have a strictly larger logit than each row asked about."""
    scratch = torch.empty_like(logits)
    # Compared into floats, which is faster than into booleans; counts below 2^24 are exact in float32.
    above = [torch.gt(logits, logit[:, None], out=scratch).sum(1) for logit in logits.gather(1, rows).T]
    return torch.stack(above, dim=1).long() + 1


def probabilities_(
    logits: Float[Tensor, "streams vocab"], rows: Int[Tensor, "streams columns"], *, largest: Float[Tensor, " streams"]
) -> Float[Tensor, "streams columns"]:
    """[streams columns] float64 probabilities of the rows asked about; the logits are used up."""
    exponents = logits.sub_(largest[:, None]).exp_()
    return exponents.gather(1, rows).double() / exponents.sum(1, keepdim=True).double()
