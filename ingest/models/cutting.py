"""Where a text may be cut so that the ids of its parts, one after another, are the ids of the whole."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_Steps = list[Mapping[str, Any]]

WORD_START = "\u2581"
"""What SentencePiece writes for a space."""

# Each rule is a place between two characters: the first is matched, the second only looked at. Where two visible
# characters meet, both are ASCII, whose class no version of Unicode changes and no normalization joins.
_LETTER, _DIGIT, _MARK = "A-Za-z", "0-9", r"!-/:-@\[-`{-~"
AFTER_LETTER = f"[{_LETTER}](?=[{_DIGIT}{_MARK}])"
AFTER_DIGIT = f"[{_DIGIT}](?=[{_LETTER}{_MARK}])"
BEFORE_MARK = f"[{_LETTER}{_DIGIT}](?=[{_MARK}])"
BEFORE_DIGIT = f"[{_MARK}](?=[{_DIGIT}])"
AFTER_MARK = f"[{_MARK}](?=[{_LETTER}{_DIGIT}{_MARK}])"
BEFORE_SPACE = r"\S(?= )"
BEFORE_LINE = r"\S(?=\n)"
WORD_BEFORE_LINE = f"[{_LETTER}{_DIGIT}](?=\\n)"
AFTER_LINE = r"\n(?=\S)"

# GPT-2's expression ends a match wherever the class of characters changes, and looks ahead only within white space.
_OF_GPT2 = frozenset({AFTER_LETTER, AFTER_DIGIT, BEFORE_MARK, BEFORE_DIGIT, BEFORE_SPACE, BEFORE_LINE})
# The later ones take line ends into the match of a mark before them.
_OF_GPT4 = frozenset({AFTER_LETTER, AFTER_DIGIT, BEFORE_MARK, BEFORE_DIGIT, BEFORE_SPACE, WORD_BEFORE_LINE, AFTER_LINE})
_OF_BERT = frozenset({BEFORE_MARK, AFTER_MARK, BEFORE_DIGIT, BEFORE_SPACE, BEFORE_LINE})
_OF_BLANKS = frozenset({BEFORE_SPACE, BEFORE_LINE})
_OF_SPACES = frozenset({BEFORE_SPACE})
_NOWHERE: frozenset[str] = frozenset()

GPT2_EXPRESSION = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_GPT4_BEGINS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_GPT4_ENDS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3_EXPRESSION = _GPT4_BEGINS + r"\p{N}{1,3}" + _GPT4_ENDS
QWEN2_EXPRESSION = _GPT4_BEGINS + r"\p{N}" + _GPT4_ENDS
_EXPRESSIONS = {GPT2_EXPRESSION: _OF_GPT2, LLAMA3_EXPRESSION: _OF_GPT4, QWEN2_EXPRESSION: _OF_GPT4}

# Steps that look at one character, or two neighbours, at a time: they neither make a place nor spoil one.
_LOCAL = ("Digits", "Punctuation")
_COMPOSED_TO_ASCII = frozenset("K;`")
"""What canonical composition makes of a character beyond ASCII (of the sign for kelvin, for one)."""


@dataclass(frozen=True)
class Cuts:
    """How texts are cut for one tokenizer."""

    pattern: re.Pattern[str] | None  # matches the character before a place; None where no place is known
    # what tokens of the vocabulary's own list are matched as, before the text is split: nothing is cut in one or beside
    # one
    added: tuple[str, ...]
    # whether the space after a cut goes, because the tokenizer puts one in front of every text
    drops_space: bool = False

    @property
    def reach(self) -> int:
        """How many characters after a place must be known before it is cut there."""
        return max((len(content) for content in self.added), default=0) + 2

    def parts(self, blocks: Iterable[str], *, every: int) -> Iterator[tuple[str, bool]]:
        """Parts of a text that comes in blocks, each cut at the first place after `every` characters.

        Yields:
            A part, and True; or, while no place is found, what is held so far, and False: it comes again, longer.
        """
        held, searched = "", 0
        for block in blocks:
            held += block
            start = 0
            while (place := self._place(held, max(start + every, searched), len(held) - self.reach)) is not None:
                yield held[start:place], True
                start = searched = place + self.drops_space
            held = held[start:]
            searched = max(0, len(held) - self.reach)
            if len(held) > every + self.reach:
                yield held, False
        start = 0
        while (place := self._place(held, start + every, len(held))) is not None:
            yield held[start:place], True
            start = place + self.drops_space
        if held[start:]:
            yield held[start:], True

    def _place(self, text: str, start: int, end: int) -> int | None:
        """The first place to cut from `start` on and before `end`."""
        if self.pattern is None:
            return None
        for match in self.pattern.finditer(text, start, len(text)):
            place = match.end()
            if place >= end:
                return None
            if not self._touches_added(text, place):
                return place
        return None

    def _touches_added(self, text: str, place: int) -> bool:
        """Whether an added token may lie around `place` or end beside it."""
        for content in self.added:
            around = len(content) + 1
            if content in text[max(0, place - around) : place + around]:
                return True
        return False


def cuts_of(settings: Mapping[str, Any]) -> Cuts:
    """Where texts may be cut for a tokenizer, given what its tokenizer.json says.

    Places are known for what the supported families use: the expressions of GPT-2, Llama 3 and Qwen 2 over bytes,
    words of BERT, and SentencePiece's word starts, with a splitting step or without. Any other tokenizer gets none.
    """
    added = settings.get("added_tokens") or []
    steps = _steps(settings.get("normalizer"), "normalizers")
    drops_space = _is_prepended(steps)
    sought = {token["content"] for token in added}
    if drops_space:  # those that are sought behind the normalizer find spaces
        sought |= {content.replace(WORD_START, " ") for content in sought}
    contents = tuple(sorted(sought - {""}))
    rules = _OF_SPACES if drops_space else _kept_by(steps, settings["model"], added)
    rules &= _of_splitting(settings, prepended=drops_space)
    if not rules or (settings["model"].get("dropout") or 0) > 0:
        return Cuts(None, contents)
    if drops_space:
        return Cuts(re.compile(r"\S(?= [\s\S])"), contents, drops_space=True)
    return Cuts(re.compile("|".join(sorted(rules))), contents)


_ALL = _OF_GPT2 | _OF_GPT4 | _OF_BERT


def _kept_by(steps: _Steps, model: Mapping[str, Any], added: _Steps) -> frozenset[str]:
    """The rules that hold in spite of what is done to a text before it is split."""
    if not steps:
        return _ALL
    sought = [token["content"] for token in added if token["normalized"]]
    if [step["type"] for step in steps] == ["NFC"]:
        # ASCII characters stay what and where they are; a token of others may come about by composing.
        plain = all(content.isascii() and not _COMPOSED_TO_ASCII & set(content) for content in sought)
        return _ALL if plain else _NOWHERE
    if [step["type"] for step in steps] == ["BertNormalizer"] and model["type"] == "WordPiece":
        return _OF_BERT if not sought else _NOWHERE
    return _NOWHERE


def _of_splitting(settings: Mapping[str, Any], *, prepended: bool) -> frozenset[str]:
    """The rules that the steps of splitting keep, at least one of which makes sure that there is an end."""
    rules, is_split, writes_word_starts = _ALL, False, prepended
    for step in _steps(settings.get("pre_tokenizer"), "pretokenizers"):
        match step:
            case {"type": "ByteLevel", "use_regex": uses, "add_prefix_space": prefixes}:
                safe = _OF_GPT2 if uses else _ALL
                rules &= safe & _OF_SPACES if prefixes else safe
                is_split = is_split or uses
            case {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}:
                rules &= _EXPRESSIONS.get(expression, _NOWHERE)
                is_split = True
            case {"type": "BertPreTokenizer"}:
                rules, is_split = rules & _OF_BERT, True
            case {"type": "Whitespace" | "WhitespaceSplit"}:
                rules, is_split = rules & _OF_BLANKS, True
            case {"type": "Metaspace", "replacement": replacement, "split": splits} if replacement == WORD_START:
                rules, is_split, writes_word_starts = rules & _OF_SPACES, is_split or splits, True
            case {"type": kind} if kind in _LOCAL:
                pass
            case _:
                return _NOWHERE
    if is_split:
        return rules if not prepended else _NOWHERE
    return rules & _OF_SPACES if writes_word_starts and _ends_before_words(settings["model"]) else _NOWHERE


def _ends_before_words(model: Mapping[str, Any]) -> bool:
    """Whether no piece holds a word start behind anything else, so that none lies across the end of a word."""
    vocabulary = model.get("vocab")
    if model["type"] not in ("BPE", "Unigram") or not vocabulary:
        return False
    pieces = [piece for piece, _ in vocabulary] if model["type"] == "Unigram" else list(vocabulary)
    across = re.compile(f"[^{WORD_START}]{WORD_START}")
    return WORD_START in pieces and not any(map(across.search, pieces))


def _is_prepended(steps: _Steps) -> bool:
    """Whether a word start is put in front of every text, and spaces are written as word starts."""
    match steps:
        case [
            {"type": "Prepend", "prepend": prepended},
            {"type": "Replace", "pattern": {"String": " "}, "content": replacement},
        ]:
            return bool(prepended == replacement == WORD_START)
    return False


def _steps(settings: Mapping[str, Any] | None, inside: str) -> _Steps:
    """The steps of a part of tokenizer.json that may be absent, one step, or a sequence of them."""
    if settings is None:
        return []
    if settings["type"] != "Sequence":
        return [settings]
    return [step for part in settings[inside] for step in _steps(part, inside)]
