"""Words and tokens: the tokens that a question's words stand for, and the texts and counts of tokens in an answer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.arguments import bad_argument
from neurothek.catalog.spelling import unmark
from neurothek.queries.ask.statements import records
from neurothek.queries.errors.unknown_subjects import blank_word, unknown_token, unknown_word

_TOKENS_BY_TEXT = """\
-- Tokens whose exact text is $text.
select tokenizer_id, token_id, text,
from store.tokens
where text = $text and list_contains($tokenizer_ids::integer[], tokenizer_id)
order by tokenizer_id, token_id
"""

_TOKENS_BY_WORD = """\
-- Tokens of every tokenizer that read as $word without surrounding white space and case.
select tokenizer_id, token_id, text,
from store.tokens
where word = $word
"""

_TOKENS_OF_CLASS = """\
-- Tokens whose text matches a pattern; with $is_bytes those that are no whole characters, as the view token_quality has
-- them.
with bytes as (
    select distinct models.tokenizer_id, indicators.token_id,
    from store.token_indicators as indicators
    inner join store.models as models on models.model_id = indicators.model_id
    where indicators.is_byte and $is_bytes
)
select tokens.tokenizer_id, tokens.token_id, tokens.text,
from store.tokens as tokens
left join bytes on bytes.tokenizer_id = tokens.tokenizer_id and bytes.token_id = tokens.token_id
where
    not tokens.is_special
    and list_contains($tokenizer_ids::integer[], tokens.tokenizer_id)
    and case when $is_bytes then bytes.token_id is not null else regexp_matches(tokens.text, $pattern) end
order by tokens.tokenizer_id, tokens.token_id
"""

_TOKENS_WITHIN = """\
-- Tokens that occur inside $text: the pieces it may be split into. Two ids of one text are one piece, the lower id.
select tokenizer_id, min(token_id) as token_id, text,
from store.tokens
where
    not is_special
    and text <> ''
    and contains($text, text)
    and list_contains($tokenizer_ids::integer[], tokenizer_id)
