-- One row per foreign catalog and neuron: how far what somebody else says of it agrees with what was measured here, beside chance.
-- Why: whether a catalog is of these neurons at all, and whose numbers differ. A list is held against ours of the same neuron, and of
-- another neuron of the layer, which is chance. Of gated models the lists are compared at equal and at opposite signs, here and
-- in the control, and the better counts: a sign of theirs may have been turned.
-- From: store.foreign_neurons, store.projections and the flat facts of the shown corpus. Source: this project.
-- key: catalog, model, layer, neuron
-- columns:
--   model: Name of the model here.
--   catalog: The catalog: its kind, and the beginning of a fingerprint.
--   kind: Whose form it has: neuronpedia, gluscope or openai.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   n_compared: Tokens of theirs that are compared: the first ten of each list, as far as both have them; 0 if there are none.
--   n_shared: Those of them among as many of ours, promoted with promoted and suppressed with suppressed.
--   overlap: n_shared / n_compared; null where nothing is compared.
--   jaccard: n_shared / (2 n_compared - n_shared): shared tokens over all that either has; null likewise.
--   n_shared_by_chance: n_shared with the lists of another neuron of the layer in the place of this one's; null likewise.
--   overlap_by_chance: n_shared_by_chance / n_compared; null likewise.
--   frequency: Share of the counted positions of the shown corpus at which it is active; null if not measured.
--   foreign_frequency: The same as they say, by their rule and on their text; null where they do not.
--   log2_ratio: Binary logarithm of foreign_frequency / frequency; null where either is 0 or missing.
--   active_when: When it counts as active here; null if not measured.
--   foreign_active_when: When it does there; null where they do not say.
--   is_same_rule: Whether these are the same; null where either is not known.
--   positions: Positions that are counted here: all, or without the first, where that is a prepended BOS.
--   foreign_positions: Positions that are counted there; null where they do not say.
--   are_same_positions: Whether these are the same; null where they do not say.
--   corpus: The shown corpus; null before any text was measured.
with thresholds as (
    select
        10 as compared_tokens,
),
shown as (
    select
        model_id,
        corpus,
        activation_rule,
    from measured_corpora
    where is_shown
),
compared as (
    select
        said.catalog,
        said.set_id,
        said.layer,
        said.neuron,
        unit_sets.is_signed,
        least(
            thresholds.compared_tokens, array_length(said.promoted_token_ids), array_length(mine.top_token_ids)
        ) as n_promoted,
        least(
            thresholds.compared_tokens, array_length(said.suppressed_token_ids), array_length(mine.bottom_token_ids)
        ) as n_suppressed,
        said.promoted_token_ids,
        said.suppressed_token_ids,
        mine.top_token_ids,
        mine.bottom_token_ids,
        other.top_token_ids as other_top_token_ids,
        other.bottom_token_ids as other_bottom_token_ids,
    from store.foreign_neurons as said
    cross join thresholds
    inner join store.unit_sets as unit_sets on unit_sets.set_id = said.set_id
    inner join store.projections as mine
        on mine.set_id = said.set_id and mine.layer = said.layer and mine.neuron = said.neuron
    left join store.projections as other
        on other.set_id = said.set_id and other.layer = said.layer and other.neuron = said.other_neuron
),
cut as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        is_signed,
        n_promoted,
        n_suppressed,
        list_slice(promoted_token_ids, 1, n_promoted) as promoted,
        list_slice(suppressed_token_ids, 1, n_suppressed) as suppressed,
        list_slice(top_token_ids, 1, n_promoted) as top,
        list_slice(bottom_token_ids, 1, n_suppressed) as bottom,
        list_slice(bottom_token_ids, 1, n_promoted) as turned_top,
        list_slice(top_token_ids, 1, n_suppressed) as turned_bottom,
        list_slice(other_top_token_ids, 1, n_promoted) as other_top,
        list_slice(other_bottom_token_ids, 1, n_suppressed) as other_bottom,
        list_slice(other_bottom_token_ids, 1, n_promoted) as turned_other_top,
        list_slice(other_top_token_ids, 1, n_suppressed) as turned_other_bottom,
    from compared
),
counted as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        is_signed,
        n_promoted + n_suppressed as n_compared,
        array_length(list_intersect(promoted, top)) + array_length(list_intersect(suppressed, bottom)) as n_equal,
        array_length(list_intersect(promoted, turned_top))
        + array_length(list_intersect(suppressed, turned_bottom)) as n_opposite,
        array_length(list_intersect(promoted, other_top))
        + array_length(list_intersect(suppressed, other_bottom)) as n_other_equal,
        array_length(list_intersect(promoted, turned_other_top))
        + array_length(list_intersect(suppressed, turned_other_bottom)) as n_other_opposite,
    from cut
),
shared as (
    select
        catalog,
        set_id,
        layer,
        neuron,
        n_compared,
        case when is_signed then greatest(n_equal, n_opposite) else n_equal end as n_shared,
        case when is_signed then greatest(n_other_equal, n_other_opposite) else n_other_equal end as n_shared_by_chance,
    from counted
    where n_compared > 0
)
select
    models.name as model,
    said.catalog,
    catalogs.kind,
    said.layer,
    said.neuron,
    models.name || '/L' || said.layer || 'N' || said.neuron as address,
    cast(coalesce(shared.n_compared, 0) as bigint) as n_compared,
    cast(shared.n_shared as bigint) as n_shared,
    cast(shared.n_shared as double) / shared.n_compared as overlap,
    cast(shared.n_shared as double) / (2 * shared.n_compared - shared.n_shared) as jaccard,
    cast(shared.n_shared_by_chance as bigint) as n_shared_by_chance,
    cast(shared.n_shared_by_chance as double) / shared.n_compared as overlap_by_chance,
    cast(facts.n_active as double) / nullif(facts.n_positions, 0) as frequency,
    said.frequency as foreign_frequency,
    ln(nullif(said.frequency, 0) / (cast(nullif(facts.n_active, 0) as double) / nullif(facts.n_positions, 0)))
    / ln(cast(2 as double)) as log2_ratio,
    shown.activation_rule as active_when,
    catalogs.active_when as foreign_active_when,
    catalogs.active_when = shown.activation_rule as is_same_rule,
    case when tokenizers.bos_token_id is null then 'all' else 'without the first' end as positions,
    catalogs.positions as foreign_positions,
    catalogs.positions
    = case when tokenizers.bos_token_id is null then 'all' else 'without the first' end as are_same_positions,
    shown.corpus,
from store.foreign_neurons as said
inner join store.foreign_catalogs as catalogs
    on catalogs.catalog = said.catalog and catalogs.model_id = said.set_id
inner join store.models as models on models.model_id = said.set_id
inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
left join store.neuron_facts as facts
    on facts.set_id = said.set_id and facts.layer = said.layer and facts.neuron = said.neuron
left join shown on shown.model_id = said.set_id
left join shared
    on
        shared.catalog = said.catalog
        and shared.set_id = said.set_id
        and shared.layer = said.layer
        and shared.neuron = said.neuron
