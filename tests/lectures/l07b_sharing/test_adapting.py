"""The small GPT learns code, and shares heads: what is trained, on what, and what comes out."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from course_utils.data.course_text import course_code, course_prose
from course_utils.language_modeling import text_loss
from course_utils.layers.lora import LoRALinear
from course_utils.models.small_gpt import load_small_gpt, small_gpt_tokenizer
from lectures.l07b_sharing.experiments import adapting, shared_heads
from lectures.l07b_sharing.experiments.adapting import (
    LENGTH,
    MATRICES,
    adapt_to_code,
    course_tokens,
    cut_changes,
    matrix_changes,
    nearest_of_rank,
)
from lectures.l07b_sharing.experiments.lora_runs import lora_runs
from lectures.l07b_sharing.experiments.shared_heads import share_heads

STEPS = 4  # enough to see that all learn; what more steps bring is packaged


@pytest.fixture(scope="module")
def model():
    return load_small_gpt()


@pytest.fixture(scope="module", autouse=True)
def tokens():
    """The course's texts, with less to be asked on: an eighth of the time."""
    texts = course_tokens()
    unseen = {name: getattr(texts, name)[: 8 * LENGTH + 1] for name in texts._fields[1::2]}
    with pytest.MonkeyPatch.context() as patch:
        for module in (adapting, shared_heads):
            patch.setattr(module, "course_tokens", lambda: texts._replace(**unseen))
        yield module.course_tokens()


@pytest.fixture(scope="module")
def adapted(tokens):
    return {rank: adapt_to_code(rank, steps=STEPS, seeds=(0,)) for rank in (None, 2)}


@pytest.fixture(scope="module")
def shared(tokens):
    return share_heads(steps=STEPS)


def test_unseen_text_is_not_learned_from(tokens):
    tokenizer = small_gpt_tokenizer()
    for text, learn, unseen in (
        (course_prose(), tokens.prose, tokens.prose_unseen),
        (course_code(), tokens.code, tokens.code_unseen),
    ):
        border = round(0.9 * len(text))
        assert len(learn) > 5 * len(unseen) > 5 * LENGTH
        begins, ends, later = (
            tokenizer.decode(part) for part in (learn[:100], learn[-100:], unseen[:100])
        )
        assert text.startswith(begins) and text[:border].endswith(ends)
        assert text[border:].startswith(later)


@pytest.mark.parametrize("rank", [None, 2])
def test_all_learn_code_and_forget_prose(adapted, model, tokens, rank):
    done = adapted[rank]
    before = text_loss(model, tokens.code_unseen, length=LENGTH)
    # Measured on other small GPTs as well: 0.1 to 1.5 nats after so few steps.
    assert (done.code_losses < before - 0.03).all()
    assert done.code_losses.shape == done.prose_losses.shape == done.training.losses[:, 0].shape
    trained = done.training.models[-1]
    assert done.code_losses[-1].item() == pytest.approx(
        text_loss(trained, tokens.code_unseen, length=LENGTH), rel=1e-5
    )
    assert done.prose_losses[-1].item() == pytest.approx(
        text_loss(trained, tokens.prose_unseen, length=LENGTH), rel=1e-5
    )


def test_what_is_not_learned_stays(adapted, model):
    assert adapted[2].learned == 3 * 2 * (4 * (128 + 128) + 2 * (128 + 512))
    for trained in adapted[2].training.models:
        assert not any(change.any() for change in _base_changes(trained, model))
        added = [layer for layer in trained.modules() if isinstance(layer, LoRALinear)]
        assert added and all((layer.up @ layer.down).any() for layer in added)
    (alone,) = adapt_to_code(None, steps=1, only_matrices=True).training.models
    for name, weight in alone.named_parameters():
        changed = not torch.equal(weight, model.get_parameter(name))
        assert changed == name.removesuffix(".weight").endswith(MATRICES), name


def _base_changes(trained, model):
    for name, weight in trained.named_parameters():
        if not name.endswith((".down", ".up")):
            yield weight - model.get_parameter(name.replace(".base", ""))


