"""What published models are like, their parameters counted from the sizes in their config.json."""

from neurothek.ingest.models.families.shapes import Shape

OPT_VOCABULARY, OPT_POSITIONS = 50_272, 2_050

# Layers, width, heads, neurons a layer and width of the embedding, as in the config.json of facebook/opt-SIZE.
OPT: dict[str, tuple[int, int, int, int, int]] = {
    "125m": (12, 768, 12, 3_072, 768),
    "350m": (24, 1_024, 16, 4_096, 512),
    "1.3b": (24, 2_048, 32, 8_192, 2_048),
    "2.7b": (32, 2_560, 32, 10_240, 2_560),
    "6.7b": (32, 4_096, 32, 16_384, 4_096),
    "13b": (40, 5_120, 40, 20_480, 5_120),
    "30b": (48, 7_168, 56, 28_672, 7_168),
    "66b": (64, 9_216, 72, 36_864, 9_216),
}

GPT2_VOCABULARY, GPT2_POSITIONS = 50_257, 1_024

# Layers, width and heads, as in the config.json of openai-community/NAME; four neurons a layer for each of the width.
GPT2: dict[str, tuple[int, int, int]] = {
    "gpt2": (12, 768, 12),
    "gpt2-medium": (24, 1_024, 16),
    "gpt2-large": (36, 1_280, 20),
    "gpt2-xl": (48, 1_600, 25),
}

BERT_VOCABULARY, BERT_POSITIONS, BERT_SEGMENTS = 30_522, 512, 2

# Layers, width, heads and neurons a layer, as in the config.json of google-bert/NAME.
BERT: dict[str, tuple[int, int, int, int]] = {
    "bert-base-uncased": (12, 768, 12, 3_072),
    "bert-large-uncased": (24, 1_024, 16, 4_096),
}


def block_parameters(d_model: int, d_ffn: int) -> int:
    """Of one block: four projections with biases, two maps of the FFN with theirs, two norms."""
    return 4 * (d_model * d_model + d_model) + 2 * d_model * d_ffn + d_ffn + d_model + 4 * d_model


def opt(size: str) -> Shape:
    """A published OPT."""
    n_layers, d_model, n_heads, d_ffn, d_embedding = OPT[size]
    embedding = OPT_VOCABULARY * d_embedding + OPT_POSITIONS * d_model
    # OPT-350m has projections in and out instead of a norm at the end.
    rest = 2 * d_model * d_embedding if d_embedding != d_model else 2 * d_model
    return Shape(
        architecture="opt",
        activation="relu",
        norm_position="post" if size == "350m" else "pre",
        position_encoding="learned",
        n_layers=n_layers,
        d_model=d_model,
        d_ffn=d_ffn,
        n_heads=n_heads,
        vocab_size=OPT_VOCABULARY,
        context_length=OPT_POSITIONS - 2,
        n_parameters=n_layers * block_parameters(d_model, d_ffn) + embedding + rest,
        n_parameters_embedding=embedding,
        has_exact_zeros=True,
    )


def gpt2(name: str) -> Shape:
    """A published GPT-2."""
    n_layers, d_model, n_heads = GPT2[name]
    embedding = (GPT2_VOCABULARY + GPT2_POSITIONS) * d_model
    return Shape(
        architecture="gpt2",
        activation="gelu_new",
        norm_position="pre",
        position_encoding="learned",
        n_layers=n_layers,
        d_model=d_model,
        d_ffn=4 * d_model,
        n_heads=n_heads,
        vocab_size=GPT2_VOCABULARY,
        context_length=GPT2_POSITIONS,
        n_parameters=n_layers * block_parameters(d_model, 4 * d_model) + embedding + 2 * d_model,
        n_parameters_embedding=embedding,
        has_exact_zeros=False,
    )


def bert(name: str) -> Shape:
    """A published BERT with its head of masked tokens."""
    n_layers, d_model, n_heads, d_ffn = BERT[name]
    embedding = (BERT_VOCABULARY + BERT_POSITIONS + BERT_SEGMENTS) * d_model
    # The norm of the embeddings; of the head a map with its bias, a norm, and a bias for every token.
    rest = 2 * d_model + d_model * d_model + 3 * d_model + BERT_VOCABULARY
    return Shape(
        architecture="bert",
        activation="gelu",
        norm_position="post",
        position_encoding="learned",
        n_layers=n_layers,
        d_model=d_model,
        d_ffn=d_ffn,
        n_heads=n_heads,
        vocab_size=BERT_VOCABULARY,
        context_length=BERT_POSITIONS,
        n_parameters=n_layers * block_parameters(d_model, d_ffn) + embedding + rest,
        n_parameters_embedding=embedding,
        has_exact_zeros=False,
    )
