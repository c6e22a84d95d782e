"""What triggers a neuron, in a sentence."""

import re
from pathlib import Path

import neurothek
from neurothek.dashboards.parts.one_neuron.contexts import verdict
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
