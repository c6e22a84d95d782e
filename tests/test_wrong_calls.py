"""Calls from Python that cannot be meant: each is one sentence, before anything is opened or written."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

import neurothek
from docs.generators.python_page import GROUPS, calls
from neurothek import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.ingest.options import IngestOptions
from neurothek.ingest.request import TextRequest
from neurothek.queries.search.question import Conditions, Question

Call = Callable[[Neurothek], object]

# Types are wrong on purpose.
# mypy: disable-error-code="arg-type,call-arg,typeddict-item,typeddict-unknown-key,list-item,call-overload,dict-item"

WRONG: dict[str, tuple[Call, str]] = {
    "open a number": (lambda _: neurothek.open(5), "path=5 is not valid; give a path or None"),
    "open two": (lambda _: neurothek.open(["a", "b"]), r"path=\['a', 'b'\] is not valid; give a path or None"),
    "open a name with a zero byte": (lambda _: neurothek.open("a\0b"), "is not valid; give a path or None"),
    "open a stranger's home": (lambda _: neurothek.open("~nobody-here/x"), "cannot be a path: there is no such home"),
    "open a long name": (lambda _: neurothek.open("x" * 5000), r"x…' cannot be a path: it is too long"),
    "export to a long name": (lambda door: door.export("x" * 300), "cannot be a path: it is too long"),
    "merge a stranger's": (lambda door: door.merge("~nobody-here/x"), "cannot be a path: there is no such home folder"),
    "trace with long weights": (lambda door: door.trace("a", "b", weights="x" * 300), "absent.duckdb"),
    "sql: a number": (lambda door: door.sql(5), "query=5 is not valid; give UTF-8 text"),
    "sql: a list of values": (lambda door: door.sql("select $a", [1]), r"parameters=\[1\] is not valid; give a dict"),
    "sql: values by number": (
        lambda door: door.sql("select $a", {1: 1}),
        "{1: 1} is not valid; give a dict",
    ),
    "sql: limits of rows": (
        lambda door: door.sql("select 1", limits=5),
        "limits=5 is not valid; give a Limits",
    ),
    "sql: a corpus by number": (
        lambda door: door.sql("select 1", corpus=5),
        "corpus=5 is not valid; give UTF-8 text",
    ),
    "sql: nothing": (lambda door: door.sql(), "sql: missing a required argument: 'query'; call it as sql"),
    "ask: nothing": (lambda door: door.ask(None), "query=None is not valid; give UTF-8 text"),
    "ask: not text": (lambda door: door.ask("select '\udcff'"), "is not valid; give UTF-8 text"),
    "explain: bytes": (lambda door: door.explain(b"select 1"), "query=b'select 1' is not valid"),
    "search: a number": (lambda door: door.search(5), "words=5 is not valid; give UTF-8 text"),
    "search: a list": (lambda door: door.search(["a", "b"]), r"words=\['a', 'b'\] is not valid; give UTF-8 text"),
    "search: a slip": (lambda door: door.search("a", modle="x"), r"search\(\) has no argument modle; nearest: model"),
    "search: like a number": (lambda door: door.search(like=5), "like=5 is not valid; give UTF-8 text or None"),
    "search: limit as text": (lambda door: door.search("a", limit="3"), "limit='3' is not valid; give a whole number"),
    "search: half a limit": (lambda door: door.search("a", limit=2.5), "limit=2.5 is not valid; give a whole number"),
    "search: no limit": (lambda door: door.search("a", limit=0), "limit=0 is not valid; give a whole number from 1"),
    "search: a layer's name": (lambda door: door.search("a", layer="first"), "'first' is not a range of layers"),
    "search: a long layer": (lambda door: door.search("a", layer="9" * 5000), "9…' is not a range of layers"),
    "search: a long word": (lambda door: door.search("a" * 100_000), "give texts of at most 1,000 characters"),
    "search: three layers": (lambda door: door.search("a", layers=(1, 2, 3)), "give a pair, such as"),
    "search: layers upside down": (lambda door: door.search("a", layer=(3, 1)), "give the first and the last layer"),
    "search: a depth's name": (lambda door: door.search("a", depth="deep"), "'deep' is not a range of depths"),
    "search: a depth of 2": (lambda door: door.search("a", depth=(0, 2)), "give the first and the last depth"),
    "search: a side": (lambda door: door.search("a", side="top"), "side='top' is not valid; give 'promoted' or"),
    "search: exact as text": (
        lambda door: door.search("a", exact="yes"),
        "exact='yes' is not valid; give True or",
    ),
    "search: a condition": (lambda door: door.search("a", where=5), "where=5 is not valid; give UTF-8 text or None"),
    "search: one thing twice": (
        lambda door: door.search("a", model="x", models=["y"]),
        r"models=\['y'\] is not valid; models is given, too; give one of the two",
    ),
    "search: neighbours of no concept": (lambda door: door.search("a", neighbours=3), "requires a concept search"),
    "answer: a word": (lambda door: door.answer("school"), "question='school' is not valid; give a Question"),
    "score: a list": (lambda door: door.score(["a"]), r"question=\['a'\] is not valid; give a Question"),
    "score: conditions twice": (
        lambda door: door.score(Question(words=("a",)), limit=3),
        "give a word, or a question that holds the conditions itself",
    ),
    "neuron: a number": (lambda door: door.neuron(5), "address=5 is not valid; give UTF-8 text"),
    "neuron: no address": (lambda door: door.neuron(), "missing a required argument: 'address'"),
    "neuron: a model": (lambda door: door.neuron("a/L0N0", model="x"), "unexpected keyword argument 'model'"),
    "neuron: yes": (lambda door: door.neuron("a/L0N0", show_all="yes"), "show_all='yes' is not valid; give True or"),
    "claims: a paper": (lambda door: door.claims(paper="vogta"), r"paper='vogta' is not valid"),
    "reproduce: a paper": (lambda door: door.reproduce("vogta", to="x"), r"paper='vogta' is not valid"),
    "compare: a list": (lambda door: door.compare(["a", "b"]), r"models=\['a', 'b'\] is not valid; give UTF-8 text"),
    "draw a neuron: an address": (lambda door: door.draw_neuron("a/L0N0", "x.png"), "give a NeuronPage"),
    "draw a comparison: models": (lambda door: door.draw_comparison(["a"], "x"), "give a Comparison"),
    "trace: a number": (lambda door: door.trace("a", 5), "prompt=5 is not valid; give UTF-8 text"),
    "trace: a position's name": (lambda door: door.trace("a", "b", position="last"), "position='last' is not valid"),
    "trace: no tokens": (lambda door: door.trace("a", "b", top=0), "top=0 is not valid; give 1 or more"),
    "trace: true tokens": (lambda door: door.trace("a", "b", top=True), "top=True is not valid; give a whole number"),
    "trace: a lens": (lambda door: door.trace("a", "b", lens="tuned"), "lens='tuned' is not valid; give 'id' or 'mat'"),
    "switch: a number": (lambda door: door.switch("a", "b", 17), "neuron=17 is not valid; give UTF-8 text"),
    "switch: off": (lambda door: door.switch("a", "b", "L0N0", set="off"), "set='off' is not valid; give a number"),
    "switch: no random ones": (
        lambda door: door.switch("a", "b", "L0N0", n_random=0),
        "n_random=0 is not valid; give 1",
    ),
    "shortcut: a state's name": (lambda door: door.shortcut("a", state="last"), "state='last' is not valid"),
    "shortcut: no state": (lambda door: door.shortcut("a"), "missing a required argument: 'state'"),
    "ingest: nothing": (lambda door: door.ingest(), r"models=\(\) is not valid; name at least one model"),
    "ingest: a number": (lambda door: door.ingest(5), "models=5 is not valid; give UTF-8 text"),
    "ingest: a slip": (
        lambda door: door.ingest("a", corpsu="x"),
        "has no argument corpsu; nearest: corpus",
    ),
    "ingest: a job by number": (lambda door: door.ingest("a", job=5), r"job=\(5,\) is not valid; give a list"),
    "ingest: no such job": (
        lambda door: door.ingest("a", job="projection"),
        "there is no job projection; did",
    ),
    "ingest: a format": (
        lambda door: door.ingest("a", dtype="float8"),
        "dtype='float8' is not valid; give 'float32'",
    ),
    "ingest: a device": (lambda door: door.ingest("a", device="tpu"), "device='tpu' is not valid; give 'auto' or"),
    "ingest: a memory": (lambda door: door.ingest("a", memory="much"), "memory='much' is not valid; give a size, such"),
    "ingest: no tokens": (lambda door: door.ingest("a", tokens=0), "tokens=0 is not valid; give 1 or more"),
    "ingest: no clusters": (
        lambda door: door.ingest("a", clusters=[5, 0]),
        r"clusters=\[5, 0\] is not valid; give 1",
    ),
    "ingest: text as text": (lambda door: door.ingest("a", text="builtin"), "text='builtin' is not valid; give a Text"),
    "ingest: text twice": (
        lambda door: door.ingest("a", text=TextRequest(), tokens=5),
        "text and tokens both say what is read",
    ),
    "verify: a number": (lambda door: door.verify(5), "model=5 is not valid; give UTF-8 text"),
    "verify: no layers": (lambda door: door.verify("a", sample=0), "sample=0 is not valid; give 1 or more"),
    "annotate: text": (lambda door: door.annotate("a/L0N0"), "annotations='a/L0N0' is not valid; give a list or tuple"),
    "annotate: numbers": (lambda door: door.annotate([5]), r"annotations=\[5\] is not valid"),
    "annotate by rules: a number": (lambda door: door.annotate_by_rules(5), "models=5 is not valid"),
    "annotate by rules: seed": (lambda door: door.annotate_by_rules("a", seed="x"), "seed='x' is not valid"),
    "export: a number": (lambda door: door.export(5), "folder=5 is not valid; give a path"),
    "export: a dialect by number": (lambda door: door.export("x", dialects=[5]), r"dialects=\[5\] is not valid; give"),
    "import: nothing": (lambda door: door.import_(None), "folder=None is not valid; give a path"),
    "label: nothing": (lambda door: door.label("a"), "family"),
    "label: a number": (lambda door: door.label("a", family=5), "family=5 is not valid; give UTF-8 text or None"),
    "schema: a number": (lambda door: door.schema(5), "name=5 is not valid; give UTF-8 text or None"),
    "runs: a number": (lambda door: door.runs(staging=5), "staging=5 is not valid; give a path or None"),
    "pin: nothing": (lambda door: door.pin("a"), "nothing to pin; give a corpus, a number of clusters or both"),
    "pin: clusters as text": (lambda door: door.pin("a", clusters="x"), "clusters='x' is not valid"),
    "rename: nothing": (lambda door: door.rename("a", None), "name=None is not valid; give UTF-8 text"),
    "remove: a number": (lambda door: door.remove("a", job=5), "job=5 is not valid; give UTF-8 text or None"),
    "merge: a number": (lambda door: door.merge(5), "other=5 is not valid; give a path"),
}


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Neurothek:
    monkeypatch.chdir(tmp_path)
    return neurothek.open("absent.duckdb")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_one_sentence(door: Neurothek, name: str) -> None:
    call, sentence = WRONG[name]
    with pytest.raises(NeurothekError, match=sentence) as caught:
        call(door)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert list(Path().iterdir()) == []


CALLS = [call for group in GROUPS.values() for call in calls(group)]
ARGUMENTS = [
    pytest.param(call, parameter.name, id=f"{call.__name__}-{parameter.name}")
    for call in CALLS
    for parameter in inspect.signature(call).parameters.values()
    if parameter.name != "base" and parameter.kind is not parameter.VAR_KEYWORD
]


def plausible(parameter: inspect.Parameter) -> object:
    """Some value of the kind that a required argument has."""
    annotation = parameter.annotation
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    plain: dict[object, object] = {int: 1, str: "one", bool: True}
    return plain.get(annotation, [] if "Iterable" in str(annotation) else "one")


@pytest.mark.parametrize(("call", "name"), ARGUMENTS)
def test_no_argument_may_be_anything(door: Neurothek, call: Callable[..., Any], name: str) -> None:
    """Each argument in its turn is given something that nobody could mean."""
    anything = object()
    parameters = [one for one in inspect.signature(call).parameters.values() if one.name != "base"]
    first = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty]
    values = [anything if one.name == name else plausible(one) for one in first]
    many = [anything for one in parameters if one.kind is one.VAR_POSITIONAL and one.name == name]
    named = {
        one.name: anything if one.name == name else plausible(one)
        for one in parameters
        if one not in first and (one.name == name or one.default is one.empty) and one.kind is not one.VAR_POSITIONAL
        if one.kind is not one.VAR_KEYWORD
    }
    with pytest.raises(NeurothekError, match=rf"^{name}=.* is not valid; give ") as caught:
        call(door, *values, *many, **named)
    assert "\n" not in str(caught.value)


def test_no_condition_may_be_anything(door: Neurothek, subtests: pytest.Subtests) -> None:
    for name in Conditions.__annotations__:
        with subtests.test(name=name), pytest.raises(NeurothekError, match=" is not valid; give "):
            door.search("one", **{name: object()})


@pytest.mark.parametrize("name", IngestOptions.__annotations__)
def test_no_wish_may_be_anything(door: Neurothek, name: str) -> None:
    with pytest.raises(NeurothekError, match=f"^{name}=.* is not valid; give "):
        door.ingest("one", **{name: object()})
