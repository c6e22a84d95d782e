"""Geva et al. 2022, Transformer Feed-Forward Layers Build Predictions: its figures, tables and claims, in its order."""

from neurothek.catalog.advice import command_line
from neurothek.catalog.tables.annotations import RULES
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.queries.papers import geva_events as events
from neurothek.queries.papers import geva_vectors as vectors
from neurothek.queries.papers.exhibit import Claim, Exhibit, Paper, Picture, Sheet

_EVENTS = ("events",)
_CONTROLS = ("controls",)
_JUDGED = ("projections", "controls")
_BY_LAYER = ("layer",)
_COMPARED = (
    *("model", "condition", "annotator", "n_judgements"),
    *(f"token_share_without_stopwords{end}" for end in ("", "_low", "_high")),
    *("token_share", "with_concept_share", "concepts_per_vector"),
)
_STEER = command_line("intervene", "MODEL", "--search", "WORD", "--prompts", "FILE", "--unwanted", "ATTRIBUTE")
_PROPER = "of stop words and punctuation left out"
_EIGHTH = "eighth of the layers, rounded up,"

CONCEPTS = Picture("concepts")
CANDIDATES = Picture("candidates")
EXTREME_UPDATES = Picture("extreme-updates")
FINAL_NORM = Picture("final-norm")
DOMINANT = Picture("dominant")

