-- What neurons do around the places that are kept for them, and how large their activations are.
create table store.context_windows (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    band varchar not null,
    rank smallint not null,
    sequence_id integer not null,
    position integer not null,
    n_before smallint not null,
    n_after smallint not null,
    nonzero bigint not null,
    largest float not null,
    activations tinyint[] not null,
    run_id integer not null
);
comment on table store.context_windows is 'One row per neuron, band and rank: its activation at every position around a place. Windows lie within a sequence and hold counted positions only.';
comment on column store.context_windows.model_id is 'The model.';
comment on column store.context_windows.corpus_id is 'The corpus.';
comment on column store.context_windows.layer is 'Layer, 0-based.';
comment on column store.context_windows.neuron is 'Neuron within the layer, 0-based.';
comment on column store.context_windows.band is 'strongest (the sequences with the largest |m|), quantile (a random sample of the sequences in which it fires) or random (positions drawn of the whole corpus, the same for every neuron).';
comment on column store.context_windows.rank is 'From 1: by the largest |m| of the sequence, ties by sequence; of random ones the order in which they were drawn.';
comment on column store.context_windows.sequence_id is 'Sequence of the corpus.';
comment on column store.context_windows.position is 'The place: of the largest |m| of the sequence, or the one drawn; 0-based.';
comment on column store.context_windows.n_before is 'Positions of the window before the place, at most 40.';
comment on column store.context_windows.n_after is 'Positions of the window after the place, at most 22.';
comment on column store.context_windows.nonzero is 'Bit i, from the lowest and from 0, is set where the coefficient m at position i of the window is not 0.';
comment on column store.context_windows.largest is 'The largest |m| of the window.';
comment on column store.context_windows.activations is 'The coefficient m where it is not 0, in order, as an integer: m is integer * largest / 127, right to half of largest / 127.';
comment on column store.context_windows.run_id is 'Run that measured the row.';

create table store.activation_histograms (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    n_positions bigint not null,
    first_bin smallint not null,
    counts bigint[] not null,
    run_id integer not null
);
comment on table store.activation_histograms is 'One row per neuron: how often its coefficient is of which size and sign, in bins of half a power of two.';
comment on column store.activation_histograms.model_id is 'The model.';
comment on column store.activation_histograms.corpus_id is 'The corpus.';
comment on column store.activation_histograms.layer is 'Layer, 0-based.';
comment on column store.activation_histograms.neuron is 'Neuron within the layer, 0-based.';
comment on column store.activation_histograms.n_positions is 'Counted positions that were counted: those of all sequences, or of sequences drawn until they have 32,768.';
comment on column store.activation_histograms.first_bin is 'Bin of the first count: 0 is m = 0, 1 is below 2^-8, 2 from there to 1.5 * 2^-8, 3 to 2^-7 and so on, 34 is 2^8 and more; -n is the bin n of negative m.';
comment on column store.activation_histograms.counts is 'Positions whose m lies in each bin, from first_bin to the last bin with any.';
comment on column store.activation_histograms.run_id is 'Run that measured the row.';
