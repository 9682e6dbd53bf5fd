"""What pruning, depths, ratios and the closing table must refuse: as in support_bad_core.py."""

import torch
from torch import nn

from course_utils import signal_noise
from course_utils.layers import mod, pruning
from course_utils.lectures.l07_dynamic_pruning.experiments import cost_formulas as pruning_costs
from course_utils.lectures.l07_dynamic_pruning.experiments import cost_table as pruning_table
from course_utils.lectures.l07_dynamic_pruning.experiments import depths as tasks_depths
from course_utils.lectures.l07_dynamic_pruning.experiments import pruning as tasks_pruning
from course_utils.models import depth_lm
from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from tests.core.support_bad_core import COUNT, INF, NAN, REAL, WORDS, choice, tensor
from tests.core.support_bad_input import Bad, Case, Said

FLAG = Bad((None, 1, "yes"))
NO_MODEL = Bad((None, "x", 3))
CAPACITY = Bad(REAL.types, (0, -0.5, 1.5, NAN, INF))
SPARSITY = Bad(REAL.types, (-0.1, 1, 1.5, NAN))

BLOCK = GPT2Block(GPT2Config(width=6, num_heads=2))
LAYER = mod.MixtureOfDepths(BLOCK, 0.5, 6)
X = torch.ones(2, 5, 6)
KEPT = LAYER(X)[1]
BAD_X = Bad(
    (*WORDS, X.long(), X.double()),
    (X[0], X[:, :0], Said(X[:0], "(0, 5, 6)"), X[..., :5], X * NAN, X * INF),
)
BAD_KEPT = Bad((None, X, Said((X, X), "tuple")))
DEPTHS = [
    Case("layers.mod.MixtureOfDepths", mod.MixtureOfDepths,
         {"block": BLOCK, "capacity": 0.5, "width": 6}, {
        "block": Bad((None, 3, Said(lambda x: x, "function"))),
        "capacity": CAPACITY, "width": COUNT, "gate": choice(),
    }),
    Case("layers.mod.MixtureOfDepths.forward", LAYER, {"x": X}, {
        "x": BAD_X, "routing": choice(),
        "weights": Bad((3, "x", X[..., 0].double()), (X[0, :, 0], X[:, :3, 0], X[..., 0] * NAN)),
    }),
    Case("layers.mod.check_capacity", mod.check_capacity, {"capacity": 0.5}, {
        "capacity": CAPACITY,
    }),
    Case("layers.mod.kept_tokens", mod.kept_tokens, {"length": 5, "capacity": 0.5}, {
        "length": COUNT, "capacity": CAPACITY,
    }),
    Case("layers.mod.predictor_loss", mod.predictor_loss, {"kept": KEPT}, {"kept": BAD_KEPT}),
    Case("layers.mod.predictor_accuracy", mod.predictor_accuracy, {"kept": KEPT}, {
        "kept": BAD_KEPT,
    }),
]  # fmt: skip

NET = nn.Sequential(nn.Linear(3, 2))
ROWS = torch.ones(5, 3)
MASK = {"0.weight": torch.ones(2, 3) > 0}
BAD_MODEL = Bad((None, "x", 3), (Said(nn.ReLU(), "ReLU"), Said(nn.LayerNorm(3), "LayerNorm")))
SALIENCY = {"a": torch.rand(2, 3)}


def saliency_of(model, loss, at_once=256):
    return pruning.brain_damage_saliency(model, loss, ROWS, at_once=at_once)


PRUNING = [
    Case("layers.pruning.magnitude_saliency", pruning.magnitude_saliency, {"model": NET}, {
        "model": BAD_MODEL,
    }),
    Case("layers.pruning.brain_damage_saliency", saliency_of,
         {"model": NET, "loss": lambda model, x: model(x).square().mean()}, {
        "model": BAD_MODEL,
        "loss": Bad(
            (None, 3, Said(lambda model, x: 3.0, "float")),
            (Said(lambda model, x: model(x), "(5, 2)"),
             Said(lambda model, x: model(x).mean() * NAN, "nan")),
        ),
        "at_once": COUNT,
    }),
    Case("layers.pruning.saliency_mask", pruning.saliency_mask,
         {"saliency": SALIENCY, "sparsity": 0.5}, {
        "saliency": Bad(
            (None, torch.ones(2, 3), Said({"a": [[1.0]]}, "list")),
            ({}, Said({"a": torch.ones(3)}, "(3,)"), Said({"a": torch.ones(2, 3) * NAN}, "NaN")),
        ),
        "sparsity": SPARSITY,
    }),
    Case("layers.pruning.check_sparsity", pruning.check_sparsity, {"sparsity": 0.5}, {
        "sparsity": SPARSITY,
    }),
    Case("layers.pruning.magnitude_mask", pruning.magnitude_mask, {"model": NET, "sparsity": 0.5}, {
        "model": BAD_MODEL, "sparsity": SPARSITY,
    }),
    Case("layers.pruning.prune", pruning.prune, {"model": NET, "masks": MASK}, {
        "model": BAD_MODEL,
        "masks": Bad(
            (None, torch.ones(2, 3), Said({"0.weight": [[True]]}, "list"),
             Said({"0.weight": torch.ones(2, 3)}, "torch.float32")),
            (Said({"1.weight": torch.ones(2, 3) > 0}, "'1.weight'"),
             Said({"0.bias": torch.ones(2) > 0}, "'0.bias'"),
             Said({"0.weight": torch.ones(3, 2) > 0}, "(3, 2)"),
             Said({"0.weight": torch.ones(2) > 0}, "(2,)")),
        ),
    }),
    Case("layers.pruning.kept_weights", pruning.kept_weights, {"model": NET}, {"model": NO_MODEL}),
]  # fmt: skip

