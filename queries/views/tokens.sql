-- One row per tokenizer and token.
-- Why: what the ids of the other views mean, and which tokens a word stands for. From: store.tokens. Source: this project.
-- key: tokenizer_id, token_id
-- columns:
--   tokenizer: Name of the model the tokenizer was first seen with.
--   tokenizer_id: Number of the tokenizer in this file.
--   token_id: Id of the token, 0-based.
--   token: Exact text; bytes that are not a whole character are written as \xNN.
--   word: Text without surrounding white space, case-folded: what a search compares.
--   piece: Raw piece as the tokenizer writes it.
--   is_special: Whether the tokenizer treats it as special, e.g. </s>.
select
    tokenizers.name as tokenizer,
    tokens.tokenizer_id,
    tokens.token_id,
    tokens.text as token,
    tokens.word,
    tokens.piece,
    tokens.is_special,
from store.tokens as tokens
inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = tokens.tokenizer_id
