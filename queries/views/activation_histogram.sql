-- One row per model, corpus, layer, neuron and bin: how many positions have a coefficient of that size and sign.
-- Why: whether a neuron is on or off or graded, and how rare its strong activations are; a condition on address, or on model, layer and neuron, is quick.
-- From: store.activation_histograms. Source: this project; bins have the edges 2^e and 1.5 * 2^e from 2^-8 to 2^8, below and above them one each, and one for 0.
-- Kinds of rows: is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer, neuron, bin
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   bin: Number of the bin: 0 is m = 0, from 1 on m > 0, the smallest first, below 0 the same for -m.
--   low: Least m of the bin, or what it comes next to; null for the bin that has none.
--   high: Largest m of the bin, or what it comes next to; null for the bin that has none.
--   n_tokens: Counted positions whose coefficient lies in it.
--   n_tokens_counted: Counted positions that were counted in all: all, or those of sequences drawn until they have 32,768.
with bins as (
    select
        facts.address,
        measured.set_id as model_id,
        measured.corpus_id,
        measured.layer,
        measured.neuron,
        measured.n_positions,
        measured.first_bin,
        measured.counts,
        unnest(generate_series(0, 68)) as place,
    from store.neuron_facts as facts
    inner join store.activation_histograms as measured
        on measured.set_id = facts.set_id and measured.layer = facts.layer and measured.neuron = facts.neuron
),
counts as (
    select
        address,
        model_id,
        corpus_id,
        layer,
        neuron,
        n_positions,
        first_bin + cast(place as integer) as bin,
        abs(first_bin + cast(place as integer)) as size_bin,
        list_extract(counts, cast(place as integer) + 1) as n_tokens,
    from bins
    where place < array_length(counts)
),
edges as (
    select
        address,
        model_id,
        corpus_id,
        layer,
        neuron,
        n_positions,
        bin,
        n_tokens,
        case when size_bin < 2 then 0 else power(2, floor(size_bin / 2.0) - 9) * (1 + 0.5 * (size_bin % 2)) end as least,
        case
            when size_bin = 0 then 0
            when size_bin < 34 then power(2, floor((size_bin + 1) / 2.0) - 9) * (1 + 0.5 * ((size_bin + 1) % 2))
        end as most,
    from counts
    where n_tokens > 0
)
select
    measured_corpora.model,
    measured_corpora.corpus,
    edges.corpus_id,
    measured_corpora.is_shown,
    edges.layer,
    edges.neuron,
    edges.address,
    edges.bin,
    cast(case when edges.bin < 0 then -edges.most else edges.least end as double) as low,
    cast(case when edges.bin < 0 then -edges.least else edges.most end as double) as high,
    edges.n_tokens,
    edges.n_positions as n_tokens_counted,
from edges
inner join measured_corpora
    on measured_corpora.model_id = edges.model_id and measured_corpora.corpus_id = edges.corpus_id
