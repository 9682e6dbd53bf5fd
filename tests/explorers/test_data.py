"""What Python sends arrives in the browser as it left."""

import numpy as np

from course_utils.explorers.data import as_json, encode
from tests.explorers.support_node import KIT, run_module


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


def test_every_number_of_two_bytes_arrives():
    sent = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(256, 256)
    source = f"""
const {{ decode }} = await import("{(KIT / "data.js").as_uri()}");
const got = decode(told);
console.log(JSON.stringify([[...new Uint32Array(got.buffer)], got.shape, got.constructor.name]));
"""
    encoded = as_json(encode(sent))
    assert encoded["array"] == "f2"
    bits, shape, kind = run_module(source, encoded)
    got = np.uint32(bits).view(np.float32).reshape(shape)
    assert kind == "Float32Array"
    assert np.array_equal(got, sent.astype(np.float32), equal_nan=True)
    assert np.array_equal(np.signbit(got), np.signbit(sent)), "−0 is not 0"
