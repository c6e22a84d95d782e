"""The table of what people find plausible in the tokens that shortcuts put first."""

from catalog.tables.table import FLAG, IDS, INTEGER, TEXT, TIME, Table

N_LISTED = 5
"""Tokens of a list that are judged ([D] Table 1)."""

PLAUSIBILITY_JUDGEMENTS = Table(
    name="plausibility_judgements",
    scope="none",
    is_fact=False,
    key=("judgement_id",),
    columns={
        "judgement_id": TEXT,
        "model_id": INTEGER,
        "text": TEXT,
        "shown_token_ids": IDS,
        "is_plausible": FLAG,
        "annotator": TEXT,
        "created_at": TIME,
    },
)
