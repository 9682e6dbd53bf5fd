"""What an explorer computes in the browser is what it computes in Python, over a sweep."""

import itertools
import shutil
from random import Random

import numpy as np
import pytest

from course_utils.explorers import Explorer
from course_utils.explorers.data import as_json, encode, fields
from lectures import EXPLORERS
from tests.explorers.support_node import KIT, run_module

RANDOM = 40
CLOSE = 1e-6
RUN = """
const {{ compute, caption }} = await import("{module}");
const {{ decode }} = await import("{data}");
const given = decode(told.given);
const plain = value => ArrayBuffer.isView(value) ? [...value] : value;
console.log(JSON.stringify(told.cases.map(values => {{
  const state = compute(values, given);
  const fields = Object.entries(state).map(([name, value]) => [name, plain(value)]);
  return {{ state: Object.fromEntries(fields), caption: caption(state) }};
}})));
"""
IN_THE_HAND = [
    name
    for name, made in EXPLORERS.items()
    if issubclass(made, Explorer) and made.compute_path().exists()
]


def cases(explorer):
    """Defaults, presets, each pair of controls over both sweeps, and some values at random."""
    inputs, defaults, random = explorer.inputs, explorer.values, Random(1)
    found = [defaults, *({**defaults, **values} for values in explorer.presets.values())]
    for one, other in itertools.combinations(inputs, 2):
        for values in itertools.product(inputs[one].sweep(), inputs[other].sweep()):
            found.append({**defaults, **dict(zip((one, other), values, strict=True))})
    for _ in range(RANDOM):
        found.append({name: each.sample(random) for name, each in inputs.items()})
    return found


def differences(explorer, module, tried):
    """Where Python and the browser differ, in words; served values stay at their defaults."""
    served = {name: explorer.values[name] for name in explorer.served}
    chosen = [{**values, **served} for values in tried]
    given = {name: as_json(encode(each)) for name, each in explorer.given(**served).items()}
    source = RUN.format(module=module.as_uri(), data=(KIT / "data.js").as_uri())
    answers = run_module(source, {"given": given, "cases": chosen})
    found = []
    for values, answer in zip(chosen, answers, strict=True):
        state = explorer.compute(**values)
        if answer["caption"] != (words := explorer.caption(state)):
            found.append(f"{values}: {answer['caption']} instead of {words}")
        found += [
            f"{values}: {name} differs"
            for name, value in fields(state).items()
            if not same(value, answer["state"].get(name))
        ]
    return found


def same(ours, theirs):
    """Whether two values are the same up to what nobody sees."""
    if isinstance(ours, str) or ours is None:
        return ours == theirs
    one, other = np.asarray(ours, float).ravel(), np.asarray(theirs, float).ravel()
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= CLOSE * (1 + abs(one))))


@pytest.mark.parametrize("name", IN_THE_HAND)
def test_python_and_the_browser_agree(name):
    explorer = EXPLORERS[name]()
    assert differences(explorer, explorer.compute_path(), cases(explorer)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("Math.cos((offset + aim)", "Math.cos((offset - aim)"), ("hands are", "hands were")],
    ids=["number", "word"],
)
def test_a_planted_difference_is_found(tmp_path, old, new):
    explorer = EXPLORERS["explore_rope"]()
    folder = tmp_path / "lectures" / "l04_positions" / "explorers"
    shutil.copytree(KIT, tmp_path / "course_utils" / "explorers" / "kit")
    folder.mkdir(parents=True)
    source = explorer.compute_path().read_text(encoding="utf-8")
    assert old in source
    (folder / "rope.compute.js").write_text(source.replace(old, new), encoding="utf-8")
    assert differences(explorer, folder / "rope.compute.js", cases(explorer)[-RANDOM:])


def test_numbers_are_written_alike():
    from course_utils.explorers.captions import number

    random = Random(2)
    values = [0.5, 1.5, 2.5, 0.125, 0.375, -0.125, -0.001, 1234567.5, -1e-9, 0, 1005, 2.675, 99.5]
    values += [random.uniform(-2000, 2000) for _ in range(300)]
    asked = [[value, digits] for value in values for digits in range(4)]
    source = f"""
const {{ number }} = await import("{(KIT / "words.js").as_uri()}");
console.log(JSON.stringify(told.map(([value, digits]) => number(value, digits))));
"""
    assert run_module(source, asked) == [number(*each) for each in asked]


def test_arrays_arrive_as_they_left():
    sent = {
        "whole": np.arange(6).reshape(2, 3), "half": np.linspace(0, 1, 5),
        "small": np.float32([0.5, 2]), "yes": np.array([True, False]), "words": ["a", {"b": 1}],
    }  # fmt: skip
    source = f"""
const {{ decode }} = await import("{(KIT / "data.js").as_uri()}");
const got = decode(told);
console.log(JSON.stringify([...["whole", "half", "small", "yes"].map(
  name => [[...got[name]], got[name].shape]), got.words]));
"""
    got = run_module(source, as_json(encode(sent)))
    for name, (values, shape) in zip(sent, got[:4], strict=False):
        assert np.array_equal(np.reshape(values, shape), sent[name])
    assert got[4] == sent["words"]
