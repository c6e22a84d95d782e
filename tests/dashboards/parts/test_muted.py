"""Muted tokens: pale where lists hold them, counted by reason, and as any other where the switch is off."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.catalog.spelling import visible
from neurothek.dashboards.parts.muted import CSS, Muted, reasons_caption
from tests.support.tiny import BYTE_TOKEN, TEXTS, UNDERTRAINED_TOKEN, WITHOUT_HISTOGRAMS, address

Opener = Callable[..., AppTest]
BYTE, UNDERTRAINED = TEXTS[0][BYTE_TOKEN], TEXTS[0][UNDERTRAINED_TOKEN]


def lists(page: AppTest) -> list[str]:
    return [one.proto.body for one in page.get("html") if 'class="nt-list"' in one.proto.body]


def sentence(page: AppTest) -> str:
    """The one that opens the page of a neuron, as people read it."""
    (told,) = [one.value for one in page.markdown if "promotes" in one.value and "`" in one.value][:1]
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", str(told))


def test_how_many_is_told_by_reason(subtests: pytest.Subtests) -> None:
    for reasons, sentence in [
        ([], ""),
        (["byte"], "1 byte token muted"),
        (["undertrained"] * 2, "2 undertrained tokens muted"),
        (["byte", "undertrained", "byte"], "2 byte and 1 undertrained tokens muted"),
        (["byte"] * 1200, "1,200 byte tokens muted"),
    ]:
        with subtests.test(reasons=reasons, sentence=sentence):
            assert reasons_caption(reasons) == sentence
            muted = Muted({str(number): reason for number, reason in enumerate(reasons)})
            assert muted.caption([*muted.reasons, "another"]) == sentence


def test_tokens_of_a_neuron_are_pale_until_the_switch_is_off(page: Opener, full_path: Path) -> None:
    """Every listed token that is muted is pale, no other is, and the captions count them."""
    neuron = address((0, 0, 1))
    tokens = neurothek.open(full_path).neuron(neuron).tokens
    opened = page(full_path, "neuron", neuron=neuron)
    shown = [tokens.filter(side=side).sort("rank").head(12)["token"].to_list() for side in ("promoted", "suppressed")]
    n_muted = [sum(token in (BYTE, UNDERTRAINED) for token in side) for side in shown]
    assert sum(n_muted) > 0
    # The token, and its bar.
    assert [len(re.findall(CSS + r"\b", body.split("</style>")[-1])) for body in lists(opened)] == [
        2 * n for n in n_muted
    ]
    counted = [caption.value for caption in opened.caption if caption.value.endswith("muted")]
    assert len(counted) == sum(n > 0 for n in n_muted)
    opened.toggle(key="muted").set_value(False).run()
    assert not any(CSS in body.split("</style>")[-1] for body in lists(opened))
    assert opened.query_params["muted"] == "no"
    assert not [caption for caption in opened.caption if caption.value.endswith("muted")]


def test_the_address_says_that_nothing_is_muted(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron=address((0, 0, 1)), muted="no")
    assert not opened.toggle(key="muted").value
    assert not any(CSS in body.split("</style>")[-1] for body in lists(opened))


def test_the_sentence_passes_over_what_is_muted_as_the_switch_stands(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron=address((0, 0, 1)))
    told = sentence(opened)
    assert not {visible(BYTE), visible(UNDERTRAINED)} & set(re.findall(r"`+ ?(.+?) ?`+", told))
    opened.toggle(key="muted").set_value(False).run()
    assert {visible(BYTE), visible(UNDERTRAINED)} & set(re.findall(r"`+ ?(.+?) ?`+", sentence(opened)))
    opened.toggle(key="muted").set_value(True).run()
    assert sentence(opened) == told


def test_a_model_whose_tokens_were_not_judged_has_no_switch(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron=address((WITHOUT_HISTOGRAMS, 0, 0)))
    assert not [one for one in opened.toggle if one.key == "muted"]
    assert not opened.exception


def test_where_people_judge_blind_nothing_is_muted(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "annotate")
    assert not [one for one in opened.toggle if one.key == "muted"]


def test_the_view_gives_each_token_its_reason(full_path: Path) -> None:
    rows = neurothek.open(full_path).sql("select * from token_quality order by model, token_id").to_dicts()
    assert {row["model"] for row in rows} == {"tiny-1m", "tiny-2m", "gelu-1m", "weights-only"}
    for row in rows:
        has_unused = row["model"] != "tiny-2m"
        is_near = row["token_id"] == UNDERTRAINED_TOKEN
        assert row["is_undertrained"] == (is_near if has_unused else None)
        reason = "byte" if row["token_id"] == BYTE_TOKEN else "undertrained" if has_unused and is_near else None
        assert row["reason"] == (None if row["is_special"] else reason)
