"""Which family a model is of, and what sets it apart from the plain one of its size: read, checked, written one way."""

import re
from collections import Counter
from collections.abc import Iterable

from neurothek.catalog.problems import Invalid

NO_POSITION = "no-position"
POST_NORM = "post-norm"
ARCHITECTURES = (NO_POSITION, POST_NORM)
"""Variants that differ from the plain model in what they are built of."""

PLAIN = "plain"
"""Says that nothing sets a model apart; the warehouse keeps null."""

_QUANTIZED = re.compile(r"(?:i?q|tq|b?f|mxfp|nvfp)\d[a-z0-9_]*", re.ASCII)
"""How the numbers of a GGUF file are stored, such as Q4_1, in small letters."""

_FAMILY = re.compile(r"[A-Za-z0-9._@+-]{1,200}")
# Steps and seeds of up to 18 digits are 64-bit numbers.
_NUMBERED = re.compile(r"(?P<kind>step|seed)[ _-]?0*(?P<number>\d{1,18})", re.ASCII)
_CHECKPOINT = re.compile(r"(?:step|checkpoint)[_-]?0*(?P<number>\d{1,18})", re.ASCII)

_SEED = re.compile(r"[-_.]seed[-_]?0*(?P<number>\d{1,18})$", re.ASCII | re.IGNORECASE)


def variant_of(text: object) -> str | None:
    """`step 1000`, `seed 2`, `Q4_1` (a quantization), `no-position` or `post-norm` as stored; None for `plain`."""
    written = text.strip().lower() if isinstance(text, str) else ""
    if written == PLAIN:
        return None
    if written in ARCHITECTURES:
        return written
    if _QUANTIZED.fullmatch(written):
        return written.upper()
    numbered = _NUMBERED.fullmatch(written)
    if numbered is None:
        raise Invalid(
            f"{text!r} is not a model variant",
            f"write 'step 1000', 'seed 2', 'Q4_1', {' or '.join(ARCHITECTURES)}, or {PLAIN} for none; a model that"
            " differs in any other way belongs to another family",
            option="--variant",
            value=text,
        )
    return f"{numbered['kind']} {int(numbered['number'])}"


def family_of(text: object) -> str:
    """The name of a family."""
    if not isinstance(text, str) or not _FAMILY.fullmatch(text):
        raise Invalid(
            f"a family of models cannot be named {text!r}",
            "use up to 200 letters, digits and . _ @ + - only",
            option="--family",
            value=text,
        )
    return text


def is_quantization(variant: str | None) -> bool:
    """Whether a variant is the plain model with its numbers stored in fewer bits."""
    return variant is not None and _QUANTIZED.fullmatch(variant.lower()) is not None


def variant_of_sizes(variants: Iterable[str | None]) -> str | None:
    """The variant whose models are the sizes of a family: None, plain ones; without any the commonest quantization."""
    counts = Counter(variants)
    quantizations = [one for one in counts if is_quantization(one)]
    if None in counts or not quantizations:
        return None
    return min(quantizations, key=lambda one: (-counts[one], one))


def step_of(variant: str | None) -> int | None:
    """The step of training in a variant, None for another one."""
    numbered = _NUMBERED.fullmatch(variant or "")
    return int(numbered["number"]) if numbered and numbered["kind"] == "step" else None


def step_of_revision(revision: str) -> int | None:
    """The step of training that a revision of a hub repository is named after: step1000, checkpoint-400; else None."""
    named = _CHECKPOINT.fullmatch(revision)
    return int(named["number"]) if named else None


def without_seed(name: str) -> tuple[str, int | None]:
    """What a model's name says before a seed at its end, and that seed: pythia-14m-seed1 is pythia-14m of seed 1."""
    named = _SEED.search(name)
    return (name[: named.start()], int(named["number"])) if named and named.start() else (name, None)


def variant_order(variant: str | None) -> tuple[bool, str, int]:
    """Sorts a plain model before its variants, and these by kind and number."""
    numbered = _NUMBERED.fullmatch(variant or "")
    kind, number = (numbered["kind"], int(numbered["number"])) if numbered else (variant or "", 0)
    return (variant is not None, kind, number)


def weights_told(name: str, variant: str | None, source: str) -> str:
    """Which weights a model has, as far as its name does not say it; empty where the name says all.

    Args:
        name: of the model.
        variant: what sets it apart; only a quantization is of the weights.
        source: where they came from: a folder or a file, the name of a shipped model, or a hub id.
    """
    called, last = name.casefold(), source.rstrip("/").rpartition("/")[2]
    quantization = variant if variant and is_quantization(variant) and variant.casefold() not in called else None
    origin = f"from {last}" if last and last.casefold() not in called else None
    return f"weights {', '.join(filter(None, (quantization, origin)))}" if quantization or origin else ""


def described(family: str, variant: str | None) -> str:
    """A model's place among others, as a sentence goes on after its name and "is"."""
    if variant is None:
        return f"a plain size of {family}"
    kind = "quantization" if is_quantization(variant) else "variant"
    return f"a {kind} ({variant}) of {family}"
