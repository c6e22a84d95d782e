"""The figures and the table of Din et al. 2023: what the paper repeats for each model stands here once for all."""

from neurothek.catalog.advice import command_line
from neurothek.dashboards.reproduce.exhibit import Exhibit, Sheet

_ALONG_STATES = ("method", "state")
_WHOLE = "method in ('mat', 'id')"

EXHIBITS = (
    Exhibit(
        "Fit of mat",
        "How well each state predicts each one above it by its least-squares map: r^2 (section 3).",
        (Sheet("shortcut_fit", ("source_state", "target_state"), "method = 'mat'", name="fit_mat"),),
        ("fit-mat",),
        ("shortcuts",),
    ),
    Exhibit(
        "Fit of id",
        "How well each state predicts each one above it as it is: r^2 (section 3).",
        (Sheet("shortcut_fit", ("source_state", "target_state"), "method = 'id'", name="fit_id"),),
        ("fit-id",),
        ("shortcuts",),
    ),
    Exhibit(
        "Precision",
        "How often the token that a shortcut puts first is among the model's first 1, 5 and 10 (section 4).",
        (Sheet("shortcut_quality", _ALONG_STATES, _WHOLE, name="precision"),),
        ("precision",),
        ("shortcuts",),
    ),
    Exhibit(
        "Surprisal",
        "How surprised the model is at the token that a shortcut puts first (section 4).",
        (Sheet("shortcut_quality", _ALONG_STATES, _WHOLE, name="surprisal"),),
        ("surprisal",),
        ("shortcuts",),
    ),
    Exhibit(
        "Table 1",
        "The five tokens that mat and id put first from each state, sentence by sentence.",
        (Sheet("shortcut_readings", ("sentence_id", "method", "state", "rank")),),
        (),
        ("shortcuts",),
        "State 0 is the embeddings.",
    ),
    Exhibit(
        "Plausibility",
        "How many lists of five tokens people find plausible, judged blind (section 4).",
        (Sheet("plausibility", (*_ALONG_STATES, "annotator")),),
        (),
        ("shortcuts",),
        f"People judge: `{command_line('annotate', '--plausibility', 'MODEL')}`.",
    ),
    Exhibit(
        "Early exit by size",
        "What leaving early by the confidence of mat costs, for models of several sizes (section 5).",
        (Sheet("exit_tradeoff", ("method", "layers_run", "parameter"), "method = 'mat'", name="exits_by_size"),),
        ("exits-by-size",),
        ("exits",),
    ),
    Exhibit(
        "Early exit by method",
        "What leaving early costs by the confidence of mat and id, and at one state for all (section 5).",
        (Sheet("exit_tradeoff", ("method", "layers_run", "parameter"), name="exits_by_method"),),
        ("exits-by-method",),
        ("exits",),
    ),
    Exhibit(
        "Parts",
        "Linear maps in the place of attention, the FFN or the norms of every block above a state: precision at 1, 5"
        " and 10, and surprisal (section 6; figures 11, 34 and 35 among them, as we read the authors' plotting code).",
        (Sheet("shortcut_quality", _ALONG_STATES, "method <> 'id'", name="parts"),),
        ("parts", "parts-surprisal", "parts-5", "parts-10"),
        ("shortcuts",),
    ),
)
