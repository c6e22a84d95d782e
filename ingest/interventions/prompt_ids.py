"""Prompts as a model reads them, and how it goes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.interventions.baselines import warning
from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.continued import Adjust, Writing, continued, same_lengths
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class PromptIds:
    """Prompts in the ids of a model.

    Attributes:
        plain: ids of each, with the BOS that the tokenizer puts before a text.
        warned: the same with a warning before each, for self-debiasing.
    """

    plain: tuple[Int[np.ndarray, " _"], ...]
    warned: tuple[Int[np.ndarray, " _"], ...]

    @classmethod
    def of(
        cls, texts: Sequence[str], tokenizer: Tokenizer, *, described: str, length: int, context_length: int
    ) -> "PromptIds":
        """Prompts that fit a model's context with what is written after them.

        Args:
            texts: the prompts.
            tokenizer: of the model.
            described: what the warning warns of.
            length: tokens that are to be written.
            context_length: positions of the model.
        """
        start = np.array([] if tokenizer.bos_id is None else [tokenizer.bos_id], dtype=np.int32)
        (warned_of,) = tokenizer.encode([warning(described)])
        plain, warned = [], []
        for number, ids in enumerate(tokenizer.encode(list(texts)), start=1):
            plain.append(np.concatenate([start, ids]))
            warned.append(np.concatenate([start, warned_of, ids]))
            if not len(ids):
                raise Invalid(
                    f"prompt {number} cannot be continued: it has no token",
                    "give it a text, or leave it out",
                    option="prompts",
                    value=texts[number - 1],
                )
            if len(warned[-1]) + length > context_length:
                raise LimitExceeded(
                    f"prompt {number} cannot be continued: its {len(ids)} tokens, the {len(warned_of)} of a warning"
                    f" before them and {length} after them do not fit the model's context of {context_length}",
                    "shorten it, or the continuation",
                    what="tokens",
                    needed=len(warned[-1]) + length,
                    limit=context_length,
                )
        return cls(tuple(plain), tuple(warned))

    def longest(self) -> int:
        """Ids of the longest prompt, its warning included."""
        return max(map(len, self.warned))


@dataclass(frozen=True)
class Continuation:
    """What a model wrote after a prompt.

    Attributes:
        text: the text, without special tokens.
        n_tokens: how many tokens it wrote.
    """

    text: str
    n_tokens: int


def continue_prompts(
    transformer: Transformer,
    tokenizer: Tokenizer,
    prompts: PromptIds,
    writing: Writing,
    *,
    changes: Changes | None = None,
    adjust: Callable[[Sequence[int]], Adjust] | None = None,
) -> list[Continuation]:
    """Continue prompts, those of one length together.

    Args:
        transformer: a model that predicts the next token.
        tokenizer: its tokenizer.
        prompts: the prompts.
        writing: how many tokens, and how they are chosen.
        changes: what becomes of neurons.
        adjust: numbers of prompts that are continued together, from 0 -> what becomes of their logits.

    Returns:
        One a prompt, in their order.
    """
    sayable = torch.zeros(transformer.shape.vocab_size, dtype=torch.bool, device=transformer.device)
    sayable[torch.from_numpy(tokenizer.ids.astype(np.int64)).to(transformer.device)] = True
    written: dict[int, Continuation] = {}
    for numbers in same_lengths(prompts.plain):
        ids = np.stack([prompts.plain[number] for number in numbers])
        added = continued(
            transformer,
            ids,
            numbers,
            writing,
            sayable=sayable,
            end=tokenizer.eos_id,
            changes=changes,
            adjust=None if adjust is None else adjust(numbers),
        )
        for number, prompt, after in zip(numbers, ids, added, strict=True):
            written[number] = Continuation(_text_after(tokenizer, prompt, after), len(after))
    return [written[number] for number in range(len(prompts.plain))]


def _text_after(tokenizer: Tokenizer, prompt: Int[np.ndarray, " _"], after: Int[np.ndarray, " _"]) -> str:
    """The text of ids as it stands after a prompt: some tokenizers drop the space before a text's first word."""
    before, whole = tokenizer.decode(prompt), tokenizer.decode(np.concatenate([prompt, after]))
    return whole[len(before) :] if whole.startswith(before) else tokenizer.decode(after)
