"""Wrong answers to the exercises of lecture 04, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: rotations as matrices or complex numbers,
the shift matrix by slices, permutations by sorting.
"""

import math

import torch


def turned(rows, angle_of=lambda angle: angle):
    """Multiply each pair by the matrix that `rows(cosine, sine)` gives, row by row."""

    def rotate(pair, angle):
        c, s = angle_of(angle).cos(), angle_of(angle).sin()
        matrix = torch.stack([torch.stack(row, -1) for row in rows(c, s)], -2)
        return (matrix @ pair.unsqueeze(-1)).squeeze(-1)

    return rotate


def right_rotate(pair, angle):
    turn = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(torch.view_as_complex(pair.contiguous()) * turn)


def in_place(order):
    """Each coordinate is stored as soon as it is made, so the second one reads a new number."""

    def rotate(pair, angle):
        lines = {
            0: lambda: pair[..., 0] * angle.cos() - pair[..., 1] * angle.sin(),
            1: lambda: pair[..., 0] * angle.sin() + pair[..., 1] * angle.cos(),
        }
        for which in order:
            pair[..., which] = lines[which]()
        return pair

    return rotate


def by_angle(pair, angle):
    """Through atan2, with the length forgotten."""
    direction = torch.atan2(pair[..., 1], pair[..., 0]) + angle
    return torch.stack([direction.cos(), direction.sin()], -1)


def first_axis(pair, angle):
    a, b = pair[0], pair[1]
    return torch.stack([angle.cos() * a - angle.sin() * b, angle.sin() * a + angle.cos() * b], -1)


def first_axis_on_the_right(pair, angle):
    a, b = pair[0], pair[1]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def one_matrix(pair, angle):
    rotation = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])
    return torch.einsum("ij,...j->...i", rotation, pair)


def by_math(pair, angle):
    x, y = pair.unbind(-1)
    return torch.stack(
        [math.cos(angle) * x - math.sin(angle) * y, math.sin(angle) * x + math.cos(angle) * y], -1
    )


def joined_by_tensor(pair, angle):
    x, y = pair.unbind(-1)
    return torch.tensor([angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y])


def unpacked(pair, angle):
    a, b = pair
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


def second_axis(product):
    def rotate(pair, angle):
        columns = pair[:, 0], pair[:, 1]
        cosines = [product(angle.cos(), column) for column in columns]
        sines = [product(angle.sin(), column) for column in columns]
        return torch.stack([cosines[0] - sines[1], sines[0] + cosines[1]], -1)

    return rotate


def thrown_away(pair, angle):
    right_rotate(pair, angle)
    return pair


def joined(join):
    return lambda pair, angle: join(right_rotate(pair, angle).unbind(-1))


