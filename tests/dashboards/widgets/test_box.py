"""Where the box leads: an address wins over a word, and the model at hand completes it."""

import pytest

from neurothek.dashboards.widgets.box import Goal, goal_of

MODELS = ("opt-125m", "opt-1.3b", "L7")


def test_what_is_typed_leads_to_a_page(subtests: pytest.Subtests) -> None:
    for typed, page, parameters in [
        ("school", "search", {"words": "school"}),
        (' "new york" city ', "search", {"words": '"new york" city'}),
        ("opt-125m/L3N17", "neuron", {"neuron": "opt-125m/L3N17"}),
        ("unknown/l3n17", "neuron", {"neuron": "unknown/l3n17"}),
        ("opt-125m/L3", "layer", {"model": "opt-125m", "layer": "3"}),
        ("opt-125m", "model", {"model": "opt-125m"}),
        ("L7N12", "neuron", {"neuron": "opt-1.3b/L7N12"}),
        ("l7", "layer", {"model": "opt-1.3b", "layer": "7"}),
        ("opt-12m", "search", {"words": "opt-12m"}),
        ("L3N17 L3N18", "search", {"words": "L3N17 L3N18"}),
        ("the capital of France is", "trace", {"prompt": "the capital of France is", "model": "opt-1.3b"}),
        ('"the new york" city school', "search", {"words": '"the new york" city school'}),
    ]:
        with subtests.test(typed=typed, page=page, parameters=parameters):
            assert goal_of(typed, MODELS, "opt-1.3b") == Goal(page, parameters)


def test_without_a_model_at_hand_a_short_address_is_a_word_or_a_name() -> None:
    assert goal_of("L3N17", MODELS, None) == Goal("search", {"words": "L3N17"})
    assert goal_of("to be or", MODELS, None) == Goal("trace", {"prompt": "to be or"})
    assert goal_of("L7", MODELS, None) == Goal("model", {"model": "L7"})


@pytest.mark.parametrize("typed", ["", "  "])
def test_nothing_leads_nowhere(typed: str) -> None:
    assert goal_of(typed, MODELS, "opt-125m") is None
