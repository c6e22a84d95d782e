"""Proving a warehouse sound: one that was measured is, and every check notices the damage it is there for."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME, FACTS, JOB_TABLES
from neurothek.catalog.upkeep.changes import remove
from neurothek.catalog.upkeep.checks import broken, check, checks, of_subject
from neurothek.ingest.jobs.registry import NAMES as JOBS
from neurothek.ingest.jobs.registry import PAIR_NAMES, QUERY_NAMES
from neurothek.queries.annotate.annotations import annotate as publish
from neurothek.queries.annotate.lists import draw_lists
from neurothek.queries.views import install
from tests.support import ingests
from tests.support.chat_server import chat_server
from tests.support.foreign import explanation, measured_features, write_neuronpedia
from tests.support.models import Kind, build

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("checks")]

# One row each, changed so that the check of this name fails.
DAMAGE = {
    "annotations are of vectors": "update store.annotations set neuron = 99999 where condition = 'value'",
    "annotations name patterns": "update store.annotations set token_ids = token_ids[:3] where concept is not null",
    "plausibility is of lists": "update store.plausibility_judgements set model_id = 99 where rowid = 0",
    "annotators saw the highest tokens": "update store.annotations set shown_token_ids = list_reverse(shown_token_ids)",
    "activity is possible": "update store.activity set n_active = n_positions + 1 where rowid = 0",
    "cluster controls are possible": "update store.cluster_controls set max_cohesion = 1.5 where rowid = 0",
    "clusterings have their clusters": "update store.clusterings set n_clusters = n_clusters + 1 where rowid = 0",
    "cosines are possible": "update store.input_output set key_value = 1.5 where rowid = 0",
    "contexts lie in the corpus": "update store.contexts set position = 99999 where rowid = 0",
    "histograms are counts": "update store.activation_histograms set n_positions = n_positions + 1 where rowid = 0",
    "contrasts are possible": "update store.contrasts set positions = 'first'",
    "explanations are of neurons": "update store.explanations set neuron = 99999 where rowid = 0",
    "foreign catalogs are possible": "update store.foreign_neurons set neuron = 99999 where rowid = 0",
    "corpora are their tokens": "update store.corpora set n_tokens = n_tokens + 1",
    "tables are no prose": """update store.corpora set recipe = replace(recipe, '.txt"', '.csv"')""",
    "counted positions are the corpus": "update store.activity set n_positions = n_positions + 1 where rowid = 0",
    "counterparts are ranked": "update store.counterparts set is_mutual = not is_mutual where rowid = 0",
    "output scores are possible": "update store.output_scores set output_score = 2 where rowid = 0",
    "universality is of both": "update store.universality set correlation = 1.5 where rowid = 0",
    "counterparts overlap as their lists": "update store.counterparts set overlap = overlap * 0.999 where rowid = 0",
    "dimensions exist": "update store.models set tokenizer_id = 77",
    "event samples are their examples": "update store.event_samples set n_examples = n_examples - 1",
    "events are their examples": "update store.events set layer = layer + 1 where rowid = 0",
    "every neuron is measured": "update store.projections set neuron = 99999 where rowid = 0",
    "exits are possible": "update store.exits set n_correct = n + 1 where rowid = 0",
    "exits have their ends": "update store.exits set layers_run = 1.5 where method = 'mat' and parameter < 0",
    "facts are the measured": "update store.neuron_facts set n_active = n_active + 1 where rowid = 0",
    "facts are up to date": "delete from store.neuron_facts where rowid = 0",
    "listed tokens exist": "update store.postings set token_id = 99999 where rowid = 0",
    "kinds are known": "update store.streams set moment = 'mid' where rowid = 0",
    "lists are sorted": "update store.projections set top_scores = list_reverse(top_scores) where rowid = 0",
    "logit histograms are the vocabulary": "update store.logit_histograms set counts = counts[2:] where rowid = 0",
    "neighbours are ordered": "update store.token_neighbours set neighbour_id = token_id where rowid = 0",
    "neurons are units": "update store.unit_layers set n_units = n_units + 1 where layer = 0",
    "ngrams agree with activity": "update store.ngrams set n_covering_50 = n_covering_80 + 1 where rowid = 0",
    "poles are possible": "update store.pole_activity set n_strong = n_active + 1 where rowid = 0",
    "postings are the lists": "update store.postings set score = score + 1 where rowid = 0",
    "predictions are possible": "update store.examples set saturation_layer = saturation_layer + 1 where rowid = 0",
    "profiles are counts": "update store.positions set mutual_information = 1 where rowid = 0",
    "reads are the lists": "update store.key_postings set rank = rank + 1 where rowid = 0",
    "runs read their own tokens": "update store.corpora set tokenizer_id = tokenizer_id + 1",
    "scores are possible": "update store.projections set score_mean = top_scores[1] + 1 where rowid = 0",
    "shortcut predictions are their readings": "update store.shortcut_predictions set surprisal = surprisal + 1",
    "shortcut readings are possible": "update store.shortcut_readings set second_probability = 2 where rowid = 0",
    "shortcuts join all states": "delete from store.shortcut_maps where rowid = 0",
    "interventions are possible": "update store.intervention_effects set nll = -1 where rowid = 0",
    "interventions have their sets": "delete from store.intervention_neurons where rowid = 0",
    "continuations are scored alike": "update store.attribute_scores set score = 1.5 where rowid = 0",
    "neuron effects add up": "update store.neuron_effects_by_domain set n_tokens = n_tokens + 1 where rowid = 0",
    "neuron effects are possible": "update store.neuron_effects set nll = -1 where rowid = 0",
    "sizes leave embeddings out": "update store.models set size = size + 1 where rowid = 0",
    "spectra are the corpus": "update store.ngram_spectrum set n_distinct = n_distinct + 1 where n = 1",
    "views are as installed": "drop view main.tokens",
    "windows lie in the corpus": "update store.context_windows set position = 99999 where rowid = 0",
    "words are of their texts": "update store.tokens set word = word || 'x' where token_id = 300",
    "token indicators are the vocabulary": "update store.token_indicators set row_norm = -1 where rowid = 0",
    "traits are possible": "update store.entropy set null_share = 1.1 where rowid = 0",
    "triggers are counted": "update store.triggers set n_active = n_occurrences + 1 where rowid = 0",
}

CONCEPT = {"concept": "words", "class": "semantic", "ranks": [1, 2, 5, 9]}
ANNOTATIONS: list[dict[str, Any]] = [
    {"address": "tiny/L0N3", **CONCEPT},
    {"address": "other/L1N2", "concept": None},
    {"model": "tiny", "layer": 1, "condition": "random", "control_id": 0, **CONCEPT},
]

CORRECTED = "mutual_information_corrected"

# The last example of all models, and what belongs to it.
LAST = "example_id = (select max(example_id) from store.examples)"

MORE_DAMAGE = {
    "counted positions are the corpus": (
        "update store.activity set n_active_bos = 1000000 where rowid = 0",
        "update store.activity set n_active_bos = -1 where rowid = 0",
    ),
    "event samples are their examples": (
        "update store.event_samples set n_sentences = n_examples - 1",
        "update store.event_samples set n_event_examples = n_event_examples - 1",
        "update store.event_samples set n_event_examples = n_examples + 1",
        "delete from store.event_samples where rowid = 0",
        f"delete from store.sub_updates where {LAST}; delete from store.examples where {LAST}",
        f"update store.sub_updates set example_id = -1 where {LAST};"
        f" update store.examples set example_id = -1 where {LAST}",
        "update store.sub_updates set example_id = 99999 where kind <> 'dominant'",
    ),
    "every neuron is measured": ("update store.key_projections set neuron = 99999 where rowid = 0",),
    "listed tokens exist": ("update store.key_postings set token_id = 99999 where rowid = 0",),
    "lists are sorted": ("update store.key_projections set top_scores = list_reverse(top_scores) where rowid = 0",),
    "scores are possible": (
        "update store.key_projections set score_mean = top_scores[1] + 1 where rowid = 0",
        "update store.key_projections set reading_norm = -1 where rowid = 0",
    ),
    "cosines are possible": (
        "update store.input_output set up_value = 0.5 where rowid = 0",
        "update store.input_output_controls set key_value = -1.5 where rowid = 0",
    ),
    "reads are the lists": (
        "update store.key_postings set score = score + 1 where rowid = 0",
        "update store.key_postings set pole = 'negative' where rowid = 0",
        "update store.key_postings set z_score = z_score + 1 where rowid = 0",
        "delete from store.key_postings where rowid = 0",
        "delete from store.key_projections where rowid = 0",
    ),
    "annotations are of vectors": (
        "update store.annotations set model_id = 99",
        "update store.annotations set layer = 2",
        "update store.annotations set condition = 'noise'",
        "update store.annotations set neuron = null",
        "update store.annotations set control_id = 1 where condition = 'value'",
        "update store.annotations set control_id = 99999 where condition = 'random'",
        "update store.annotations set neuron = 1 where condition = 'random'",
    ),
    "neurons are units": (
        "delete from store.unit_sets where set_id = 0",
        "update store.unit_sets set rule = 'm <> 0' where set_id = 0",
        "update store.unit_sets set model_id = 99 where set_id = 0",
        "insert into store.unit_sets select * replace (9 as set_id, 99 as model_id) from store.unit_sets limit 1",
        "delete from store.unit_layers where set_id = 0 and layer = 1",
        "update store.unit_layers set first_unit = first_unit + 1 where layer = 1",
        "insert into store.unit_layers values (9, 0, 4, 0)",
    ),
    "poles are possible": (
        "delete from store.pole_activity where rowid = 0",
        "update store.pole_activity set largest = 0 where rowid = 0",
        "update store.pole_activity set abs_sum = 2 * abs_sum, square_sum = 4 * square_sum where rowid = 0",
        "update store.pole_activity set square_sum = 2 * square_sum where rowid = 0",
        "update store.pole_activity set n_active = n_active - 1 where rowid = 0",
        "update store.gate_cases set n_positions = n_positions + 1 where rowid = 0",
        "update store.gate_cases set abs_sum = 2 * abs_sum + 1 where rowid = 0",
        "delete from store.gate_cases where rowid = 0",
        "update store.pole_contexts set activation = -activation where rowid = 0",
        "update store.pole_contexts set position = 99999 where rowid = 0",
        "update store.pole_contexts set rank = rank + 1 where rowid = 0",
        "update store.contributions set contribution_mean = contribution_max + 1 where rowid = 0",
        "update store.contributions set contribution_max_later = contribution_max + 1 where rowid = 0",
        "update store.contributions set contribution_mean_later = null where rowid = 0",
        "update store.contributions set root_mean_square = -1 where rowid = 0",
    ),
    "ngrams agree with activity": (
        "update store.ngrams set n_active = n_active + 1000 where rowid = 0",
        "update store.shuffled_ngrams set n_active = n_active + 1 where rowid = 0",
        "update store.shuffled_ngrams set detected_active = n_active + 1 where rowid = 0",
        "update store.shuffled_ngrams set n_covering_95 = n_distinct + 1 where rowid = 0",
    ),
    "plausibility is of lists": (
        "update store.plausibility_judgements set text = ''",
        "update store.plausibility_judgements set shown_token_ids = []",
        "update store.plausibility_judgements set shown_token_ids = list_append(shown_token_ids[:4], 99999)",
        "update store.plausibility_judgements set shown_token_ids = [shown_token_ids[1], shown_token_ids[1]]",
        "update store.plausibility_judgements set annotator = 'rules'",
    ),
    "annotations name patterns": (
        "update store.annotations set class = 'nouns' where concept is not null",
        "update store.annotations set class = null where concept is not null",
        "update store.annotations set class = 'names' where concept is null",
        "update store.annotations set token_ids = shown_token_ids where concept is null",
        "update store.annotations set concept = ' ' where concept is not null",
        "update store.annotations set annotator = 'all'",
        "update store.annotations set token_ids = list_append(token_ids, token_ids[1]) where concept is not null",
        "update store.annotations set token_ids = list_append(token_ids, -1) where concept is not null",
    ),
    "annotators saw the highest tokens": (
        "update store.annotations set shown_token_ids = shown_token_ids[2:] where condition = 'value'",
        "update store.annotations set shown_token_ids = []",
        "update store.annotations set shown_token_ids = list_append(shown_token_ids, shown_token_ids[1])",
    ),
    "histograms are counts": (
        "update store.activation_histograms set counts = list_append(counts, 0) where rowid = 0",
        "update store.activation_histograms set first_bin = 34 where len(counts) > 1",
        "update store.activation_histograms set n_positions = 9 * n_positions,"
        " counts = list_transform(counts, lambda n: 9 * n)",
        "delete from store.activation_histograms where rowid = 0",
    ),
    "cluster controls are possible": (
        "update store.cluster_controls set n_clusters_asked = n_clusters_asked + 1 where rowid = 0",
        "update store.cluster_controls set n_clusters = n_clusters_asked + 1 where rowid = 0",
        "update store.cluster_controls set n_several = n_clusters + 1 where rowid = 0",
        "update store.cluster_controls set n_several = 0 where rowid = 0",
        "update store.cluster_controls set p95_cohesion = null where rowid = 0",
        "update store.cluster_controls set max_cohesion = null where rowid = 0",
        "update store.cluster_controls set median_cohesion = -1.5 where rowid = 0",
        "update store.cluster_controls set median_cohesion = p95_cohesion + 0.01 where rowid = 0",
        "update store.cluster_controls set p95_cohesion = max_cohesion + 0.01 where rowid = 0",
    ),
    "windows lie in the corpus": (
        "update store.context_windows set band = 'weakest' where rowid = 0",
        "update store.context_windows set n_before = position + 1 where rowid = 0",
        "update store.context_windows set n_before = 41",
        "update store.context_windows set n_after = 23",
        "update store.context_windows set n_after = n_after - 1 where n_after > 0",
        "update store.context_windows set nonzero = nonzero - 1 where nonzero % 2 = 1",
        "update store.context_windows set activations = list_transform(activations, lambda m: m // 2)",
        "update store.context_windows set largest = 2 * largest where band = 'strongest'",
        "update store.context_windows set sequence_id = sequence_id + 1 where band = 'strongest'",
        "update store.context_windows set rank = rank + 1 where band = 'quantile'",
        "update store.context_windows set largest = rank where band = 'quantile'",
    ),
    "interventions are possible": (
        "update store.interventions set how = 'add'",
        "update store.interventions set moment = 'between'",
        "update store.interventions set value = null",
        "update store.interventions set n_sets = 0",
        "update store.intervention_effects set kl = -n_tokens where rowid = 0",
        "update store.intervention_effects set mass_promoted = 2 * n_tokens where rowid = 0",
        "update store.intervention_effects set nll_untouched = nll_untouched + 1 where set_number = 1",
        "update store.intervention_effects set n_tokens = n_tokens + 1 where set_number = 1",
    ),
    "interventions have their sets": (
        "update store.interventions set n_neurons = n_neurons + 1",
        "update store.interventions set n_sets = n_sets + 1",
        "delete from store.intervention_effects where set_number = 2",
        "update store.intervention_neurons set layer = 1 - layer where set_number = 1",
    ),
    "continuations are scored alike": (
        "update store.attribute_scores set score = -0.1 where rowid = 0",
        "delete from store.attribute_scores where rowid = 0",
        "update store.continuations set method = 'filter' where method = 'word_filter'",
        "delete from store.continuations where method = 'self_debiasing'",
        "delete from store.continuations where set_number = 1",
        "update store.continuations set set_number = 1 where method = 'changed'",
        "delete from store.continuations where method = 'changed' and prompt_number = 2",
        "update store.continuations set prompt = prompt || '!' where method = 'changed' and prompt_number = 1",
        "update store.continuations set prompt_number = prompt_number + 1",
    ),
    "contrasts are possible": (
        "update store.contrasts set n_shuffles = 0",
        "update store.contrasts set n_controls = 0",
        "update store.contrasts set n_significant_shuffled = -1",
        "update store.contrasts set n_significant_shuffled = n_significant_shuffled_most + 1",
        "update store.contrasts set n_a = n_a + 1",
        "update store.contrasts set n_b = n_b + 1",
        "update store.contrast_prompts set n_tokens = 0 where prompt_number = 1",
        "delete from store.contrast_neurons where rowid = 0",
        "update store.contrasts set n_tested = n_tested + 1",
        "update store.contrasts set n_significant = n_significant + 1",
        "delete from store.contrasts",
        "update store.contrast_neurons set q = null where layer = 0 and neuron = 0",
        "update store.contrast_neurons set p = null where layer = 0 and neuron = 0",
        "update store.contrast_neurons set p = -0.1 where layer = 0 and neuron = 0",
        "update store.contrast_neurons set q = p / 2 where layer = 0 and neuron = 0",
        "update store.contrast_neurons set p = 1, q = 1.1 where layer = 0 and neuron = 0",
        "update store.contrast_neurons set z = -z where layer = 0 and neuron = 0",
    ),
    "foreign catalogs are possible": (
        "update store.foreign_catalogs set model_id = 99",
        "update store.foreign_catalogs set kind = 'neuroscope'",
        "update store.foreign_catalogs set positions = 'some'",
        "update store.foreign_catalogs set n_tokens = 0",
        "update store.foreign_catalogs set n_neurons = n_neurons + 1",
        "delete from store.foreign_catalogs",
        "delete from store.foreign_neurons where rowid = 0",
        "update store.foreign_neurons set set_id = 1 - set_id",
        "update store.foreign_neurons set layer = -1 where rowid = 0",
        "update store.foreign_neurons set frequency = 1.5 where rowid = 0",
        "update store.foreign_neurons set other_neuron = neuron where rowid = 0",
        "update store.foreign_neurons set other_neuron = null where rowid = 0",
        "update store.foreign_neurons set other_neuron = 99999 where rowid = 0",
        "update store.foreign_neurons set promoted = ['a', 'b', 'c'] where rowid = 0",
        "update store.foreign_neurons set suppressed_token_ids = [99999], suppressed = ['a'] where rowid = 0",
        "update store.foreign_explanations set neuron = neuron + 1 where rowid = 0",
        "update store.foreign_explanations set number = 0",
        "update store.foreign_explanations set text = ' '",
        "update store.foreign_explanations set score = 0.5, score_name = null",
    ),
    "explanations are of neurons": (
        "update store.explanations set model_id = 99",
        "update store.explanations set layer = -1",
        "update store.explanations set subject = 'unit'",
        "update store.explanations set text = ' '",
        "update store.explanations set explainer = ''",
        "update store.explanations set subject = 'made-up'",
        "update store.explanation_judgements set explanation_id = 'none' where rowid = 0",
        "update store.explanation_judgements set model_id = 99 where rowid = 0",
        "update store.explanation_judgements set method = 'guessing' where rowid = 0",
        "update store.explanation_judgements set condition = 'none' where rowid = 0",
        "update store.explanation_judgements set part = 'all' where rowid = 0",
        "update store.explanations set pole = 'none'",
        "update store.explanation_judgements set method = 'intruder', condition = 'borrowed', is_true = true",
        "update store.explanation_judgements set method = 'intruder', condition = 'shuffled', is_true = false",
        "update store.explanation_judgements set method = 'detection', part = 'inactive', is_true = true",
        "update store.explanation_judgements set judge = '' where rowid = 0",
    ),
    "output scores are possible": (
        "update store.output_scores set layer = 2 where layer = 1",
        "update store.output_scores set neuron = 99 where rowid = 0",
        "update store.output_scores set n_others = 99 where rowid = 0",
        "update store.output_scores set n_others = 0 where rowid = 0",
        "update store.output_scores set other_score = null where rowid = 0",
        "update store.output_scores set other_percentile = null where rowid = 0",
        "update store.output_scores set other_percentile = 101 where rowid = 0",
        "update store.output_scores set output_score = null where rowid = 0",
        "update store.output_scores set max_probability = null where rowid = 0",
        "update store.output_scores set value = -value, pole = 'negative'",
        "update store.output_scores set value = -value where rowid = 0",
        "update store.output_scores set pole = 'none' where rowid = 0",
        "update store.output_scores set rank_best = -1 where rowid = 0",
        "update store.output_scores set rank_best = 0, output_score = max_probability / 2 where rowid = 0",
        "update store.output_scores set max_probability = 1.1 where rowid = 0",
        "update store.output_scores set untouched_score = -0.1 where rowid = 0",
        "update store.output_scores set other_score = 1.1 where rowid = 0",
    ),
    "universality is of both": (
        "update store.universality set null_correlation = -1.1 where rowid = 0",
        "update store.universality set other_layer = 2 where layer = 1 and neuron = 3",
        "update store.universality set other_neuron = 24 where layer = 1 and neuron = 3",
        "update store.universality set other_neuron = null where layer = 1 and neuron = 3",
        "update store.universality set correlation = null where layer = 1 and neuron = 3",
        "update store.universality set null_correlation = null where layer = 1 and neuron = 3",
        "update store.universality set correlation = correlation - 0.2 where set_id = 0",
        "delete from store.universality where set_id = 1",
        "update store.universality set other_set_id = 99",
    ),
    "neuron effects add up": (
        "update store.neuron_effects_by_domain set nll = nll * 1.1 where rowid = 0",
        "update store.neuron_effects_by_domain set nll_untouched = nll_untouched * 1.1 where rowid = 0",
        "update store.neuron_effects_by_domain set kl = kl + 1 where rowid = 0",
        "update store.neuron_effects_by_domain set neuron = 77 where rowid = 0",
    ),
    "neuron effects are possible": (
        "update store.neuron_effects set n_tokens = n_tokens + 1 where rowid = 0",
        "update store.neuron_effects set kl = -n_tokens where rowid = 0",
        "update store.neuron_effects set nll_untouched = nll_untouched + 1 where rowid = 0",
    ),
    "kinds are known": (
        "update store.sub_updates set kind = 'weak' where rowid = 0",
        "update store.clusterings set linkage = 'single'",
        "update store.controls set kind = 'value' where rowid = 0",
        "update store.shortcut_readings set method = 'mat_all' where rowid = 0",
        "update store.exits set method = 'mats' where rowid = 0",
        "update store.models set norm_position = 'none'",
    ),
    "shortcut predictions are their readings": (
        "update store.shortcut_predictions set precision_1_high = 1.1 where rowid = 0",
        "update store.shortcut_predictions set precision_10_high = 1.1 where rowid = 0",
        "update store.shortcut_predictions set precision_5_low = precision_5 + 0.1 where rowid = 0",
        "update store.shortcut_predictions set precision_5_low = -0.1 where rowid = 0",
    ),
    "views are as installed": (
        "comment on view main.tokens is null",
        "comment on column main.tokens.token is null",
    ),
    "words are of their texts": (
        "update store.tokens set word = '' where token_id = 300",
        "update store.tokens set word = upper(word)",
        "update store.tokens set word = word[2:]",
        "update store.tokens set word = text where text[1] = ' '",
    ),
    "profiles are counts": (
        "update store.positions set counts_64 = counts_64[2:] where rowid = 0",
        "update store.positions set counts = counts[2:] where counts is not null",
        "update store.positions set counts = list_reverse(list_append(counts[2:], -1)) where counts is not null",
        "update store.positions set n_sequences = n_sequences - 1",
        f"update store.positions set {CORRECTED} = {CORRECTED} + 1e-6 where counts is not null",
        f"update store.positions set {CORRECTED} = {CORRECTED} - 1e-6 where counts is not null",
        f"update store.positions set counts = null, {CORRECTED} = mutual_information + 1e-6 where counts is not null",
    ),
    "traits are possible": (
        "update store.entropy set logit_variance = -1 where rowid = 0",
        "update store.entropy set count_correlation = -1.1 where rowid = 0",
        "update store.entropy set logit_variance = null where rowid = 0",
        *(
            f"update store.entropy set {name}_percentile = {percent} where rowid = 0"
            for name in ("logit_variance", "null_share", "count_correlation")
            for percent in (-1, 101)
        ),
        "update store.entropy set null_share = -0.1 where rowid = 0",
        "update store.selectivity set n_active = -1 where n_active > 0",
        "update store.selectivity set n_active = 0 where n_active > 0",
        "update store.selectivity set domain = null where n_active > 0",
        "update store.selectivity set domain = 'elsewhere' where n_active > 0",
        "update store.selectivity set domain_share = null where n_active > 0",
        "update store.selectivity set domain_share = 1.1 where n_active > 0",
        "update store.selectivity set entropy = 1.1 where n_active > 0",
        "update store.selectivity set entropy = null where n_active > 0",
        "update store.selectivity set p = 0.004 where n_active > 0",
        "update store.selectivity set p = 1.1 where n_active > 0",
        "update store.selectivity set n_shuffled_selective = null where n_active > 0",
        "update store.selectivity set n_shuffled_selective = 21 where n_active > 0",
        "update store.massive_activations set input_mean = -1",
        "update store.massive_activations set output_mean = -1",
        "update store.massive_activations set input_mean = 2 * abs(input_largest) + 1",
        "update store.massive_activations set output_mean = 2 * abs(output_largest) + 1",
        "update store.massive_activations set input_neuron = 24",
        "update store.massive_activations set output_channel = -1",
        "update store.massive_activations set input_position = 99999",
        "update store.massive_activations set output_position = -1",
        "update store.massive_activations set output_sequence_id = 99999",
    ),
    "facts are the measured": (
        "update store.neuron_facts set null_share = null_share + 0.1 where rowid = 0",
        "update store.neuron_facts set logit_variance = logit_variance + 0.1 where rowid = 0",
        "update store.neuron_facts set count_correlation = count_correlation + 0.1 where rowid = 0",
        "update store.neuron_facts set domain_entropy = domain_entropy + 0.1 where domain_entropy is not null",
        "update store.neuron_facts set selective_domain = coalesce(selective_domain, '') || '!'",
        "update store.neuron_facts set is_entropy_neuron = true",
        "update store.neuron_facts set is_frequency_neuron = true",
        "update store.neuron_facts set n_active_bos = n_active_bos + 1 where rowid = 0",
        "update store.neuron_facts set effect_on_loss = 1 where rowid = 0",
        "update store.neuron_facts set output_score = output_score / 2 where output_score is not null",
        "update store.neuron_facts set output_percentile = 50.5 where output_score is not null",
        "update store.neuron_facts set read_z = coalesce(read_z, 0) + 0.5 where rowid = 0",
        "update store.neuron_facts set promoted_z = promoted_z + 0.5 where rowid = 0",
        "update store.neuron_facts set promoted_z = null where rowid = 0",
        "update store.neuron_facts set input_score = 1.5 where input_score is not null",
        "update store.neuron_facts set input_score = 1 / 3.0 + input_score / 2 where n_strongest_contexts is not null",
        "update store.neuron_facts set input_other_score = -0.5 where input_other_score is not null",
        "update store.neuron_facts set n_strongest_contexts = null",
        "update store.neuron_facts set massive_ratio = 7 where rowid = 0",
        "update store.neuron_facts set has_super_weight = not coalesce(has_super_weight, false)",
        "update store.neuron_facts set has_super_weight = null",
    ),
    "tables are no prose": tuple(
        f"""update store.corpora set recipe = replace(recipe, '.txt"', '{end}"')"""
        for end in (".JSONL", ".ndjson", ".json:body", ".Tsv", ".html", ".ipynb", ".Parquet")
    ),
}
"""Other ways to fail checks: those of what people write, which no job's tests go through, and one of many parts."""

