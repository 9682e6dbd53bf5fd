"""Translation of dates: the pairs, the translator, and what its cross-attention comes to read."""

import datetime
import math
from collections import Counter

import pytest
import torch

from course_utils.training import train
from lectures.l03_heads.experiments.dates import (
    SOURCE_TOKENS,
    TARGET_TOKENS,
    DateTranslator,
    date_loss,
    date_pairs,
    places_to_read,
    read_dates,
    to_tokens,
)
from tests.core.support_layers import torch_decoder_layer, torch_encoder_layer, with_random_norms

PAD, START = SOURCE_TOKENS.index("<pad>"), TARGET_TOKENS.index("<start>")
CALENDAR = (364_878, 1_095_363)  # days since the year 1: 1 January 1000, 1 January 3000
# float32, values about 1: another size of batch sums in another order.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def small(num_heads=3):
    torch.manual_seed(0)
    return DateTranslator(width=12, num_heads=num_heads)


def text_of(target):
    return ["".join(to_tokens(row, TARGET_TOKENS)) for row in target]


# The pairs


def test_targets_are_iso_dates():
    source, target = date_pairs(500, seeded())
    assert source.shape == (500, 7) and target.shape == (500, 10)
    for row, text in zip(source, text_of(target), strict=True):
        *day, month, y1, y2, y3, y4 = to_tokens(row, SOURCE_TOKENS)
        words = f"{''.join(day)} {month} {y1}{y2}{y3}{y4}"
        assert datetime.datetime.strptime(words, "%d %B %Y").date().isoformat() == text
        assert torch.equal(read_dates(words)[0], row)


def test_every_day_is_equally_likely():
    _, target = date_pairs(5000, seeded())
    dates = [datetime.date.fromisoformat(text) for text in text_of(target)]
    # Every 67th day of the two thousand years stands for all of them, in a fraction of the time.
    calendar = [datetime.date.fromordinal(n) for n in range(*CALENDAR, 67)]
    parts = [lambda date: date.day, lambda date: date.month]
    parts += [lambda date, place=place: str(date.year)[place] for place in range(4)]
    for part in parts:
        drawn, every = Counter(map(part, dates)), Counter(map(part, calendar))
        for value, count in every.items():
            share = count / len(calendar)
            # A count has a standard deviation of √(N p (1 - p)), and stays within five of them.
            deviation = math.sqrt(len(dates) * share * (1 - share))
            assert abs(drawn[value] - len(dates) * share) < 5 * deviation


def test_dates_are_read_without_a_calendar():
    expected = [SOURCE_TOKENS.index(token) for token in ("3", "1", "June", *"1789")]
    assert read_dates("  31  June\n1789 ").tolist() == [expected]
    assert read_dates("7 May 2024", "17 May 2024")[:, -1].tolist() == [PAD, 4]


@pytest.mark.parametrize(
    "text",
    ["", "7 May 2024 AD", "7 may 2024", "32 May 2024", "7 May 3000", "7 May ٢٠٢٤"],
)  # fmt: skip
def test_a_reader_hears_what_a_date_is(text):
    with pytest.raises(ValueError, match="a date must be a day, an English month") as caught:
        read_dates(text)
    assert str(caught.value).endswith(f"got {text!r}")


def test_places_to_read():
    source, target = date_pairs(300, seeded())
    for row, places, text in zip(source, places_to_read(source), text_of(target), strict=True):
        for token, place in zip(text, places.tolist(), strict=True):
            if place >= 0 and SOURCE_TOKENS[row[place]].isdigit():
                assert SOURCE_TOKENS[row[place]] == token
        words = [SOURCE_TOKENS[row[place]] for place in places[5:7]]
        assert words[0] == words[1] and not words[0].isdigit()
        untold = [text[place] for place in range(10) if places[place] < 0]
        assert untold == (["-", "-", "0"] if row[-1] == PAD else ["-", "-"])


# The translator


def test_logits_depend_on_earlier_tokens_alone():
    model, (source, target) = small(), date_pairs(5, seeded())
    for at in range(10):
        other = target.clone()
        other[:, at] = (other[:, at] + 1) % 10
        differ = (model(source, target)[0] - model(source, other)[0]).abs().amax(dim=(0, 2)) > 1e-6
        assert differ.nonzero().flatten().tolist() == list(range(at + 1, 10))


def test_padding_is_never_read():
    model = small()
    source, target = read_dates("7 May 2024", "17 May 2024"), date_pairs(2, seeded())[1]
    before, weights = model(source, target)
    assert (weights[0, ..., -1] == 0).all() and (weights[1, ..., -1] > 0).all()
    with torch.no_grad():
        model.source_vectors.weight[PAD] += 7
    assert torch.equal(model(source, target)[0], before)
    torch.testing.assert_close(model(source[:1, :-1], target[:1])[0], before[:1], **CLOSE)


def test_translation_is_greedy():
    model, (source, _) = small(), date_pairs(5, seeded())
    written, weights = model.translate(source)
    logits, forced = model(source, written)
    assert torch.equal(logits.argmax(dim=-1), written)
    torch.testing.assert_close(weights, forced, **CLOSE)
    assert weights.shape == (5, 3, 10, 7)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(5, 3, 10))


@torch.no_grad()
def test_translator_against_pytorch():
    model = with_random_norms(small()).eval()
    source, target = (
        read_dates("7 May 2024", "17 May 2024", "3 June 1234"),
        date_pairs(3, seeded())[1],
    )
    angle = torch.arange(10)[:, None] / 10_000 ** (torch.arange(0, 12, 2) / 12)
    places = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    hidden = source == PAD  # PyTorch's masks say what may not be read
    x = 0.25 * model.source_vectors.weight[source] + places[:7]
    memory = torch_encoder_layer(model.encoder)(x, src_key_padding_mask=hidden)
    torch.testing.assert_close(model.encode(source), memory, **CLOSE)
    before = torch.cat([torch.full((3, 1), START), target[:, :-1]], dim=1)
    x = torch_decoder_layer(model.decoder)(
        0.25 * model.target_vectors.weight[before] + places,
        memory,
        tgt_mask=torch.ones(10, 10, dtype=torch.bool).triu(1),
        memory_key_padding_mask=hidden,
    )
    torch.testing.assert_close(model(source, target)[0], model.logits(x), **CLOSE)


# What training shows


def test_training_teaches_dates_and_places():
    done = train(
        DateTranslator, lambda generator: date_pairs(32, generator), date_loss,
        seeds=(0, 3), steps=60, learning_rate=0.006,
    )  # fmt: skip
    source, target = date_pairs(200, seeded(7))
    places = places_to_read(source)
    # Measured: 0.91 and 0.90 of the tokens right, 0.39 and 0.40 of them without the source; 0.78
    # and 0.68 of the weight on the right token, where equal weights have 1/7.
    for model in done.models:
        written, weights = model.translate(source)
        blind = model.translate(source, memory=torch.zeros(200, 7, 32))[0]
        assert (written == target).float().mean() > 0.7
        assert (blind == target).float().mean() < 0.5
        share = weights[:, 0].gather(-1, places.clamp(min=0)[..., None])[..., 0]
        assert share[places >= 0].mean() > 0.5
