"""Units wait, are given back, and are given up."""

from neurothek.ingest.pipeline.cluster.waiting import TRIES, Unit, Waiting


def unit(name: str, place: int | None = None, restart: Unit | None = None) -> Unit:
    return Unit(name, "shards", lambda: (name,), place=place, restart=restart)


def names(waiting: Waiting, place: int = 0) -> list[str]:
    found = []
    while (one := waiting.next(place)) is not None:
        found.append(one.name)
    return found


def test_units_come_in_their_order_and_those_of_other_places_stay() -> None:
    waiting = Waiting([unit("a", 0), unit("b", 1), unit("c"), unit("d", 0)])
    assert names(waiting, place=0) == ["a", "c", "d"]
    assert len(waiting) == 1
    assert names(waiting, place=-1) == []
    waiting.add(unit("e"))
    assert names(waiting, place=-1) == ["e"]
    assert names(waiting, place=1) == ["b"]


def test_a_unit_that_failed_comes_first_and_is_given_up_at_last() -> None:
    dropped = list[str]()
    waiting = Waiting([unit("a"), unit("b")], dropped=lambda one: dropped.append(one.name))
    for number in range(TRIES):
        one = waiting.next(0)
        assert one is not None
        assert one.name == "a"
        waiting.give_back(one, f"problem {number}")
    assert waiting.given_up == [("a", f"problem {TRIES - 1}")]
    assert dropped == ["a"]
    assert names(waiting) == ["b"]


def test_a_unit_that_failed_begins_again_with_what_it_builds_on() -> None:
    first = unit("first")
    waiting = Waiting([unit("b")])
    waiting.give_back(unit("second", restart=first), "gone")
    assert names(waiting) == ["first", "b"]
