"""A small GPT-2 of transformers, the reference that ours is compared with."""

import re

import torch
import transformers

from course_utils.models.gpt2 import GPT2, GPT2Config

# V tokens, P positions, H heads of width D, L blocks; F is the hidden width.
V, P, H, D, L, F = 31, 13, 3, 5, 2, 47
C = H * D
SIZES = {"vocab_size": V, "max_positions": P, "width": C, "num_layers": L, "num_heads": H}
# Two float32 paths through two blocks; what they compute is of size 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


def ours(seed=0, **changed) -> GPT2:
    """Our model, with weights so large that each part shows in the logits."""
    return drawn(GPT2(GPT2Config(**SIZES | changed)), seed)


def theirs(seed=0, **changed) -> transformers.GPT2LMHeadModel:
    """The model of transformers, without dropout."""
    sizes = {"vocab_size": V, "n_positions": P, "n_embd": C, "n_layer": L, "n_head": H}
    no_end = {"bos_token_id": None, "eos_token_id": None}
    config = transformers.GPT2Config(**sizes | no_end | changed)
    return drawn(transformers.GPT2LMHeadModel(config).eval(), seed)


def drawn(model, seed):
    """Make every weight, bias and scale random; those of the norms lie about 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(std=0.2, generator=generator)
            if re.search(r"(norm|ln_.)\.weight$", name):
                parameter += 1
    return model


def some_ids(*shape, seed=1):
    """Token ids, drawn."""
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))
