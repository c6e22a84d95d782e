"""Voita et al. 2023, Neurons in Large Language Models: its figures and claims, in its order."""

from neurothek.queries.papers import voita_positions as positions
from neurothek.queries.papers import voita_sparse as sparse
from neurothek.queries.papers.exhibit import OF_SIZES, Claim, Exhibit, Paper, Picture, Sheet
from neurothek.queries.papers.family import SMALL
from neurothek.queries.papers.findings import LEAST_OBJECTS

_ACTIVITY = ("activity",)
_N_GRAMS = ("activity", "ngrams")
_DETECTORS = ("projections", "activity", "ngrams")
_POSITIONS = ("activity", "positions")
_OF_TOKENS, _OF_BIGRAMS, _OF_TRIGRAMS = "n = 1", "n = 2", "n = 3"
_BY_LAYER = ("layer",)

DEAD_NEURONS = Picture("dead-neurons", 1)
TOKENS_THAT_COVER = Picture("tokens-that-cover", 2)
TOKEN_DETECTORS = Picture("token-detectors", 3)
NEW_TOKENS = Picture("new-tokens", 4)
DETECTORS_IN_WORDS = Picture("detectors-in-words", 5)
KINDS_OF_POSITIONS = Picture("kinds-of-positions", 7)
POSITIONAL_NEURONS = Picture("positional-neurons", 8)
POSITION_RANGES = Picture("position-ranges", 9)
WITHOUT_POSITIONS = Picture("without-positions", 10)
DURING_TRAINING = Picture("during-training", 11)
BIGRAMS_THAT_COVER = Picture("bigrams-that-cover", 12)
TRIGRAMS_THAT_COVER = Picture("trigrams-that-cover", 13)
NGRAM_DETECTORS = Picture("ngram-detectors", 14)
NEW_NGRAMS = Picture("new-ngrams", 15)
NORMS_AFTER = Picture("norms-after", 16)