FILLED = {table.name for job in (*JOBS, *PAIR_NAMES, *QUERY_NAMES) for table in JOB_TABLES[job]}
UNFILLED = {table.name for table in FACTS} - FILLED


def is_about_what_was_measured(check_name: str) -> bool:
    return not UNFILLED.intersection(re.findall(r"store\.(\w+)", DAMAGE[check_name]))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Everything that can be measured of two small models of one tokenizer, and of a gated one, on one text."""
    folder = tmp_path_factory.mktemp("checks")
    corpora = ingests.write_corpus(folder)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for seed, name in enumerate(("tiny", "other")):
        model = build(folder / name, "opt", d_ffn=24, seed=seed)
        ingests.measure(warehouse, model, ingests.request(corpora, jobs=tuple(JOBS)))
    gated = build(folder / "gated", "llama", d_ffn=24)
    ingests.measure(warehouse, gated, ingests.request(corpora, jobs=("activity", "poles")))
    publish(warehouse, ANNOTATIONS, annotator="anna")
    with warehouse.reader() as connection:
        items = [one.handle for one in draw_lists(connection, "tiny").lists[:3]]
    publish(warehouse, [{"model": "tiny", "item": one, "plausible": True} for one in items], annotator="anna")
    ingests.compare(warehouse, "tiny", "other")
    ingests.compare(warehouse, "tiny", "other", jobs=("universality",))
    door = neurothek.open(warehouse.path)
    (folder / "words.txt").write_text("the\nriver\n")
    texts: dict[str, Any] = {"prompts": ["the school", "one two"], "score": f"words:{folder / 'words.txt'}"}
    texts |= {"continuation": 5}
    door.run_intervention(door.plan_intervention("tiny", where="layer = 0 and neuron < 5", tokens=100, sets=2, **texts))
    door.run_intervention(door.plan_intervention("tiny", where="layer = 0 and neuron < 5", tokens=100, one_by_one=True))
    door.contrast("tiny", ["the school", "the river", "one two"], ["a house", "three", "old words"], keep="two sets")
    features = [line for line in measured_features(door, "tiny") if int(line["index"]) % 2 == 0]
    words = [explanation("tiny", 0, 0, "names of months")]
    door.import_foreign(write_neuronpedia(folder / "v1", "tiny", features, words), "neuronpedia")
    with chat_server() as chat:
        door.explain_neurons(
            door.plan_explanations("tiny", endpoint=chat.url, model_name="stub", where="layer = 0 and neuron < 5")
        )
    return warehouse


def unnoticed(warehouse: Warehouse, damages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The (name of a check, damage) whose check stays silent; each damage is undone before the next."""
    by_name = {each.name: each for each in checks()}
    silent = []
    with warehouse.writer() as connection:
        # A check that fails anyway, such as one that names a column that is not there, notices nothing.
        undamaged = [by_name[name] for name in dict.fromkeys(name for name, _ in damages)]
        failed = broken(connection, among=undamaged, progress=Silent())
        assert [(finding.name, finding.example) for finding in failed] == []
        for name, damage in damages:
            connection.execute("begin")
            connection.execute(damage)
            if not broken(connection, among=[by_name[name]], progress=Silent()):
                silent.append((name, damage))
            connection.execute("rollback")
    return silent


