"""Find out what a sampler does to its logits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.sampling import next_token_probabilities
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance

Sampler = Callable[[Tensor], Tensor]


def mystery_sampler(
    temperature: float = 0.7, *, k: int | None = None, p: float | None = None
) -> Sampler:
    """A black box: logits (V,) in, probabilities (V,) out, after a temperature and a cut."""
    if k is None and p is None:
        k = 8

    def sampler(logits: Tensor) -> Tensor:
        return next_token_probabilities(logits, temperature=temperature, k=k, p=p)

    return sampler


def _temperature(sampler: Sampler) -> float:
    """From two logits that are close, so that no cut takes the second."""
    first, second = sampler(torch.tensor([0.01, 0.0], dtype=torch.float64)).tolist()
    return 0.01 / torch.tensor(first / second).log().item()


def _from_far_apart(sampler: Sampler, gap: float) -> float:
    first, second = sampler(torch.tensor([gap, 0.0]))
    return float(gap / (first / second).log())


def _kept(sampler: Sampler, words: int) -> int:
    return int((sampler(torch.zeros(words)) > 0).sum())


def _find_settings(sampler: Sampler) -> tuple[float, str, float]:
    few, many = _kept(sampler, 500), _kept(sampler, 1000)
    if few == many:
        return _temperature(sampler), "top-k", many
    return _temperature(sampler), "top-p", many / 1000


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The settings of the box, and what was found."""
    temperature, cut, size = _find_settings(inputs["sampler"])
    facts: dict[str, Any] = {"T": temperature, "cut": cut, "size": size}
    facts |= {"kept": _kept(inputs["sampler"], 1000)}
    if isinstance(got, tuple | list) and len(got) == 3:
        facts |= {"found_T": got[0], "found_cut": got[1], "found_size": got[2]}
    return facts


SAMPLER = Exercise(
    title="What does the box do?",
    difficulty=3,
    minutes=10,
    function="find_settings",
    reference=_find_settings,
    probes=(
        {"sampler": mystery_sampler()},
        {"sampler": mystery_sampler(1.6, p=0.85)},
        {"sampler": mystery_sampler(0.4, p=0.6)},
        {"sampler": mystery_sampler(2.5, k=40)},
    ),
    parts=("temperature", "cut", "size"),
    facts=_facts,
    tolerance=Tolerance(relative=0.02),
    praise="A temperature divides every difference of logits, and so every logarithm of a ratio. "
    "Top-k keeps as many of 500 equal words as of 1,000; top-p keeps an equal share.",
)


@SAMPLER.mistake()
def the_first_box_by_heart(sampler):
    """Right for the first box only. Another has temperature {T} and {cut} {size}: let the function
    measure."""
    return (0.7, "top-k", 8)


_CUT = (
    "A temperature of {found_T}: the second of your two words was cut, so the ratio is ∞. Give the "
    "box logits that are close to each other; then no cut comes between them. "
)


@SAMPLER.mistake(begins=_CUT)
def two_logits_3_apart(sampler):
    """3 is too far: at a temperature of 0.4, one word is then 1,800 times as likely."""
    return (_from_far_apart(sampler, 3.0), *_find_settings(sampler)[1:])


@SAMPLER.mistake(begins=_CUT)
def two_logits_1_or_2_apart(sampler):
    """Yours are too far apart: at a temperature of 0.2, a difference of 1 makes one word 150 times
    as likely, and one of 0.5 still 12 times."""
    return (_from_far_apart(sampler, 1.0), *_find_settings(sampler)[1:])


@SAMPLER.mistake(part=0)
def temperature_upside_down(sampler):
    """Your temperature is {found_T}, one over {T}. The box divides by it: the logarithm of the
    ratio is the difference of the logits *over* the temperature."""
    return (1 / _temperature(sampler), *_find_settings(sampler)[1:])


@SAMPLER.mistake()
def always_top_k(sampler):
    """You say top-k with {found_size}. But of 500 equal words this box keeps half as many. Top-k
    would keep as many; top-p keeps a share, here {size}."""
    return (_temperature(sampler), "top-k", _kept(sampler, 1000))


@SAMPLER.mistake()
def always_top_p(sampler):
    """You say top-p with {found_size}, since {kept} of 1,000 equal words are kept. But of 500 it
    keeps {kept} too: a number, not a share. That is top-k."""
    return (_temperature(sampler), "top-p", _kept(sampler, 1000) / 1000)


@SAMPLER.mistake()
def a_number_of_words_for_a_share(sampler):
    """The box is top-p, as you say, and its size is a share of the probability: {kept} of 1,000
    equal words hold {size}."""
    return (
        _temperature(sampler),
        _find_settings(sampler)[1],
        _kept(sampler, 1000),
    )


@SAMPLER.mistake()
def a_percentage_for_a_share(sampler):
    """The box is top-p, as you say, and its size is a share from 0 to 1: {size}, where you gave
    {found_size}."""
    temperature, cut, size = _find_settings(sampler)
    return (temperature, cut, 100 * size if cut == "top-p" else size)
