-- One row per model, length of n-gram, region and bin: how many neurons need that many n-grams to be covered.
-- Why: Figures 2, 12 and 13 of Voita et al. 2023. A neuron's coverage is the fewest n-grams that hold 95% of its
-- activations; the corpus's own coverage of all positions is the reference that ignores content. From:
-- store.ngrams and corpus_ngrams. Sources: Voita et al. 2023, section 4 and appendix; that neurons with few activations
-- are set apart is ours: five random activations are covered by five tokens.
-- Kinds of rows: n; region, where model includes the others.
-- key: model, n, region, layer, bin
-- kept: ngrams
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n: Length of the n-grams.
--   region: model, first half (2 * layer + 1 <= n_layers) or layer.
--   layer: Layer, 0-based; null except for the region layer.
--   bin: Number of covering n-grams, or too few activations.
--   bin_order: Place of the bin.
--   n_neurons: Neurons of the region in the bin.
--   n_alive: Neurons of the region that were active where a full n-gram ends.
--   share: n_neurons / n_alive.
--   corpus_coverage: Fewest n-grams that hold 95% of all positions.
--   is_corpus_bin: Whether this is the bin that the corpus itself falls into.
--   corpus: The shown corpus.
with thresholds as (
    select cast(100 as bigint) as min_activations,
),
bins as (
    select
        cast(column0 as integer) as bin_order,
        column1 as bin,
        cast(column2 as bigint) as low,
        cast(column3 as bigint) as high,
    from (
        values
            (0, 'too few activations', -1, -1),
            (1, '1', 1, 1),
            (2, '2-3', 2, 3),
            (3, '4-5', 4, 5),
            (4, '6-10', 6, 10),
            (5, '11-20', 11, 20),
            (6, '21-50', 21, 50),
            (7, '51-200', 51, 200),
            (8, '201-1k', 201, 1000),
            (9, '1k-2k', 1001, 2000),
            (10, '2k-50k', 2001, 50000),
            (11, '>50k', 50001, 1000000000000)
    ) as listed(column0, column1, column2, column3)
),
alive as (
    select
        ngrams.set_id as model_id,
        ngrams.corpus_id,
        ngrams.n,
        ngrams.layer,
        2 * ngrams.layer + 1 <= models.n_layers as in_first_half,
        case when ngrams.n_active >= thresholds.min_activations then ngrams.n_covering_95 else -1 end as coverage,
    from store.ngrams as ngrams
    inner join store.models as models on models.model_id = ngrams.set_id
    cross join thresholds
    where ngrams.n_active > 0
),
coverages as (
    -- Each number is compared with the bins once, however many neurons have it.
    select
        known.coverage,
        bins.bin_order,
    from (select distinct coverage from alive) as known
    inner join bins on known.coverage between bins.low and bins.high
),
binned as (
    select
        alive.model_id,
        alive.corpus_id,
        alive.n,
        alive.layer,
        alive.in_first_half,
        coverages.bin_order,
        count(*) as n_neurons,
    from alive
    inner join coverages on coverages.coverage = alive.coverage
    group by alive.model_id, alive.corpus_id, alive.n, alive.layer, alive.in_first_half, coverages.bin_order
),
placed as (
    select model_id, corpus_id, n, 'model' as region, cast(null as smallint) as layer, bin_order, n_neurons,
    from binned
    union all
    select model_id, corpus_id, n, 'first half' as region, cast(null as smallint) as layer, bin_order, n_neurons,
    from binned
    where in_first_half
    union all
    select model_id, corpus_id, n, 'layer' as region, layer, bin_order, n_neurons,
    from binned
),
counts as (
    select
        model_id,
        corpus_id,
        n,
        region,
        layer,
        bin_order,
        cast(sum(n_neurons) as bigint) as n_neurons,
    from placed
    group by model_id, corpus_id, n, region, layer, bin_order
),
regions as (
    select
        model_id,
        corpus_id,
        n,
        region,
        layer,
        cast(sum(n_neurons) as bigint) as n_alive,
    from counts
    group by model_id, corpus_id, n, region, layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    regions.n,
    regions.region,
    regions.layer,
    bins.bin,
    bins.bin_order,
    coalesce(counts.n_neurons, 0) as n_neurons,
    regions.n_alive,
    cast(coalesce(counts.n_neurons, 0) as double) / regions.n_alive as share,
    corpus_ngrams.coverage_95 as corpus_coverage,
    corpus_ngrams.coverage_95 between bins.low and bins.high as is_corpus_bin,
    corpus_ngrams.corpus,
from regions
cross join bins
inner join corpus_ngrams
    on corpus_ngrams.model_id = regions.model_id
    and corpus_ngrams.corpus_id = regions.corpus_id
    and corpus_ngrams.n = regions.n
inner join store.models as models on models.model_id = regions.model_id
left join counts
    on counts.model_id = regions.model_id
    and counts.corpus_id = regions.corpus_id
    and counts.n = regions.n
    and counts.region = regions.region
    and counts.layer is not distinct from regions.layer
    and counts.bin_order = bins.bin_order