GENERATOR = torch.Generator().manual_seed(0)
NO_GENERATOR = Bad((None, 3, "x"))
RATIO = {"signal": 3, "width": 7}
BAD_RATIO = {
    "signal": Bad(COUNT.types, (*COUNT.values, Said(7, "7"))),
    "width": Bad(COUNT.types, (*COUNT.values, 3)),
}
VECTORS = torch.eye(3)
SIGNALS = [
    Case("signal_noise.vector_energy_ratio", signal_noise.vector_energy_ratio, RATIO, BAD_RATIO),
    Case("signal_noise.score_ratio", signal_noise.score_ratio, RATIO, BAD_RATIO),
    Case("signal_noise.measure_signal_noise", signal_noise.measure_signal_noise,
         {**RATIO, "generator": GENERATOR, "samples": 5}, {
        **BAD_RATIO, "generator": NO_GENERATOR,
        "samples": Bad(COUNT.types, (*COUNT.values, 1)),
    }),
    Case("signal_noise.share_found", signal_noise.share_found,
         {**RATIO, "generator": GENERATOR, "keys": 3, "samples": 5}, {
        "signal": Bad(COUNT.types, (*COUNT.values, Said(8, "7"))),
        "width": Bad(COUNT.types, (*COUNT.values, 2)),
        "generator": NO_GENERATOR, "samples": COUNT,
        "keys": Bad(COUNT.types, (*COUNT.values, 1)),
    }),
    Case("signal_noise.cosine_variance", signal_noise.cosine_variance,
         {"width": 3, "generator": GENERATOR, "samples": 5}, {
        "width": COUNT, "generator": NO_GENERATOR,
        "samples": Bad(COUNT.types, (*COUNT.values, 1)),
    }),
    Case("signal_noise.largest_cosine", signal_noise.largest_cosine, {"vectors": VECTORS}, {
        "vectors": Bad(
            tensor().types,
            (VECTORS[0], Said(VECTORS[:1], "1"), Said(0 * VECTORS, "a zero row"), VECTORS * NAN),
        ),
    }),
]  # fmt: skip

