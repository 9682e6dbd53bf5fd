"""What lecture 08 claims of random inputs; `make claims LECTURE=08` runs it on fresh seeds."""

import torch

from course_utils.attention import attend
from course_utils.kernels import flash_attend, merge_partial
from course_utils.kernels.tiled import backward_tiles, forward_tiles
from course_utils.lectures.l08_flash_attention_tiling.experiments import tiled_in
from course_utils.teaching.claims import Claim

__all__ = ["CLAIMS"]

D = 64
MERGE_SHAPES = ((1, 2, 17, D), (1, 2, 8 * 101, D), (1, 2, 8 * 101, D))
GRADIENT_SHAPE = (1, 1, 61, 16)


def randoms(seed, shapes, dtype=torch.float64):
    """Return random tensors that depend on the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes]


def off(out, exact):
    """Return how far an output is from the exact one, relative to the length of that."""
    return ((out.double() - exact).norm() / exact.norm()).item()


def errors(seed, keys):
    """Return the errors of 64 queries over so many random keys, by how they were computed."""
    wide = randoms(seed, [(64, D), (keys, D), (keys, D)])
    exact, narrow = attend(*wide)[0], [x.float() for x in wide]
    return {
        "float64": off(tiled_in(torch.float64, *wide), exact),
        "float64, not rescaled": off(tiled_in(torch.float64, *wide, rescale=False), exact),
        "float32": off(tiled_in(torch.float32, *narrow), exact),
        "float32, whole matrix": off(attend(*narrow)[0], exact),
        "bfloat16 sums": off(tiled_in(torch.bfloat16, *narrow), exact),
    }


def run_errors(seeds, keys):
    """All errors over so many keys."""
    return [errors(seed, keys) for seed in seeds]


def run_growth(seeds, keys):
    """How much the errors grow from a sixteenth of the keys to all of them."""
    found = []
    for seed in seeds:
        few, many = (errors(seed, count) for count in (keys // 16, keys))
        found.append({f"{name}, times": many[name] / few[name] for name in many})
    return found


def merged(parts):
    """Merge parts, one after the other."""
    (out, lse), *others = parts
    for part in others:
        out, lse = merge_partial(out, lse, *part)
    return out


def run_merge(seeds, pieces):
    """The same parts merged forwards and in a random order, and their plain mean."""
    found = []
    for seed in seeds:
        q, k, v = randoms(seed, MERGE_SHAPES, torch.float32)
        chunks = zip(k.chunk(pieces, dim=2), v.chunk(pieces, dim=2), strict=True)
        parts = [flash_attend(q, *chunk, return_lse=True, backend="tiled") for chunk in chunks]
        order = torch.randperm(pieces, generator=torch.Generator().manual_seed(seed))
        forwards, shuffled = merged(parts), merged([parts[i] for i in order])
        mean = torch.stack([out for out, _ in parts]).mean(dim=0)
        found.append(
            {
                "another order": (forwards - shuffled).abs().max(),
                "plain mean": (forwards - mean).abs().max(),
            }
        )
    return found


def run_gradients(seeds, block):
    """Gradients by recomputation against autograd's; and with δ left out."""
    how = {"causal": True, "scale": 0.25, "block_m": block, "block_n": block // 2}
    found = []
    for seed in seeds:
        *inputs, d_out = randoms(seed, [GRADIENT_SHAPE] * 4)
        leaves = [x.requires_grad_() for x in inputs]
        expected = torch.autograd.grad(
            flash_attend(*leaves, causal=True, backend="reference"), leaves, d_out
        )
        q, k, v = (x.detach() for x in leaves)
        out, lse = forward_tiles(q, k, v, **how)
        zero = torch.zeros_like(lse)
        right = backward_tiles(q, k, v, out, lse, d_out, zero, **how)
        wrong = backward_tiles(q, k, v, torch.zeros_like(out), lse, d_out, zero, **how)
        largest = [
            max((mine - theirs).abs().max() for mine, theirs in zip(some, expected, strict=True))
            for some in (right, wrong)
        ]
        found.append(dict(zip(("recomputed", "without δ"), largest, strict=True)))
    return found


CLAIMS = (
    Claim(
        name="tiles_are_exact",
        sentence="Over 4,096 random keys, tiles in float64 differ from the whole matrix by less "
        "than 1e-14 of the output.",
        run=run_errors,
        holds=lambda n: n["float64"] < 1e-14,
        effect="float64",
        baseline="float64, not rescaled",
        budget=4096,
        quick=256,
    ),
    Claim(
        name="tiles_round_like_the_whole",
        sentence="In float32, tiles are off by less than one and a half times what the whole "
        "matrix is off.",
        run=run_errors,
        holds=lambda n: n["float32"] < 1.5 * n["float32, whole matrix"],
        effect="float32",
        baseline="float32, whole matrix",
        budget=4096,
        quick=256,
    ),
    Claim(
        name="sums_in_bfloat16",
        sentence="With l and acc in bfloat16 the output is off by about 1 %, more than ten "
        "thousand times as much as with both in float32.",
        run=run_errors,
        holds=lambda n: (
            0.005 < n["bfloat16 sums"] < 0.02 and n["bfloat16 sums"] > 1e4 * n["float32"]
        ),
        effect="bfloat16 sums",
        baseline="float32",
        budget=4096,
        quick=256,
    ),
    Claim(
        name="sixteen_bit_error_grows",
        sentence="From 256 to 4,096 keys the error of bfloat16 sums grows by a factor of 2.5 to 5.",
        run=run_growth,
        holds=lambda n: 2.5 < n["bfloat16 sums, times"] < 5,
        effect="bfloat16 sums, times",
        baseline="float32, times",
        budget=4096,
        quick=256,
    ),
    Claim(
        name="merges_in_any_order",
        sentence="Merged in another order, eight parts give the same output within 1e-6.",
        run=run_merge,
        holds=lambda n: n["another order"] < 1e-6,
        effect="another order",
        baseline="plain mean",
        budget=8,
        quick=4,
    ),
    Claim(
        name="gradients_recomputed",
        sentence="In float64 the gradients of the tiles differ from autograd's by less than 1e-12.",
        run=run_gradients,
        holds=lambda n: n["recomputed"] < 1e-12,
        effect="recomputed",
        baseline="without δ",
        budget=16,
        quick=8,
    ),
)
