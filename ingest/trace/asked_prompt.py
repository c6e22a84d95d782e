"""The ids of a prompt as a person types it, and the position that is asked about."""

import numpy as np
from jaxtyping import Int

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.errors import empty_prompt
from neurothek.ingest.models.tokenizer import Tokenizer


def ids_of(tokenizer: Tokenizer, prompt: str, *, context_length: int) -> Int[np.ndarray, " time"]:
    """[time] the ids that a model reads, a BOS in front where the tokenizer puts one there."""
    # Bytes of a command line that are no UTF-8 come as lone surrogates, which no tokenizer reads.
    own = tokenizer.encode([prompt.encode("utf-8", "replace").decode("utf-8")])[0]
    if not len(own):
        raise empty_prompt(prompt)
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    if len(own) + len(bos) > context_length:
        length = len(own) + len(bos)
        raise LimitExceeded(
            f"the prompt has {length:,} tokens, but the model reads at most {context_length:,}",
            "shorten the prompt",
            what="tokens",
            needed=length,
            limit=context_length,
        )
    return np.concatenate([np.array(bos, dtype=np.int32), own])


def place_of(ids: Int[np.ndarray, " time"], position: int | None) -> int:
    """The position, 0-based, of one that may be counted from the end; the last one of None."""
    asked = len(ids) - 1 if position is None else position
    if not -len(ids) <= asked < len(ids):
        raise Invalid(
            f"there is no position {asked} in a prompt of {len(ids):,} tokens",
            f"positions are 0 to {len(ids) - 1:,}, or -1 for the last",
            option="position",
            value=asked,
        )
    return asked % len(ids)
