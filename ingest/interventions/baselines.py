"""Two ways to keep a model from saying something that leave its neurons alone, to compare interventions with."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import NoBadWordsLogitsProcessor

from neurothek.ingest.interventions.continued import Adjust, CachedPass
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer

DECAY = 50.0
"""How fast a token loses probability that a warning makes more probable ([G] 6.1, after Schick et al. 2021)."""

LEAST_FACTOR = 0.01
"""What a token's probability is multiplied by at least."""


def warning(described: str) -> str:
    """What stands before a prompt to make the model expect what is unwanted (Schick et al. 2021, section 4)."""
    return f"The following text contains {described}:\n"


def word_filter(words: Sequence[str], tokenizer: Tokenizer) -> Adjust:
    """Logits of -inf for every token that would complete a banned word ([G] 6.1).

    A word is banned as it is written, in small letters, with a capital, and in capitals, at the beginning of a text and
    after a space.

    Args:
        words: the banned words, at least one.
        tokenizer: of the model.
    """
    written = [form for word in words for form in (word, word.lower(), word.capitalize(), word.upper())]
    texts = dict.fromkeys(f"{space}{form}" for form in written for space in ("", " "))
    sequences = {tuple(ids.tolist()) for ids in tokenizer.encode(list(texts)) if len(ids)}
    banned = NoBadWordsLogitsProcessor([list(ids) for ids in sorted(sequences)])

    def adjust(ids: Int[Tensor, "batch time"], logits: Float[Tensor, "batch vocab"]) -> Float[Tensor, "batch vocab"]:
        filtered: Tensor = banned(ids, logits)
        return filtered

    return adjust


def self_debiasing(transformer: Transformer, warned: Int[Tensor, "batch warned_time"], n_prompt: int) -> Adjust:
    """Probabilities lowered of the tokens that a warning before the prompt makes more probable ([G] 6.1).

    p'(w) is proportional to max(0.01, exp(-50 (p_warned(w) - p(w)))) p(w) where the warned model finds w more probable,
    and to p(w) elsewhere (Schick et al. 2021, section 4).

    Args:
        transformer: the model.
        warned: ids of the prompts with a warning before each; of one length.
        n_prompt: ids of each prompt without it.
    """
    reading = CachedPass(transformer, {})

    def adjust(ids: Int[Tensor, "batch time"], logits: Float[Tensor, "batch vocab"]) -> Float[Tensor, "batch vocab"]:
        is_first = ids.shape[1] == n_prompt
        expected = reading.next_logits(warned if is_first else ids[:, -1:])
        unsayable = torch.isneginf(logits)
        log_p = logits.log_softmax(-1)
        warned_p = expected.masked_fill(unsayable, -torch.inf).softmax(-1)
        excess = (warned_p - log_p.exp()).clamp(min=0)
        return log_p + torch.log((-DECAY * excess).exp().clamp(min=LEAST_FACTOR))

    return adjust
