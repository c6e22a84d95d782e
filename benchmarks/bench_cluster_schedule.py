"""The OPT family by a cluster on paper: operations, bytes, hours, and how far the engine's scheduling scales.

Ratios are measured on this machine's cores; the machines of the cluster are assumed, and the time that passes on them
is simulated. Writes the blocks of docs/scale.md.
"""

from dataclasses import replace
from pathlib import Path

from benchmarks.cluster_costs import LISTENING_SECONDS, PART_SECONDS, Machines, Measured, Sweep, measure
from benchmarks.cluster_sweeps import (
    Conditions,
    Result,
    Troubles,
    driver_seconds,
    part_seconds,
    simulated,
    work_seconds,
)
from benchmarks.timing import machine, publish_block, table
from docs.generators.recipes.shapes import OPT, opt

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"
TOKENS, MORE_TOKENS = 5_000_000, 20_000_000
FLEETS = (1, 8, 16, 32, 64, 256)
FEWER_FLEETS = (1, 8, 64, 256)
SIZES = ("6.7b", "66b")
LARGE = 64
WAYS = {
    "a shared folder, workers fold": Conditions(LARGE),
    "a shared folder, the driver folds": Conditions(LARGE, driver_folds=True),
    "no shared folder, the driver folds": Conditions(LARGE, is_shared=False),
}
"""The first where the engine finds a shared folder, the last where it finds none; the other is what was before."""


def main() -> None:
    """Take the figures and publish them."""
    measured = measure()
    gpus = Machines()
    publish_block("measured and assumed", _measured_and_assumed(measured, gpus), path=PAGE)
    family = [Sweep(opt(size), TOKENS, measured, gpus) for size in OPT]
    publish_block("family", f"{_needs(family)}\n\n{_hours(family)}", path=PAGE)
    publish_block("scheduling", _scheduling(measured, gpus), path=PAGE)
    publish_block("hours", _spent(measured, gpus), path=PAGE)
    publish_block("limits", _limits(measured, gpus), path=PAGE)


def _measured_and_assumed(measured: Measured, machines: Machines) -> str:
    nano = 1e9
    rows: list[tuple[str, ...]] = [
        ("a matrix product, operations a second", f"{measured.product_flops:.1e}"),
        ("all observers, ns a neuron and token", f"{nano * measured.observing_seconds:.2f}"),
        ("of these, packing bits for n-grams", f"{nano * measured.packing_seconds:.2f}"),
        ("all folds, ms a neuron", f"{1e3 * sum(measured.fold_neuron_seconds.values()):.2f}"),
        ("and ns a neuron and token", f"{nano * sum(measured.fold_token_seconds.values()):.2f}"),
        ("numbering the n-grams of the text, ns a token", f"{nano * measured.opening_seconds:.0f}"),
        ("unpacking and writing a part, ns a byte", f"{nano * measured.taking_seconds:.1f}"),
    ]
    troubles = Troubles()
    assumed: list[tuple[str, ...]] = [
        ("a GPU sustains, operations a second (half the float32 peak of an H100)", f"{machines.flops:.2e}"),
        ("memory of it that a worker plans with, GB", f"{machines.memory_bytes / 1e9:.1f}"),
        ("a watched pass on it beside a bare one, packing left out", f"{machines.observing_ratio:.2f}"),
        ("cores of the driver, and of a worker without a GPU", f"{machines.cores}"),
        ("network of a machine, GB a second", f"{machines.network_bytes / 1e9:.1f}"),
        ("shared folder: one machine, GB a second", f"{machines.folder_bytes / 1e9:.0f}"),
        ("shared folder: all machines together, GB a second", f"{machines.all_folder_bytes / 1e9:.0f}"),
        ("looking for a file there, or deleting one, ms", f"{1e3 * machines.looking_seconds:.1f}"),
        ("start of a worker without its weights, seconds", f"{machines.start_seconds:.0f}"),
        ("the driver's work on a part, whatever is in it, ms", f"{1e3 * PART_SECONDS:.0f}"),
        ("and for each worker that it listens to, µs", f"{1e6 * LISTENING_SECONDS:.1f}"),
        ("troubles: spread of workers' speed (log-normal)", f"{troubles.spread:.2f}"),
        ("troubles: share of workers twice as slow", f"{troubles.slow_share:.2f}"),
        ("troubles: mean hours until a worker is lost", f"{troubles.lifetime_hours:.0f}"),
    ]
    return f"""Measured, on one core:

{table(("what", "figure"), rows)}

{machine()}

Assumed:

{table(("what", "figure"), assumed)}"""


