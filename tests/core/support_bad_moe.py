"""What mixtures of experts must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.layers import moe, moe_routing, soft_moe, squeeze_excitation
from tests.core.support_bad_core import COUNT, FLAG, INF, NAN, POSITIVE, WORDS, choice, tensor
from tests.core.support_bad_input import Bad, Case, Said

B, T, C, EXPERTS = 2, 7, 5, 3
X, PROBABILITIES = torch.randn(B, T, C), torch.rand(11, EXPERTS).softmax(dim=-1)
LAYER = moe.MixtureOfExperts(C, 13, EXPERTS, 2)
ROUTING, OTHER = LAYER.route(X), moe_routing.choose_experts(torch.rand(7, 5), 1)
EMPTY = moe_routing.choose_experts(torch.zeros(0, EXPERTS), 1)

K = Bad(COUNT.types, (*COUNT.values, EXPERTS + 1))
CAPACITY = Bad(POSITIVE.types[1:], POSITIVE.values)  # None is no limit
ACTIVATION = choice("GELU", "swish")
TOKENS = tensor(X[0], X[None], X[:, :0], X[..., :4], like=X.shape)
TOKENS = Bad((*TOKENS.types, X.double()), TOKENS.values)
NO_NUMBERS = tuple(Said(torch.full_like(X, end), "NaN or infinity") for end in (NAN, INF))
ROUTINGS = Bad((None, "x", 3, tuple(ROUTING)))
EXPERT = {"width": C, "hidden": 13, "activation": "gelu"}
MIXTURE = {"width": C, "hidden": 13, "num_experts": EXPERTS, "k": 2}

CASES = [
    Case("layers.moe.make_expert", moe.make_expert, EXPERT, {
        "width": COUNT, "hidden": COUNT, "activation": ACTIVATION,
    }),
    Case("layers.moe.MixtureOfExperts", moe.MixtureOfExperts, MIXTURE, {
        "width": COUNT, "hidden": COUNT, "num_experts": COUNT, "k": K, "capacity": CAPACITY,
        "num_shared": Bad(COUNT.types, (-1,)), "activation": ACTIVATION,
        "normalise": Bad(FLAG.types[1:]),
    }),
    Case("layers.moe.MixtureOfExperts.forward", LAYER, {"x": X}, {
        "x": Bad(TOKENS.types, (*TOKENS.values, *NO_NUMBERS)),
    }),
    Case("layers.moe.MixtureOfExperts.route", LAYER.route, {"x": X}, {
        "x": Bad(TOKENS.types, (*TOKENS.values, *NO_NUMBERS)),
    }),
    Case("layers.moe.MixtureOfExperts.rebalance", LAYER.rebalance, {"routing": ROUTING}, {
        "routing": Bad(ROUTINGS.types, (Said(OTHER, "5"),)), "rate": POSITIVE,
    }),
    Case("layers.moe_routing.check_routing", moe_routing.check_routing, {"routing": ROUTING}, {
        "routing": ROUTINGS,
    }),
    Case("layers.moe_routing.expert_capacity", moe_routing.expert_capacity,
         {"num_tokens": 11, "num_experts": EXPERTS, "k": 2, "factor": 1.25}, {
        "num_tokens": COUNT, "num_experts": COUNT, "k": K, "factor": POSITIVE,
    }),
    Case("layers.moe_routing.choose_experts", moe_routing.choose_experts,
         {"probabilities": PROBABILITIES, "k": 2}, {
        "probabilities": tensor(PROBABILITIES[0], PROBABILITIES[None], like=(11, EXPERTS)),
        "k": K,
        "bias": Bad(("x", [1.0], torch.zeros(3).long(), torch.zeros(3).double()),
                    (torch.zeros(2), torch.zeros(1, 3))),
        "capacity": CAPACITY, "normalise": FLAG,
    }),
    Case("layers.moe_routing.balance_loss", moe_routing.balance_loss, {"routing": ROUTING}, {
        "routing": Bad(ROUTINGS.types, (Said(EMPTY, "0"),)),
    }),
    Case("layers.moe_routing.balance_step", moe_routing.balance_step,
         {"bias": torch.zeros(3), "load": torch.tensor([2, 5, 3]), "rate": 0.01}, {
        "bias": tensor(torch.zeros(1, 3), like=(3,)),
        "load": Bad((*WORDS, torch.zeros(3), torch.zeros(3).int()),
                    (torch.tensor([2, 5]), torch.tensor([[2, 5, 3]]))),
        "rate": POSITIVE,
    }),
    Case("layers.soft_moe.SoftMixtureOfExperts", soft_moe.SoftMixtureOfExperts,
         {"width": C, "hidden": 13, "num_experts": EXPERTS, "slots": 2}, {
        "width": COUNT, "hidden": COUNT, "num_experts": COUNT, "slots": COUNT,
        "activation": ACTIVATION,
    }),
    Case("layers.soft_moe.SoftMixtureOfExperts.forward",
         soft_moe.SoftMixtureOfExperts(C, 13, EXPERTS, 2), {"x": X}, {"x": TOKENS}),
    Case("layers.squeeze_excitation.SqueezeExcitation", squeeze_excitation.SqueezeExcitation,
         {"channels": 15, "reduction": 5}, {
        "channels": COUNT, "reduction": Bad(COUNT.types, (*COUNT.values, Said(7, "(7) must"))),
    }),
    Case("layers.squeeze_excitation.SqueezeExcitation.forward",
         squeeze_excitation.SqueezeExcitation(15, 5), {"x": torch.randn(2, 15, 7)}, {
        "x": Bad((*WORDS, torch.zeros(2, 15, 7).long(), torch.zeros(2, 15, 7).double()),
                 (torch.zeros(2, 15), torch.zeros(2, 14, 7), torch.zeros(2, 15, 0))),
    }),
]  # fmt: skip
