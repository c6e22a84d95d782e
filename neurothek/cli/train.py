"""The command that trains a small OPT model."""

from pathlib import Path

import click

from neurothek.catalog.advice import command_line
from neurothek.catalog.terminal.console import console_progress, note
from neurothek.cli.options import UserPath


@click.command()
@click.option("--size", required=True, help="Number of parameters: 0.7m, 2m or 5m.")
@click.option(
    "--steps",
    type=int,
    required=True,
    help="Optimizer steps, each of 16 sequences of 256 tokens; 0 writes the fresh weights.",
)
@click.option("--output", type=UserPath(), required=True, help="New folder for the model.")
@click.option(
    "--corpus", "corpora", multiple=True, default=("builtin",), show_default=True, help="builtin or NAME=SOURCE."
)
@click.option("--tokenizer", type=UserPath(), help="Reuse the tokenizer in this model folder.")
@click.option("--vocabulary", type=int, default=8_192, show_default=True, help="Size of a new tokenizer.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed for initial weights and text order."
)
@click.option("--no-positions", is_flag=True, help="Keep the position table at zero.")
@click.option("--post-norm", is_flag=True, help="Norms after the blocks, a stream twice as wide, as in OPT-350m.")
@click.option(
    "--checkpoint-at", type=int, multiple=True, metavar="STEP", help="Also write OUTPUT-stepSTEP (repeatable)."
)
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto: cuda if available.")
def train(
    *,
    size: str,
    steps: int,
    output: Path,
    corpora: tuple[str, ...],
    tokenizer: Path | None,
    vocabulary: int,
    seed: int,
    no_positions: bool,
    post_norm: bool,
    checkpoint_at: tuple[int, ...],
    device: str,
) -> None:
    """Train a small OPT from scratch, for studying its neurons.

    With --steps 0 the model is untrained: the control for claims about the effects of training. Give it the tokenizer
    of the trained model.

    Training never uses the built-in documents that `ingest` measures. If the command is killed, run it again: it
    resumes from the last saved state and ends with the same weights.
    """
    from dataclasses import replace

    from neurothek.ingest.corpora.sources.source import parse_sources, require_columns
    from neurothek.ingest.training.settings import Settings, check_places

    settings = Settings(
        size=size,
        steps=steps,
        seed=seed,
        no_positions=no_positions,
        post_norm=post_norm,
        checkpoint_at=checkpoint_at,
        vocab_size=vocabulary,
        device=device,
    )
    check_places(settings, output, tokenizer=tokenizer)
    sources = parse_sources(corpora)
    require_columns(sources)
    # What takes seconds to load comes after everything that names and places tell.
    import torch

    from neurothek.ingest.training.train import train as train_model

    if device == "auto":
        settings = replace(settings, device="cuda" if torch.cuda.is_available() else "cpu")
    with console_progress() as progress:
        folders = train_model(sources, output, settings, tokenizer=tokenizer, progress=progress)
    for folder in folders:
        note(f"wrote {folder}; measure it with `{command_line('ingest', str(folder))}`")
