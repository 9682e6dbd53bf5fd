"""PyTorch's own layers with the weights of ours: the reference that ours are compared with."""

import torch
from torch import nn

from course_utils.layers import DecoderBlock, EncoderBlock, LayerNorm, MultiHeadAttention

# Of float32 through a block: numbers of size 1, some hundred roundings of 6e-8 each.
CLOSE = {"rtol": 0, "atol": 1e-5}


def torch_attention(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's attention with the weights of ours."""
    theirs = nn.MultiheadAttention(
        ours.width, ours.num_heads, bias=ours.query.bias is not None, batch_first=True
    ).to(ours.query.weight.dtype)
    theirs.load_state_dict(_attention_weights(ours))
    return theirs


def torch_encoder_layer(ours: EncoderBlock, **changed: object) -> nn.TransformerEncoderLayer:
    """PyTorch's encoder layer with the weights of ours, and its options unless changed."""
    theirs = nn.TransformerEncoderLayer(**(_options(ours, ours.attention) | changed))
    theirs.to(ours.attention.query.weight.dtype).load_state_dict(
        _named(self_attn=_attention_weights(ours.attention))
        | _named(linear1=ours.feedforward.expand, linear2=ours.feedforward.contract)
        | _named(norm1=ours.attention_norm, norm2=ours.feedforward_norm)
    )
    return theirs


def torch_decoder_layer(ours: DecoderBlock, **changed: object) -> nn.TransformerDecoderLayer:
    """PyTorch's decoder layer with the weights of ours, and its options unless changed."""
    theirs = nn.TransformerDecoderLayer(**(_options(ours, ours.self_attention) | changed))
    norms = (ours.self_attention_norm, ours.cross_attention_norm, ours.feedforward_norm)
    theirs.to(ours.self_attention.query.weight.dtype).load_state_dict(
        _named(self_attn=_attention_weights(ours.self_attention))
        | _named(multihead_attn=_attention_weights(ours.cross_attention))
        | _named(linear1=ours.feedforward.expand, linear2=ours.feedforward.contract)
        | _named(**{f"norm{number}": norm for number, norm in enumerate(norms, start=1)})
    )
    return theirs


def with_random_norms(block: nn.Module) -> nn.Module:
    """The block with norms that do something: fresh ones neither scale nor shift."""
    for module in block.modules():
        if isinstance(module, LayerNorm):
            nn.init.normal_(module.weight)
            nn.init.normal_(module.bias)
    return block


def _options(ours: EncoderBlock | DecoderBlock, attention: MultiHeadAttention) -> dict[str, object]:
    return {
        "d_model": attention.width,
        "nhead": attention.num_heads,
        "dim_feedforward": ours.feedforward.expand.out_features,
        "activation": ours.feedforward.activation,
        "norm_first": getattr(ours, "norm_first", False),
        "layer_norm_eps": ours.feedforward_norm.eps,
        "dropout": 0.0,
        "batch_first": True,
    }


def _attention_weights(ours: MultiHeadAttention) -> dict[str, torch.Tensor]:
    joined = (ours.query, ours.key, ours.value)
    weights = {
        "in_proj_weight": torch.cat([part.weight for part in joined]),
        "out_proj.weight": ours.output.weight,
    }
    if ours.query.bias is not None:
        weights["in_proj_bias"] = torch.cat([part.bias for part in joined])
        weights["out_proj.bias"] = ours.output.bias
    return weights


def _named(**parts: nn.Module | dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        f"{prefix}.{name}": tensor
        for prefix, part in parts.items()
        for name, tensor in (part if isinstance(part, dict) else part.state_dict()).items()
    }
