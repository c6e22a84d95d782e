"""Why a warehouse cannot be used, each in one sentence: what was asked, what was found, what to do."""

from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError


class WarehouseMissing(NeurothekError):
    """There is no file at the path."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"there is no warehouse at {path}; build one with `{command_line('demo')}` or"
            f" `{command_line('ingest', 'MODEL')}`"
        )


class WarehouseInvalid(NeurothekError):
    """The file is something else."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path} cannot be used as a warehouse: {found}; name another file with --warehouse")


class WarehouseOutdated(NeurothekError):
    """An earlier release wrote the file, and it has not been brought up to date."""

    def __init__(self, path: Path) -> None:
        self.path = path
        look = command_line("models", "--warehouse", str(path))
        super().__init__(
            f"{path} was written by an earlier release and has not been brought up to date; `{look}` does it where the"
            " file can be written and no other program has it open, then repeat the command"
        )


class WarehouseBusy(NeurothekError):
    """Another process held the file for too long."""

    def __init__(self, path: Path, holder: str, seconds: float) -> None:
        super().__init__(
            f"{path} was still in use by {holder} after {seconds:.0f} s; close it there and repeat the command"
        )


class WarehouseHeld(NeurothekError):
    """Other code in this process has the file open in a way that allows no other connection."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is open in this process through duckdb.connect; close that connection and try again")


class WarehouseUnwritable(NeurothekError):
    """The disk refuses to take the file."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path} could not be written ({found}); choose another place with --warehouse")
