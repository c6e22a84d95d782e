"""Sets of prompts that come with the package, and prompts that people give."""

from pathlib import Path

import pytest

from neurothek.catalog.problems import Invalid
from neurothek.ingest.corpora.prompt_sets import N_PROMPTS, read_prompts
from neurothek.ingest.corpora.sources.builtin import some_documents


@pytest.mark.parametrize("name", ["code", "prose", "questions", "statements"])
def test_every_set_has_as_many_prompts_none_twice(name: str) -> None:
    prompts = read_prompts("a", f"builtin:{name}")
    assert len(set(prompts)) == len(prompts) == N_PROMPTS
    assert prompts == read_prompts("a", f"builtin:{name}")


def test_questions_and_statements_end_alike() -> None:
    pairs = zip(read_prompts("a", "builtin:questions"), read_prompts("b", "builtin:statements"), strict=True)
    for question, statement in pairs:
        verb, article, *asked = question.split()
        assert (verb, article) == ("Is", "the")
        words = statement.split()
        assert words[0] == "The"
        assert [word for word in words[1:] if word != "is"] == [word for word in asked if word != "is"]
        assert words[-1] == asked[-1]


@pytest.mark.parametrize("domain", ["code", "prose"])
def test_passages_are_whole_lines_of_documents_that_are_measured_on(domain: str) -> None:
    documents = some_documents("measure", n_files=400, n_arithmetic=0)
    lines = {line.strip() for document in documents[domain] for line in document.splitlines()}  # type: ignore[index]
    for prompt in read_prompts("a", f"builtin:{domain}"):
        assert 60 <= len(prompt) <= 601
        assert {line.strip() for line in prompt.splitlines()} <= lines


def test_an_unknown_set_names_those_there_are() -> None:
    with pytest.raises(Invalid, match="builtin:code, builtin:prose, builtin:questions, builtin:statements") as caught:
        read_prompts("b", "builtin:maths")
    assert caught.value.option == "b"


def test_errors_name_the_option_that_the_file_was_given_as(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"prompt": "one"}\n{"prompt": }\n')
    with pytest.raises(Invalid, match="line 2 is not JSON") as caught:
        read_prompts("b", file)
    assert caught.value.option == "b"
