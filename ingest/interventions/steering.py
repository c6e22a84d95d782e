"""Prompts, scorers and baselines as they are asked for, put together before anything is opened."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.arguments import bad_argument
from neurothek.catalog.problems import Invalid, NotFound
from neurothek.ingest.corpora.prompt_sets import read_lines, read_prompts
from neurothek.ingest.interventions.scorers.text_scorer import TextScorer, named, open_scorer
from neurothek.ingest.interventions.scorers.word_list import words_of_lines
from neurothek.ingest.request import DEFAULT_CONTINUATION, Steering

DEFAULT_SCORER = "domains"


def read_steering(
    prompts: str | Path | Sequence[str],
    *,
    score: Sequence[str] = (),
    length: int = DEFAULT_CONTINUATION,
    temperature: float = 0.0,
    seed: int = 0,
    unwanted: str | None = None,
    banned: str | Path | Sequence[str] | None = None,
    described: str | None = None,
) -> Steering:
    """What changed models are to continue, and what scores it.

    Args:
        prompts: the prompts, or a file of them: one a line, or JSON lines with a `prompt` or a `text`.
        score: scorers as `open_scorer` takes them; none: the demonstration scorer of domains.
        length: tokens that are written after each prompt at most.
        temperature: 0 for the most probable tokens, else what logits are divided by before a token is drawn.
        seed: of the draws.
        unwanted: the attribute that the baselines work against; None: the only one.
        banned: words of the word filter, or a file with one a line; None: those that the scorer of `unwanted` knows.
        described: the unwanted attribute in words, for self-debiasing; None: its name.
    """
    texts = read_prompts("prompts", prompts)
    specs = tuple(score) or (DEFAULT_SCORER,)
    scorers = [open_scorer(spec) for spec in specs]
    names = [named(scorer)["name"] for scorer in scorers]
    for name in names:
        if names.count(name) > 1:
            raise bad_argument(
                "score", name, "leave one out, or give its file another name", why="two scorers have this name"
            )
    attribute, scorer = _unwanted(scorers, unwanted)
    words = scorer.words(attribute) if banned is None else _banned(banned)
    if not words:
        raise Invalid(
            f"the scorer of {attribute!r} has no words for it, so the word filter has none to ban",
            "give --banned FILE with one a line",
            option="--banned",
        )
    if described is not None and not described.strip():
        raise bad_argument("described", described, "say what is unwanted, or leave it out")
    return Steering(
        prompts=texts,
        length=length,
        temperature=temperature,
        seed=seed,
        scorers=specs,
        unwanted=attribute,
        banned=tuple(words),
        described=described or attribute,
    )


def _unwanted(scorers: Sequence[TextScorer], name: str | None) -> tuple[str, TextScorer]:
    """The attribute that baselines work against, and the scorer that has it."""
    owners = {attribute: scorer for scorer in reversed(scorers) for attribute in scorer.attributes}
    if name is None and len(owners) == 1:
        ((name, _),) = owners.items()
    if name is None or name not in owners:
        raise NotFound(
            "the unwanted attribute is not named" if name is None else f"no scorer has an attribute {name!r}",
            "a word filter and self-debiasing, which every result is compared with, work against one: give"
            f" --unwanted with one of {', '.join(sorted(owners))}",
            what="attribute",
            name=name,
            known=sorted(owners),
        )
    return name, owners[name]


def _banned(given: str | Path | Sequence[str]) -> tuple[str, ...]:
    """Words of a list, as the scorer `words` reads one."""
    lines = "\n".join(read_lines("banned", given))
    return tuple(dict.fromkeys(words_of_lines("--banned", lines)))
