-- Profiles over positions, and what the view neurons needs of them.
create table store.positions (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    domain varchar not null,
    n_sequences bigint not null,
    first_position integer not null,
    mutual_information double,
    mutual_information_corrected double,
    n_switches integer not null,
    n_on_runs integer not null,
    n_off_runs integer not null,
    weakest_on double,
    weakest_off double,
    roughness double,
    counts_64 bigint[] not null,
    counts bigint[],
    run_id integer not null
);
comment on table store.positions is 'One row per model, corpus, layer, neuron and domain, over full-length sequences: how the frequency depends on the position; a row all for every neuron, one a domain where that row has at least 0.01 nats.';
comment on column store.positions.model_id is 'The model.';
comment on column store.positions.corpus_id is 'The corpus.';
comment on column store.positions.layer is 'Layer, 0-based.';
comment on column store.positions.neuron is 'Neuron within the layer, 0-based.';
comment on column store.positions.domain is 'all, or a domain of the corpus.';
comment on column store.positions.n_sequences is 'Full-length sequences behind the row.';
comment on column store.positions.first_position is 'First counted position: 1 where a BOS is prepended, else 0.';
comment on column store.positions.mutual_information is 'Mutual information of position and being active, nats, as counted; null without a full-length sequence.';
comment on column store.positions.mutual_information_corrected is 'The same less its Miller-Madow bias, not below 0; null without a full-length sequence.';
comment on column store.positions.n_switches is 'Alternations of on-runs and off-runs in the order of positions.';
comment on column store.positions.n_on_runs is 'Long stretches of positions at which it fires in at least 90% of the sequences, and clearly more than on average.';
comment on column store.positions.n_off_runs is 'Long stretches of positions at which it fires in at most 10% of the sequences, and clearly less than on average.';
comment on column store.positions.weakest_on is 'Smallest frequency of an on-run; null where there is none.';
comment on column store.positions.weakest_off is 'Largest frequency of an off-run; null where there is none.';
comment on column store.positions.roughness is 'Root mean square distance of a frequency from the mean of its two neighbours, less counting noise; null below two sequences or three positions.';
comment on column store.positions.counts_64 is 'Sequences in which it was active, summed over 64 equal bins of counted positions: the p-th of n lies in bin floor(64 p / n); fewer than 64 positions are a bin each.';
comment on column store.positions.counts is 'Sequences in which it was active at each counted position; kept where the row has at least 0.01 nats, else null.';
comment on column store.positions.run_id is 'The run that measured it.';

alter table store.neuron_facts add column n_position_sequences bigint;
alter table store.neuron_facts add column mutual_information double;
alter table store.neuron_facts add column mutual_information_corrected double;
alter table store.neuron_facts add column n_switches integer;
alter table store.neuron_facts add column n_on_runs integer;
alter table store.neuron_facts add column n_off_runs integer;
alter table store.neuron_facts add column weakest_on double;
alter table store.neuron_facts add column weakest_off double;
alter table store.neuron_facts add column roughness double;
comment on column store.neuron_facts.n_position_sequences is 'Full-length sequences of the shown corpus behind the position profile; null before it was measured.';
comment on column store.neuron_facts.mutual_information is 'Mutual information of position and being active, nats, as counted.';
comment on column store.neuron_facts.mutual_information_corrected is 'The same less its Miller-Madow bias, not below 0.';
comment on column store.neuron_facts.n_switches is 'Alternations of on-runs and off-runs in the position profile.';
comment on column store.neuron_facts.n_on_runs is 'On-runs of the position profile.';
comment on column store.neuron_facts.n_off_runs is 'Off-runs of the position profile.';
comment on column store.neuron_facts.weakest_on is 'Smallest frequency of an on-run; null where there is none.';
comment on column store.neuron_facts.weakest_off is 'Largest frequency of an off-run; null where there is none.';
comment on column store.neuron_facts.roughness is 'Roughness of the position profile beyond counting noise.';
