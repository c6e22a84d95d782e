"""Rows of the tokenizers, corpora and models of the hand-made warehouse."""

import json
import random
from collections import defaultdict

from tests.support.measurements import Measurements, add_run
from tests.support.tiny import BOS, CORPORA, LENGTH, SPECIAL, TEXTS, ModelPlan


def add_tokens(data: Measurements) -> None:
    """Both tokenizers and their tokens."""
    for tokenizer_id, texts in enumerate(TEXTS):
        data.rows["tokenizers"].append(
            {
                "tokenizer_id": tokenizer_id,
                "name": ("tiny-1m", "gelu-1m")[tokenizer_id],
                "sha256": f"tokenizer-{tokenizer_id}",
                "vocab_size": len(texts),
                "bos_token_id": BOS[tokenizer_id],
                "eos_token_id": 0,
            }
        )
        for token_id, text in enumerate(texts):
            data.rows["tokens"].append(
                {
                    "tokenizer_id": tokenizer_id,
                    "token_id": token_id,
                    "piece": text.replace(" ", "Ġ").replace("\n", "Ċ"),
                    "text": text,
                    "word": text.strip().casefold(),
                    "is_special": text in SPECIAL,
                }
            )


def add_corpora(data: Measurements, draw: random.Random) -> None:
    """The corpora: sequences of tokens drawn by lot, and how often each occurs."""
    for corpus_id, (name, text, tokenizer_id, domains) in enumerate(CORPORA):
        n_tokens = 0
        sequence_id = 0
        counts: dict[tuple[str, int], int] = defaultdict(int)
        has_bos = BOS[tokenizer_id] is not None
        for domain, lengths in domains.items():
            for length in lengths:
                own = [draw.randrange(1, len(TEXTS[tokenizer_id]) - 2) for _ in range(length - has_bos)]
                n_tokens += len(own)
                for token in own:
                    counts[domain, token] += 1
                data.rows["sequences"].append(
                    {
                        "corpus_id": corpus_id,
                        "sequence_id": sequence_id,
                        "domain": domain,
                        "tokens": [0, *own] if has_bos else own,
                        "starts_document": sequence_id % 2 == 0,
                    }
                )
                sequence_id += 1
        data.rows["token_counts"].extend(
            {"corpus_id": corpus_id, "domain": domain, "token_id": token, "n_occurrences": n}
            for (domain, token), n in sorted(counts.items())
        )
        data.rows["corpora"].append(
            {
                "corpus_id": corpus_id,
                "name": name,
                "sha256": f"corpus-{corpus_id}",
                "text_sha256": text,
                "tokenizer_id": tokenizer_id,
                "n_tokens": n_tokens,
                "n_sequences": sequence_id,
                "sequence_length": LENGTH,
                "recipe": json.dumps({"sources": list(domains)}),
            }
        )


def add_model(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    """A model and the run that read its weights."""
    n_embedding = 100_000
    data.rows["models"].append(
        {
            "model_id": model_id,
            "name": plan.name,
            "family": plan.name.split("-")[0],
            "variant": plan.variant,
            "source": f"/models/{plan.name}",
            "revision": None,
            "weights_sha256": f"weights-{model_id}",
            "architecture": "opt" if plan.is_relu else "gpt2",
            "activation": plan.activation,
            "activation_rule": "m != 0" if plan.is_relu else "m > 0",
            "has_exact_zeros": plan.is_relu,
            "norm_position": plan.norm_position,
            "position_encoding": "none" if plan.variant else "learned",
            "n_layers": plan.n_layers,
            "d_model": 4,
            "d_ffn": plan.d_ffn,
            "n_heads": 2,
            # Two rows of the unembedding belong to no token and are masked everywhere.
            "vocab_size": len(TEXTS[plan.tokenizer_id]) + 2,
            "context_length": 8,
            "n_parameters": plan.size + n_embedding,
            "n_parameters_embedding": n_embedding,
            "size": plan.size,
            "n_neurons": plan.n_layers * plan.d_ffn,
            "training_tokens": 20 * plan.size if plan.is_relu else None,
            "tokenizer_id": plan.tokenizer_id,
        }
    )
    add_run(data, model_id, "projections", None, plan)
    if plan.pinned is not None:
        data.rows["pins"].append({"model_id": model_id, "corpus_id": plan.pinned})


def choose_corpus(data: Measurements, model_id: int, plan: ModelPlan) -> None:
    """Note the corpus that views show: the pinned one, else the largest."""
    if plan.corpora:
        sizes = {row["corpus_id"]: row["n_tokens"] for row in data.rows["corpora"]}
        most = max(plan.corpora, key=lambda corpus_id: (sizes[corpus_id], corpus_id))
        data.shown[model_id] = most if plan.pinned is None else plan.pinned
