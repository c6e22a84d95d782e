-- What a masked model reads of a sentence.
comment on column store.shortcut_sentences.tokens is 'The ids that the model read, a prepended BOS included: a causal model up to the position, a masked one the whole sentence with a mask at the position.';
comment on column store.shortcut_sentences.text is 'Text of these ids without the special ones, but for a mask.';
