-- One row per model and token: whether it is a byte, or a token that training hardly touched.
-- Why: such tokens crowd lists of promoted tokens and say nothing of a neuron; pages show them pale.
-- From: store.token_indicators, which the job projections fills; runs of earlier releases have no rows until
-- `ingest MODEL --job projections --force`. Source: the indicator is that of Land and Bartolo 2024, Fishing for Magikarp,
-- section 3 (cosine distance of the output embedding from the mean of unused ones); the limit and the order of reasons are
-- ours.
-- key: model, token_id
-- columns:
--   model: Name of the model.
--   token_id: Id of the token.
--   token: Exact text.
--   is_special: Whether the tokenizer treats it as special.
--   is_byte: Whether it stands for bytes that are no whole characters, or for one byte that the tokenizer falls back on.
--   is_unused: Whether it is known to be unused: a byte that UTF-8 has no use for, or a piece called unused.
--   is_undertrained: Whether its row is zero or as near to the unused rows as these are to each other; null where too few are known.
--   reason: byte, undertrained, or null for a token that is neither, or special.
--   row_norm: L2 norm of its row of the unembedding.
--   unused_distance: Cosine distance of its row from the mean of the unused rows; null where too few are known.
--   unused_limit: Up to this distance a row is called undertrained; the same for all tokens of a model.
with judged as (
    select
        model_id,
        token_id,
        row_norm,
        unused_distance,
        unused_limit,
        is_unused,
        is_byte,
        case
            when row_norm = 0 then true
            when unused_limit is not null then unused_distance <= unused_limit
        end as is_undertrained,
    from store.token_indicators
)
select
    models.name as model,
    judged.token_id,
    tokens.text as token,
    tokens.is_special,
    judged.is_byte,
    judged.is_unused,
    judged.is_undertrained,
    case
        when tokens.is_special then null
        when judged.is_byte then 'byte'
        when judged.is_undertrained then 'undertrained'
    end as reason,
    judged.row_norm,
    judged.unused_distance,
    judged.unused_limit,
from judged
inner join store.models as models on models.model_id = judged.model_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = judged.token_id