def test_changes_are_of_every_matrix(adapted, model):
    trained = adapted[None].training.models[0]
    changes = matrix_changes(model, trained)
    assert {name.rpartition(".")[2] for name in changes} == set(MATRICES)
    assert len(changes) == 3 * len(MATRICES)
    for name, change in changes.items():
        weight = model.get_submodule(name).weight
        torch.testing.assert_close(weight + change, trained.get_submodule(name).weight)


def test_changes_cut_to_a_rank(adapted, model, tokens):
    trained, ids = adapted[None].training.models[0], tokens.code_unseen[None, :LENGTH]
    whole = cut_changes(model, trained, model.config.width)
    # A decomposition put together again, through three blocks, for scores of size 10.
    torch.testing.assert_close(whole(ids), trained(ids), rtol=1e-3, atol=1e-3)
    less = cut_changes(model, trained, 1)
    for change in matrix_changes(model, less).values():
        values = torch.linalg.svdvals(change)
        assert values[1] < 1e-3 * values[0]
    torch.testing.assert_close(less.tokens.weight, trained.tokens.weight)
    assert F.cosine_similarity(less(ids), trained(ids), dim=-1).mean() > 0.9


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_no_matrix_of_the_rank_is_nearer(rank):
    matrix = torch.randn(7, 11, dtype=torch.float64)
    nearest = nearest_of_rank(matrix, rank)
    assert torch.linalg.matrix_rank(nearest) == rank
    squares = np.linalg.svd(matrix.numpy(), compute_uv=False) ** 2
    assert (matrix - nearest).square().sum().item() == pytest.approx(squares[rank:].sum())
    for _ in range(20):
        rows = torch.randn(rank, 11, dtype=torch.float64)
        other = matrix @ torch.linalg.pinv(rows) @ rows
        assert (matrix - other).norm() > (matrix - nearest).norm()


# Shared heads.


def test_all_heads_average_nothing(shared, model, tokens):
    before = text_loss(model, tokens.prose_unseen, length=LENGTH)
    assert shared[4].pooled_loss == pytest.approx(before, abs=1e-6)


def test_what_fewer_heads_cost(shared):
    losses = [shared[G].pooled_loss for G in (4, 2, 1)]
    assert losses == sorted(losses) and losses[0] < losses[-1] - 0.02
    bytes_kept = [shared[G].cache_bytes for G in (4, 2, 1)]
    assert bytes_kept == [G * 2 * 3 * 32 * LENGTH * 4 for G in (4, 2, 1)]


def test_training_heals_one_head(shared):
    lost = {G: shared[G].healed_losses.mean().item() - shared[4].healed_losses.mean().item()
            for G in (2, 1)}  # fmt: skip
    assert lost[1] < shared[1].pooled_loss - shared[4].pooled_loss


# What is packaged.


def test_the_packaged_runs():
    found = lora_runs()
    by_rank = {run.rank: run for run in found.runs[:-2]}
    assert list(by_rank) == [1, 2, 4, 8, 16, 32, 64]
    assert all(run.code.mean() < found.code_before for run in found.runs)
    matrices, full = found.runs[-2:]
    assert matrices.only_matrices and not full.only_matrices
    for rank, run in by_rank.items():
        assert run.learned == 3 * rank * (4 * 256 + 2 * 640)
        assert run.code.shape == run.prose.shape == (3,)
    # Sixteen times the numbers buy more than the seeds' spread.
    assert by_rank[16].code.max() < by_rank[1].code.min()
    # All weights learn more of the code than any rank does.
    assert full.code.max() < min(run.code.min() for run in by_rank.values())
    cut = list(found.cut.values())
    assert cut == sorted(cut, reverse=True) and cut[-1] == pytest.approx(
        full.code[0].item(), abs=0.02
    )


def test_spectra_fall_faster_than_random():
    for name, values in lora_runs().spectra.items():
        rows = 512 if "expand" in name or "contract" in name else 128
        drawn = torch.linalg.svdvals(torch.randn(rows, 128))
        share, of_drawn = (
            each[:16].square().sum() / each.square().sum() for each in (values, drawn)
        )
        assert share > 1.5 * of_drawn, name