group by tokenizer_id, text
order by tokenizer_id, token_id
"""

_TEXTS = """\
-- Texts of some tokens.
select tokens.token_id, tokens.text,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
"""

_COUNTS = """\
-- How often some tokens occur in each domain of a corpus.
select counts.token_id, counts.n_occurrences,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.token_counts as counts on counts.token_id = asked.token_id
where counts.corpus_id = $corpus_id
"""

_COUNTED_TOKENS = """\
-- Texts of some tokens, whether they are special, and how often each occurs in a corpus: null where it does not, or
-- there is no corpus.
with asked as (
    select unnest($token_ids::integer[]) as token_id
),
counted as (
    select counts.token_id, sum(counts.n_occurrences)::bigint as n_occurrences
    from asked
    inner join store.token_counts as counts on counts.token_id = asked.token_id
    where counts.corpus_id = $corpus_id
    group by counts.token_id
)
select tokens.token_id, tokens.text, tokens.is_special, counted.n_occurrences,
from asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
left join counted on counted.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
"""

Row = dict[str, Any]


def texts_of(connection: duckdb.DuckDBPyConnection, tokenizer_id: int, token_ids: Iterable[int]) -> dict[int, str]:
    """Token id -> exact text, of those that the tokenizer has."""
    parameters = {"tokenizer_id": tokenizer_id, "token_ids": sorted(set(token_ids))}
    return {row["token_id"]: row["text"] for row in records(connection, _TEXTS, parameters)}


@dataclass(frozen=True)
class KnownTokens:
    """What is known of some tokens."""

    texts: Mapping[int, str]  # token id -> exact text
    special: tuple[str, ...]  # texts of those that stand for no text, such as the beginning of a sequence
    # token id -> how often it occurs in a corpus, of those that do; None without a corpus
    counts: Mapping[int, int] | None


def known_tokens(
    connection: duckdb.DuckDBPyConnection, tokenizer_id: int, corpus_id: int | None, token_ids: Iterable[int]
) -> KnownTokens:
    """What `texts_of` and `counts_of` say of the same tokens, in one question."""
    parameters = {"tokenizer_id": tokenizer_id, "corpus_id": corpus_id, "token_ids": sorted(set(token_ids))}
    rows = records(connection, _COUNTED_TOKENS, parameters)
    texts = {row["token_id"]: row["text"] for row in rows}
    special = tuple(sorted({row["text"] for row in rows if row["is_special"]}))
    counts = {row["token_id"]: row["n_occurrences"] for row in rows if row["n_occurrences"] is not None}
    return KnownTokens(texts, special, None if corpus_id is None else counts)


def counts_of(
    connection: duckdb.DuckDBPyConnection, corpus_id: int | None, token_ids: Iterable[int]
) -> Mapping[int, int] | None:
    """Token id -> how often it occurs in a corpus, of those that do; None without a corpus."""
    if corpus_id is None:
        return None
    parameters = {"corpus_id": corpus_id, "token_ids": sorted(set(token_ids))}
    counts = Counter[int]()
    for row in records(connection, _COUNTS, parameters):
        counts[row["token_id"]] += row["n_occurrences"]
    return counts


def listed_tokens(rows: Sequence[Row]) -> list[Row]:
    """A row for each token that the neuron lists, promoted ones first: side, rank, token_id, score, z_score."""
    return [
        {"side": side, "rank": rank, "token_id": token_id, "score": score, "z_score": _z_score(row, score)}
        for row in rows
        for side, ids, scores in (
            ("promoted", row["top_token_ids"], row["top_scores"]),
            ("suppressed", row["bottom_token_ids"], row["bottom_scores"]),
        )
        for rank, (token_id, score) in enumerate(zip(ids, scores, strict=True), start=1)
    ]


def with_texts(rows: Sequence[Row], texts: Mapping[int, str], counts: Mapping[int, int] | None) -> list[Row]:
    """The listed tokens with their texts, and their counts in the shown corpus where there is one."""
    return [
        {
            **row,
            "token": texts[row["token_id"]],
            "corpus_count": None if counts is None else counts.get(row["token_id"], 0),
        }
        for row in rows
        if row["token_id"] in texts
    ]


def first_texts(rows: Sequence[Row], texts: Mapping[int, str]) -> dict[str, list[str | None] | None]:
    """`top_tokens` and `bottom_tokens`: texts of the first ten ids of each list, as the table neuron_facts has them."""
    return {
        name: [texts.get(token_id) for token_id in rows[0][ids][:10]] if rows else None
        for name, ids in (("top_tokens", "top_token_ids"), ("bottom_tokens", "bottom_token_ids"))
    }


def context_ids(rows: Sequence[Row]) -> list[int]:
    """Ids of all tokens around the neuron's strongest places."""
    return [one for row in rows for one in (*row["ids_before"], row["token_id"], *row["ids_after"])]


def spelled(rows: Sequence[Row], texts: Mapping[int, str]) -> list[Row]:
    """The strongest places with the text before and after the token."""
    return [
        {
            **row,
            "before": _joined(row["ids_before"], texts),
            "token": texts.get(row["token_id"]),
            "after": _joined(row["ids_after"], texts),
        }
        for row in rows
    ]


def _joined(token_ids: Iterable[int], texts: Mapping[int, str]) -> str:
    return "".join(texts.get(token_id, "") for token_id in token_ids)


def _z_score(row: Row, score: float) -> float | None:
    return (score - row["score_mean"]) / row["score_sd"] if row["score_sd"] else None


_NEAREST_WORDS = """\
-- The words among the tokens that take the fewest edits to become $word.
with known as (
    select distinct word,
    from store.tokens
    where
        word <> ''
        and not is_special
        and abs(length(word) - length($word)) <= $most_edits
        and list_contains($tokenizer_ids::integer[], tokenizer_id)
),
distances as (
    select word, damerau_levenshtein(word, $word) as n_edits,
    from known
)
select word,
from distances
where n_edits <= $most_edits
order by n_edits, jaro_winkler_similarity(word, $word) desc, word
limit 5
"""


@dataclass(frozen=True)
class Token:
    """A token of one tokenizer."""

    token_id: int
    text: str


