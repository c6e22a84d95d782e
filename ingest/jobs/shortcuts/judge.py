"""What a model would predict from a state that replaces its last one, beside what it does predict ([D] 4)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.lens.logit_lens import Lens, ranks, top_rows, tops

N_LISTED = 5
"""Tokens that are listed of a substitute."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One substitute of some sentences, read through the model's own head.

    Attributes:
        tops: the row of the vocabulary with the largest logit, ties to the first.
        probabilities: float64, its probability.
        seconds: float64, the second largest probability; 0 in a vocabulary of one.
        ranks: 1 + the rows to which the model gives a strictly larger logit than to this one.
        surprisals: float64 nats, minus the logarithm of the probability that the model gives it.
    """

    tops: Int[Tensor, " sentences"]
    probabilities: Float[Tensor, " sentences"]
    seconds: Float[Tensor, " sentences"]
    ranks: Int[Tensor, " sentences"]
    surprisals: Float[Tensor, " sentences"]


@dataclass(frozen=True, eq=False)
class Listed:
    """The tokens that a substitute puts first.

    Attributes:
        rows: of the vocabulary, best first, ties to the first.
        probabilities: float64.
    """

    rows: Int[Tensor, "sentences listed"]
    probabilities: Float[Tensor, "sentences listed"]


class Judge:
    """Reads substitutes of some sentences beside the model's own last states."""

    def __init__(self, lens: Lens, last: Float[Tensor, "sentences d_model"]) -> None:
        """Take the last states, before the final norm."""
        self._lens = lens
        self._own = lens.logits(last)
        self._log_sums = self._own.logsumexp(1).double()
        self.own = self._read(self._own)
        """The model's own prediction, as a reading like the others."""

    def read(self, substitutes: Float[Tensor, "sentences d_model"]) -> Reading:
        """Read one state a sentence."""
        return self._read(self._lens.logits(substitutes))

    def _read(self, logits: Float[Tensor, "sentences vocab"]) -> Reading:
        log_sums = logits.logsumexp(1).double()
        largest, found = tops(logits)
        return Reading(
            tops=found,
            probabilities=(largest.double() - log_sums).exp(),
            seconds=(_seconds(logits, found, largest).double() - log_sums).exp(),
            ranks=ranks(self._own, found[:, None])[:, 0],
            surprisals=self._log_sums - self._own.gather(1, found[:, None])[:, 0].double(),
        )


def first_tokens(lens: Lens, states: Float[Tensor, "sentences d_model"]) -> Listed:
    """The first tokens of one state a sentence."""
    logits = lens.logits(states)
    best = top_rows(logits, N_LISTED)
    log_sums = logits.logsumexp(1).double()
    return Listed(best, (logits.gather(1, best).double() - log_sums[:, None]).exp())


def _seconds(
    logits: Float[Tensor, "sentences vocab"], found: Int[Tensor, " sentences"], largest: Float[Tensor, " sentences"]
) -> Float[Tensor, " sentences"]:
    """[sentences] the largest logit but one; the logits are as they were afterwards."""
    logits.scatter_(1, found[:, None], -torch.inf)
    second = logits.amax(1)
    logits.scatter_(1, found[:, None], largest[:, None])
    return second
