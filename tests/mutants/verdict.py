"""Whether the tests notice enough, and what they do not notice."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.mutants.tables import EQUIVALENT, ROOT, Mutant, equivalents

LEAST_RATE = 0.9


@dataclass(frozen=True)
class Verdict:
    """What came of some mutants."""

    n: int  # how many were tried
    survivors: Sequence[Mutant]  # those that no test noticed

    @property
    def rate(self) -> float:
        """The share that was killed; what is listed as equivalent counts as a survivor too."""
        return 1 - len(self.survivors) / self.n

    @property
    def unlisted(self) -> list[Mutant]:
        """Survivors that nobody gave a reason for."""
        listed = equivalents()
        return [mutant for mutant in self.survivors if mutant.change not in listed]

    @property
    def status(self) -> int:
        """1 where too many survive, or one that is not listed."""
        return int(bool(self.unlisted) or self.rate < LEAST_RATE)

    def told(self) -> str:
        """All of it, for people."""
        n_survivors, n_listed = len(self.survivors), len(self.survivors) - len(self.unlisted)
        lines = [
            f"{self.n} mutants: {self.n - n_survivors} killed ({self.rate:.1%}), {n_survivors} survived,"
            f" {n_listed} of them listed as equivalent"
        ]
        listed = equivalents()
        lines += [f"- {told(mutant)}\n  {listed.get(mutant.change, 'NOT LISTED')}" for mutant in self.survivors]
        if self.unlisted:
            lines.append(f"Make a test fail for each that is not listed, or list it in {EQUIVALENT.relative_to(ROOT)}.")
        if self.rate < LEAST_RATE:
            lines.append(f"The tests notice too little: at least {LEAST_RATE:.0%} of the mutants have to be killed.")
        return "\n".join(lines)


def told(mutant: Mutant) -> str:
    """Where a mutant is, and what it changes."""
    change = mutant.change
    return f"{change.module}:{mutant.line}: {change.before.strip()}  ->  {change.after.strip() or '(nothing)'}"