def _needs(family: list[Sweep]) -> str:
    rows: list[tuple[str, ...]] = [
        (
            f"OPT-{size}",
            f"{one.forward_flops:.1e}",
            f"{one.projection_flops:.1e}",
            _gb(one.size.all_bytes),
            _gb(one.parts_bytes),
            _gb(one.plan.growth_bytes),
            f"{len(one.placement(LARGE).stages)}",
            _gb((len(one.placement(LARGE).stages) - 1) * one.extent.n_chunks * one.stream_bytes),
        )
        for size, one in zip(OPT, family, strict=True)
    ]
    header = ("model", "pass", "projections", "weights, GB", "parts, GB", "rows, GB", "stages", "streams, GB")
    return table(header, rows)


def _hours(family: list[Sweep]) -> str:
    rows = []
    for size, one in zip(OPT, family, strict=True):
        found = {n: simulated(one, Conditions(n)) for n in (1, 8, LARGE)}
        here = driver_seconds(one)
        watched = 1 + one.watching_seconds() / one.forward_seconds()
        hours = [f"{result.seconds / 3600:.2f}" for result in found.values()]
        rows.append(
            (f"OPT-{size}", f"{watched:.2f}", *hours, f"{here / 3600:.2f}", f"{work_seconds(one) / here - 1:.1f}")
        )
    header = ("model", "watched", "1 GPU", "8 GPUs", "64 GPUs", "driver", "balance")
    return table(header, rows)


def _scheduling(measured: Measured, machines: Machines) -> str:
    parts = []
    for n_tokens in (TOKENS, MORE_TOKENS):
        for size in SIZES:
            one = Sweep(opt(size), n_tokens, measured, machines)
            title = f"OPT-{size}, {n_tokens / 1e6:.0f} million tokens, {one.extent.n_chunks} chunks:"
            rows = [_scheduled(one, n) for n in FLEETS]
            header = ("GPUs", "stages x lanes", "ideal, hours", "hours", "efficiency", "troubled", "efficiency", "lost")
            parts.append(f"{title}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def _scheduled(sweep: Sweep, n_workers: int) -> tuple[str, ...]:
    calm = simulated(sweep, Conditions(n_workers))
    troubled = simulated(sweep, Conditions(n_workers, Troubles()))
    return (
        f"{n_workers}",
        f"{len(calm.placement.stages)} x {calm.placement.n_lanes}",
        f"{calm.ideal_seconds / 3600:.2f}",
        *_said(calm),
        *_said(troubled),
        f"{troubled.n_lost}" + (f" ({troubled.n_given_up} chunks given up)" if troubled.n_given_up else ""),
    )


def _spent(measured: Measured, machines: Machines) -> str:
    """Minutes of what comes one after the other, and of the driver's work on parts beside that."""
    rows: list[tuple[str, ...]] = []
    for n_tokens in (TOKENS, MORE_TOKENS):
        for size in SIZES:
            one = Sweep(opt(size), n_tokens, measured, machines)
            for n in FEWER_FLEETS:
                spent = [f"{seconds / 60:.1f}" for seconds in simulated(one, Conditions(n)).spent.values()]
                beside = one.n_parts * part_seconds(n) / 60
                rows.append((f"OPT-{size}, {n_tokens / 1e6:.0f} million tokens", f"{n}", *spent, f"{beside:.1f}"))
    header = ("minutes", "GPUs", "start", "projections", "chunks", "folds", "looking", "publishing", "parts, beside")
    return table(header, rows)


def _limits(measured: Measured, machines: Machines) -> str:
    """What a shared folder is worth: hours of 64 workers, and how efficient 8, 64 and 256 are."""
    sweeps = {f"OPT-{size}": Sweep(opt(size), MORE_TOKENS, measured, machines) for size in SIZES}
    sweeps["OPT-6.7b on cores"] = Sweep(opt("6.7b"), MORE_TOKENS, measured, Machines.without_gpus(measured))
    rows: list[tuple[str, ...]] = []
    for name, one in sweeps.items():
        for way, conditions in WAYS.items():
            found = [simulated(one, replace(conditions, n_workers=n)) for n in (8, LARGE, FLEETS[-1])]
            hours = [f"{result.seconds / 3600:.2f}" for result in found]
            rows.append((f"{name}, {way}", *hours, *(f"{result.efficiency:.2f}" for result in found)))
    header = ("20 million tokens", "8: hours", "64: hours", "256: hours", "8: efficiency", "64", "256")
    return table(header, rows)


def _said(result: Result) -> tuple[str, str]:
    return f"{result.seconds / 3600:.2f}", f"{result.efficiency:.2f}"


def _gb(size: float) -> str:
    return f"{size / 1e9:,.1f}"


if __name__ == "__main__":
    main()
