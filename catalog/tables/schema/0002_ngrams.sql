-- Which n-grams trigger each neuron (Voita et al. 2023, section 4), and what the flat table says of tokens.
create table store.ngrams (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    n smallint not null,
    n_active bigint not null,
    n_distinct bigint not null,
    n_covering_50 bigint not null,
    n_covering_80 bigint not null,
    n_covering_90 bigint not null,
    n_covering_95 bigint not null,
    n_covering_99 bigint not null,
    run_id integer not null
);
comment on table store.ngrams is 'One row per neuron and length of n-gram (1, 2, 3): how many n-grams trigger it, and how few cover it (Voita et al. 2023, section 4).';
comment on column store.ngrams.model_id is 'The model.';
comment on column store.ngrams.corpus_id is 'The corpus.';
comment on column store.ngrams.layer is 'Layer, 0-based.';
comment on column store.ngrams.neuron is 'Neuron within the layer, 0-based.';
comment on column store.ngrams.n is 'Length of the n-grams.';
comment on column store.ngrams.n_active is 'Active positions at which a full n-gram ends, inside one sequence and without BOS.';
comment on column store.ngrams.n_distinct is 'Distinct n-grams that end there.';
comment on column store.ngrams.n_covering_50 is 'Fewest n-grams that hold 50% of n_active.';
comment on column store.ngrams.n_covering_80 is 'Fewest n-grams that hold 80% of n_active.';
comment on column store.ngrams.n_covering_90 is 'Fewest n-grams that hold 90% of n_active.';
comment on column store.ngrams.n_covering_95 is 'Fewest n-grams that hold 95% of n_active: the coverage.';
comment on column store.ngrams.n_covering_99 is 'Fewest n-grams that hold 99% of n_active.';
comment on column store.ngrams.run_id is 'Run that measured the row.';

create table store.triggers (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    n smallint not null,
    rank smallint not null,
    token_ids integer[] not null,
    n_active bigint not null,
    n_occurrences bigint not null,
    score float,
    z_score float,
    score_centred float,
    rank_from_bottom integer,
    control_scores float[],
    run_id integer not null
);
comment on table store.triggers is 'One row per neuron, length of n-gram and frequent trigger. Where n_covering_95 <= 64: the 64 most frequent, then all others that occur at least 10 times with a recall of at least 50%; elsewhere the 10 (n = 1) or 5 most frequent.';
comment on column store.triggers.model_id is 'The model.';
comment on column store.triggers.corpus_id is 'The corpus.';
comment on column store.triggers.layer is 'Layer, 0-based.';
comment on column store.triggers.neuron is 'Neuron within the layer, 0-based.';
comment on column store.triggers.n is 'Length of the n-gram.';
comment on column store.triggers.rank is 'Place by n_active, 1-based, ties by ids; places beyond 64 are numbered on, although n-grams that could make no detector are left out.';
comment on column store.triggers.token_ids is 'Ids of the n-gram, in the order of the text.';
comment on column store.triggers.n_active is 'Positions at which the n-gram ends and the neuron was active.';
comment on column store.triggers.n_occurrences is 'Positions at which the n-gram ends.';
comment on column store.triggers.score is 'Raw score e_w . v of the token; null for longer n-grams, like all scores here.';
comment on column store.triggers.z_score is '(score - mean) / standard deviation over the neuron''s scores; 0 where they are all equal.';
comment on column store.triggers.score_centred is 'score minus the mean of the neuron''s scores.';
comment on column store.triggers.rank_from_bottom is '1 + number of unmasked tokens with a lower score: 1 is the most suppressed.';
comment on column store.triggers.control_scores is 'Raw scores of 100 tokens drawn with a seed, with replacement, from those as frequent in the corpus (the same tenth of its tokens by frequency): the base rate of suppression. Null unless n_covering_95 <= 64, n_occurrences >= 10 and recall >= 50%.';
comment on column store.triggers.run_id is 'Run that measured the row.';

create table store.ngram_spectrum (
    model_id integer not null,
    corpus_id integer not null,
    n smallint not null,
    n_occurrences bigint not null,
    n_distinct bigint not null,
    run_id integer not null
);
comment on table store.ngram_spectrum is 'One row per length of n-gram and number of occurrences: how many n-grams of the corpus occur so often. It says what could be detected, and the corpus''s own coverage.';
comment on column store.ngram_spectrum.model_id is 'The model whose run counted.';
comment on column store.ngram_spectrum.corpus_id is 'The corpus.';
comment on column store.ngram_spectrum.n is 'Length of the n-grams.';
comment on column store.ngram_spectrum.n_occurrences is 'Number of occurrences.';
comment on column store.ngram_spectrum.n_distinct is 'Distinct n-grams that occur so often.';
comment on column store.ngram_spectrum.run_id is 'Run that measured the row.';

alter table store.neuron_facts add column unigram_active bigint;
alter table store.neuron_facts add column unigrams_95 bigint;
alter table store.neuron_facts add column trigger_share double;
alter table store.neuron_facts add column trigger_recall double;
alter table store.neuron_facts add column trigger_z double;
alter table store.neuron_facts add column detected_active bigint;
alter table store.neuron_facts add column detected_score double;
alter table store.neuron_facts add column detected_tokens varchar[];
comment on column store.neuron_facts.unigram_active is 'Activations on tokens: n_active of store.ngrams for n = 1; null before the job ngrams has run, like the columns after it.';
comment on column store.neuron_facts.unigrams_95 is 'Fewest tokens that hold 95% of them: the unigram coverage.';
comment on column store.neuron_facts.trigger_share is 'Share of the activations on its five most frequent triggering tokens; null for a neuron that never fires.';
comment on column store.neuron_facts.trigger_recall is 'Share of the occurrences of these five at which it was active.';
comment on column store.neuron_facts.trigger_z is 'Mean z-score of these five.';
comment on column store.neuron_facts.detected_active is 'Activations on the stored triggers that occur at least 10 times with a recall of at least 95%.';
comment on column store.neuron_facts.detected_score is 'Mean raw score of these; null where there are none.';
comment on column store.neuron_facts.detected_tokens is 'Texts of these, by token id; null where there are none.';
