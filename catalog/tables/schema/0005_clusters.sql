-- Clusters and nearest neighbours of value vectors, and the control vectors that neurons are held against.

create table store.clusterings (
    clustering_id integer not null,
    model_id integer not null,
    method varchar not null,
    linkage varchar not null,
    n_clusters_asked integer not null,
    n_clusters integer not null,
    run_id integer not null
);
comment on table store.clusterings is 'One row per clustering of a model''s value vectors: agglomerative, by cosine distance, over all layers.';
comment on column store.clusterings.clustering_id is 'Number of the clustering in this file.';
comment on column store.clusterings.model_id is 'The model.';
comment on column store.clusterings.method is 'exact: complete linkage over all pairs; scalable: the first merges within parts of the vectors, the rest over all pairs.';
comment on column store.clusterings.linkage is 'complete: two clusters are as far apart as their two most distant members.';
comment on column store.clusterings.n_clusters_asked is 'Clusters asked for.';
comment on column store.clusterings.n_clusters is 'Clusters obtained: fewer than asked where merges tie.';
comment on column store.clusterings.run_id is 'The run that measured it.';

create table store.clusters (
    clustering_id integer not null,
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    cluster_id integer not null,
    centre_cosine double,
    run_id integer not null
);
comment on table store.clusters is 'One row per clustering and neuron: the cluster that its value vector belongs to.';
comment on column store.clusters.clustering_id is 'The clustering.';
comment on column store.clusters.model_id is 'The model.';
comment on column store.clusters.layer is 'Layer, 0-based.';
comment on column store.clusters.neuron is 'Neuron within the layer, 0-based.';
comment on column store.clusters.cluster_id is 'Cluster within the clustering, 0-based, in the order of first members.';
comment on column store.clusters.centre_cosine is 'Cosine of the value vector with the sum of its cluster''s unit vectors; null for a vector shorter than 1e-6.';
comment on column store.clusters.run_id is 'The run that measured it.';

create table store.neighbours (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    rank smallint not null,
    other_layer smallint not null,
    other_neuron integer not null,
    cosine float not null,
    run_id integer not null
);
comment on table store.neighbours is 'One row per neuron and near neuron: the value vectors of largest cosine in the whole model.';
comment on column store.neighbours.model_id is 'The model.';
comment on column store.neighbours.layer is 'Layer, 0-based.';
comment on column store.neighbours.neuron is 'Neuron within the layer, 0-based.';
comment on column store.neighbours.rank is 'Place among its nearest, 1-based; ties by layer, then neuron.';
comment on column store.neighbours.other_layer is 'Layer of the near neuron.';
comment on column store.neighbours.other_neuron is 'Near neuron within its layer.';
comment on column store.neighbours.cosine is 'Cosine of the two value vectors; 0 where one is shorter than 1e-6.';
comment on column store.neighbours.run_id is 'The run that measured it.';

create table store.cluster_pins (
    model_id integer not null,
    n_clusters_asked integer not null
);
comment on table store.cluster_pins is 'One row per model whose shown clustering a person chose.';
comment on column store.cluster_pins.model_id is 'The model.';
comment on column store.cluster_pins.n_clusters_asked is 'The clustering that views show for it, by the number of clusters asked for.';

create table store.controls (
    model_id integer not null,
    layer smallint not null,
    kind varchar not null,
    control_id integer not null,
    value_norm double not null,
    score_mean double not null,
    score_sd double not null,
    score_skewness double,
    score_kurtosis double,
    score_negative_share double not null,
    top_token_ids integer[] not null,
    top_scores float[] not null,
    bottom_token_ids integer[] not null,
    bottom_scores float[] not null,
    run_id integer not null
);
comment on table store.controls is 'One row per control vector: what a vector that is no neuron says in the vocabulary.';
comment on column store.controls.model_id is 'The model.';
comment on column store.controls.layer is 'Layer, 0-based.';
comment on column store.controls.kind is 'random: coordinates drawn with the mean and spread of the layer''s value vectors; ffn_update: the output of the layer''s FFN at the end of an example.';
comment on column store.controls.control_id is 'Number of the control within its layer and kind, 0-based.';
comment on column store.controls.value_norm is 'L2 norm of the vector.';
comment on column store.controls.score_mean is 'Mean raw score over the unmasked vocabulary.';
comment on column store.controls.score_sd is 'Standard deviation of the raw scores.';
comment on column store.controls.score_skewness is 'Skewness of the raw scores; null where all are equal.';
comment on column store.controls.score_kurtosis is 'Excess kurtosis of the raw scores; null where all are equal.';
comment on column store.controls.score_negative_share is 'Share of negative raw scores.';
comment on column store.controls.top_token_ids is 'Tokens of the highest scores, best first; ties by id.';
comment on column store.controls.top_scores is 'Their raw scores.';
comment on column store.controls.bottom_token_ids is 'Tokens of the lowest scores, lowest first; ties by id.';
comment on column store.controls.bottom_scores is 'Their raw scores.';
comment on column store.controls.run_id is 'The run that measured it.';

