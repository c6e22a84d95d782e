-- How the scores of all tokens spread around their mean, neuron by neuron.
create table store.logit_histograms (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    counts integer[] not null,
    run_id integer not null
);
comment on table store.logit_histograms is 'One row per model, layer and neuron: how many tokens of the vocabulary have a raw score in each bin, in standard deviations of the neuron''s scores from their mean. Runs of the job projections by releases before this table have no rows.';
comment on column store.logit_histograms.model_id is 'The model.';
comment on column store.logit_histograms.layer is 'Layer, from 0.';
comment on column store.logit_histograms.neuron is 'Neuron within the layer, from 0.';
comment on column store.logit_histograms.counts is 'Tokens in each of 66 bins: the first holds z-scores below -8, the last those of 8 or more, the others are 0.25 wide and hold their lower edge; where all scores are equal, z is 0. Their sum is the vocabulary.';
comment on column store.logit_histograms.run_id is 'The run that measured it.';
