"""What a command loads that a person waits for: libraries that its answer does not need are not among it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import ingests

ROOT = Path(__file__).parents[1]
PROMPT = "the school is near the river"

MODELS = ("torch", "transformers", "huggingface_hub", "scipy", "sympy", "datasets", "sklearn", "tokenizers")
"""Libraries that measure or know models."""

COMPILERS = ("torch._dynamo", "torch.distributed.tensor")
"""Parts of torch that compile and distribute, which take as long as the rest of it."""

QUESTIONS: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "trace of OPT": (("trace", "opt", PROMPT), frozenset({"torch", "tokenizers"})),
    "trace of Llama": (("trace", "llama", PROMPT), frozenset({"torch", "tokenizers"})),
    "attribution": (("trace", "llama", PROMPT, "--toward", "·school"), frozenset({"torch", "tokenizers"})),
    "switch": (("switch", "opt", PROMPT, "L1N3"), frozenset({"torch", "tokenizers"})),
    "search": (("search", "school"), frozenset()),
    "search with all scores": (("search", "school", "--score", "--model", "opt"), frozenset()),
    "neuron": (("neuron", "opt/L1N3"), frozenset()),
    "models": (("models",), frozenset()),
}
"""A command, and what of these its answer takes."""

SCRIPT = """
import json, sys
from click.testing import CliRunner
import neurothek
result = CliRunner().invoke(neurothek.main, json.loads(sys.argv[1]))
print(json.dumps([result.exit_code, result.output, [name for name in sys.argv[2:] if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quick")
    ingests.measured_models(folder, ("opt", "llama"))
    return folder / "w.duckdb"


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_loads_what_it_needs(question: str, path: Path) -> None:
    command, needed = QUESTIONS[question]
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(command), *MODELS, *COMPILERS],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NEUROTHEK_WAREHOUSE": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    status, output, loaded = json.loads(found.stdout)
    assert status == 0, output
    assert set(loaded) == needed
