"""Prompts as a model reads them, how it goes on, and the baselines that steer it in other ways."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.continued import Adjust, CachedPass, Writing, continued, same_lengths
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class PromptIds:
    """Prompts in the ids of a model."""

    plain: tuple[Int[np.ndarray, " _"], ...]  # ids of each, with the BOS that the tokenizer puts before a text
    warned: tuple[Int[np.ndarray, " _"], ...]  # the same with a warning before each, for self-debiasing

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
    """What a model wrote after a prompt."""

    text: str  # the text, without special tokens
    n_tokens: int  # how many tokens it wrote


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
    # Of all that is done to prompts this alone needs the library.
    from transformers import NoBadWordsLogitsProcessor  # noqa: PLC0415  (see above)

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