def test_what_was_measured_is_sound(warehouse: Warehouse) -> None:
    assert check(warehouse) == []
    with warehouse.reader() as connection:
        filled = {name for name in BY_NAME if connection.execute(f"from store.{name} limit 1").fetchall()}
    assert filled >= FILLED


@pytest.mark.long
def test_so_is_what_was_measured_of_gated_models(tmp_path: Path) -> None:
    """Their neurons are near each other whichever way they point."""
    corpora, gated = ingests.write_corpus(tmp_path), ingests.open_warehouse(tmp_path / "gated.duckdb")
    for kind in ("llama", "gemma2"):
        model = build(tmp_path / kind, kind, d_ffn=24)
        ingests.measure(gated, model, ingests.request(corpora, jobs=tuple(JOBS)))
    with gated.reader() as connection:
        (least,) = connection.execute("select min(cosine) from store.neighbours").fetchall()[0]
    assert least < 0
    assert check(gated) == []


def test_an_empty_warehouse_is_sound(tmp_path: Path) -> None:
    empty = ingests.open_warehouse(tmp_path / "empty.duckdb")
    with empty.writer():
        pass
    assert check(empty) == []


def test_every_check_is_a_sentence() -> None:
    assert [each.law for each in checks() if not re.fullmatch(r"[A-Z][^\n]*\.", each.law)] == []


