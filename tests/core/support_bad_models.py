"""What the modules built on the core must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.measure import estimates
from course_utils.models import encoder, minilm
from course_utils.models import minilm_or_random as stand_in
from tests.core.support_bad_core import (
    COUNT,
    POSITIVE,
    REAL,
    TEXT,
    WORDS,
    vector,
)
from tests.core.support_bad_input import Bad, Case, Said

X = torch.rand(5)
ESTIMATES = [
    Case("estimates.Interval", estimates.Interval, {"mean": 0, "half_width": 1.0}, {
        "mean": REAL, "half_width": Bad(REAL.types, (*REAL.values, -1.0)),
    }),
    Case("estimates.estimate_mean", estimates.estimate_mean, {"samples": X}, {
        "samples": Bad(
            vector().types,
            (torch.zeros(()), X[None], X / 0, Said(X[:1], "1"), X[:0]),
        ),
    }),
]  # fmt: skip

CONFIG = encoder.EncoderConfig(31, 15, 2, 3, 7, 11)
IDS = torch.tensor([[5, 7, 2]])
BAD_IDS = Bad(
    (*WORDS, IDS.int(), IDS.float()),
    (IDS[0], IDS[None], Said(IDS[:, :0], "0"), Said(IDS.repeat(1, 4), "12"), IDS + 99, IDS - 9),
)
HIDDEN = Bad(("causal", [True], torch.zeros(1, 1, 1, 3)), (torch.ones(1, 1, 1, 2) > 0,))
WRONG_CONFIG = Bad((None, "x", {"width": 15}))
HEADS = Said(7, "num_heads (7) must divide width (15)")
ENCODER = [
    Case("models.encoder.EncoderConfig", encoder.EncoderConfig, vars(CONFIG), {
        **{name: COUNT for name in vars(CONFIG) if name not in ("num_heads", "norm_eps")},
        "num_heads": Bad(COUNT.types, (*COUNT.values, HEADS)), "norm_eps": POSITIVE,
    }),
    *(
        Case(f"models.encoder.{kind.__name__}", kind, {"config": CONFIG}, {"config": WRONG_CONFIG})
        for kind in (encoder.Embeddings, encoder.Encoder)
    ),
    Case("models.encoder.Embeddings.forward", encoder.Embeddings(CONFIG), {"token_ids": IDS}, {
        "token_ids": BAD_IDS,
    }),
    Case("models.encoder.Encoder.forward", encoder.Encoder(CONFIG), {"token_ids": IDS}, {
        "token_ids": BAD_IDS, "may_attend": HIDDEN,
    }),
]  # fmt: skip

MINILM = minilm.load_minilm()
BERT = {
    "vocab_size": 31, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 7, "max_position_embeddings": 11, "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}  # fmt: skip
READ = {"text": "The cat.", "max_tokens": 5}
BAD_READ = {
    "text": Bad(TEXT.types, ("", " \n", "\x00", Said("\ud83d", "half of a surrogate pair"))),
    "max_tokens": Bad(COUNT.types, (*COUNT.values, 2, 513)),
}
BIAS = torch.zeros(3)
THEIRS, OURS = {"embeddings.LayerNorm.bias": BIAS}, {"embeddings.norm.bias": BIAS}
MAPPED = Bad((None, "x", [BIAS], Said({1: BIAS}, "1 (int)"), Said({"a": [1.0]}, "to list")))
MODELS = [
    Case("models.minilm.MiniLM", minilm.MiniLM,
         {"encoder": MINILM.encoder, "tokenizer": MINILM.tokenizer}, {
        "encoder": Bad((None, "x")), "tokenizer": Bad((None, "x")),
    }),
    Case("models.minilm.MiniLM.read", MINILM.read, READ, BAD_READ),
    Case("models.minilm.load_minilm", minilm.load_minilm, {}, {"path": Bad((3, ["x"]))}),
    Case("models.minilm.config_from_bert", minilm.config_from_bert, {"bert": BERT}, {
        "bert": Bad((None, "x", [1])),
    }),
    Case("models.minilm.weights_from_bert", minilm.weights_from_bert,
         {"tensors": THEIRS, "expected": OURS}, {"tensors": MAPPED, "expected": MAPPED}),
    Case("models.stand_in.read_text", stand_in.read_text, READ, BAD_READ),
    Case("models.stand_in.read_with_random_weights", stand_in.read_with_random_weights,
         READ, BAD_READ),
]  # fmt: skip

CASES = [*ESTIMATES, *ENCODER, *MODELS]