@dataclass(frozen=True)
class Term:
    """What one word of a question means in one tokenizer."""

    word: str  # the word as asked
    tokenizer_id: int  # the tokenizer
    # the word's parts; any token of a part stands for it, and all parts are needed
    parts: tuple[tuple[Token, ...], ...]

    @property
    def is_split(self) -> bool:
        """Whether the word is not a token, so that its parts are looked up together."""
        return len(self.parts) > 1

    @property
    def tokens(self) -> list[str]:
        """Texts of all tokens, part by part."""
        return [token.text for part in self.parts for token in part]


@dataclass(frozen=True)
class TokenClass:
    """Tokens that have something in common."""

    option: str  # the option by which it is asked for
    value: str  # what was given with it
    pattern: str  # a regular expression (RE2) that their texts match

    @property
    def name(self) -> str:
        """What sentences call it."""
        return f"{self.option} {self.value}".strip()


BYTES = TokenClass("bytes", "", "")
"""Tokens that are no whole characters, as the view token_quality has them."""


def find_class(connection: duckdb.DuckDBPyConnection, one: TokenClass, tokenizer_ids: Sequence[int]) -> list[Term]:
    """The tokens of a class in each tokenizer; a tokenizer without any has no term for it."""
    parameters = {"pattern": one.pattern, "is_bytes": one == BYTES, "tokenizer_ids": list(tokenizer_ids)}
    try:
        by_tokenizer = _lookup(connection, _TOKENS_OF_CLASS, parameters)
    except duckdb.Error as error:
        raise bad_argument(one.option, one.value, "give a regular expression of RE2, or a script of Unicode") from error
    if not by_tokenizer:
        raise bad_argument(one.option, one.value, "see the view tokens", why="no token of the selected models has it")
    return [Term(one.name, tokenizer_id, (tokens,)) for tokenizer_id, tokens in by_tokenizer.items()]


def find_terms(
    connection: duckdb.DuckDBPyConnection, words: Sequence[str], tokenizer_ids: Sequence[int], *, exact: bool
) -> list[Term]:
    """What each word means in each tokenizer; a tokenizer that cannot write a word has no term for it.

    A word means every token that reads the same, regardless of surrounding white space and case. One that is not a
    token is split into the fewest tokens that spell it, as it would stand inside a sentence. A word with commas that is
    not a token itself is a group: any token of any of its words stands for it.
    """
    terms: list[Term] = []
    for word in dict.fromkeys(words):
        if exact:
            terms.extend(_exact_terms(connection, word, tokenizer_ids))
        else:
            terms.extend(_group_terms(connection, word, tokenizer_ids))
    # An exact token may be asked for twice, as it is and with its white space marked.
    return list(dict.fromkeys(terms))


def words_of(
    connection: duckdb.DuckDBPyConnection, words: Sequence[str], tokenizer_ids: Sequence[int]
) -> dict[tuple[str, int], tuple[Token, ...]]:
    """(word, tokenizer_id) -> the tokens that read so, for words that are tokens."""
    return {
        (word, tokenizer_id): tokens
        for word in words
        for tokenizer_id, tokens in _that_read(connection, word, tokenizer_ids).items()
    }


