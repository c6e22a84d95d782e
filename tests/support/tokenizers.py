"""Small tokenizers of the sorts that the families have, trained on a few sentences."""

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from tests.support.models import Kind

SYLLABLES = [consonant + vowel for consonant in "bdfglmnprstv" for vowel in "aeiou"]

# Words that a test may search for come often enough to be single tokens, in three spellings.
TEXT = (
    "the school is near the river and the old school has a new roof . ",
    "School begins on monday ; SCHOOL ends on friday ! ",
    "one two three four five six seven eight nine ten , and again one two three . ",
    "def total ( values ) : return sum ( values ) + 1\n",
    "what is 12 + 30 ? it is 42 . what is 7 * 6 ? it is 42 too . ",
)

WORD_START = "\u2581"
"""What SentencePiece writes for a space."""


@lru_cache
def make_tokenizer(kind: "Kind", size: int) -> PreTrainedTokenizerFast:
    """A tokenizer of exactly `size` tokens, as the family of a kind has it."""
    sorts = {"gpt2": _gpt2, "neox": _neox, "neox_sequential": _neox, "llama": _llama, "bert": _bert}
    sorts |= dict.fromkeys(("gemma2", "gemma3", "gemma3_seeing", "olmo2", "phi3", "smollm3", "granite"), _llama)
    made = sorts.get(kind, _opt)(size)
    assert len(made) == size, f"the text supports {len(made)} tokens, {size} were asked for"
    return made


def _opt(size: int) -> PreTrainedTokenizerFast:
    """Byte-level, and </s> in front of every text."""
    bpe = _byte_level(size, ["<s>", "<pad>", "</s>", "<unk>"])
    bpe.post_processor = processors.TemplateProcessing(single="</s> $A", special_tokens=[("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="</s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def _gpt2(size: int) -> PreTrainedTokenizerFast:
    """Byte-level, and nothing in front."""
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(
        tokenizer_object=_byte_level(size, [end]), bos_token=end, eos_token=end, unk_token=end
    )


def _neox(size: int) -> PreTrainedTokenizerFast:
    """Byte-level with runs of spaces added behind, which are no special tokens."""
    end, runs = "<|endoftext|>", [" " * length for length in (2, 3, 4)]
    bpe = _byte_level(size - len(runs), [end, "<|padding|>"])
    bpe.add_tokens([AddedToken(run, normalized=False) for run in runs])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=end, eos_token=end, unk_token=end)


def _llama(size: int) -> PreTrainedTokenizerFast:
    """Words that begin with a mark, bytes for characters without a piece, and <s> in front of every text."""
    special = ["<unk>", "<s>", "</s>"]
    single_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    bpe = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="first")
    bpe.decoder = decoders.Sequence(
        [decoders.Replace(WORD_START, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(vocab_size=size - 256, special_tokens=special, show_progress=False)
    bpe.train_from_iterator(_texts(), trainer=trainer)
    # The trainer knows bytes as special tokens only, which they are not.
    written = json.loads(bpe.to_str())
    pieces = sorted(written["model"]["vocab"], key=written["model"]["vocab"].get)
    pieces[len(special) : len(special)] = single_bytes
    written["model"]["vocab"] = {piece: number for number, piece in enumerate(pieces)}
    bpe = Tokenizer.from_str(json.dumps(written))
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def _bert(size: int) -> PreTrainedTokenizerFast:
    """Words without capitals and their later parts, between [CLS] and [SEP]."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece(prefix="##")
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    pieces.train_from_iterator(_texts(), trainer=trainer)
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )


def _byte_level(size: int, special: list[str]) -> Tokenizer:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(_texts(), trainer=trainer)
    return bpe


def _texts() -> list[str]:
    # Made-up words of two syllables supply as many further tokens as a test may want.
    return [*TEXT * 200, *(" ".join(first + second for second in SYLLABLES) for first in SYLLABLES)]
