"""What each lecture asks: its exercises, and the check that judges each.

A copy may have lost any of it, and may stand where the lecture stood. So this is written down
here, and a test holds it against the lectures.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ASKED", "Asked"]


@dataclass(frozen=True)
class Asked:
    """One exercise.

    Attributes:
        title: as the lecture has it.
        function: what the stub defines.
        module: of ``course_utils.teaching``, where the check is.
        check: the name of the check.
    """

    title: str
    function: str
    module: str
    check: str


ASKED: dict[str, tuple[Asked, ...]] = {
    "00": (
        Asked("Attention in three lines", "attention", "exercises_00", "check_attention"),
        Asked(
            "Where does attention become the costlier layer?",
            "crossover_length",
            "exercises_00",
            "check_crossover",
        ),
    ),
    "01": (
        Asked("The variance of a score", "score_variance", "exercises_01", "check_score_variance"),
        Asked(
            "The scale for unit vectors", "unit_norm_scale", "exercises_01", "check_unit_norm_scale"
        ),
        Asked(
            "Spot the model that divides by √d_model",
            "find_suspect",
            "exercises_01",
            "check_suspect",
        ),
    ),
    "02": (
        Asked("A softmax that survives every score", "softmax", "exercises_02", "check_softmax"),
        Asked(
            "The Jacobian's product without the Jacobian",
            "jacobian_product",
            "exercises_02_product",
            "check_jacobian_product",
        ),
        Asked(
            "The gradient of the entropy",
            "entropy_gradient",
            "exercises_02_entropy",
            "check_entropy_gradient",
        ),
    ),
    "03": (
        Asked("Split into heads", "split", "exercises_03", "check_split_heads"),
        Asked("Merge the heads", "merge", "exercises_03", "check_merge_heads"),
        Asked(
            "Masked cross-attention",
            "cross_attention",
            "exercises_03_cross",
            "check_cross_attention",
        ),
        Asked(
            "Find the head that attends to the previous token",
            "previous_token_head",
            "exercises_03_previous",
            "check_previous_token_head",
        ),
    ),
    "04": (
        Asked("Rotate a pair", "rotate", "exercises_04", "check_rotate"),
        Asked(
            "The matrix that moves a position",
            "moving_matrix",
            "exercises_04_shift",
            "check_moving_matrix",
        ),
        Asked("Between the two pairings", "pairings", "exercises_04_pairings", "check_pairings"),
    ),
    "05": (
        Asked("Five masks from their definitions", "five_masks", "exercises_05", "check_masks"),
        Asked("One step with a cache", "cached_step", "exercises_05_cache", "check_cached_step"),
        Asked("Find the leak", "find_leak", "exercises_05_leak", "check_leak"),
    ),
    "06": (
        Asked("A pre-LN block", "block", "exercises_06", "check_block"),
        Asked("Count the parameters", "count_parameters", "exercises_06_count", "check_count"),
        Asked("Tie the embedding", "tie", "exercises_06_tie", "check_tie"),
        Asked("Keep the nucleus", "nucleus", "exercises_06_nucleus", "check_nucleus"),
    ),
    "07": (
        Asked("Dispatch the tokens", "dispatch", "exercises_07", "check_dispatch"),
        Asked("The balance loss", "balance_loss", "exercises_07_balance", "check_balance"),
        Asked("Merge a LoRA", "merge", "exercises_07_lora", "check_merge_lora"),
        Asked(
            "Shared keys without a copy",
            "grouped_scores",
            "exercises_07_groups",
            "check_grouped_scores",
        ),
    ),
    "08": (
        Asked("Merge two partial softmaxes", "merge", "exercises_08", "check_merge"),
        Asked(
            "Count the bytes for a tile size",
            "tiled_bytes",
            "exercises_08_bytes",
            "check_tiled_bytes",
        ),
        Asked(
            "Find the missing rescale",
            "online_attention",
            "exercises_08_loop",
            "check_missing_rescale",
        ),
    ),
}
