"""The GPT of the browser under node, and GPTs of odd sizes."""

import base64

import numpy as np
import torch

from course_utils.explorers.data import as_json, encode
from course_utils.explorers.gpt import packed
from course_utils.models.gpt2 import GPT2, GPT2Config
from tests.explorers.support_node import KIT, run_module

GPT = KIT.parent / "gpt"
SIZES = [  # V, P, H, D, L, F
    (31, 13, 3, 5, 2, 47),
    (17, 11, 1, 7, 3, 2),
    (5, 7, 11, 3, 1, 29),
]
CLOSE = 1e-9  # both compute in 64 bits
IMPORTS = f"""
const {{ decode }} = await import("{(KIT / "data.js").as_uri()}");
const {{ loadGPT, newCache, read, step, logitsOf }} = await import(
  "{(GPT / "gpt.js").as_uri()}");
const {{ nextTokenProbabilities, draw }} = await import("{(GPT / "sampling.js").as_uri()}");
const models = (told.models ?? []).map(each => loadGPT(decode(each)));
const fresh = (model, ids, replaced) => read(model, newCache(model), ids, replaced);
const saidBy = act => {{ try {{ act(); }} catch (error) {{ return error.message; }} }};
const bytes = numbers => Buffer.from(new Float64Array(numbers).buffer).toString("base64");
const joined = arrays => {{
  const all = new Float64Array(arrays.reduce((sum, each) => sum + each.length, 0));
  let at = 0;
  for (const each of arrays) {{ all.set(each, at); at += each.length; }}
  return bytes(all);
}};
"""


def in_node(source, models=(), *, half=False, **told):
    """What a piece of JavaScript prints; it has the GPT's exports, the models, and what is told."""
    sent = [as_json(encode(packed(model, half))) for model in models]
    return run_module(IMPORTS + source, {"models": sent, **told})


def numbers(text, *shape):
    """What `bytes` and `joined` sent."""
    return np.frombuffer(base64.b64decode(text)).reshape(shape)


def random_gpt(V, P, H, D, L, F, seed=0):
    """A GPT whose weights are so large that each part shows in the scores, save the embeddings."""
    generator = torch.Generator().manual_seed(seed)
    model = GPT2(GPT2Config(V, P, H * D, L, H, F))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            small = name in ("tokens.weight", "positions.weight")  # so that eps shows, too
            weight.normal_(
                1.0 if "norm.weight" in name else 0, 0.02 if small else 0.3, generator=generator
            )
    return model.eval()


def some_ids(model, count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(model.config.vocab_size, (count,), generator=generator).tolist()
