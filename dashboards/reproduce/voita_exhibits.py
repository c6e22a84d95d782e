"""The figures of Voita et al. 2023, in the order of the paper."""

from neurothek.dashboards.reproduce.exhibit import Exhibit, Sheet

_N_GRAMS = ("projections", "activity", "ngrams")
_POSITIONS = ("activity", "positions")
_OF_TOKENS, _OF_BIGRAMS, _OF_TRIGRAMS = "n = 1", "n = 2", "n = 3"
_BY_LAYER = ("layer",)

EXHIBITS = (
    Exhibit(
        "Models",
        "The models that are looked at, their size, and the text that each was run on.",
        (Sheet("scaling"),),
        remark="Size leaves embeddings out. Tokens per parameter say how far a model was trained: size is not alone.",
    ),
    Exhibit(
        "Figure 1",
        "The share of dead neurons by layer, and how often the others fire.",
        (Sheet("layer_activity", _BY_LAYER), Sheet("dead_by_tokens", ("n_tokens",))),
        ("dead-neurons",),
        ("activity",),
    ),
    Exhibit(
        "Figure 2",
        "By how many tokens the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_TOKENS),),
        ("tokens-that-cover",),
        _N_GRAMS,
    ),
    Exhibit(
        "Figure 3",
        "Token detectors by layer, and how many tokens they detect.",
        (
            Sheet("detectors_by_layer", _BY_LAYER, _OF_TOKENS),
            Sheet("detected_by_layer", _BY_LAYER, _OF_TOKENS),
            Sheet("token_detectors", ("layer", "neuron")),
        ),
        ("token-detectors",),
        _N_GRAMS,
    ),
    Exhibit(
        "Figure 4",
        "Tokens that each layer detects, and how many of them no layer below detects.",
        (Sheet("detected_by_layer", _BY_LAYER, _OF_TOKENS, name="new_tokens"),),
        ("new-tokens",),
        _N_GRAMS,
    ),
    Exhibit(
        "Figure 5, Figure 6",
        "Detectors in words: what triggers them beside what they promote and suppress, and whether they suppress it.",
        (
            Sheet("suppression_by_model"),
            Sheet("suppression", ("layer", "neuron")),
        ),
        ("detectors-in-words",),
        _N_GRAMS,
        "Raw scores are negative for about half of any vocabulary: the share expected of equally frequent tokens stands"
        " beside the share that suppresses.",
    ),
    Exhibit(
        "Figure 7",
        "Positional neurons of each kind, strong and weak: how often they fire by position.",
        (
            Sheet("positional_neurons", ("layer", "neuron")),
            Sheet("positions_by_layer", _BY_LAYER, "variant is null or variant = 'step 0'", name="beside_untrained"),
        ),
        ("kinds-of-positions",),
        _POSITIONS,
        "The paper tells kinds by eye; here four stated rules do. Neurons of an untrained model differ by position,"
        " too: one of the same shape, the variant step 0, is the control.",
    ),
    Exhibit(
        "Figure 8",
        "Positional neurons by layer, kind and strength.",
        (Sheet("positions_by_layer", _BY_LAYER, "variant is null or starts_with(variant, 'seed')"),),
        ("positional-neurons",),
        _POSITIONS,
    ),
    Exhibit(
        "Figure 9",
        "The positions that strong oscillatory neurons of a layer cover together.",
        (Sheet("position_teams", ("layer", "team")),),
        ("position-ranges",),
        _POSITIONS,
    ),
    Exhibit(
        "Figure 10",
        "Positional neurons of a model without position embeddings beside those of one with them.",
        (
            Sheet(
                "positions_by_layer", _BY_LAYER, "variant is null or variant = 'no-position'", name="without_positions"
            ),
        ),
        ("without-positions",),
        _POSITIONS,
        "It takes a model of the variant no-position and a plain one of its size.",
    ),
    Exhibit(
        "Figure 11",
        "Positional neurons during training.",
        (
            Sheet(
                "positions_by_layer",
                _BY_LAYER,
                "variant is null or starts_with(variant, 'step')",
                name="during_training",
            ),
        ),
        ("during-training",),
        _POSITIONS,
        "It takes early checkpoints, variants such as step 1000, beside the trained model.",
    ),
    Exhibit(
        "Section 5.5",
        "Value vectors of positional neurons beside those of the other neurons of their layers.",
        (Sheet("positional_values", ("layer", "kind")),),
        (),
        ("projections", "controls", *_POSITIONS),
    ),
    Exhibit(
        "Section 6",
        "A model with norms after its blocks, as OPT-350m has, beside one of as many neurons with norms before them.",
        (
            Sheet(
                "layer_activity", _BY_LAYER, "variant is null or variant = 'post-norm'", name="norms_after_the_blocks"
            ),
        ),
        (),
        ("activity",),
    ),
    Exhibit(
        "Figure 12",
        "By how many bigrams the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_BIGRAMS, name="bigrams_that_cover"),),
        ("bigrams-that-cover",),
        _N_GRAMS,
    ),
    Exhibit(
        "Figure 13",
        "By how many trigrams the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_TRIGRAMS, name="trigrams_that_cover"),),
        ("trigrams-that-cover",),
        _N_GRAMS,
    ),
    Exhibit(
        "Figure 14",
        "Detectors of bigrams and trigrams by layer.",
        (
            Sheet("detectors_by_layer", ("n", "layer"), "n > 1", name="ngram_detectors_by_layer"),
            Sheet("detectors_by_minimum", ("n", "layer", "least_occurrences")),
        ),
        ("ngram-detectors",),
        _N_GRAMS,
        "Where few positions carry frequent n-grams the first table withholds labels. The picture and the second table"
        " count detectors all the same, of n-grams that occur 5, 10 or 20 times, beside the share of the positions that"
        " these hold.",
    ),
    Exhibit(
        "Figure 15",
        "Bigrams and trigrams that each layer detects, and how many of them are new there.",
        (Sheet("detected_by_layer", ("n", "layer"), "n > 1", name="new_ngrams"),),
        ("new-ngrams",),
        _N_GRAMS,
        "It takes bigrams or trigrams that can be labelled.",
    ),
    Exhibit(
        "Figure 16",
        "Positional neurons of a model with norms after its blocks, as OPT-350m has.",
        (Sheet("positions_by_layer", _BY_LAYER, "variant = 'post-norm'", name="positions_of_norms_after"),),
        ("norms-after",),
        _POSITIONS,
        "It takes a model of the variant post-norm.",
    ),
)
