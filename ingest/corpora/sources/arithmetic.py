"""Arithmetic questions with their answers, made from a seed, in the manner of the DM Mathematics data set."""

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

N_DOCUMENTS = 3_000
LINES = (24, 48)

Ask = Callable[[random.Random], tuple[str, str]]


def arithmetic_documents(n: int = N_DOCUMENTS) -> Iterator[str]:
    """`n` documents, each some dozens of lines that alternate between a question and its answer."""
    for seed in range(n):
        source = random.Random(f"neurothek arithmetic {seed}")  # noqa: S311 - questions, no secrets
        exercises = (source.choice(KINDS)(source) for _ in range(source.randint(*LINES) // 2))
        yield "".join(f"{question}\n{answer}\n" for question, answer in exercises)


def _number(source: random.Random) -> int:
    """Numbers of one to four digits, each length as likely as another, sometimes negative."""
    size = 10 ** source.randint(1, 4)
    return source.randrange(size) * source.choice((1, 1, 1, -1))


def _sum(source: random.Random) -> tuple[str, str]:
    a, b = _number(source), _number(source)
    return source.choice(("What is {} + {}?", "Add {} and {}.", "Work out the sum of {} and {}.")).format(a, b), str(
        a + b
    )


def _difference(source: random.Random) -> tuple[str, str]:
    a, b = _number(source), _number(source)
    return source.choice(("What is {0} - {1}?", "Take {1} away from {0}.", "Subtract {1} from {0}.")).format(a, b), str(
        a - b
    )


def _product(source: random.Random) -> tuple[str, str]:
    a, b = _number(source), source.randint(2, 20)
    return source.choice(("What is {} * {}?", "Multiply {} by {}.", "Product of {} and {}?")).format(a, b), str(a * b)


def _quotient(source: random.Random) -> tuple[str, str]:
    a, b = _number(source), source.randint(2, 20)
    return source.choice(("Divide {} by {}.", "What is {} / {}?")).format(a, b), str(Fraction(a, b))


def _remainder(source: random.Random) -> tuple[str, str]:
    a, b = abs(_number(source)) + 10, source.randint(2, 30)
    return f"What is left over when {a} is divided by {b}?", str(a % b)


def _bracket(source: random.Random) -> tuple[str, str]:
    a, b, c = source.randint(2, 12), source.randint(-30, 30), source.randint(1, 30)
    return f"Evaluate {a} * ({b} + {c}) - {c}.", str(a * (b + c) - c)


def _equation(source: random.Random) -> tuple[str, str]:
    letter, a, x, b = (
        source.choice("abdgkmnpqrtuvwxyz"),
        source.randint(2, 20),
        source.randint(-20, 20),
        source.randint(1, 60),
    )
    return f"Solve {a}*{letter} + {b} = {a * x + b} for {letter}.", str(x)


def _compare(source: random.Random) -> tuple[str, str]:
    a, b = _number(source), _number(source)
    word = source.choice(("bigger", "smaller"))
    return f"Which is {word}: {a} or {b}?", str(max(a, b) if word == "bigger" else min(a, b))


def _sort(source: random.Random) -> tuple[str, str]:
    numbers = [_number(source) for _ in range(source.randint(3, 5))]
    falling = source.random() < 0.5
    order = "falling" if falling else "rising"
    listed = ", ".join(map(str, numbers))
    return f"Put {listed} in {order} order.", ", ".join(map(str, sorted(numbers, reverse=falling)))


def _divisor(source: random.Random) -> tuple[str, str]:
    common = source.randint(1, 12)
    a, b = common * source.randint(1, 40), common * source.randint(1, 40)
    return f"What is the greatest common divisor of {a} and {b}?", str(math.gcd(a, b))


def _multiple(source: random.Random) -> tuple[str, str]:
    a, b = source.randint(2, 40), source.randint(2, 40)
    return f"Find the least common multiple of {a} and {b}.", str(math.lcm(a, b))


def _digit(source: random.Random) -> tuple[str, str]:
    place, name = source.choice(((1, "units"), (10, "tens"), (100, "hundreds")))
    a = source.randrange(100, 100_000)
    return f"What is the {name} digit of {a}?", str(a // place % 10)


def _is_factor(source: random.Random) -> tuple[str, str]:
    a, b = source.randint(2, 15), source.randint(10, 500)
    return f"Is {a} a factor of {b}?", "yes" if b % a == 0 else "no"


def _sequence(source: random.Random) -> tuple[str, str]:
    start, step = source.randint(-50, 50), source.randint(-12, 12)
    terms = [start + step * i for i in range(5)]
    return f"What comes next: {', '.join(map(str, terms[:4]))}?", str(terms[4])


def _units(source: random.Random) -> tuple[str, str]:
    n, (large, small, factor) = source.randint(2, 90), source.choice(UNITS)
    return f"How many {small} are in {n} {large}?", str(n * factor)


UNITS = (
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
    ("weeks", "days", 7),
    ("metres", "centimetres", 100),
    ("kilograms", "grams", 1000),
)

KINDS: tuple[Ask, ...] = (
    _sum, _sum, _difference, _difference, _product, _quotient, _remainder, _bracket, _equation, _compare, _sort,
    _divisor, _multiple, _digit, _is_factor, _sequence, _units,
)  # fmt: skip
