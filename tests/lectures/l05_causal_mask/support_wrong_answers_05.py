"""Wrong answers to the exercises of lecture 05, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: masks in loops over places
(``support_masks_05``), the cache through torch's own attention, leaks by changing an input and
looking at the outputs.
"""

import functools

import torch
import torch.nn.functional as F

from course_utils.lectures.l05_causal_mask.exercises.leak_models import (
    Suspect,
    leak_suspects,
    tokens,
)


def append(old, new):
    """Behind the others, into a larger tensor."""
    grown = old.new_empty(*old.shape[:2], old.shape[2] + 1, old.shape[3])
    grown[:, :, :-1], grown[:, :, -1:] = old, new
    return grown


def right_step(q, k, v, keys, values):
    keys, values = append(keys, k), append(values, v)
    return F.scaled_dot_product_attention(q, keys, values), keys, values


def grown_with(out):
    """The right cache, and another output: `out(q, keys, values)` of the grown ones."""

    def cached_step(q, k, v, keys, values):
        keys, values = append(keys, k), append(values, v)
        return out(q, keys, values), keys, values

    return cached_step


def scaled(scale):
    """torch's attention, with `scale(q, keys)`."""
    return grown_with(
        lambda q, keys, values: F.scaled_dot_product_attention(
            q, keys, values, scale=scale(q, keys)
        )
    )


def cache_as(change):
    """The right output, and of the grown cache what `change` leaves."""

    def cached_step(*inputs):
        out, keys, values = right_step(*inputs)
        return out, change(keys), change(values)

    return cached_step


def cached_by(join):
    """A step that joins old and new in its own way, and reads what came of it."""

    def cached_step(q, k, v, keys, values):
        keys, values = join(keys, k), join(values, v)
        return F.scaled_dot_product_attention(q, keys, values), keys, values

    return cached_step


def replace_last(old, new):
    return torch.cat([old[:, :, :-1], new], 2)


def old_value_missing(q, keys, values):
    weights = F.softmax(q @ keys.transpose(2, 3) / q.shape[3] ** 0.5, 3)
    return weights[..., :-1] @ values[:, :, :-1]


def reordered(order):
    return lambda *inputs: [right_step(*inputs)[i] for i in order]


WRONG_CACHED_STEP = {
    "nothing appended": (
        lambda q, k, v, keys, values: (
            F.scaled_dot_product_attention(q, keys, values),
            keys,
            values,
        ),
        "return it as it came, with 7 tokens",
    ),
    "read before appending": (
        lambda q, k, v, keys, values: (
            F.scaled_dot_product_attention(q, keys, values),
            append(keys, k),
            append(values, v),
        ),
        "one number of `out` is -1.896, expected -0.7193. You read the 7 old tokens alone",
    ),
    "nothing kept": (cache_as(lambda x: x[:, :, :-1]), "the cache that you return still has 7"),
    "appended in front": (
        cached_by(lambda old, new: torch.cat([new, old], 2)),
        "The new token stands in front",
    ),
    "the newest replaces the last": (cached_by(replace_last), "which still has 7"),
    "the oldest dropped": (
        cached_by(lambda old, new: append(old, new)[:, :, 1:]),
        "You drop the oldest token",
    ),
    "the new token alone is kept": (
        cache_as(lambda x: x[:, :, -1:]),
        "the 7 before it are lost for the next step",
    ),
    "the new token alone": (
        lambda q, k, v, keys, values: (v, k, v),
        "You read the new token alone, so `out` is `v` itself",
    ),
    "a causal mask from the top left": (
        grown_with(
            lambda q, keys, values: F.scaled_dot_product_attention(q, keys, values, is_causal=True)
        ),
        "a causal mask of 1 × 8 that starts at the top left",
    ),
    "not scaled": (scaled(lambda q, keys: 1.0), "divide by √D = √5 = 2.236"),
    "scaled by the root of the length": (
        scaled(lambda q, keys: keys.shape[2] ** -0.5),
        "by the root of the number of keys, √8",
    ),
    "scaled by the root of the model width": (
        scaled(lambda q, keys: q[0].numel() ** -0.5),
        "divided by √(H·D) = √15",
    ),
    "softmax over the query": (
        grown_with(lambda q, keys, values: values.sum(2, keepdim=True)),
        "Your softmax runs over the queries",
    ),
    "no softmax": (
        grown_with(lambda q, keys, values: q @ keys.transpose(2, 3) / q.shape[3] ** 0.5 @ values),
        "The softmax is missing",
    ),
    "mean of the values": (
        grown_with(
            lambda q, keys, values: F.scaled_dot_product_attention(q, keys, values, scale=0.0)
        ),
        "It is the mean of all values",
    ),
    "mixes the old values": (grown_with(old_value_missing), "the new value counts as 0"),
    "key and value exchanged": (
        lambda q, k, v, keys, values: cached_by(lambda old, new: torch.cat([old, new], 2))(
            q, v, k, keys, values
        ),
        "The new key has gone to the values",
    ),
    "the query kept instead of the key": (
        lambda q, k, v, keys, values: right_step(q, q, v, keys, values),
        "You append `q` to the keys",
    ),
    "the values not appended": (
        lambda q, k, v, keys, values: F.scaled_dot_product_attention(q, append(keys, k), values),
        "There are 8 keys and 7 values",
    ),
    "the keys not appended": (
        lambda q, k, v, keys, values: F.scaled_dot_product_attention(q, keys, append(values, v)),
        "There are 7 keys and 8 values",
    ),
    "all axes reversed": (
        grown_with(lambda q, keys, values: q @ keys.permute(*range(3, -1, -1)) @ values),
        "`keys.T` reverses all four axes",
    ),
    "joined along axis 0": (
        cached_by(lambda old, new: torch.concat([old, new])),
        "You join along axis 0",
    ),
    "joined along axis 1": (
        cached_by(lambda old, new: torch.concat((old, new), 1)),
        "You join along axis 1, that of the heads",
    ),
    "joined along axis 3": (
        cached_by(lambda old, new: torch.concat((old, new), -1)),
        "You join along axis 3, the width",
    ),
    "only the output": (lambda *inputs: right_step(*inputs)[0], "Return the cache with it"),
    "returns keys, values, out": (reordered([1, 2, 0]), "you return `keys, values, out`"),
    "returns out, values, keys": (reordered([0, 2, 1]), "you return `out, values, keys`"),
    "returns values, keys, out": (reordered([2, 1, 0]), "you return `values, keys, out`"),
    "returns keys, out, values": (reordered([1, 0, 2]), "you return `keys, out, values`"),
    "returns values, out, keys": (reordered([2, 0, 1]), "you return `values, out, keys`"),
}


