"""The vocabulary of the mini family's tokenizer, as rules see it: 8,189 pieces of English and Python."""

from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from neurothek.ingest import minis
from neurothek.queries.rules.chance import Vocabulary


@cache
def mini_vocabulary() -> Vocabulary:
    """Texts by id, without the special tokens."""
    folder = minis.folder("mini-opt-0.7m")
    assert isinstance(folder, Path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    ids = [number for number in range(tokenizer.get_vocab_size()) if number not in special]
    return Vocabulary({number: tokenizer.decode([number]) for number in ids})


def ids_of(vocabulary: Vocabulary, *texts: str) -> list[int]:
    """The tokens with these texts."""
    by_text = {text: token_id for token_id, text in vocabulary.texts.items()}
    return [by_text[text] for text in texts]