READER = tasks_pruning.DigitReader()
PIXELS, DIGITS = tasks_pruning.digit_batch(GENERATOR, batch=5)
NO_READER = Bad((None, "x", 3, Said(NET, "Sequential")))
MASKS = pruning.magnitude_mask(READER, 0.5)
DIGIT = [
    Case("tasks_pruning.digit_batch", tasks_pruning.digit_batch, {"generator": GENERATOR}, {
        "generator": NO_GENERATOR, "batch": COUNT,
    }),
    Case("tasks_pruning.DigitReader.forward", READER, {"pixels": PIXELS}, {
        "pixels": Bad((*WORDS, PIXELS.double()), (PIXELS[0], PIXELS[:, :5])),
    }),
    Case("tasks_pruning.digit_loss", tasks_pruning.digit_loss,
         {"model": READER, "pixels": PIXELS, "digits": DIGITS}, {
        "model": NO_MODEL,
        "pixels": Bad((*WORDS, PIXELS.double()), (PIXELS[0], PIXELS[:, :5])),
        "digits": Bad((*WORDS, DIGITS.int()), (DIGITS[None], DIGITS - 10, DIGITS + 10, DIGITS[:3])),
    }),
    Case("tasks_pruning.digit_accuracy", tasks_pruning.digit_accuracy, {"model": READER}, {
        "model": NO_READER,
    }),
    Case("tasks_pruning.train_digit_readers", tasks_pruning.train_digit_readers,
         {"seeds": [0], "steps": 1}, {
        "seeds": Bad((None, 3, "12", Said((0.5,), "0.5")), ([], (), (1, 1))), "steps": COUNT,
    }),
    Case("tasks_pruning.pruned_accuracies", tasks_pruning.pruned_accuracies,
         {"models": [READER], "sparsities": [0.5], "rules": ["magnitude"]}, {
        "models": Bad((None, READER, Said([NET], "Sequential")), ([], ())),
        "sparsities": Bad((None, 0.5, Said(["x"], "'x' (str)")),
                          ([], Said([1.0], "1.0"), Said([0.5, NAN], "nan"))),
        "rules": Bad((None, "random"), ([], Said(["size"], "'size'"))),
    }),
    Case("tasks_pruning.loss_rises", tasks_pruning.loss_rises, {"model": READER, "every": 500}, {
        "model": NO_READER, "every": COUNT,
    }),
    Case("tasks_pruning.rescale_units", tasks_pruning.rescale_units,
         {"model": READER, "generator": GENERATOR}, {
        "model": NO_READER, "generator": NO_GENERATOR,
        "spread": Bad(REAL.types, (0.5, 0, -1, NAN, INF)),
    }),
    Case("tasks_pruning.retrain", tasks_pruning.retrain,
         {"model": READER, "masks": MASKS, "steps": 1}, {
        "model": NO_READER, "masks": Bad((None, [MASKS]), (Said({"x": MASKS}, "'x'"),)),
        "steps": COUNT, "seed": Bad((None, 0.5, "x"), (-1,)),
    }),
]  # fmt: skip

SMALL = {"width": 6, "num_heads": 2, "length": 5, "keys_kept": 2, "num_experts": 3,
         "experts_per_token": 2, "num_kv_heads": 1, "rank": 2}  # fmt: skip
SIZES = pruning_costs.Sizes(**SMALL)
NO_SIZES = Bad(("x", 3, Said(SMALL, "dict")))
TABLE = [
    Case("pruning_costs.Sizes", pruning_costs.Sizes, SMALL, {
        **dict.fromkeys(("width", "length", "num_experts"), COUNT),
        "num_heads": Bad(COUNT.types, (*COUNT.values, Said(5, "(5) must divide width (6)"))),
        "num_kv_heads": Bad(COUNT.types, (*COUNT.values, Said(4, "(4) must divide num_heads"))),
        "keys_kept": Bad(COUNT.types, (*COUNT.values, 6)),
        "experts_per_token": Bad(COUNT.types, (*COUNT.values, 4)),
        "rank": Bad(COUNT.types, (*COUNT.values, 7)),
        "sparsity": SPARSITY, "capacity": CAPACITY,
    }),
    Case("pruning_costs.formula_costs", pruning_costs.formula_costs, {"sizes": SIZES}, {
        "sizes": Bad((None, *NO_SIZES.types)),
    }),
    Case("pruning_table.pruning_table", pruning_table.pruning_table, {"sizes": SIZES}, {
        "sizes": NO_SIZES, "timed": FLAG,
    }),
    Case("pruning_table.measured_costs", pruning_table.measured_costs,
         {"block": BLOCK, "x": X[:1]}, {
        "block": NO_MODEL, "x": Bad((*WORDS, X.long()), (X[0], X[:, :0], X[..., :5])),
    }),
]  # fmt: skip

