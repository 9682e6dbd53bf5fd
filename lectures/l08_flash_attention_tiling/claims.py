"""What lecture 08 claims of random inputs; `make claims LECTURE=08` runs it on fresh seeds."""

import torch

from course_utils.attention import attend
from course_utils.kernels import flash_attend, merge_partial
from course_utils.kernels.tiled import backward_tiles, forward_tiles
from course_utils.teaching.claims import ProgramClaim, Setting
from lectures.l08_flash_attention_tiling.experiments import tiled_in

D = 64
MERGE_SHAPES = ((1, 2, 17, D), (1, 2, 8 * 101, D), (1, 2, 8 * 101, D))
GRADIENT_SHAPE = (1, 1, 61, 16)
LARGER = Setting("scores 3 × as large", arguments={"larger": 3.0})
ELSEWHERE = (
    Setting("4 × keys", budget=4),
    Setting("width 128", arguments={"width": 128}),
    LARGER,
)


def randoms(seed, shapes, larger=1.0, dtype=torch.float64):
    """Return random tensors that depend on the seed alone, the first so many times as large."""
    generator = torch.Generator().manual_seed(seed)
    first, *others = (torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes)
    return [larger * first, *others]


def off(out, exact):
    """Return how far an output is from the exact one, relative to the length of that."""
    return ((out.double() - exact).norm() / exact.norm()).item()


def errors(seed, keys, width, larger):
    """Return the errors of 64 queries over so many random keys, by how they were computed."""
    wide = randoms(seed, [(64, width), (keys, width), (keys, width)], larger)
    exact, narrow = attend(*wide)[0], [x.float() for x in wide]
    return {
        "float64": off(tiled_in(torch.float64, *wide), exact),
        "float64, not rescaled": off(tiled_in(torch.float64, *wide, rescale=False), exact),
        "float32": off(tiled_in(torch.float32, *narrow), exact),
        "float32, whole matrix": off(attend(*narrow)[0], exact),
        "bfloat16 sums": off(tiled_in(torch.bfloat16, *narrow), exact),
    }


def run_errors(seeds, keys, width=D, larger=1.0):
    """All errors over so many keys."""
    return [errors(seed, keys, width, larger) for seed in seeds]


def run_growth(seeds, keys, width=D, larger=1.0):
    """How much the errors grow from a sixteenth of the keys to all of them."""
    found = []
    for seed in seeds:
        few, many = (errors(seed, count, width, larger) for count in (keys // 16, keys))
        found.append({name: many[name] / few[name] for name in many})
    return found


def merged(parts):
    """Merge parts, one after the other."""
    (out, lse), *others = parts
    for part in others:
        out, lse = merge_partial(out, lse, *part)
    return out


def run_merge(seeds, pieces, larger=1.0):
    """The same parts merged forwards and in a random order, and their plain mean."""
    found = []
    for seed in seeds:
        q, k, v = randoms(seed, MERGE_SHAPES, larger, torch.float32)
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


def run_gradients(seeds, block, larger=1.0):
    """Gradients by recomputation against autograd's; and with δ left out."""
    how = {"causal": True, "scale": 0.25, "block_m": block, "block_n": block // 2}
    found = []
    for seed in seeds:
        *inputs, d_out = randoms(seed, [GRADIENT_SHAPE] * 4, larger)
        leaves = [x.requires_grad_() for x in inputs]
        expected = torch.autograd.grad(
            flash_attend(*leaves, causal=True, scale=0.25, backend="reference"), leaves, d_out
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
    ProgramClaim(
        name="tiles_are_exact",
        sentence="Over 4,096 random keys, tiles in float64 differ from the whole matrix by less "
        "than 1e-14 of the output.",
        run=run_errors,
        holds=lambda n: n["float64"] < 1e-14,
        effect="float64",
        unit="of the output",
        rival="float64, not rescaled",
        budget=4096,
        quick=256,
        settings=ELSEWHERE,
    ),
    ProgramClaim(
        name="tiles_round_like_the_whole",
        sentence="Over 4,096 random keys in float32, the error of tiles is less than one and a "
        "half times that of the whole matrix.",
        run=run_errors,
        holds=lambda n: n["float32"] < 1.5 * n["float32, whole matrix"],
        effect="float32",
        unit="of the output",
        rival="float32, whole matrix",
        budget=4096,
        quick=256,
        settings=ELSEWHERE,
    ),
    ProgramClaim(
        name="sums_in_bfloat16",
        sentence="Over 4,096 random keys, with l and acc in bfloat16, the error is 0.5 to 2 % of "
        "the output, more than ten thousand times the error with both in float32.",
        run=run_errors,
        holds=lambda n: (
            0.005 < n["bfloat16 sums"] < 0.02 and n["bfloat16 sums"] > 1e4 * n["float32"]
        ),
        effect="bfloat16 sums",
        unit="of the output",
        rival="float32",
        budget=4096,
        quick=256,
        settings=ELSEWHERE,
    ),
    ProgramClaim(
        name="sixteen_bit_error_grows",
        sentence="From 256 to 4,096 random keys the error of sums in bfloat16 grows by a factor of "
        "2.5 to 5.",
        run=run_growth,
        holds=lambda n: 2.5 < n["bfloat16 sums"] < 5,
        effect="bfloat16 sums",
        unit="times as large",
        rival="float32",
        budget=4096,
        quick=256,
        settings=ELSEWHERE,
    ),
    ProgramClaim(
        name="merges_in_any_order",
        sentence="Attention over eight parts of random keys gives the same output within 1e-6, in "
        "whatever order the parts are merged.",
        run=run_merge,
        holds=lambda n: n["another order"] < 1e-6,
        effect="another order",
        unit="largest difference",
        rival="plain mean",
        budget=8,
        quick=4,
        settings=(Setting("4 × as many parts", budget=4), LARGER),
    ),
    ProgramClaim(
        name="gradients_recomputed",
        sentence="In float64 the gradients of tiles of 16 by 8, computed from recomputed weights, "
        "differ from autograd's by less than 1e-12.",
        run=run_gradients,
        holds=lambda n: n["recomputed"] < 1e-12,
        effect="recomputed",
        unit="largest difference",
        rival="without δ",
        budget=16,
        quick=8,
        settings=(Setting("tiles of 64 by 32", budget=4), LARGER),
    ),
)