@functools.cache
def changes(kind, leak):
    """How far output t moves when input s is changed, a little and then more: (T, S)."""
    model, x = Suspect("", kind, leak), tokens()
    before, columns = model(x), []
    for s in range(len(x)):
        moved = torch.zeros(len(x))
        for step in (0.1, 1.0):
            changed = x.clone()
            changed[s] += step
            moved = moved.maximum((model(changed) - before).abs().amax(dim=1))
        columns.append(moved)
    return torch.stack(columns, dim=1)


def touched(model, inputs=None, outputs=None, least=1e-6):
    """The offsets s - t of what moves, for some inputs or outputs alone."""
    table = changes(model.kind, model.leak if model.kind == "leak" else 0)
    places = range(len(table))
    return [
        s - t
        for s in (places if inputs is None else inputs)
        for t in (places if outputs is None else outputs)
        if table[t, s] > least
    ]


def furthest(**parts):
    """Name the model with the largest offset of those that are looked at."""

    def find_leak(models, x):
        ahead = {name: max([0, *touched(model, **parts)]) for name, model in models.items()}
        best = max(ahead.values())
        return next(name for name in ahead if ahead[name] == best), best

    return find_leak


right_leak = furthest()


def furthest_back(models, x):
    back = {name: -min(touched(model)) for name, model in models.items()}
    return max(back, key=back.get), max(back.values())


def looks_like(offsets):
    """Accuse the first model whose offsets are exactly these, except that it is no leak."""

    def find_leak(models, x):
        return next(n for n, m in models.items() if set(touched(m)) == set(offsets)), 1

    return find_leak


def of_kind(kind):
    """Models that read alike cannot be told by their offsets alone: by their kind, then."""
    return lambda models, x: (next(n for n, m in models.items() if m.kind == kind), 1)


def with_offset(change):
    return lambda models, x: (right_leak(models, x)[0], change(right_leak(models, x)[1]))


def masks_off_by_one(models, x):
    """Right, but for a student who read off the mask of one layer: 1 where two add up to 2."""
    name, ahead = right_leak(models, x)
    return name, 1 if ahead == 2 else ahead


WRONG_LEAK = {
    "measures the first six only": (
        lambda models, x: right_leak(leak_suspects(), x),
        "Right for the first six models",
    ),
    "looks at the past": (furthest_back, "agate is the first that reaches all the way back"),
    "accuses the causal model": (of_kind("causal"), "flint reads all of the past and nothing"),
    "accuses the window": (looks_like(range(-4, 1)), "coral has a window"),
    "accuses the one that skips itself": (of_kind("earlier"), "beryl gives a token no weight"),
    "accuses the one without attention": (looks_like([0]), "opal treats each token by itself"),
    "accuses the recurrent one": (of_kind("recurrent"), "agate is recurrent"),
    "first output only": (
        furthest(outputs=[0]),
        "You look at output 0 alone. One leak starts later: output 5 of flint depends on input 9",
    ),
    "last output only": (furthest(outputs=[12]), "nothing comes after token 12"),
    "output in the middle only": (
        furthest(outputs=[6]),
        "output in the middle alone. A leak may differ from token to token: output 5 of flint",
    ),
    "last input only": (furthest(inputs=[12]), "You change the last token alone"),
    "input in the middle only": (furthest(inputs=[6]), "You change the token in the middle alone"),
    "overlooks what is faint": (
        furthest(least=0.01),
        "The leak of beryl is faint: 0.00",
    ),
    "always the first": (
        lambda models, x: (min(models), 1),
        "You name the first model, agate, and 1 under every shuffle",
    ),
    "the offset of one layer": (
        masks_off_by_one,
        "off by 1 in each of its two layers, and layers add up",
    ),
    "the nearest offset": (with_offset(lambda ahead: 1), "You give 1, as if you had looked"),
    "the sign turned round": (with_offset(lambda ahead: -ahead), "ahead counts as positive, so 2"),
    "counts itself too": (with_offset(lambda ahead: ahead + 1), "You give 3, one too many"),
    "one too few": (with_offset(lambda ahead: ahead - 1), "You give 1, one too few"),
}
