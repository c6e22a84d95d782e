"""Rows of what is told of signs, and of reads, made from the rows that are there: for views that nothing else fills."""

import duckdb

from neurothek.catalog.publishing import summaries

_READERS = "(values ('gate'), ('up')) as readers(reader)"
_POLES = "(values ('positive', 1), ('negative', -1)) as poles(pole, sign)"
_CASES = "(values ('g+u+', 1), ('g+u-', 2), ('g-u+', 3), ('g-u-', 4)) as cases(gate_case, number)"
_SCORED = "score_mean, score_sd, score_skewness, score_kurtosis, score_negative_share, top_token_ids, top_scores"
_LISTED = f"{_SCORED}, bottom_token_ids, bottom_scores, run_id"
_NEURONS = "(select distinct set_id, corpus_id, layer, neuron, run_id from store.activity)"
_COSINES = "null, (neuron % 5 - 2) / 2.5, (neuron % 3 - 1) / 1.25, (layer - neuron % 4) / 8"

STATEMENTS = (
    f"insert into store.key_projections select set_id, layer, neuron, reader, value_norm, {_LISTED}"
    f" from store.projections cross join {_READERS}",
    f"insert into store.key_controls select model_id, layer, reader, control_id, value_norm, {_LISTED}"
    f" from store.controls cross join {_READERS} where kind = 'random'",
    "insert into store.key_postings select set_id, token_id, 'gate', 'positive', layer, neuron, rank, score, z_score,"
    " run_id from store.postings where side = 'promoted'",
    "insert into store.key_postings select set_id, token_id, 'up',"
    " case when side = 'promoted' then 'positive' else 'negative' end, layer, neuron, rank, score, z_score, run_id"
    " from store.postings",
    f"insert into store.input_output select set_id, layer, neuron, {_COSINES}, run_id from store.projections",
    "insert into store.input_output_controls select model_id, layer, control_id, null, 0.1, 0.2, -0.1, run_id"
    " from store.controls where kind = 'random'",
    "insert into store.pole_activity select set_id, corpus_id, layer, neuron, domain, pole, n_positions // 3,"
    " n_positions // 5, (1 + neuron) * (2 + sign) / 8, (2 + neuron) / 4, 0.5 + sign / 4, run_id"
    f" from store.activity cross join {_POLES}",
    "insert into store.gate_cases select set_id, corpus_id, layer, neuron, gate_case, number + neuron, number / 8,"
    f" run_id from {_NEURONS} as neurons cross join {_CASES}",
    "insert into store.pole_contexts select set_id, corpus_id, layer, neuron, pole, rank, sign * (1 + abs(activation)),"
    f" sequence_id, position, run_id from store.contexts cross join {_POLES}",
    "insert into store.contributions select set_id, corpus_id, layer, neuron, 8, 0.5, neuron / 64, neuron / 16,"
    f" neuron / 128, neuron / 32, run_id from {_NEURONS} as neurons",
    "insert into store.entropy select set_id, corpus_id, layer, neuron, neuron / 64, 50, neuron / 32, 100, 0.1, 100,"
    f" run_id from {_NEURONS} as neurons",
    "insert into store.selectivity select set_id, corpus_id, layer, neuron, 9, min(domain), 0.75, 0.5,"
    " (1 + neuron) / 201, neuron % 3, any_value(run_id) from store.activity group by all",
    "insert into store.massive_activations select set_id, corpus_id, layer, -9, 1, 0, 0, 0.5, 8, 2, 0, 1, 0.001,"
    " 0.5, 0.75, any_value(run_id) from store.activity group by all",
    "insert into store.contrasts select set_id, corpus_id, 'two sets', 'a.txt', 'b.txt', 'last', 2, 1, 200, 0, 9,"
    " 3, 20, 0.5, 1, any_value(run_id) from store.activity group by all",
    "insert into store.contrast_prompts select set_id, corpus_id, 'two sets', side, number, 'x' || number, 3,"
    " any_value(run_id) from store.activity cross join (values ('a', 1), ('a', 2), ('b', 1)) as sides(side, number)"
    " group by all",
    "insert into store.contrast_neurons select set_id, corpus_id, 'two sets', layer, neuron, neuron / 8, -0.5,"
    f" neuron - 0.5, 1 / (neuron + 1), 1 / (neuron + 1), run_id from {_NEURONS} as neurons",
    "insert into store.universality select one.set_id, other.set_id, one.corpus_id, one.layer, one.neuron, other.layer,"
    f" other.neuron, 0.75 - one.neuron / 64, 0.125, one.run_id from {_NEURONS} as one inner join {_NEURONS} as other"
    " on other.corpus_id = one.corpus_id and other.set_id <> one.set_id and other.layer = 0 and other.neuron = 1",
    "insert into store.output_scores select set_id, corpus_id, layer, neuron, case when neuron % 2 = 0 then 'positive'"
    " else 'negative' end, case when neuron % 2 = 0 then 20 else -20 end, neuron % 3, 0.5 / (1 + neuron),"
    f" 0.25 / (1 + neuron), 0.125, 50, 0.0625, 100 - neuron % 5 * 25, run_id, true from {_NEURONS} as neurons",
    "insert into store.explanations select 'e' || set_id || '-' || layer || '-' || neuron, set_id, layer, neuron,"
    " 'positive', 'neuron', 'someone', 'names of months', null, timestamp '2026-01-01 00:00:00'"
    f" from {_NEURONS} as neurons where neuron < 2",
    "insert into store.explanation_judgements select explanation_id || '-' || number || condition, explanation_id,"
    " model_id, 'judge', 'detection', condition, part, number, 0, is_true, answer, 'p', 'c',"
    " timestamp '2026-01-01 00:00:00' from store.explanations cross join (values ('explanation'), ('borrowed'),"
    " ('random text'), ('shuffled')) as conditions(condition) cross join (values (1, 'strongest', true, true),"
    " (2, 'lower', true, false), (3, 'inactive', false, false), (4, 'inactive', false, null)) as"
    " answers(number, part, is_true, answer)",
    "insert into store.foreign_catalogs select 'neuronpedia-1', model_id, 'neuronpedia', name, '/v1', 'r', 'how', 9,"
    " 'm != 0', 'all', n_neurons, 'x', timestamp '2026-01-01 00:00:00' from store.models",
    "insert into store.foreign_neurons select 'neuronpedia-1', set_id, layer, neuron, neuron / 64, neuron / 8,"
    " ['a', 'b'], [top_token_ids[1], null], ['c'], bottom_token_ids[1:1], (neuron + 1) % d_ffn"
    " from store.projections inner join store.models on model_id = set_id",
    "insert into store.foreign_explanations select catalog, set_id, layer, neuron, number, 'someone', 'how',"
    " number / 4, 'score', 'names of months' from store.foreign_neurons cross join (values (1), (2)) as numbers(number)"
    " where neuron < 2",
    "update store.neuron_facts as facts set contribution_max = contributions.contribution_max"
    " from store.contributions as contributions where contributions.set_id = facts.set_id"
    " and contributions.corpus_id = facts.corpus_id and contributions.layer = facts.layer"
    " and contributions.neuron = facts.neuron",
    "update store.neuron_facts as facts set output_score = scores.output_score,"
    " output_percentile = scores.other_percentile from store.output_scores as scores where scores.set_id = facts.set_id"
    " and scores.corpus_id = facts.corpus_id and scores.layer = facts.layer and scores.neuron = facts.neuron",
    "update store.neuron_facts set has_super_weight = neuron = 0, massive_ratio = case when neuron = 0 then 9 end",
)


def insert(connection: duckdb.DuckDBPyConnection) -> None:
    """Every model gets them, whatever its non-linearity."""
    for statement in STATEMENTS:
        connection.execute(statement)
    for (model_id,) in connection.execute("select model_id from store.models order by model_id").fetchall():
        summaries.refresh(connection, model_id)
