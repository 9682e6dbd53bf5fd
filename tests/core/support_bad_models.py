"""What the modules built on the core must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.lectures.l00_start_here.experiments import context_shift as word_drift
from course_utils.lectures.l00_start_here.experiments import gradient_reach as memory_probe
from course_utils.lectures.l00_start_here.experiments import kernel_regression
from course_utils.lectures.l01_scaling import experiments as score_samples
from course_utils.measure import estimates
from course_utils.models import encoder, minilm
from course_utils.models import minilm_or_random as stand_in
from tests.core.support_bad_core import (
    COUNT,
    POSITIVE,
    REAL,
    SEED,
    TEXT,
    WORDS,
    choice,
    tensor,
    vector,
)
from tests.core.support_bad_input import Bad, Case, Said

AT, X, Y = torch.rand(3), torch.rand(5), torch.rand(5)
P = torch.full((3,), 4.0)
HIGH = torch.full((3,), 3e38)
TINY = Said(5e-324, "4.94e-324")
PRECISION = Bad(
    (*vector().types, P.double()),
    (*vector().values, -P, P * 0, torch.ones(2), Said(HIGH, "e+39")),
)
FINITE = {"x": vector()}
REGRESSION = [
    Case("kernel_regression.true_curve", kernel_regression.true_curve, {"x": X}, FINITE),
    Case("kernel_regression.precision_features", kernel_regression.precision_features, {"x": X}, {
        "x": vector(),
    }),
    Case("kernel_regression.keys", kernel_regression.keys, {"x": X}, {
        "x": Bad(vector().types, (*vector().values, Said(HIGH, "9e+76"))),
    }),
    Case("kernel_regression.queries", kernel_regression.queries, {"x": 9 + AT, "precision": P}, {
        "x": vector(), "precision": PRECISION,
    }),
    Case(
        "kernel_regression.kernel_estimate",
        kernel_regression.kernel_estimate,
        {"at": 2 + AT, "precision": P, "x": 2 + X, "y": Y},
        {
            "at": vector(), "precision": PRECISION,
            "x": Bad((*vector(5).types, X.double()), vector(5).values),
            "y": Bad((*vector(5).types, Y.double()), (*vector(5).values, torch.ones(2))),
        },
    ),
    Case("kernel_regression.regression_data", kernel_regression.regression_data, {}, {
        "seed": SEED,
    }),
    Case("kernel_regression.learned_coefficients", kernel_regression.learned_coefficients, {}, {
        "seed": SEED,
    }),
    Case("kernel_regression.static_precision", kernel_regression.static_precision,
         {"at": AT, "bandwidth": 0.5}, {
        "at": vector(), "bandwidth": Bad(POSITIVE.types, (*POSITIVE.values, 1e-30, 1e30, TINY)),
    }),
    Case("kernel_regression.learned_precision", kernel_regression.learned_precision, {"at": AT}, {
        "at": Bad(vector().types, (*vector().values, torch.full((3,), 1e6))),
        "seed": SEED, "temperature": Bad(POSITIVE.types, (*POSITIVE.values, 1e-300, 1e300)),
    }),
    Case("kernel_regression.compare_on_data_sets", kernel_regression.compare_on_data_sets,
         {"seeds": [1], "bandwidths": [0.1]}, {
        "seeds": Bad((None, 1, "12"), ([], ())),
        "bandwidths": Bad((None, 0.1, "0.1"), ([], ())),
    }),
]  # fmt: skip

NAMED = choice(["normal"])
LAW = {"distribution": "normal", "width": 64}
BAD_LAW = {
    "distribution": NAMED,
    "width": Bad(COUNT.types, (0, -1, 3)),
    "correlation": Bad(REAL.types, (*REAL.values, 1.5, -1.5)),
    "variance": Bad(POSITIVE.types, (*POSITIVE.values, 1e13)),
    "mean": Bad(REAL.types, (*REAL.values, 1e13, -1e200)),
}
DRAWN = {"distribution": "normal", "shape": (3,), "generator": torch.Generator()}
CUBE = torch.randn(3, 2, 5)
SCORES = [
    Case("score_samples.ScoreLaw", score_samples.ScoreLaw, {"mean": 0.0, "variance": 1.0}, {
        "mean": Bad(REAL.types[1:], REAL.values),
        "variance": Bad(REAL.types[1:], (*REAL.values, -1.0)),
    }),
    Case("score_samples.ScoreLaw.divided_by", score_samples.ScoreLaw(32.0, 64.0).divided_by,
         {"divisor": 8}, {"divisor": Bad(POSITIVE.types, (*POSITIVE.values, 0, 5e-324))}),
    Case("score_samples.draw_coordinates", score_samples.draw_coordinates, DRAWN, {
        "distribution": NAMED,
        "shape": Bad((None, 3, "3", Said((3.0,), "3.0"), Said((True,), "True")),
                     ((), Said((-1,), "-1"), Said((3, 0), "0"))),
        "generator": Bad((None, 0, "x")),
    }),
    Case("score_samples.running_sums", score_samples.running_sums, {"distribution": "normal"}, {
        "distribution": NAMED, "seed": SEED,
    }),
    Case("score_samples.sample_scores", score_samples.sample_scores, LAW, BAD_LAW),
    Case("score_samples.score_law", score_samples.score_law, LAW, BAD_LAW),
    Case("score_samples.sample_cosines", score_samples.sample_cosines, {"width": 64}, {
        "width": Bad(COUNT.types, (0, -1, 6)),
    }),
    Case("score_samples.cosine_density", score_samples.cosine_density, {"x": AT, "width": 3}, {
        "x": Bad(vector().types, (*vector().values, torch.tensor([0.5, -1.5]))),
        "width": Bad(COUNT.types, (*COUNT.values, 1, 10**7)),
    }),
]  # fmt: skip

TEXTS = ["The bat flew.", "The bat ate."]
SENTENCES = Bad((None, 3, "The bat.", Said([None, None], "None")), ([], ()))
GROUP = Bad((None, 3, "The bat."), ([], TEXTS[:1]))
LONG = Said(CUBE * 0 + 1e30, "inf")
LAYERS = tensor(CUBE[0], CUBE[None], CUBE[:0], CUBE / 0, 0 * CUBE, LONG, like=CUBE.shape)
DRIFT = [
    Case("word_drift.word_vectors", word_drift.word_vectors, {"sentences": TEXTS, "word": "bat"}, {
        "sentences": SENTENCES, "word": Bad(TEXT.types, ("cat", "")),
    }),
    Case("word_drift.angles", word_drift.angles, {"a": CUBE, "b": CUBE[:2]}, {
        "a": Bad(LAYERS.types, LAYERS.values),
        "b": Bad((*LAYERS.types, CUBE.double()),
                 (*LAYERS.values, CUBE[:, :1], CUBE[..., :3])),
    }),
    Case("word_drift.measure_drift", word_drift.measure_drift,
         {"first": TEXTS, "second": TEXTS, "word": "bat"}, {
        "first": GROUP, "second": GROUP, "word": TEXT,
    }),
    Case("estimates.Interval", estimates.Interval, {"mean": 0, "half_width": 1.0}, {
        "mean": REAL, "half_width": Bad(REAL.types, (*REAL.values, -1.0)),
    }),
    Case("estimates.estimate_mean", estimates.estimate_mean, {"samples": X}, {
        "samples": Bad(
            vector().types,
            (torch.zeros(()), X[None], X / 0, Said(X[:1], "1"), X[:0]),
        ),
    }),
    Case("memory_probe.gradient_by_distance", memory_probe.gradient_by_distance,
         {"kind": "rnn", "width": 3, "length": 5, "trials": 1}, {
        "kind": choice(), "width": COUNT, "length": COUNT, "seed": SEED, "trials": COUNT,
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

CASES = [*REGRESSION, *SCORES, *DRIFT, *ENCODER, *MODELS]