EXHIBITS = (
    Exhibit(
        "Table 1",
        "Concepts that annotators named in the highest tokens of value vectors.",
        (Sheet("annotations", ("layer", "neuron", "class", "concept"), "is_latest and condition = 'value'"),),
        claims=tuple(
            Claim(
                "4",
                f"A value vector has more concepts than a random vector, as {annotator} judge.",
                f"mean number of concepts of a list, those {_PROPER}, above that of random vectors (normal interval"
                " over lists)",
                vectors.concepts_over("random", annotator=annotator, of="concepts"),
                _JUDGED,
            )
            for annotator in vectors.ANNOTATORS
        ),
        remark="The annotator rules is this program, which judges the blind sample as people do, and all random"
        f" vectors: `{command_line('annotate', '--auto')}`.",
    ),
    Exhibit(
        "Table 2",
        "Share of a list of 30 tokens that falls under a concept: value vectors, random vectors and FFN updates.",
        (Sheet("concept_share", ("condition", "annotator"), first=_COMPARED), Sheet("annotator_agreement")),
        claims=(
            *(
                Claim(
                    "4",
                    "The highest tokens of value vectors fall under concepts more often than those of random vectors,"
                    f" as {annotator} judge.",
                    f"mean share of a list that is tied to a concept, those {_PROPER}, above that of random vectors"
                    " (normal interval over lists)",
                    vectors.concepts_over("random", annotator=annotator),
                    _JUDGED,
                )
                for annotator in vectors.ANNOTATORS
            ),
            Claim(
                "4",
                "They do so more often than those of whole FFN updates, as rules judge.",
                f"mean share of a list that is tied to a concept, those {_PROPER}, above that of FFN updates (normal"
                " interval over lists)",
                vectors.concepts_over("ffn_update", annotator=RULES),
                _JUDGED,
            ),
        ),
        remark="The share of random vectors is what annotators find by chance. Claims compare the shares without"
        " concepts of stop words.",
    ),
    Exhibit(
        "Figure 2",
        "The share of top tokens by layer and class of concept.",
        (Sheet("concepts_by_layer", ("annotator", "condition", "layer", "class")),),
        pictures=(CONCEPTS,),
    ),
    Exhibit(
        "Table 4",
        "Effect of dominant and random sub-updates on the token of a saturation or elimination event.",
        (Sheet("event_scores", ("event", "kind")),),
        claims=(
            Claim(
                "5.1",
                "Dominant sub-updates promote the token that saturates.",
                "mean over events of the mean score of the final token above 0 (bootstrap)",
                events.ordering(events.promotes),
                _EVENTS,
            ),
            Claim(
                "5.1",
                "Where a token is promoted, the largest score for it is far above the smallest one in size.",
                f"mean over saturations of the largest score minus {events.FAR_ABOVE:g} times the size of the smallest"
                " above 0 (bootstrap)",
                events.ordering(events.far_above),
                _EVENTS,
            ),
            Claim(
                "5.1",
                "Where a token is eliminated, the largest and the smallest score for it are alike in size.",
                f"mean over eliminations of {events.FAR_ABOVE:g} times either minus the other above 0 (bootstrap)",
                events.ordering(events.alike_in_size),
                _EVENTS,
            ),
            Claim(
                "5.1",
                "They promote it more than they promote a token that is eliminated.",
                "largest score at saturation above that at elimination, over examples with both (bootstrap)",
                events.ordering(events.promotes_more),
                _EVENTS,
            ),
            Claim(
                "5.1",
                "A token is eliminated by promoting others: its own mean score is near 0.",
                f"mean score at elimination within {events.NEAR_ZERO:g} of the mean largest score at saturation, on"
                " either side, over examples with both (bootstrap)",
                events.ordering(events.near_zero),
                _EVENTS,
            ),
            Claim(
                "5.1",
                "Random sub-updates promote the token far less than dominant ones.",
                f"mean absolute score at saturation below {events.FAR_BELOW:g} of that of dominant ones (bootstrap)",
                events.ordering(events.far_below("random")),
                _EVENTS,
            ),
            Claim(
                "ours",
                "Random sub-updates of active neurons promote the token far less than dominant ones.",
                f"mean absolute score at saturation below {events.FAR_BELOW:g} of that of dominant ones (bootstrap)",
                events.ordering(events.far_below("random_active")),
                _EVENTS,
            ),
        ),
    ),
    Exhibit(
        "Figure 3",
        "The largest, mean and smallest score that dominant sub-updates give the candidate, by layer.",
        (Sheet("top_candidate_scores", ("layer", "kind")),),
        claims=(
            Claim(
                "5.2",
                "Until the last layers the scores of the candidate lie around a mean that is not negative.",
                "mean score of the ten dominant neurons for the token at the top before their FFN above 0 in the"
                f" layers before the last {_EIGHTH} (bootstrap)",
                events.not_negative,
                _EVENTS,
            ),
            Claim(
                "5.2",
                "In the last layers the scores spread, and strongly negative minima appear.",
                f"mean of the last {_EIGHTH} against each layer before: of the largest minus the smallest score, and"
                " of the smallest one (paired bootstrap); the nearest layer is named",
                events.spreading,
                _EVENTS,
            ),
        ),
        pictures=(CANDIDATES,),
    ),
    Exhibit(
        "Extreme updates",
        "The clusters of value vectors that move a candidate furthest, in groups by stated thresholds (section 5.2).",
        (
            Sheet("extreme_updates", ("kind",)),
            Sheet("extreme_clusters", ("n_extreme desc", "cluster_id")),
        ),
        claims=(
            Claim(
                "5.2",
                "Few clusters of neurons make most of the extreme updates.",
                "the clusters that make half of them hold less than a tenth of that share of the neurons (Wilson)",
                vectors.few_clusters,
                ("clusters", "events"),
            ),
        ),
        pictures=(EXTREME_UPDATES,),
    ),
    Exhibit(
        "Table 5",
        "Continuations with neurons turned on, compared with random neurons, a word filter and self-debiasing.",
        (
            Sheet("attribute_shares", ("intervention", "scorer", "attribute", "method")),
            Sheet("interventions", ("intervention",)),
        ),
        claims=(
            Claim(
                "6.1",
                "Turning on a few neurons, chosen by the tokens they promote, makes an unwanted attribute rarer in the"
                " continuations.",
                f"in one intervention with {LEAST_SETS} random sets and {vectors.LEAST_TEXTS} texts at least, the"
                " unwanted attribute is rarer than in untouched texts (Newcombe), and than with every random set of"
                " neurons",
                vectors.steers,
                (),
            ),
            Claim(
                "6.1",
                "The effect is larger than that of a word filter.",
                "in one of these at least, the unwanted attribute is rarer than with the word filter (Newcombe)",
                vectors.beats("word_filter", by=0.0),
                (),
            ),
            Claim(
                "6.1",
                "The effect is nearly as large as that of self-debiasing, or larger.",
                "in one of these at least, the unwanted attribute is more frequent than with self-debiasing by less"
                f" than {100 * vectors.NEAR:g} points (Newcombe)",
                vectors.beats("self_debiasing", by=-vectors.NEAR),
                (),
            ),
            Claim(
                "6.1",
                "Fluency is preserved: the perplexity grows moderately (from 21.7 to 25.3).",
                "in one of these at least, the perplexity as the authors' code computes it grows by less than"
                f" {vectors.MOST_PERPLEXITY - 1:.0%} (no interval)",
                vectors.keeps_language,
                (),
            ),
        ),
        remark="The paper steers GPT-2 medium away from toxicity. Which neurons and texts stand for that is yours to"
        f" choose: `{_STEER}`. Where nothing was chosen and the text has code and prose, ten neurons of prose are"
        " turned on while the model continues code.",
    ),
    Exhibit(
        "Table 6",
        "Early exits by the clusters of dominant sub-updates: accuracy and layers saved.",
        (Sheet("early_exits", ("method",)),),
        claims=(
            Claim(
                "6.2",
                "A rule on the clusters of dominant neurons saves layers.",
                f"layers saved, and accuracy above {vectors.LEAST_ACCURACY:.0%}, in every size (bootstrap over seeds)",
                vectors.rule_stops_early,
                ("exits",),
            ),
        ),
    ),
    Exhibit(
        "Figure 4",
        "Effect of the final norm on the tokens that value vectors and random vectors promote (appendix A.1).",
        (Sheet("norm_overlap", ("layer", "kind")),),
        claims=(
            Claim(
                "A.1",
                "The final norm leaves most of the highest tokens of value vectors in place.",
                f"mean intersection over union of the 30 highest tokens above {vectors.LEAST_OVERLAP:g} (no interval)",
                vectors.norm_keeps,
                _CONTROLS,
            ),
            Claim(
                "A.1",
                "It leaves more of them in place than of the highest tokens of random vectors.",
                "intersection over union of value vectors minus that of random vectors, mean over layers, above 0"
                " (paired bootstrap over layers)",
                vectors.norm_keeps_more,
                _CONTROLS,
            ),
        ),
        pictures=(FINAL_NORM,),
    ),
    Exhibit(
        "Figure 6",
        "Share of an update that ten dominant neurons hold, compared with ten random ones (appendix A.3).",
        (Sheet("dominant_share", _BY_LAYER),),
        claims=(
            Claim(
                "A.3",
                "Ten dominant sub-updates hold far more of an update than ten random ones.",
                "share of the update that ten dominant neurons hold minus that of ten random ones, mean over layers,"
                " above 0 (paired bootstrap over examples)",
                vectors.dominate,
                _EVENTS,
            ),
        ),
        pictures=(DOMINANT,),
    ),
    Exhibit(
        "Table 9, Table 10",
        "The layers in which predictions are settled.",
        (Sheet("saturation_by_layer", _BY_LAYER),),
        claims=(
            Claim(
                "ours",
                "Most predictions are settled in the upper half of the network (read off the tables of appendix A.5).",
                "more than half of the saturation layers above half the depth (Wilson)",
                events.settled_late,
                _EVENTS,
            ),
        ),
        remark="The paper counts layers from 1.",
    ),
)

GEVA = Paper(
    "geva",
    "Geva et al. 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts in the Vocabulary Space",
    ("projections", "controls", "clusters", "activity", "events", "exits"),
    EXHIBITS,
)
