"""The figures and tables of Geva et al. 2022, in the order of the paper."""

from neurothek.catalog.advice import command_line
from neurothek.dashboards.reproduce.exhibit import Exhibit, Sheet

_BY_LAYER = ("layer",)
_JUDGED = ("projections", "controls")
_COMPARED = (
    *("model", "condition", "annotator", "n_judgements"),
    *(f"token_share_without_stopwords{end}" for end in ("", "_low", "_high")),
    *("token_share", "with_concept_share", "concepts_per_vector"),
)

EXHIBITS = (
    Exhibit(
        "Table 1",
        "Concepts that annotators named in the highest tokens of value vectors.",
        (Sheet("annotations", ("layer", "neuron", "class", "concept"), "is_latest and condition = 'value'"),),
        (),
        _JUDGED,
        "The annotator rules is this program, which judges the blind sample as people do, and all random vectors:"
        f" `{command_line('annotate', '--auto')}`.",
    ),
    Exhibit(
        "Table 2",
        "How much of a list of 30 tokens falls under a concept: value vectors, random vectors and FFN updates.",
        (Sheet("concept_share", ("condition", "annotator"), first=_COMPARED), Sheet("annotator_agreement")),
        (),
        _JUDGED,
        "The share of random vectors is what annotators find by chance. Claims compare the shares without concepts of"
        " stop words.",
    ),
    Exhibit(
        "Figure 2",
        "The share of top tokens by layer and class of concept.",
        (Sheet("concepts_by_layer", ("annotator", "condition", "layer", "class")),),
        ("concepts",),
        _JUDGED,
    ),
    Exhibit(
        "Table 4",
        "What dominant and random sub-updates do to the token of a saturation or elimination event.",
        (Sheet("event_scores", ("event", "kind")),),
        (),
        ("events",),
    ),
    Exhibit(
        "Figure 3",
        "The largest, mean and smallest score that dominant sub-updates give the candidate, by layer.",
        (Sheet("top_candidate_scores", ("layer", "kind")),),
        ("candidates",),
        ("events",),
    ),
    Exhibit(
        "Extreme updates",
        "The clusters of value vectors that move a candidate furthest, in groups by stated thresholds (section 5.2).",
        (
            Sheet("extreme_updates", ("kind",)),
            Sheet("extreme_clusters", ("n_extreme desc", "cluster_id")),
        ),
        ("extreme-updates",),
        ("projections", "clusters", "events"),
    ),
    Exhibit(
        "Table 5",
        "What a model writes when neurons are turned on, beside random ones, a word filter and self-debiasing.",
        (
            Sheet("attribute_shares", ("intervention", "scorer", "attribute", "method")),
            Sheet("interventions", ("intervention",)),
        ),
        (),
        (),
        "The paper steers GPT-2 medium away from toxicity. Which neurons and texts stand for that is yours to choose:"
        f" `{command_line('intervene', 'MODEL', '--search', 'WORD', '--prompts', 'FILE', '--unwanted', 'ATTRIBUTE')}`."
        " Where nothing was chosen and the text has code and prose, ten neurons of prose are turned on while the model"
        " continues code.",
    ),
    Exhibit(
        "Table 6",
        "Early exits by the clusters of dominant sub-updates: accuracy and layers saved.",
        (Sheet("early_exits", ("method",)),),
        (),
        ("projections", "clusters", "events", "exits"),
    ),
    Exhibit(
        "Figure 4",
        "How far the final norm changes which tokens a value vector promotes, beside random vectors (appendix A.1).",
        (Sheet("norm_overlap", ("layer", "kind")),),
        ("final-norm",),
        ("controls",),
    ),
    Exhibit(
        "Figure 6",
        "How much of an update ten dominant neurons hold, beside ten random ones (appendix A.3).",
        (Sheet("dominant_share", _BY_LAYER),),
        ("dominant",),
        ("events",),
    ),
    Exhibit(
        "Table 9, Table 10",
        "The layers in which predictions are settled.",
        (Sheet("saturation_by_layer", _BY_LAYER),),
        (),
        ("events",),
        "The paper counts layers from 1.",
    ),
)