def nearest_words(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[str]:
    """Up to five words that are tokens and differ least from `word`."""
    folded = word.strip().casefold()
    # Beyond half of the letters two words have nothing to do with each other.
    parameters = {"word": folded, "tokenizer_ids": list(tokenizer_ids), "most_edits": max(2, len(folded) // 2)}
    return [row["word"] for row in records(connection, _NEAREST_WORDS, parameters)]


def _exact_terms(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[Term]:
    # A person may have copied the token from a table, where white space is marked.
    for text in dict.fromkeys((word, unmark(word))):
        by_tokenizer = _lookup(connection, _TOKENS_BY_TEXT, {"text": text, "tokenizer_ids": list(tokenizer_ids)})
        if by_tokenizer:
            return [Term(text, tokenizer_id, (tokens,)) for tokenizer_id, tokens in by_tokenizer.items()]
    alike = _that_read(connection, word, tokenizer_ids)
    raise unknown_token(word, [token.text for tokens in alike.values() for token in tokens])


def _group_terms(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[Term]:
    members = [member.strip() for member in word.split(",") if member.strip()]
    is_token = "," not in word or _that_read(connection, word, tokenizer_ids)
    if is_token or len(members) < 2:
        return _marked(connection, word, tokenizer_ids) or _word_terms(connection, unmark(word), tokenizer_ids)
    terms = [
        term
        for member in members
        for term in _marked(connection, member, tokenizer_ids) or _token_terms(connection, member, tokenizer_ids)
    ]
    return [
        Term(
            word,
            tokenizer_id,
            (tuple(token for term in terms if term.tokenizer_id == tokenizer_id for token in term.parts[0]),),
        )
        for tokenizer_id in tokenizer_ids
        if any(term.tokenizer_id == tokenizer_id for term in terms)
    ]


def _marked(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[Term]:
    """The very token that a person has copied from a table, where white space is marked; nothing for other words."""
    text = unmark(word)
    if text == word or _that_read(connection, word, tokenizer_ids):
        return []
    by_tokenizer = _lookup(connection, _TOKENS_BY_TEXT, {"text": text, "tokenizer_ids": list(tokenizer_ids)})
    return [Term(word, tokenizer_id, (tokens,)) for tokenizer_id, tokens in by_tokenizer.items()]


def _token_terms(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[Term]:
    """What a word of a group means: the members of a group are tokens."""
    by_tokenizer = _that_read(connection, word, tokenizer_ids)
    if not by_tokenizer:
        raise unknown_word(word, nearest_words(connection, word, tokenizer_ids))
    return [Term(word, tokenizer_id, (tokens,)) for tokenizer_id, tokens in by_tokenizer.items()]


def _word_terms(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]) -> list[Term]:
    if not word.strip():
        raise blank_word(word)
    by_tokenizer = _that_read(connection, word, tokenizer_ids)
    terms = [Term(word, tokenizer_id, (tokens,)) for tokenizer_id, tokens in by_tokenizer.items()]
    for tokenizer_id in tokenizer_ids:
        if tokenizer_id not in by_tokenizer:
            terms.extend(_split_terms(connection, word, tokenizer_id))
    if not terms:
        raise unknown_word(word, nearest_words(connection, word, tokenizer_ids))
    return terms


def _split_terms(connection: duckdb.DuckDBPyConnection, word: str, tokenizer_id: int) -> list[Term]:
    for text in dict.fromkeys((f" {word.strip()}", word.strip())):
        by_tokenizer = _lookup(connection, _TOKENS_WITHIN, {"text": text, "tokenizer_ids": [tokenizer_id]})
        pieces = {token.text: token for token in by_tokenizer.get(tokenizer_id, ())}
        split = fewest_pieces(text, pieces)
        if split:
            return [Term(word, tokenizer_id, tuple((pieces[piece],) for piece in split))]
    return []


def fewest_pieces(text: str, pieces: Mapping[str, object]) -> list[str]:
    """The shortest list of pieces that spells `text`, the longest piece first among equals; empty if none does."""
    best: dict[int, list[str]] = {len(text): []}
    for start in range(len(text) - 1, -1, -1):
        ends = range(len(text), start, -1)
        splits = [[text[start:end], *best[end]] for end in ends if end in best and text[start:end] in pieces]
        if splits:
            best[start] = min(splits, key=len)
    return best.get(0, [])


def _that_read(
    connection: duckdb.DuckDBPyConnection, word: str, tokenizer_ids: Sequence[int]
) -> dict[int, tuple[Token, ...]]:
    """Tokenizer -> its tokens that read as the word, by id."""
    by_tokenizer = _lookup(connection, _TOKENS_BY_WORD, {"word": word.strip().casefold()})
    return {one: tuple(sorted(by_tokenizer[one], key=_id)) for one in sorted(set(tokenizer_ids)) if one in by_tokenizer}


def _id(token: Token) -> int:
    return token.token_id


def _lookup(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object]
) -> dict[int, tuple[Token, ...]]:
    by_tokenizer: dict[int, tuple[Token, ...]] = {}
    for row in records(connection, query, parameters):
        by_tokenizer[row["tokenizer_id"]] = (
            *by_tokenizer.get(row["tokenizer_id"], ()),
            Token(row["token_id"], row["text"]),
        )
    return by_tokenizer