CARD_READER = tasks_depths.CardReader(0.25)
CARDS, ANSWERS, DRAWS = tasks_depths.card_batch(GENERATOR, batch=3)
BAD_CARDS = Bad(
    (*WORDS, CARDS.int()),
    (CARDS[0], CARDS[..., :2], Said(CARDS + 5, "9"), Said(CARDS - 5, "-5"),
     Said(CARDS.clamp_min(2), "2")),
)  # fmt: skip
BAD_DRAWS = Bad((3, "x"), ())
EXPERIMENT = [
    Case("tasks_depths.card_batch", tasks_depths.card_batch, {"generator": GENERATOR}, {
        "generator": NO_GENERATOR, "batch": COUNT,
    }),
    Case("tasks_depths.CardReader", tasks_depths.CardReader, {"capacity": 0.25}, {
        "capacity": CAPACITY, "way": choice(), "gate": choice(),
    }),
    Case("tasks_depths.CardReader.forward", CARD_READER, {"cards": CARDS, "draws": DRAWS}, {
        "cards": BAD_CARDS, "routing": choice(),
    }),
    Case("tasks_depths.CardReader.embed", CARD_READER.embed, {"cards": CARDS}, {
        "cards": BAD_CARDS,
    }),
    Case("tasks_depths.card_loss", tasks_depths.card_loss,
         {"model": CARD_READER, "cards": CARDS, "answers": ANSWERS, "draws": DRAWS}, {
        "model": NO_MODEL, "cards": BAD_CARDS,
        "answers": Bad((*WORDS, ANSWERS.int()), (ANSWERS[0], ANSWERS - 6, ANSWERS + 6,
                                                 ANSWERS[:, :5])),
    }),
    Case("tasks_depths.card_scores", tasks_depths.card_scores, {"model": CARD_READER}, {
        "model": Bad((Said(None, "NoneType"), Said(NET, "Sequential"))),
    }),
    Case("tasks_depths.expected_loss", tasks_depths.expected_loss,
         {"capacity": 0.25, "way": "oracle"}, {
        "capacity": CAPACITY, "way": Bad((), ("router", "", None)),
    }),
    Case("tasks_depths.train_card_readers", tasks_depths.train_card_readers,
         {"ways": ["random"], "seeds": [0], "steps": 3}, {
        "ways": Bad((None, "random"), ([], Said(["best"], "'best'"))),
        "capacity": CAPACITY, "gate": choice(),
        "seeds": Bad((None, 3, "12", Said((0.5,), "0.5")), ([], (), (1, 1))),
        "steps": Bad(COUNT.types, (*COUNT.values, 2)),
    }),
    Case("tasks_depths.flipped_decisions", tasks_depths.flipped_decisions,
         {"layer": LAYER, "x": X, "generator": GENERATOR}, {
        "layer": Bad((Said(None, "NoneType"), Said(BLOCK, "GPT2Block"))),
        "x": Bad(BAD_X.types, (*BAD_X.values, X[:, :1])),
        "generator": NO_GENERATOR, "routing": choice(),
    }),
]  # fmt: skip

CONFIG = GPT2Config(vocab_size=13, max_positions=7, width=6, num_layers=2, num_heads=2)
GPT = GPT2(CONFIG)
LM = depth_lm.DepthLM(GPT, 0.5)
IDS = torch.tensor([[5, 7, 2]])
BAD_IDS = Bad(
    (*WORDS, IDS.int(), IDS.float()),
    (IDS[0], Said(IDS[:, :0], "0"), IDS + 8, IDS - 5, Said(IDS.repeat(1, 3), "9")),
)
ONE_BLOCK = GPT2(GPT2Config(vocab_size=13, max_positions=7, width=6, num_layers=1, num_heads=2))
NO_LM = Bad((Said(None, "NoneType"), Said(GPT, "GPT2")))
LANGUAGE = [
    Case("models.depth_lm.DepthLM", depth_lm.DepthLM, {"model": GPT, "capacity": 0.5}, {
        "model": Bad((Said(None, "NoneType"), Said(LM, "DepthLM")), (Said(ONE_BLOCK, "1"),)),
        "capacity": CAPACITY, "gate": choice(),
    }),
    Case("models.depth_lm.DepthLM.forward", LM, {"token_ids": IDS, "routing": "predicted"}, {
        "token_ids": BAD_IDS, "routing": choice(),
        "caches": Bad((3, "x", Said([None, None], "NoneType")),
                      (Said(LM.new_caches()[:1], "1"), Said([], "[]"))),
    }),
    Case("models.depth_lm.DepthLM.set_capacity", LM.set_capacity, {"capacity": 0.5}, {
        "capacity": CAPACITY,
    }),
    Case("models.depth_lm.depth_loss", depth_lm.depth_loss,
         {"model": LM, "inputs": IDS, "targets": IDS}, {
        "model": NO_MODEL,
        "targets": Bad((*WORDS, IDS.int()), (IDS[0], IDS + 8, IDS - 8, IDS[:, :2])),
    }),
    Case("models.depth_lm.write_by_prediction", depth_lm.write_by_prediction,
         {"model": LM, "token_ids": IDS, "max_new_tokens": 2}, {
        "model": NO_LM,
        "token_ids": Bad(BAD_IDS.types, (*BAD_IDS.values, IDS.repeat(2, 1))),
        "max_new_tokens": Bad(COUNT.types, (*COUNT.values, 5)),
        "temperature": Bad(REAL.types, (-1, NAN)),
        "generator": Bad((Said(3, "int"), Said("x", "str"))),
        "use_cache": FLAG,
    }),
]  # fmt: skip

CASES = [*EXPERIMENT, *LANGUAGE, *DEPTHS, *PRUNING, *SIGNALS, *DIGIT, *TABLE]
