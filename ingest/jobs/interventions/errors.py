"""What cannot be asked of neurons, or is called like something else."""

from neurothek.catalog.errors import NeurothekError


class GatesInTheWay(NeurothekError):
    """Neurons with gates have no value before their non-linearity."""

    def __init__(self, architecture: str) -> None:
        super().__init__(
            f"the neurons of {architecture} models have gates, so there is no value before the non-linearity to set;"
            " leave out --pre"
        )


class InterventionTaken(NeurothekError):
    """A name that stands for other neurons, or for another change."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the warehouse has an intervention {name!r} on other neurons or in another way; give this one another"
            " --name, or replace that one with --force"
        )