def test_there_is_damage_for_every_check() -> None:
    generic = ("key of ", "runs of ", "rows of ")
    assert {each.name for each in checks() if not each.name.startswith(generic)} == set(DAMAGE)


def test_every_check_notices_its_damage(warehouse: Warehouse) -> None:
    damages = [(name, damage) for name, damage in DAMAGE.items() if is_about_what_was_measured(name)]
    assert len(damages) > 10
    assert unnoticed(warehouse, damages) == []


def test_checks_notice_all_of_their_damage(warehouse: Warehouse) -> None:
    damages = [(name, damage) for name, several in MORE_DAMAGE.items() for damage in several]
    assert unnoticed(warehouse, damages) == []


def test_information_of_one_sequence_is_corrected_upwards(tmp_path: Path) -> None:
    """Where each position has one outcome only, the correction adds 1 / (2 N); `check` allows that and no more."""
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    one_sequence = {"sequence_length": 64, "tokens_per_domain": 63}
    request = ingests.request(ingests.write_corpus(tmp_path), text=one_sequence, jobs=("positions",))
    ingests.measure(warehouse, build(tmp_path / "tiny", "opt", d_ffn=24), request)
    upwards = f"{CORRECTED} > mutual_information"
    assert len(ingests.table(warehouse, "positions", f"n_sequences = 1 and {upwards}")) > 0
    assert check(warehouse) == []
    forgotten = f"update store.positions set counts = null where {upwards}"
    harmless = [("profiles are counts", forgotten)]
    assert unnoticed(warehouse, harmless) == harmless
    more = f"update store.positions set {CORRECTED} = {CORRECTED} + 1e-6 where {upwards}"
    damages = [("profiles are counts", damage) for damage in (more, f"{forgotten}; {more}")]
    assert unnoticed(warehouse, damages) == []


