"""What an explorer shows, computed as in a browser: by its own modules, under node."""

import itertools
import json
import os
import subprocess
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np

from course_utils.explorers.data import as_json
from tests.explorers.support_node import KIT, node

RUN = Path(__file__).with_suffix(".js")
RANDOM = 40


class InBrowser:
    """An explorer whose states are asked for, in a `with` statement, of a process of node.

    A state has the fields that the view is given, arrays as numpy's, and `caption` with its
    marks, `words` without. What is left out of the values stays at its default.
    """

    def __init__(self, explorer, module=None):
        self.explorer, self._served = explorer, None
        module = module or explorer.compute_path()
        computed = module.as_uri() if module.exists() else "table"
        self._node = subprocess.Popen(
            [node(), "--no-warnings", RUN, KIT.as_uri(), computed],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, "NODE_OPTIONS": ""},
        )  # fmt: skip

    def compute(self, **values):
        """The state at these values."""
        return self.states([values])[0]

    def states(self, cases):
        """The state at each of several values, in one question for each served value."""
        defaults = {name: each.default for name, each in self.explorer.inputs.items()}
        cases = [{**defaults, **values} for values in cases]
        found = []
        for served, same in itertools.groupby(cases, self._served_of):
            found += self._ask(served, list(same))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self._node:
            self._node.stdin.close()

    def _served_of(self, values):
        return {name: values[name] for name in self.explorer.served}

    def _ask(self, served, cases):
        question = {"cases": cases}
        if served != self._served:
            self.explorer.set(**served)
            self._served = served
            question["given"] = as_json(self.explorer.page_data()["given"]["data"])
        self._node.stdin.write(json.dumps(question) + "\n")
        self._node.stdin.flush()
        return [state_of(each) for each in json.loads(self._node.stdout.readline())]


def state_of(answer):
    """A state as node sent it, with names for its fields."""
    return SimpleNamespace(**{name: value_of(each) for name, each in answer.items()})


def value_of(sent):
    """What node sent: arrays, also those in arrays, become numpy's where all rows are as long."""
    if isinstance(sent, dict) and "number" in sent:
        return float(sent["number"])
    if isinstance(sent, dict) and "array" in sent:
        array = np.array([value_of(each) for each in sent["array"]])
        return array if sent["shape"] is None else array.reshape(sent["shape"])
    if isinstance(sent, dict):
        return {name: value_of(each) for name, each in sent.items()}
    if isinstance(sent, list):
        if sent and set(map(type, sent)) <= {bool, int, float}:
            return np.array(sent)  # most are such lists, and one by one is slow
        values = [value_of(each) for each in sent]
        shapes = {np.shape(each) for each in values}
        numbers = all(isinstance(each, (int, float, np.ndarray)) for each in values)
        return np.array(values) if numbers and len(shapes) == 1 else values
    return sent


def cases(explorer):
    """Defaults, presets, each pair of controls over both sweeps, and some values at random."""
    inputs, defaults, random = explorer.inputs, explorer.values, Random(1)
    found = [defaults, *({**defaults, **values} for values in explorer.presets.values())]
    for one, other in itertools.combinations(inputs, 2):
        for values in itertools.product(inputs[one].sweep(), inputs[other].sweep()):
            found.append({**defaults, **dict(zip((one, other), values, strict=True))})
    for _ in range(RANDOM):
        found.append({name: each.sample(random) for name, each in inputs.items()})
    served = {name: explorer.values[name] for name in explorer.served}
    return [{**values, **served} for values in found]


def differences(browser, reference, close=1e-6):
    """Where the browser's numbers are not the reference's, over all `cases`, in words.

    `reference(**values)` gives the fields that it knows of: by torch, the core, or a formula.
    """
    tried = cases(browser.explorer)
    found = []
    for values, state in zip(tried, browser.states(tried), strict=True):
        for name, expected in reference(**values).items():
            ours = np.ravel(getattr(state, name))
            theirs = np.ravel(np.asarray(expected))
            if not same(ours, theirs, close):
                found.append(f"{values}: {name} is {ours}, not {theirs}")
    return found


def same(ours, theirs, close):
    """Whether two arrays are the same up to what nobody sees."""
    if ours.shape != theirs.shape:
        return False
    if theirs.dtype.kind not in "fiu":
        return ours.tolist() == theirs.tolist()
    return bool(np.all(np.abs(ours - theirs) <= close * (1 + np.abs(theirs))))
