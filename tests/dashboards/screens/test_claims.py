"""The page of claims: what the command says of each, by paper, by verdict, and of a family."""

import html
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName

Opener = Callable[..., AppTest]

_CLAIM = re.compile(r"<b style=[^>]*>(?P<verdict>.*?)</b><div>(?P<text>.*?) <span class=\"nt-muted\">")


def shown(page: AppTest) -> list[tuple[str, str]]:
    """Verdict and text of the claims on a page, from the top."""
    assert not page.exception
    bodies = "".join(str(one.proto.body) for one in page.get("html"))
    return [(html.unescape(found["verdict"]), html.unescape(found["text"])) for found in _CLAIM.finditer(bodies)]


OF_OTHERS = ("needs another model", "does not apply")
"""Verdicts that are not about these models: such claims come last."""

FAMILY = "tiny"
"""The family that has most models."""


def judged(path: Path, paper: PaperName, family: str = FAMILY) -> list[tuple[str, str]]:
    rows = neurothek.open(path).claims(paper=paper, family=family).claims.to_dicts()
    judged_ones = [(row["verdict"].partition(", n = ")[0], row["claim"]) for row in rows]
    return sorted(judged_ones, key=lambda one: one[0] in OF_OTHERS)


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_it_says_what_the_command_says(page: Opener, whole_path: Path, paper: PaperName) -> None:
    opened = page(whole_path, "claims", paper=paper)
    expected = judged(whole_path, paper)
    assert shown(opened) == expected
    (first, *_) = [one.value.replace("\\", "") for one in opened.markdown if "claims" in one.value]
    counts = Counter(verdict for verdict, _ in expected)
    hold, fail = counts["holds"], counts["does not hold"]
    assert re.fullmatch(rf"{hold} of {len(expected)} claims holds?, {fail} do(es)? not\.", first)
    for verdict, n in counts.items():
        assert f"{verdict} ({n})" in [option for group in opened.button_group for option in group.options]


def test_verdicts_are_chosen_in_the_address(page: Opener, whole_path: Path) -> None:
    every = judged(whole_path, "voita")
    chosen = next(verdict for verdict, _ in every)
    opened = page(whole_path, "claims", verdict=chosen)
    assert shown(opened) == [one for one in every if one[0] == chosen] != every
    # Of a verdict that no claim has nothing is chosen.
    assert shown(page(whole_path, "claims", verdict="nonsense")) == every


def test_numbers_are_those_of_the_command_with_their_rule(page: Opener, whole_path: Path) -> None:
    bodies = "".join(str(one.proto.body) for one in page(whole_path, "claims", paper="geva").get("html"))
    text = html.unescape(re.sub(r"<[^>]+>", " ", bodies))
    words = " ".join(text.split())
    for row in neurothek.open(whole_path).claims(paper="geva", family=FAMILY).claims.to_dicts():
        if "`" not in row["found"]:
            assert " ".join(row["found"].replace("; ", " ").split()) in words
        assert row["rule"] in words


def test_a_family_is_chosen_where_there_are_several(
    page: Opener, whole_path: Path, weights_path: Path, tmp_path: Path
) -> None:
    opened = page(whole_path, "claims")
    families = opened.selectbox(key="family").options
    assert families == list(dict.fromkeys(row["family"] for row in neurothek.open(whole_path).models().to_dicts()))
    other = next(family for family in families if family != FAMILY)
    chosen = opened.selectbox(key="family").select(other).run()
    assert shown(chosen) == judged(whole_path, "voita", other)
    assert shown(page(whole_path, "claims", family=other)) == shown(chosen)
    path = Path(shutil.copy(whole_path, tmp_path / "one.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set family = 'one'")
    assert [one.label for one in page(path, "claims").selectbox if one.label == "Family"] == []


def test_what_was_not_measured_comes_with_its_command(page: Opener, weights_path: Path, whole_path: Path) -> None:
    lacking = page(weights_path, "claims")
    assert {verdict for verdict, _ in shown(lacking)} <= {"not measured", *OF_OTHERS}
    (command,) = [one.value for one in lacking.code if "ingest" in one.value]
    assert "--job activity" in command
    # Of the others all is there, but for what people judge.
    assert any(verdict == "not measured" for verdict, _ in shown(page(whole_path, "claims", paper="geva")))