_COVERED_BY_FEWER = Claim(
    "4.1",
    "In larger models fewer tokens cover a neuron.",
    "geometric mean of the coverage in the first half, each size over the next: above 1 (normal interval)",
    sparse.covered_by_fewer,
    _N_GRAMS,
)
_VARIANTS_OF_ONE_WORD = Claim(
    "4.2",
    "The tokens that a detector detects are in most cases variants of one word.",
    f"at least {LEAST_OBJECTS} detectors of several tokens in the largest size; in more than half of them the tokens"
    " are the same but for capitals, white space and regular endings (Wilson)",
    sparse.groups,
    _DETECTORS,
)
_MORE_NGRAM_DETECTORS = Claim(
    "4.5, A",
    "Larger models have more detectors of bigrams and trigrams.",
    f"at least {LEAST_OBJECTS} in the largest size, and each size's share above the one below (Newcombe)",
    sparse.longer,
    _DETECTORS,
)

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
        (Sheet("layer_activity", _BY_LAYER), Sheet("dead_by_tokens", ("n_tokens", "domain", "region", "layer"))),
        claims=(
            Claim(
                "3",
                "Larger models have a larger share of dead neurons.",
                "dead share of each size above that of the one below (Newcombe)",
                sparse.dead_grow,
                _ACTIVITY,
            ),
            Claim(
                "3",
                "The neurons of larger models that are alive fire more rarely.",
                "mean frequency of each size above that of the next (normal interval over neurons)",
                sparse.rarer,
                _ACTIVITY,
            ),
            Claim(
                "3",
                "Dead neurons are in the first half of the network.",
                "dead share of the first half above that of the second, in each size that has dead neurons (Newcombe)",
                sparse.first_half,
                _ACTIVITY,
            ),
            Claim(
                "3",
                "The second half is fully alive.",
                "no dead neuron in the second half of any size that has dead ones (Wilson)",
                sparse.second_half,
                _ACTIVITY,
            ),
            Claim(
                "3",
                "The layers with most dead neurons are those whose other neurons fire most rarely.",
                "mean frequency of the rarest other layer above that of the layer with most dead (normal interval)",
                sparse.dead_where_rare,
                _ACTIVITY,
            ),
        ),
        pictures=(DEAD_NEURONS,),
    ),
    Exhibit(
        "Figure 2",
        "By how many tokens the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_TOKENS),),
        claims=(
            _COVERED_BY_FEWER,
            Claim(
                "4.1",
                "In the largest models 1 to 5 tokens cover a substantial part of the neurons.",
                f"share of the neurons of the first half of the largest size that fire often enough to tell above"
                f" {sparse.SUBSTANTIAL:.0%}, ours (Wilson); of a size of less than {SMALL / 1e9:g} billion parameters"
                " without embeddings nothing is said, ours",
                sparse.few_tokens,
                _N_GRAMS,
            ),
        ),
        pictures=(TOKENS_THAT_COVER,),
    ),
    Exhibit(
        "Figure 3",
        "Token detectors by layer, and how many tokens they detect.",
        (
            Sheet("detectors_by_layer", _BY_LAYER, _OF_TOKENS),
            Sheet("detected_by_layer", _BY_LAYER, _OF_TOKENS),
            Sheet("token_detectors", ("layer", "neuron")),
        ),
        claims=(
            Claim(
                "4.2",
                "There are many token detectors, and more in larger models.",
                f"at least {LEAST_OBJECTS} in the largest size, and each size's share above the one below (Newcombe)",
                sparse.detectors,
                _DETECTORS,
            ),
            _VARIANTS_OF_ONE_WORD,
        ),
        pictures=(TOKEN_DETECTORS,),
    ),
    Exhibit(
        "Figure 4",
        "Tokens that each layer detects, and how many of them no layer below detects.",
        (Sheet("detected_by_layer", _BY_LAYER, _OF_TOKENS, name="new_tokens"),),
        claims=(
            Claim(
                "4.3",
                "Each layer detects mostly tokens that no layer below detects.",
                f"at least {LEAST_OBJECTS} tokens detected above the first layer that detects any, more than half of"
                " them new in every layer (Wilson)",
                sparse.new_tokens,
                _DETECTORS,
            ),
        ),
        pictures=(NEW_TOKENS,),
    ),
    Exhibit(
        "Figure 5, Figure 6",
        "Detectors in words: what triggers them beside what they promote and suppress, and whether they suppress it.",
        (
            Sheet("suppression_by_model"),
            Sheet("suppression", ("layer", "neuron")),
        ),
        claims=(
            _VARIANTS_OF_ONE_WORD,
            Claim(
                "4.4",
                "Token detectors suppress the tokens that trigger them (over 80%).",
                f"at least {LEAST_OBJECTS} detectors, of which more than {sparse.SUPPRESSING:.0%} do so (Wilson), and"
                " more than would with equally frequent tokens (paired bootstrap)",
                sparse.suppress,
                _DETECTORS,
            ),
        ),
        pictures=(DETECTORS_IN_WORDS,),
        remark="Raw scores are negative for about half of any vocabulary: the share expected of equally frequent"
        " tokens stands beside the share that suppresses.",
    ),
    Exhibit(
        "Figure 7",
        "Positional neurons of each kind, strong and weak: how often they fire by position.",
        (
            Sheet("positional_neurons", ("layer", "neuron")),
            Sheet("positions_by_layer", _BY_LAYER, f"{OF_SIZES} or variant = 'step 0'", name="beside_untrained"),
        ),
        claims=(
            Claim(
                "5.1",
                "Some neurons fire by position rather than by content.",
                f"at least {LEAST_OBJECTS} positional neurons in each size that has an untrained model of its shape"
                " beside it; smooth ones, whose frequency changes little from position to position, a larger share of"
                " its neurons than of the untrained ones (Newcombe); ours",
                positions.are_positional,
                _POSITIONS,
            ),
        ),
        pictures=(KINDS_OF_POSITIONS,),
        remark="The paper tells kinds by eye; here four stated rules do. Neurons of an untrained model differ by"
        " position, too: one of the same shape, the variant step 0, is the control.",
    ),
    Exhibit(
        "Figure 8",
        "Positional neurons by layer, kind and strength.",
        (Sheet("positions_by_layer", _BY_LAYER, f"{OF_SIZES} or starts_with(variant, 'seed')"),),
        claims=(
            Claim(
                "5.3",
                "In small models (under 6.7b) oscillatory neurons are the most frequent kind of positional neurons.",
                "more of them than of the most frequent other kind, in each size (Wilson, of both)",
                positions.oscillate,
                _POSITIONS,
            ),
            Claim(
                "5.3",
                "Larger models are less focused on absolute position.",
                f"at least {LEAST_OBJECTS} positional neurons in each size; oscillatory or both extremes: a larger"
                " share of them in each size than in the next (Newcombe)",
                positions.fade_with_size,
                _POSITIONS,
            ),
            Claim(
                "5.3",
                "Positional neurons come in two stages, roughly the first third of the network and the rest.",
                "between a layer of the first third and one of the rest there is one with a smaller share of"
                " positional neurons than both, in each size with ten of them (Newcombe); the layers are chosen after"
                " the fact, which flatters the claim, ours",
                positions.two_stages,
                _POSITIONS,
            ),
            Claim(
                "5.3",
                "Positional patterns of the second stage are weaker than those of the first.",
                "strong ones: a larger share of the positional neurons of the first third than of the rest, in each"
                " size with ten in both (Newcombe)",
                positions.weaker_later,
                _POSITIONS,
            ),
        ),
        pictures=(POSITIONAL_NEURONS,),
    ),
    Exhibit(
        "Figure 9",
        "The positions that strong oscillatory neurons of a layer cover together.",
        (Sheet("position_teams", ("layer", "team")),),
        claims=(
            Claim(
                "5.3",
                "Strong oscillatory neurons of a layer share all positions among themselves.",
                "a layer with at least 2 strong oscillatory neurons, their ranges covering all positions, none"
                " redundant",
                positions.teams,
                _POSITIONS,
            ),
        ),
        pictures=(POSITION_RANGES,),
    ),
    Exhibit(
        "Figure 10",
        "Positional neurons of a model without position embeddings beside those of one with them.",
        (
            Sheet(
                "positions_by_layer",
                _BY_LAYER,
                f"{OF_SIZES} or variant = 'no-position'",
                name="without_positions",
            ),
        ),
        claims=(
            Claim(
                "5.4",
                "A model without position embeddings has positional neurons too.",
                f"at least {LEAST_OBJECTS} smooth positional neurons, which an untrained model lacks (Wilson); ours",
                positions.without_positions,
                _POSITIONS,
            ),
            Claim(
                "5.4",
                "Many of these have strong patterns.",
                f"at least {LEAST_OBJECTS} strong ones without them; nothing is said where neither model has so many",
                positions.strong_without_positions,
                _POSITIONS,
            ),
            Claim(
                "5.4",
                "Without position embeddings the patterns are more generic: no oscillatory neurons.",
                "oscillatory or both extremes: share among positional neurons higher with position embeddings"
                " (Newcombe); nothing is said where neither model has an oscillatory one",
                positions.generic,
                _POSITIONS,
            ),
        ),
        pictures=(WITHOUT_POSITIONS,),
        remark="It takes a model of the variant no-position and a plain one of its size.",
    ),
    Exhibit(
        "Figure 11",
        "Positional neurons during training.",
        (
            Sheet(
                "positions_by_layer",
                _BY_LAYER,
                f"{OF_SIZES} or starts_with(variant, 'step')",
                name="during_training",
            ),
        ),
        claims=(
            Claim(
                "5.4",
                "Oscillatory neurons appear only with long training.",
                f"at least {LEAST_OBJECTS} at the end, and a larger share of the neurons than at each earlier step"
                " (Newcombe)",
                positions.training,
                _POSITIONS,
            ),
        ),
        pictures=(DURING_TRAINING,),
        remark="It takes early checkpoints, variants such as step 1000, beside the trained model.",
    ),
    Exhibit(
        "Section 5.5",
        "Value vectors of positional neurons beside those of the other neurons of their layers.",
        (Sheet("positional_values", ("layer", "kind")),),
        claims=(
            Claim(
                "5.5",
                "The value vectors of positional neurons do not promote tokens that belong together.",
                "mean coherence of the other neurons of their layers above theirs, in each size with ten of them"
                " (normal)",
                positions.incoherent,
                ("projections", "controls", "activity", "positions"),
            ),
        ),
    ),
    Exhibit(
        "Section 6",
        "A model with norms after its blocks, as OPT-350m has, beside one of as many neurons with norms before them.",
        (
            Sheet(
                "layer_activity",
                _BY_LAYER,
                f"{OF_SIZES} or variant = 'post-norm'",
                name="norms_after_the_blocks",
            ),
        ),
        claims=(
            Claim(
                "6",
                "A model with norms after its blocks has no dead neurons.",
                "none of its neurons dead, and a smaller share than of the model beside it, with norms before them"
                " (Newcombe)",
                positions.without_dead,
                _ACTIVITY,
            ),
            Claim(
                "6",
                "Its neurons are not as sparse: it takes more tokens to cover one.",
                "geometric mean of the coverage in the first half over that of the model beside it: above 1 (normal"
                " interval)",
                positions.less_sparse,
                _N_GRAMS,
            ),
        ),
    ),
    Exhibit(
        "Figure 12",
        "By how many bigrams the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_BIGRAMS, name="bigrams_that_cover"),),
        claims=(_COVERED_BY_FEWER,),
        pictures=(BIGRAMS_THAT_COVER,),
    ),
    Exhibit(
        "Figure 13",
        "By how many trigrams the neurons of each layer are covered.",
        (Sheet("coverage_bins", ("region", "layer", "bin_order"), _OF_TRIGRAMS, name="trigrams_that_cover"),),
        claims=(_COVERED_BY_FEWER,),
        pictures=(TRIGRAMS_THAT_COVER,),
    ),
    Exhibit(
        "Figure 14",
        "Detectors of bigrams and trigrams by layer.",
        (
            Sheet("detectors_by_layer", ("n", "layer"), "n > 1", name="ngram_detectors_by_layer"),
            Sheet("detectors_by_minimum", ("n", "layer", "least_occurrences")),
        ),
        claims=(_MORE_NGRAM_DETECTORS,),
        pictures=(NGRAM_DETECTORS,),
        remark="Where few positions carry frequent n-grams the first table withholds labels. The picture and the"
        " second table count detectors all the same, of n-grams that occur 5, 10 or 20 times, beside the share of the"
        " positions that these hold.",
    ),
    Exhibit(
        "Figure 15",
        "Bigrams and trigrams that each layer detects, and how many of them are new there.",
        (Sheet("detected_by_layer", ("n", "layer"), "n > 1", name="new_ngrams"),),
        claims=(_MORE_NGRAM_DETECTORS,),
        pictures=(NEW_NGRAMS,),
        remark="It takes bigrams or trigrams that can be labelled.",
    ),
    Exhibit(
        "Figure 16",
        "Positional neurons of a model with norms after its blocks, as OPT-350m has.",
        (Sheet("positions_by_layer", _BY_LAYER, "variant = 'post-norm'", name="positions_of_norms_after"),),
        claims=(
            Claim(
                "6",
                "It has positional neurons all the same.",
                f"at least {LEAST_OBJECTS} smooth positional neurons, which an untrained model lacks (Wilson); ours",
                positions.positional_after,
                _POSITIONS,
            ),
        ),
        pictures=(NORMS_AFTER,),
        remark="It takes a model of the variant post-norm.",
    ),
)

VOITA = Paper(
    "voita",
    "Voita et al. 2023, Neurons in Large Language Models: Dead, N-gram, Positional",
    ("projections", "controls", "activity", "contexts", "ngrams", "positions"),
    EXHIBITS,
)
