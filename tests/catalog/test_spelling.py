"""Tokens as people see them: no two look alike, and none moves the cursor."""

from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.spelling import escape_controls, is_text, named, one_line, quoted, unmark, visible, visible_list


def test_white_space_is_marked() -> None:
    assert visible(" school") == "·school"
    assert visible("a\n\tb") == "a↵⇥b"
    assert visible_list([" a", "b", " "]) == "·a b ·"
    assert f"promotes {quoted(' in')} {quoted('.')}." == "promotes “·in” “.”."


def test_the_marks_themselves_are_escaped() -> None:
    assert visible("·") == "\\xb7"
    assert visible("↵⇥") == "\\u21b5\\u21e5"
    assert visible("\x1b[31m\xa0\u200b\U000e0001") == "\\x1b[31m\\xa0\\u200b\\U000e0001"


def test_running_text_keeps_its_blanks() -> None:
    assert one_line("two words\n") == "two words↵"


def test_lone_surrogates_are_no_text() -> None:
    assert is_text("café ↵ \U0001f600")
    assert not is_text("caf\udce9")


def test_names_are_quoted_where_white_space_hides() -> None:
    assert [named(name) for name in ("tiny", "my tiny", "", " ", "tiny\n")] == [
        "tiny",
        "my tiny",
        "''",
        "' '",
        r"'tiny\n'",
    ]


def test_typed_turns_back_what_was_shown() -> None:
    assert unmark("·school↵") == " school\n"


@given(first=st.text(max_size=4), second=st.text(max_size=4))
def test_shown_alike_means_alike(first: str, second: str) -> None:
    shown = visible(first)
    assert shown.isprintable()
    assert " " not in shown
    if "\\" not in first + second and visible(second) == shown:
        assert first == second


@given(text=st.one_of(st.text(max_size=8), st.text("aé1Ⅷ² ·\n", max_size=8)))
def test_a_token_is_shown_character_by_character(text: str) -> None:
    assert visible(text) == "".join(map(visible, text))
    assert all(visible(character) == character for character in text if character.isalnum())


def test_a_message_is_one_line_that_moves_no_cursor() -> None:
    assert escape_controls("·school splits into ·sch ool") == "·school splits into ·sch ool"
    assert escape_controls("a\x1b[2J\u202eb\nc\td\r") == "a\\x1b[2J\\u202eb↵c⇥d\\x0d"


@given(text=st.text())
def test_a_message_is_printable_and_otherwise_as_it_was(text: str) -> None:
    shown = escape_controls(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


@given(st.text(st.one_of(st.sampled_from(" \n\t·↵⇥é\x0b\u00a0a"), st.characters()), max_size=12))
def test_running_text_is_marked_character_by_character(text: str) -> None:
    assert one_line(text) == "".join(" " if character == " " else visible(character) for character in text)
