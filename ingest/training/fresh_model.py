"""The fresh weights that the settings of a training give."""

import torch
from transformers import OPTConfig, OPTForCausalLM

from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.training.settings import SIZES, Settings
from neurothek.ingest.training.text import pad_id


def build(settings: Settings, tokenizer: Tokenizer) -> OPTForCausalLM:
    """A model with fresh weights: ReLU, learned positions, tied embeddings, no dropout; norms as settings say."""
    shape = SIZES[settings.size]
    width = 2 * shape.d_model if settings.post_norm else shape.d_model
    config = OPTConfig(
        vocab_size=settings.vocab_size,
        hidden_size=width,
        word_embed_proj_dim=shape.d_model,
        ffn_dim=shape.d_ffn,
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        max_position_embeddings=settings.context,
        do_layer_norm_before=not settings.post_norm,
        activation_function="relu",
        dropout=0.0,
        attention_dropout=0.0,
        layerdrop=0.0,
        pad_token_id=pad_id(tokenizer),
        bos_token_id=tokenizer.bos_id,
        eos_token_id=tokenizer.eos_id,
    )
    torch.manual_seed(settings.seed)
    model = OPTForCausalLM(config)
    for projection in (model.model.decoder.project_in, model.model.decoder.project_out):
        # Drawn at 0.02 as all else, it would shrink what passes to a sixth: training starts far later.
        if projection is not None:
            torch.nn.init.normal_(projection.weight, std=projection.in_features**-0.5)
    if settings.no_positions:
        table = model.model.decoder.embed_positions.weight
        table.requires_grad_(False)
        table.zero_()
    return model
