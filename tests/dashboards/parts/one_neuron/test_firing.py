"""What triggers a neuron, in a sentence."""

import re
from pathlib import Path

import neurothek
from neurothek.dashboards.parts.one_neuron.contexts import verdict
from neurothek.queries.ask.statements import framed
from neurothek.queries.neuron.contexts import DETECTION_COLUMNS, TRIGGER_COLUMNS, Triggers
from tests.support import detectors

DETECTOR = r"It is a (strict )?detector of {} tokens?\b"


def test_detectors_and_others_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "detectors.duckdb"
    detectors.publish(path)
    door = neurothek.open(path)
    rows = door.sql("select address, token_status, len(detected_tokens) as n_detected from neurons").to_dicts()
    said = {row["address"]: verdict(door.neuron(row["address"]).triggers) for row in rows}
    found = [row for row in rows if row["token_status"] in ("detector", "strict detector")]
    assert found
    for row in found:
        assert re.match(DETECTOR.format(f"{row['n_detected']:,}"), said[row["address"]])
        assert "suppress" in said[row["address"]]
    others = [row["address"] for row in rows if row not in found]
    assert others
    assert not any(re.match(DETECTOR.format(r"[\d,]+"), said[address]) for address in others)


def test_what_could_not_be_judged_is_not_called_no_detector() -> None:
    def told(*rows: tuple[int, str, str]) -> str:
        unknown = dict.fromkeys(DETECTION_COLUMNS)
        lengths = [{**unknown, "n": n, "status": status, "why": why} for n, status, why in rows]
        return verdict(Triggers(framed([], TRIGGER_COLUMNS), framed(lengths, DETECTION_COLUMNS), None))

    many, rare, few = "120 tokens cover its activations, more than 5", "they hold 2% of the positions", "3 activations"
    assert told((1, "not", many), (2, "cannot be labelled", rare), (3, "cannot be labelled", rare)) == (
        f"Not a detector of tokens ({many}); bigrams, trigrams cannot be labelled ({rare})."
    )
    assert told((1, "not", many), (2, "not", "5 bigrams"), (3, "too few activations", few)) == (
        f"Not a detector of tokens, bigrams ({many}; 5 bigrams); too few activations to judge trigrams ({few})."
    )
    assert told((1, "not judged", "unknown"), (2, "not judged", "unknown")) == (
        "Tokens, bigrams were not judged (unknown)."
    )