def test_weights_under_two_names_are_sound(tmp_path: Path) -> None:
    """One run key, and a run and rows for each name; in every pair with a third model too."""
    warehouse, corpora = ingests.open_warehouse(tmp_path / "w.duckdb"), ingests.write_corpus(tmp_path)
    same, other = (build(tmp_path / name, "opt", d_ffn=24, seed=seed) for seed, name in enumerate(("same", "other")))
    for model in (f"one={same}", f"two={same}", str(other)):
        ingests.measure(warehouse, model, ingests.request(corpora))
    ingests.compare(warehouse, "other", "one")
    ingests.compare(warehouse, "other", "two")
    keys = ingests.table(warehouse, "runs").get_column("run_key")
    assert keys.n_unique() < len(keys)
    assert check(warehouse) == []


def test_every_family_is_sound(tmp_path: Path) -> None:
    warehouse, corpora = ingests.open_warehouse(tmp_path / "w.duckdb"), ingests.write_corpus(tmp_path)
    for kind in get_args(Kind):
        model = build(tmp_path / kind, kind, d_ffn=24)
        ingests.measure(warehouse, str(model), ingests.request(corpora, jobs=("projections",)))
    assert len(ingests.table(warehouse, "models")) == len(get_args(Kind))
    assert check(warehouse) == []


