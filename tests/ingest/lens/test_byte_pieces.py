"""Pieces that are bytes, and those that no text holds: of both kinds of tokenizers, against lists written by hand."""

from pathlib import Path

from neurothek.ingest import minis
from neurothek.ingest.lens.vocabulary import LEAST_UNUSED, NEVER_IN_UTF8, BytePieces
from neurothek.ingest.models.tokenizer import load


def chosen(pieces: BytePieces, among: list[str]) -> tuple[list[str], list[str]]:
    return tuple(
        [name for name, is_one in zip(among, flags, strict=True) if is_one]
        for flags in (pieces.is_byte, pieces.is_unused)
    )  # type: ignore[return-value]


def test_bytes_of_a_fallback_are_bytes_whatever_they_are() -> None:
    names = ["<s>", "<0x0A>", "<0x41>", "<0xE2>", "<0xC0>", "<0xC1>", "<0xF5>", "A", "\u2581the"]
    held = [None, b"\n", b"A", b"\xe2", b"\xc0", b"\xc1", b"\xf5", None, None]
    is_byte, is_unused = chosen(BytePieces.of(names, held), names)
    assert is_byte == names[1:7]
    assert is_unused == ["<0xC0>", "<0xC1>", "<0xF5>"]


def test_parts_of_characters_are_bytes_and_whole_ones_are_text() -> None:
    held = [b"\xe2\x80", b"\xe2\x80\x9c", b" the", b"\x10", b"a\xc3", b"\xc3\xa9", b"<0x41>"]
    names = [repr(one) for one in held]
    assert chosen(BytePieces.of(names, held), names)[0] == [names[0], names[4]]


def test_pieces_that_are_called_unused_are_where_bytes_say_nothing() -> None:
    names = ["[unused0]", "[unused17]", "<|reserved_special_token_3|>", "<unused5>", "unused", "[unused]", "[CLS]"]
    assert chosen(BytePieces.of(names, [None] * len(names)), names) == ([], names[:4])
    # Where there are enough bytes, these are what is asked.
    more = [*names, *(f"<0x{byte:02X}>" for byte in sorted(NEVER_IN_UTF8))]
    held = [None] * len(names) + [bytes([byte]) for byte in sorted(NEVER_IN_UTF8)]
    assert chosen(BytePieces.of(more, held), more)[1] == more[len(names) :]
    few = [*names, *more[len(names) :][: LEAST_UNUSED - 1]]
    assert chosen(BytePieces.of(few, held[: len(few)]), few)[1] == names[:4]


def test_the_minis_tokenizer_has_every_byte() -> None:
    """128 bytes are no character by themselves, and 13 of these are in no text at all."""
    folder = minis.folder("mini-opt-0.7m")
    assert isinstance(folder, Path)
    tokenizer = load(folder)
    pieces = BytePieces.of(tokenizer.pieces, tokenizer.contents())
    texts = tokenizer.frame()["text"].to_list()
    single = {rf"\x{byte:02x}" for byte in range(0x80, 0x100)}
    found = {text for text, is_byte in zip(texts, pieces.is_byte, strict=True) if is_byte}
    assert single <= found
    assert all("\\x" in text for text in found)
    unused = {text for text, is_one in zip(texts, pieces.is_unused, strict=True) if is_one}
    assert unused == {rf"\x{byte:02x}" for byte in NEVER_IN_UTF8}
    assert len(unused) == 13
