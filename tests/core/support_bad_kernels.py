"""What the kernels' public callables must refuse; the whole messages stand in tests/kernels/."""

import torch

from course_utils.kernels import dispatch, inputs, merge, trace
from tests.core.support_bad_core import COUNT, FLAG, SCALE, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said

Q, K = torch.randn(2, 6, 5, 16), torch.randn(2, 3, 7, 16)
V = K.flip(2)
QKV = {"q": Q, "k": K, "v": V}
NO_SUCH_DTYPE = (Q.long(), Q.cfloat(), Q.to(torch.float8_e4m3fn))
BAD_QKV = {
    "q": Bad(
        (*WORDS, *NO_SUCH_DTYPE),
        (Q[0], Q[None], Said(Q[:, :0], "0"), Said(Q[..., :0], "0"), Said(Q[:, :5], "5")),
    ),
    "k": Bad(
        (*WORDS, K.long(), K.double(), K.half()),
        (K[0], Said(K[:, :0], "0"), K[:1], K[..., :8], Said(K.to("meta"), "meta")),
    ),
    "v": Bad(
        (*WORDS, V.long(), V.double(), V.bfloat16()),
        (V[0], V[:1], V[:, :1], V[:, :, :5], V[..., :8], Said(V.to("meta"), "meta")),
    ),
    "causal": FLAG,
    "return_lse": FLAG,
    **SCALE,
}
OUT, LSE = torch.randn(3, 5), torch.randn(3)
PARTS = {"out_a": OUT, "lse_a": LSE, "out_b": OUT, "lse_b": LSE}
BAD_OUT = Bad((*WORDS, OUT.long()), (OUT[0], Said(OUT[:2], "(3,)")))
BAD_LSE = Bad((*WORDS, LSE.long()), (LSE[:2], LSE[0], OUT))
HEAD = {"q": torch.randn(5, 3), "k": torch.randn(7, 3), "v": torch.randn(7, 3)}
SPOILT = torch.full((7, 3), float("nan"))
BAD_HEAD = {
    "q": Bad((*WORDS, HEAD["q"].long()), (Q, HEAD["q"][0], HEAD["q"][:0], SPOILT)),
    "k": Bad((*WORDS, HEAD["k"].double()), (K, HEAD["k"][0], HEAD["k"][:, :2], SPOILT)),
    "v": Bad((*WORDS, HEAD["v"].half()), (V, HEAD["v"][0], HEAD["v"][:5], SPOILT)),
}

CASES = [
    Case(
        "kernels.dispatch.flash_attend",
        dispatch.flash_attend,
        QKV,
        {**BAD_QKV, "backend": choice("cuda", "Triton")},
    ),
    Case(
        "kernels.dispatch.why_not",
        dispatch.why_not,
        {"backend": "tiled"},
        {"backend": choice("auto")},
    ),
    Case("kernels.inputs.check_flash_inputs", inputs.check_flash_inputs, QKV, BAD_QKV),
    Case(
        "kernels.merge.merge_partial",
        merge.merge_partial,
        PARTS,
        {"out_a": BAD_OUT, "lse_a": BAD_LSE, "out_b": BAD_OUT, "lse_b": BAD_LSE},
    ),
    Case(
        "kernels.trace.trace_tiles",
        trace.trace_tiles,
        {**HEAD, "block_m": 2, "block_n": 3},
        {**BAD_HEAD, "causal": FLAG, "block_m": COUNT, "block_n": COUNT, **SCALE},
    ),
]