def test_no_sequence_of_full_length_is_sound(tmp_path: Path) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    _, short = ingests.write_corpus(tmp_path)
    unpacked = {"sequence_length": 64, "packing": False}
    request = ingests.request((short,), text=unpacked, jobs=("positions",))
    ingests.measure(warehouse, build(tmp_path / "tiny", "opt", d_ffn=24), request)
    assert len(ingests.table(warehouse, "positions", "n_sequences = 0")) > 0
    assert check(warehouse) == []


def test_tables_that_are_read_as_tables_are_sound(warehouse: Warehouse) -> None:
    sound = (
        """replace(recipe, '.txt"', '.jsonl:body"')""",
        """replace(recipe, '.txt"', '.parquet"')""",
        """replace(replace(recipe, '.txt"', '.csv"'), '"location"', '"format": "csv", "location"')""",
        """replace(recipe, '.txt"', '.txt.gz"')""",
    )
    with warehouse.writer() as connection:
        for recipe in sound:
            connection.execute("begin")
            connection.execute(f"update store.corpora set recipe = {recipe}")
            among = of_subject("written", "tables_are_no_prose")
            assert broken(connection, among=among, progress=Silent()) == [], recipe
            connection.execute("rollback")


def test_annotations_outlive_the_controls_that_were_judged(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = Warehouse(tmp_path / "copy.duckdb", views=install)
    copy.path.write_bytes(warehouse.path.read_bytes())
    remove(copy, "tiny", job="controls")
    assert check(copy) == []
    with copy.reader() as connection:
        kept = connection.execute("select count(*) from store.annotations where condition = 'random'").fetchall()
    assert kept == [(1,)]


def test_every_key_notices_a_row_that_is_there_twice(warehouse: Warehouse) -> None:
    tables = BY_NAME.keys() - UNFILLED
    twice = [(f"key of {table}", f"insert into store.{table} from store.{table} limit 1") for table in tables]
    assert unnoticed(warehouse, twice) == []


def test_a_row_without_its_run_is_noticed(warehouse: Warehouse) -> None:
    def orphan(table: str) -> str:
        return f"update store.{table} set run_id = 99999 where rowid = 0"

    jobs = {table.name: job for job, tables in JOB_TABLES.items() for table in tables}
    assert unnoticed(warehouse, [(f"runs of {table}", orphan(table)) for table in FILLED]) == []
    assert unnoticed(warehouse, [(f"rows of {jobs[table]}", orphan(table)) for table in FILLED]) == []


def test_the_command_exits_with_1_and_says_what_is_wrong(warehouse: Warehouse, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(warehouse.path.read_bytes())
    with duckdb.connect(str(damaged)) as connection:
        connection.execute(DAMAGE["postings are the lists"])
    answer = CliRunner().invoke(neurothek.main, ["check", "--warehouse", str(damaged)])
    assert answer.exit_code == 1
    assert "postings are the lists" in answer.stdout
    assert " checks failed\n" in answer.stderr
    sound = CliRunner().invoke(neurothek.main, ["check", "--warehouse", str(warehouse.path)])
    assert (sound.exit_code, sound.stdout) == (0, "")
    assert f"{warehouse.path}: file intact, {len(checks()) + 1} checks passed\n" == sound.stderr
