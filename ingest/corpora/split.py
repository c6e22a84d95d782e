"""How many sentences linear maps are fitted on, and how many judge them ([D] 3)."""

from dataclasses import dataclass

from neurothek.catalog.problems import Invalid

N_FIT, N_VALIDATION = 9_000, 3_000
"""Of the paper: as many where the text has so many, else three of four sentences and the fourth."""

LEAST_FIT, LEAST_VALIDATION = 6, 2
"""Of fewer than two to validate on no spread is known."""

_ONE_IN = 4
"""Of so many sentences one is to validate on."""


@dataclass(frozen=True)
class SentenceSplit:
    """The sizes that were asked for.

    Attributes:
        n_fit: sentences to fit on; None: as usual.
        n_validation: sentences to validate on; None: as usual.
    """

    n_fit: int | None = None
    n_validation: int | None = None

    @classmethod
    def of(cls, n_fit: int | None, n_validation: int | None) -> "SentenceSplit":
        """The split, if it makes sense."""
        for option, value, least in (("--fit", n_fit, LEAST_FIT), ("--validate", n_validation, LEAST_VALIDATION)):
            if value is not None and value < least:
                does = "fits on" if option == "--fit" else "validates on"
                message = f"{option} {value:,} is too few"
                hint = f"the job shortcuts {does} at least {least} sentences"
                raise Invalid(message, hint, option=option, value=value)
        return cls(n_fit, n_validation)

    @property
    def is_usual(self) -> bool:
        """Whether nobody asked for sizes."""
        return self.n_fit is None and self.n_validation is None

    @property
    def least(self) -> int:
        """Sentences that it takes at least."""
        return (self.n_fit or LEAST_FIT) + (self.n_validation or LEAST_VALIDATION)

    def sizes(self, n_found: int, n_usual: int = N_FIT + N_VALIDATION) -> tuple[int, int]:
        """Sentences to fit on and to validate on where the text has `n_found`; one that was not asked for gives way.

        Args:
            n_found: `least` or more.
            n_usual: sentences taken at most where nobody asked for sizes.
        """
        if self.is_usual:
            n = min(n_found, n_usual)
            return n - n // _ONE_IN, n // _ONE_IN
        if self.n_fit is None:
            n_validation = self.n_validation or 0
            return min(N_FIT, n_found - n_validation), n_validation
        return self.n_fit, self.n_validation or min(N_VALIDATION, n_found - self.n_fit)

    def parameters(self) -> dict[str, int | None]:
        """What it adds to the parameters of a run: nothing where it is what is taken anyway."""
        if self in (USUAL, SentenceSplit(N_FIT, N_VALIDATION)):
            return {}
        return {"n_fit": self.n_fit, "n_validation": self.n_validation}

    def __str__(self) -> str:
        """The options that were given."""
        options = (("--fit", self.n_fit), ("--validate", self.n_validation))
        return " ".join(f"{option} {number}" for option, number in options if number is not None)


USUAL = SentenceSplit()
"""What is taken where nobody asks for sizes."""