WRONG_ROTATE = {
    "turns backwards": (
        lambda pair, angle: right_rotate(pair, -angle),
        "(3, 4) turned by 0.5 should come to (0.715, 4.949); yours comes to (4.55, 2.072). You "
        "turn by −0.5",
    ),
    "both sines plus": (
        turned(lambda c, s: [[c, s], [s, c]]),
        "Both of your sines have a plus. Then lengths change, here from 5 to 6.723",
    ),
    "both sines minus": (
        turned(lambda c, s: [[c, -s], [-s, c]]),
        "Both of your sines have a minus. Then lengths change, here from 5 to 2.192",
    ),
    "sine and cosine exchanged": (
        turned(lambda c, s: [[c, -s], [s, c]], lambda angle: math.pi / 2 - angle),
        "you turn by π/2 minus the angle",
    ),
    "results exchanged": (joined(lambda parts: torch.stack(parts[::-1], -1)), "their order is not"),
    "x overwritten": (in_place([0, 1]), "by then x was overwritten"),
    "y overwritten": (in_place([1, 0]), "by then y was overwritten"),
    "each coordinate by itself": (
        lambda pair, angle: pair * torch.stack([angle.cos(), angle.sin()], -1),
        "x by the cosine and y by the sine",
    ),
    "cosines alone": (
        lambda pair, angle: pair * angle.cos().unsqueeze(-1),
        "keeps its direction and shrinks from 5 to 4.388",
    ),
    "x and y multiplied by both": (
        turned(lambda c, s: [[c - s, 0 * c], [0 * c, s + c]]),
        "made of x alone, x·cos − x·sin",
    ),
    "the angle read as degrees": (
        lambda pair, angle: right_rotate(pair, angle * math.pi / 180),
        "in radians already",
    ),
    "the angle turned into degrees": (
        lambda pair, angle: right_rotate(pair, angle * 180 / math.pi),
        "You turned the angle into degrees",
    ),
    "brought to length 1": (by_angle, "the length is lost: 5 became 1"),
    "not turned": (thrown_away, "yours stays where it is"),
    "stacked in front": (
        joined(lambda parts: torch.stack([*parts])),
        "For pairs of shape (7, 2) you give a tensor of shape (2, 7)",
    ),
    "put one behind the other": (
        joined(lambda parts: torch.cat([*parts], -1)),
        "For pairs of shape (7, 2) you give a tensor of shape (14,)",
    ),
    "two results": (
        lambda pair, angle: right_rotate(pair, angle).unbind(-1),
        "you return them as two results",
    ),
    "taken along the second axis": (
        second_axis(lambda number, column: number * column),
        "`pair[:, 0]` is right for pairs of shape (T, 2) alone",
    ),
    "taken along the second axis, times the cosine": (
        second_axis(lambda number, column: column * number),
        "`pair[:, 0]` counts on exactly one axis before the last",
    ),
    "made for single numbers": (one_matrix, "stops at 7 angles: `torch.tensor([...])`"),
    "unpacked along the first axis": (unpacked, "`x, y = pair` takes the first axis apart"),
    "taken along the first axis": (first_axis, "the first coordinate of a single pair alone"),
    "taken along the first axis, times the cosine": (
        first_axis_on_the_right,
        "angles of shape (7,) do not fit it",
    ),
}