create table store.norm_overlaps (
    model_id integer not null,
    layer smallint not null,
    kind varchar not null,
    norm_overlap double,
    norm_overlap_without_bias double,
    n bigint not null,
    run_id integer not null
);
comment on table store.norm_overlaps is 'One row per layer and kind of vector: how far the final norm changes which tokens a vector promotes (Geva et al. 2022, appendix A.1).';
comment on column store.norm_overlaps.model_id is 'The model.';
comment on column store.norm_overlaps.layer is 'Layer, 0-based.';
comment on column store.norm_overlaps.kind is 'value: the layer''s value vectors; random: its random vectors.';
comment on column store.norm_overlaps.norm_overlap is 'Mean share (intersection over union) of the 30 highest tokens without and with the final norm; null for models without one.';
comment on column store.norm_overlaps.norm_overlap_without_bias is 'The same with the final norm''s bias left out.';
comment on column store.norm_overlaps.n is 'Vectors behind the means.';
comment on column store.norm_overlaps.run_id is 'The run that measured it.';

create table store.coherences (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    coherence double,
    coherence_z double,
    coherence_percentile double,
    run_id integer not null
);
comment on table store.coherences is 'One row per neuron and corpus: how alike the tokens are that it promotes, against random vectors.';
comment on column store.coherences.model_id is 'The model.';
comment on column store.coherences.corpus_id is 'The corpus.';
comment on column store.coherences.layer is 'Layer, 0-based.';
comment on column store.coherences.neuron is 'Neuron within the layer, 0-based.';
comment on column store.coherences.coherence is 'Mean pairwise cosine of the centred embeddings of its 30 highest tokens among those that are not special and come at least 10 times in the corpus; null where fewer than two do.';
comment on column store.coherences.coherence_z is 'Coherence less the mean over the layer''s 500 random vectors, over their standard deviation; null where they do not differ.';
comment on column store.coherences.coherence_percentile is 'Share of these random vectors with a smaller coherence, in percent; equal ones count half.';
comment on column store.coherences.run_id is 'The run that measured it.';

create table store.control_coherences (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    kind varchar not null,
    control_id integer not null,
    coherence double,
    coherence_z double,
    coherence_percentile double,
    run_id integer not null
);
comment on table store.control_coherences is 'One row per control vector and corpus: how alike the tokens are that it promotes, against random vectors.';
comment on column store.control_coherences.model_id is 'The model.';
comment on column store.control_coherences.corpus_id is 'The corpus.';
comment on column store.control_coherences.layer is 'Layer, 0-based.';
comment on column store.control_coherences.kind is 'random: coordinates drawn with the mean and spread of the layer''s value vectors; ffn_update: the output of the layer''s FFN at the end of an example.';
comment on column store.control_coherences.control_id is 'Number of the control within its layer and kind, 0-based.';
comment on column store.control_coherences.coherence is 'Mean pairwise cosine of the centred embeddings of its 30 highest tokens among those that are not special and come at least 10 times in the corpus; null where fewer than two do.';
comment on column store.control_coherences.coherence_z is 'Coherence less the mean over the layer''s 500 random vectors, over their standard deviation; null where they do not differ.';
comment on column store.control_coherences.coherence_percentile is 'Share of these random vectors with a smaller coherence, in percent; equal ones count half.';
comment on column store.control_coherences.run_id is 'The run that measured it.';

alter table store.neuron_facts add column clustering_id integer;
alter table store.neuron_facts add column cluster_id integer;
alter table store.neuron_facts add column cluster_size integer;
alter table store.neuron_facts add column coherence double;
alter table store.neuron_facts add column coherence_z double;
alter table store.neuron_facts add column coherence_percentile double;
comment on column store.neuron_facts.clustering_id is 'The shown clustering; null before there is one.';
comment on column store.neuron_facts.cluster_id is 'Its cluster in the shown clustering.';
comment on column store.neuron_facts.cluster_size is 'Neurons of that cluster.';
comment on column store.neuron_facts.coherence is 'Coherence of its top tokens on the shown corpus.';
comment on column store.neuron_facts.coherence_z is 'The same in standard deviations above the layer''s random vectors.';
comment on column store.neuron_facts.coherence_percentile is 'Share of the layer''s random vectors with a smaller coherence, in percent.';
