-- What sets models of further families apart: parallel blocks, and what config.json decides beside weights and sizes.

alter table store.models add column has_parallel_residual boolean default false;
alter table store.models alter column has_parallel_residual set not null;
alter table store.models add column settings varchar default '';
alter table store.models alter column settings set not null;
comment on column store.models.has_parallel_residual is 'Whether attention and FFN of a block both read what enters it (GPT-NeoX); the stream before the FFN is then taken as x + attention output.';
comment on column store.models.settings is 'What else config.json decides beside weights and sizes, as JSON: rotary positions, epsilons, attention windows; empty for families without any.';
comment on column store.models.architecture is 'Architecture as the library of models names it, e.g. opt, gpt2, gpt_neox, llama.';
comment on column store.models.activation is 'Non-linearity of the feed-forward layers, e.g. relu, gelu_new; of gated ones the gate''s, e.g. silu.';
comment on column store.models.activation_rule is 'When a neuron counts as active, unless a run says otherwise: m != 0, m > 0, or gate > 0 (the gate''s pre-activation).';
comment on column store.models.has_exact_zeros is 'Whether a neuron that is off has coefficient 0 exactly (ReLU), so that a neuron can be dead.';
comment on column store.projections.preactivation_bound is 'What no input can lift the pre-activation above, of a gated FFN the gate''s; below 0 a ReLU neuron is dead on every text. Null for post-norm blocks.';
