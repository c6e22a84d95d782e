"""Parts of statements that are written once a value."""

import pytest

from neurothek.queries.ask.one_query import PartUnknown, repeated, with_parts

TEXT = """with found as (
    /* for each token_id */
    select 1 where token_id = $token_id and other in $token_ids
    /* end */
)
from found"""


def test_a_part_is_written_once_a_value() -> None:
    text, parameters = repeated(TEXT, {"token_id": [7, 9]})
    assert text.count("union all") == 1
    assert "token_id = $token_id_0 and other in $token_ids" in text
    assert "token_id = $token_id_1 " in text
    assert parameters == {"token_id_0": 7, "token_id_1": 9}
    assert text.endswith(")\nfrom found")


def test_without_values_it_is_asked_of_null() -> None:
    text, parameters = repeated(TEXT, {"token_id": []})
    assert "union all" not in text
    assert parameters == {"token_id_0": None}


def test_a_statement_without_parts_is_left_alone() -> None:
    assert repeated("select 1", {}) == ("select 1", {})


def test_a_list_names_all_values() -> None:
    text, parameters = repeated("select 1 where i in (/* all of i */) or j = $i", {"i": [3, 5]})
    assert (text, parameters) == ("select 1 where i in ($i_0, $i_1) or j = $i", {"i_0": 3, "i_1": 5})
    assert repeated("in (/* all of i */)", {"i": []}) == ("in ($i_0)", {"i_0": None})


def test_parts_stand_where_their_condition_holds() -> None:
    text = "select\n    /* where it rains */\n    1,\n    /* end of it rains */\n    2\n"
    assert with_parts(text, ("it rains",)) == "select\n    1,\n    2\n"
    assert with_parts(text, ()) == "select\n    2\n"
    assert with_parts("select 1", ()) == "select 1"


def test_parts_stand_within_parts() -> None:
    text = "/* where it rains */\n1,\n/* where it snows */\n2,\n/* end of it snows */\n/* end of it rains */\n3"
    assert with_parts(text, ("it rains", "it snows")) == "1,\n2,\n3"
    assert with_parts(text, ("it rains",)) == "1,\n3"
    assert with_parts(text, ("it snows",)) == "3"


def test_a_condition_that_a_statement_does_not_have_is_refused() -> None:
    text = "/* where it rains */\n1,\n/* where it snows */\n2,\n/* end of it snows */\n/* end of it rains */\n3"
    with pytest.raises(PartUnknown, match="no part 'it hails'"):
        with_parts(text, ("it rains", "it hails"))
