"""Sizes of families that people compare: which one to measure next, beside one that was."""

FAMILIES = (
    ("mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m"),
    tuple(f"facebook/opt-{size}" for size in ("125m", "350m", "1.3b", "2.7b", "6.7b", "13b", "30b", "66b")),
    tuple(
        f"EleutherAI/pythia-{size}"
        for size in ("14m", "31m", "70m", "160m", "410m", "1b", "1.4b", "2.8b", "6.9b", "12b")
    ),
    tuple(f"openai-community/gpt2{size}" for size in ("", "-medium", "-large", "-xl")),
    tuple(f"cerebras/Cerebras-GPT-{size}" for size in ("111M", "256M", "590M", "1.3B", "2.7B", "6.7B", "13B")),
    tuple(f"bigscience/bloom-{size}" for size in ("560m", "1b1", "1b7", "3b", "7b1")),
    tuple(f"HuggingFaceTB/SmolLM2-{size}" for size in ("135M", "360M", "1.7B")),
    tuple(f"google/gemma-3-{size}" for size in ("270m", "1b-pt", "4b-pt", "12b-pt", "27b-pt")),
    tuple(f"meta-llama/Llama-3.2-{size}" for size in ("1B", "3B")),
    tuple(f"Qwen/Qwen2.5-{size}" for size in ("0.5B", "1.5B", "3B", "7B", "14B", "32B", "72B")),
    tuple(f"Qwen/Qwen3-{size}-Base" for size in ("0.6B", "1.7B", "4B", "8B", "14B")),
)
"""Hub ids of each family, or names of models that ship, the smallest size first."""


def other_size(model: str) -> str | None:
    """The next larger size of a model's family, of the largest the next smaller one; None of a family not known here.

    Args:
        model: its name in a warehouse.
    """
    for sizes in FAMILIES:
        names = [size.rpartition("/")[2].lower() for size in sizes]
        # A variant, such as one that follows instructions, goes on where the size's name ends.
        of_size = [place for place, name in enumerate(names) if _begins_with(model.lower(), name)]
        if of_size:
            place = max(of_size, key=lambda place: len(names[place]))
            return sizes[place + 1 if place + 1 < len(sizes) else place - 1]
    return None


def _begins_with(model: str, name: str) -> bool:
    return model == name or model.startswith((f"{name}-", f"{name}_", f"{name}@"))
