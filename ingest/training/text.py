"""What a model of ours is trained on: its tokenizer, its sequences and their order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from neurothek.catalog.problems import LimitExceeded
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.sources.source import Source, documents
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.training.settings import require_files, unfit_tokenizer

BOS, PAD, UNKNOWN = "</s>", "<pad>", "<unk>"

# Of text that has no part kept for measuring, every fiftieth sequence is held out.
HELD_OUT = 50

# What the loss ignores: padding, and nothing else.
NO_TARGET = -100


@dataclass(frozen=True, eq=False)
class TrainingText:
    """Sequences to train on and sequences held out, which a model never sees."""

    corpus: Corpus  # the sequences trained on, and among them the held out ones of text that is not built in
    trained: np.ndarray  # int64, which sequences of `corpus` are trained on
    held_out: dict[str, list[np.ndarray]]  # for each domain its held-out sequences, int32 each
    pad_id: int  # the id that fills short sequences

    @property
    def n_tokens(self) -> int:
        """Ids in the sequences that are trained on, BOS included."""
        return int(np.diff(self.corpus.offsets)[self.trained].sum())


def divide(corpus: Corpus, measured: Corpus | None, *, batch_size: int, pad_id: int) -> TrainingText:
    """Set held-out sequences aside: the measured part of built-in text, of other text every fiftieth sequence.

    Args:
        corpus: the training part of built-in text and all of other text.
        measured: the measured part of the same built-in domains, None where there are none.
        batch_size: sequences that must be left at least.
        pad_id: the id that fills short sequences.
    """
    built_in = set(measured.domains) if measured is not None else set()
    held_out: dict[str, list[np.ndarray]] = {domain: [] for domain in corpus.domains}
    trained: list[int] = []
    for index, domain in enumerate(corpus.domains):
        numbers = np.flatnonzero(corpus.domain_of == index)
        is_held = np.zeros(len(numbers), dtype=np.bool_)
        if domain not in built_in:
            is_held[HELD_OUT - 1 :: HELD_OUT] = True
        held_out[domain] = [corpus.sequence(int(i)) for i in numbers[is_held]]
        trained += numbers[~is_held].tolist()
    if measured is not None:
        for i in range(measured.n_sequences):
            held_out[measured.domains[measured.domain_of[i]]].append(measured.sequence(i))
    if len(trained) < batch_size:
        message = f"training needs at least {batch_size} sequences, but the text gives {len(trained)}: give more text"
        raise LimitExceeded(message, what="sequences", needed=batch_size, limit=len(trained))
    return TrainingText(corpus, np.array(trained, dtype=np.int64), held_out, pad_id)


def batch_numbers(text: TrainingText, *, seed: int, step: int, batch_size: int) -> np.ndarray:
    """int64 [batch_size], the sequences of one step: a function of seed and step alone, so that a run can resume.

    Every epoch is a fresh permutation; the sequences that fill no batch at its end are left out of that epoch.
    """
    steps_per_epoch = len(text.trained) // batch_size
    epoch, place = divmod(step, steps_per_epoch)
    order = np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(len(text.trained))
    return text.trained[order[place * batch_size : (place + 1) * batch_size]]


def batch_ids(
    sequences: Sequence[np.ndarray], pad_id: int
) -> tuple[Int[Tensor, "batch time"], Int[Tensor, "batch time"]]:
    """[batch time] ids padded on the right, and the id that follows each (-100 where none does)."""
    time = max(map(len, sequences))
    ids = np.full((len(sequences), time), pad_id, dtype=np.int64)
    targets = np.full((len(sequences), time), NO_TARGET, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        targets[row, : len(sequence) - 1] = sequence[1:]
    return torch.from_numpy(ids), torch.from_numpy(targets)


def train_tokenizer(sources: Sequence[Source], *, vocab_size: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE of `vocab_size` tokens of the training text, which prepends `</s>` as OPT's does."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS, PAD, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_texts(sources), trainer=trainer)
    if backend.get_vocab_size() != vocab_size:
        supported = backend.get_vocab_size()
        raise LimitExceeded(
            f"the text supports a vocabulary of only {supported} tokens, not {vocab_size}:"
            " give more text or a smaller --vocabulary",
            what="vocabulary",
            needed=vocab_size,
            limit=supported,
        )
    backend.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, backend.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=BOS, pad_token=PAD, unk_token=UNKNOWN
    )


def _texts(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources:
        yield from documents(source, split="train")


def reuse_tokenizer(folder: Path, *, vocab_size: int) -> Tokenizer:
    """The tokenizer of an earlier run."""
    tokenizer = tokenization.load(folder)
    require_files(folder)
    if tokenizer.vocab_size != vocab_size:
        raise unfit_tokenizer(folder, f"it has {tokenizer.vocab_size} tokens instead of {vocab_size}")
    if tokenizer.bos_id is None:
        raise unfit_tokenizer(folder, "it prepends no BOS")
    if PAD not in tokenizer.pieces:
        raise unfit_tokenizer(folder, f"it has no {PAD}")
    return tokenizer


def pad_id(tokenizer: Tokenizer) -> int:
    """The id that fills short sequences."""
    return int(tokenizer.ids[tokenizer.pieces.index(PAD)])