def moved(ul="c", ur="s", ll="-s", lr="c", frequencies=None, even=None, odd=None):
    """The shift matrix by slices; each corner of a block is c, s, their negative, or 0."""

    def moving_matrix(offset, C, base):
        i = torch.arange(C // 2)
        omega = base ** (-2 * i / C) if frequencies is None else frequencies(i, C, base)
        c, s = torch.diag((offset * omega).cos()), torch.diag((offset * omega).sin())
        corner = {"c": c, "s": s, "-s": -s, "-c": -c, "0": 0 * c}
        sines = i * 2 if even is None else even(i, C)
        cosines = i * 2 + 1 if odd is None else odd(i, C)
        A = torch.zeros(C, C)
        A[sines[:, None], sines], A[sines[:, None], cosines] = corner[ul], corner[ur]
        A[cosines[:, None], sines], A[cosines[:, None], cosines] = corner[ll], corner[lr]
        return A

    return moving_matrix


def row_of(pos, C, base):
    """PE(pos), one number after the other."""
    row = []
    for i in range(C // 2):
        row += [math.sin(pos / base ** (2 * i / C)), math.cos(pos / base ** (2 * i / C))]
    return torch.tensor(row)


WRONG_MOVING_MATRIX = {
    "turns the other way": (
        lambda offset, C, base: moved()(offset, C, base).T,
        "entry (0, 1) is +sin, 0.9093, and yours is -0.9093",
    ),
    "all plus": (moved(ll="s"), "the lower one has a minus"),
    "all minus": (moved(ur="-s"), "the upper one has a plus"),
    "sine and cosine exchanged": (moved("s", "c", "-c", "s"), "so the diagonal holds cosines"),
    "cosines alone": (moved(ur="0", ll="0"), "nothing beside them"),
    "half layout": (
        moved(even=lambda i, C: i, odd=lambda i, C: i + C // 2),
        "column i with column i + C/2 = i + 3",
    ),
    "exponent i/C": (
        moved(frequencies=lambda i, C, base: base ** (-i / C)),
        "base^(−2i/C), 0.04642 for i = 1",
    ),
    "exponent 4i/C": (
        moved(frequencies=lambda i, C, base: base ** (-2 * torch.arange(0, C, 2) / C)),
        "If i already goes in steps of 2",
    ),
    "exponent to C/2 − 1": (
        moved(frequencies=lambda i, C, base: torch.logspace(0, -math.log10(base), C // 2)),
        "so that the last is exactly 1/base",
    ),
    "exponent (2i + 1)/C": (
        moved(frequencies=lambda i, C, base: base ** -(torch.arange(1, C, 2) / C)),
        "The first pair has i = 0 and frequency 1",
    ),
    "frequencies that grow": (
        moved(frequencies=lambda i, C, base: base ** (2.0 * i / C)),
        "The minus is missing",
    ),
    "one frequency": (
        moved(frequencies=lambda i, C, base: torch.ones(len(i))),
        "All your blocks turn alike",
    ),
    "slow pairs first": (
        moved(even=lambda i, C: C - 2 - 2 * i, odd=lambda i, C: C - 1 - 2 * i),
        "their order is reversed",
    ),
    "always base 10 000": (
        moved(frequencies=lambda i, C, base: 10_000 ** (-2 * i / C)),
        "With offset -3, C = 10 and base 100",
    ),
    "always one step": (
        lambda offset, C, base: moved()(1, C, base),
        "The angle is offset·ω_i",
    ),
    "the offset without its sign": (
        lambda offset, C, base: moved()(max(offset, -offset), C, base),
        "for -3 the sines change sign",
    ),
    "rolls the columns": (
        lambda offset, C, base: torch.eye(C)[[(j - offset) % C for j in range(C)]],
        "It is the position that moves",
    ),
    "one block": (
        lambda offset, C, base: moved()(offset, C, base)[:2, :2],
        "Each of the C/2 = 3 pairs has one",
    ),
    "a table instead of a matrix": (row_of, "You return PE(2), a vector of 6 numbers"),
}


def there(D):
    return torch.tensor(sorted(range(D), key=lambda place: place % 2))


def back(D):
    return torch.tensor([D // 2 * (j % 2) + j // 2 for j in range(D)])


def inverse(order):
    """The way back, by writing each place where it came from."""
    undone = torch.empty_like(order)
    undone[order] = torch.arange(len(order))
    return undone


def right_pairings(D):
    return there(D), inverse(there(D))


def undone(order):
    """An answer of a wrong order and what undoes it."""
    return lambda D: (torch.tensor(order(D)), inverse(torch.tensor(order(D))))


WRONG_PAIRINGS = {
    "the two exchanged": (
        lambda D: (back(D), there(D)),
        "`x[..., to_half]` should give a0 a1 a2 b0 b1 b2; yours gives a0 b1 b0 a2 a1 b2. That is "
        "the way back: your two results have changed places",
    ),
    "the way back twice": (lambda D: [back(D)] * 2, "to_half starts with 0, 2, 4"),
    "the way there twice": (lambda D: [there(D)] * 2, "You return to_half twice"),
    "nothing moves": (
        undone(lambda D: torch.arange(D).view(D // 2, 2).flatten().tolist()),
        "a transpose is missing",
    ),
    "reversed": (undone(lambda D: [*range(D - 1, -1, -1)]), "You turn the whole vector round"),
    "halves exchanged": (
        undone(lambda D: [*range(D // 2, D), *range(D // 2)]),
        "as `rotate_half` does",
    ),
    "neighbours exchanged": (
        undone(lambda D: [j ^ 1 for j in range(D)]),
        "You exchange a and b within each pair",
    ),
    "odd places first": (
        undone(lambda D: [*range(1, D, 2), *range(0, D, 2)]),
        "The b's, at the odd places, come first",
    ),
    "odd places backwards": (
        undone(lambda D: [*range(0, D, 2), *range(D - 1, 0, -2)]),
        "b_i stands D/2 = 3 places after a_i",
    ),
    "the way back reversed": (
        lambda D: (there(D), torch.tensor(there(D).tolist()[::-1])),
        "To undo a permutation is not to reverse it",
    ),
    "no way back": (
        lambda D: (there(D), there(D).sort().values),
        "That leaves the half order as it is",
    ),
    "even places alone": (
        lambda D: torch.arange(D).view(-1, 2).unbind(1),
        "the even places and the odd ones, 3 each",
    ),
    "matrices": (
        lambda D: [torch.eye(D)[:, back(D)], torch.eye(D)[:, there(D)]],
        "6×6 matrices that permute",
    ),
    "floating numbers in to_half": (
        lambda D: (there(D).float(), back(D)),
        "`to_half` holds the right numbers, and their type is floating",
    ),
    "floating numbers in to_interleaved": (
        lambda D: (there(D), back(D).float()),
        "`to_interleaved` holds the right numbers, and their type is floating",
    ),
    "the way there alone": (there, "the way back is missing"),
}
